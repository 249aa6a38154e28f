"""Poses: the exponential and logarithm of SE(3) against fifty digits, and the algebra of Ad.

Error bounds. A position is a sum of at most three vectors no longer than |v| theta or the diameter
of the circle, each rounded a few times: 8 eps of that size. The logarithm multiplies by the inverse
of the same matrix, which near a half turn is no larger than pi / 2, and inherits the 12 eps of the
rotation's logarithm: 32 eps of the position.
"""

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree.errors import InputError, ShapeError
from kinetree.spatial import (
    Ad,
    ad,
    exp_se3,
    exp_so3,
    exp_twist,
    inverse,
    log_se3,
    pose,
    screw,
    skew,
    translation,
)

EPS = float(np.finfo(float).eps)
seeds = st.integers(0, 10**6)
angles = [0.0, 1e-300, 1e-160, 1e-20, 1e-9, 1e-8, 1e-4, 0.5, 2.0, 3.1, np.pi - 1e-8, np.pi - 1e-13]


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(60):
        yield


def precise(x):
    return np.array([mpmath.mpf(float(v)) for v in np.ravel(x)]).reshape(np.shape(x))


def bracket(V):
    """[V], the 4x4 matrix of a twist."""
    return np.block([[skew(V[:3]), np.array(V[3:])[:, None]], [np.zeros((1, 4))]])


def series(X):
    """exp(X) of a matrix of mpmath numbers, term by term."""
    term = total = precise(np.eye(len(X)))
    for k in range(1, 90):
        term = term @ X / k
        total = total + term
    return total


def largest(x):
    return float(max(abs(v) for v in np.ravel(x)))


def twist(rng, angle):
    w = rng.normal(size=3)
    return np.concatenate([w / np.linalg.norm(w) * angle, rng.normal(size=3)])


def random_pose(rng):
    return pose(exp_so3(rng.normal(size=3)), rng.normal(size=3))


@pytest.mark.parametrize("angle", angles)
@settings(max_examples=4)
@given(seed=seeds)
def test_exp_equals_the_power_series(angle, seed):
    V = twist(np.random.default_rng(seed), angle)
    bound = 8 * EPS * max(1, np.linalg.norm(V[3:]))
    assert largest(exp_twist(V) - series(precise(bracket(V)))) <= bound


@pytest.mark.parametrize("angle", angles)
@settings(max_examples=10)
@given(seed=seeds)
def test_log_undoes_exp_near_zero_and_near_pi(angle, seed):
    V = twist(np.random.default_rng(seed), angle)
    assert largest(log_se3(exp_twist(V)) - V) <= 32 * EPS * max(angle, np.linalg.norm(V[3:]))


@settings(max_examples=10)
@given(seed=seeds, theta=st.floats(-10, 10), pitch=st.floats(-2, 2))
def test_exp_of_a_screw_axis_is_exp_of_the_twist(seed, theta, pitch):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=3)
    for S in (screw(rng.normal(size=3), w / np.linalg.norm(w), pitch), [0, 0, 0, 0.6, 0, 0.8]):
        S = np.array(S)
        size = max(1, np.linalg.norm(S[3:]) * abs(theta))
        assert largest(exp_se3(S, theta) - series(precise(bracket(S * theta)))) <= 8 * EPS * size


def test_a_hinge_far_from_the_origin_stays_in_place_after_many_turns():
    point, axis = np.array([0.3, -0.7, 1.9]), np.array([2.0, -1, 3]) / np.sqrt(14)
    S, theta = screw(point, axis), 98765.4321
    p, w = precise(point), precise(axis)
    w = w / mpmath.sqrt(w @ w)
    sine, cosine, W = mpmath.sin(theta), mpmath.cos(theta), skew(w)
    expected = -(W * sine + W @ W * (1 - cosine)) @ p  # p - R p, with R of Rodrigues
    # The axis is of length one to eps, the circle has the diameter 2 |point|; turns add nothing.
    assert largest(exp_se3(S, theta, pitch=0)[:3, 3] - expected) <= 8 * EPS * np.linalg.norm(point)


@given(seeds)
def test_the_inverse_undoes_a_pose(seed):
    T = random_pose(np.random.default_rng(seed))
    assert np.allclose(T @ inverse(T), np.eye(4), rtol=0, atol=16 * EPS)


@given(seeds)
def test_ad_of_a_product_is_the_product_and_of_an_inverse_the_inverse(seed):
    rng = np.random.default_rng(seed)
    T, U = random_pose(rng), random_pose(rng)
    scale = np.linalg.norm(Ad(T)) * np.linalg.norm(Ad(U))
    assert largest(Ad(T @ U) - Ad(T) @ Ad(U)) <= 16 * EPS * scale
    assert largest(Ad(inverse(T)) @ Ad(T) - np.eye(6)) <= 16 * EPS * np.linalg.norm(Ad(T)) ** 2


@given(seeds)
def test_ad_moves_twists_as_matrices_do(seed):
    """[Ad(T) V] = T [V] T^-1, and exp commutes with the change of frame."""
    rng = np.random.default_rng(seed)
    T, V = random_pose(rng), rng.normal(size=6)
    moved = Ad(T) @ V
    scale = 32 * EPS * np.linalg.norm(Ad(T)) * np.linalg.norm(V) * np.linalg.norm(T)
    assert largest(bracket(moved) - T @ bracket(V) @ inverse(T)) <= scale
    assert largest(exp_twist(moved) - T @ exp_twist(V) @ inverse(T)) <= scale


@settings(max_examples=8)
@given(seeds)
def test_ad_of_an_exponential_is_the_exponential_of_ad(seed):
    V = np.random.default_rng(seed).normal(size=6)
    expected = series(precise(ad(V)))
    assert largest(Ad(exp_twist(V)) - expected) <= 32 * EPS * max(1, largest(expected))


@given(seeds)
def test_power_does_not_depend_on_the_frame(seed):
    rng = np.random.default_rng(seed)
    T_ij, V_j, F_i = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
    power = F_i @ (Ad(T_ij) @ V_j)
    scale = np.linalg.norm(F_i) * np.linalg.norm(Ad(T_ij)) * np.linalg.norm(V_j)
    assert abs((Ad(T_ij).T @ F_i) @ V_j - power) <= 16 * EPS * scale


def test_the_exponential_of_symbols_is_exact():
    q, d = sympy.symbols("q d")
    T = exp_se3(np.array([0, 0, 1, 0, -d, 0], object), q)
    assert sympy.simplify(T[0, 3] - d * (1 - sympy.cos(q))) == 0
    assert sympy.simplify(T[1, 3] + d * sympy.sin(q)) == 0


@pytest.mark.parametrize(
    ("T", "error", "words"),
    [
        (np.eye(3), ShapeError, r"T must have shape \(4, 4\), found \(3, 3\)"),
        (np.ones((4, 4)), InputError, r"T has last row \[1.0, 1.0, 1.0, 1.0\]; expected"),
        (np.diag([1, 1, -1, 1]), InputError, "rotation of T is not a rotation.*det R = -1"),
        (np.diag([1, 1, np.nan, 1]), InputError, r"T\[2, 2\] is nan"),
    ],
)
def test_what_is_no_pose_is_refused(T, error, words):
    with pytest.raises(error, match=words):
        log_se3(T)


def test_wrong_vectors_are_named():
    with pytest.raises(ShapeError):
        translation((1, 2))
    with pytest.raises(InputError):
        exp_twist((0, 0, 0, 0, 0, np.inf))
