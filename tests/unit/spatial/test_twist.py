"""Twists and screws: the Lie bracket, pitch from zero to infinity, and what is no screw.

Bounds: bilinear maps of 6-vectors sum at most six products, so 8 eps of the product of the norms.
"""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetree.errors import InputError, ShapeError
from kinetree.spatial import Ad, ad, exp_se3, screw, screw_parts, swap_order, unit_screw
from kinetree.spatial.se3 import check_screw

EPS = float(np.finfo(float).eps)
seeds = st.integers(0, 10**6)
pitches = st.floats(-5, 5)


def three_twists(seed):
    return np.random.default_rng(seed).normal(size=(3, 6))


def random_screw(seed, pitch):
    rng = np.random.default_rng(seed)
    point, w = rng.normal(size=3), rng.normal(size=3)
    w = w / np.linalg.norm(w)
    return point, w, screw(point, w, pitch)


@given(seeds)
def test_the_bracket_is_antisymmetric_and_satisfies_jacobi(seed):
    U, V, W = three_twists(seed)
    scale = 8 * EPS * np.linalg.norm(U) * np.linalg.norm(V)
    assert np.abs(ad(U) @ V + ad(V) @ U).max() <= scale
    jacobi = ad(U) @ ad(V) @ W + ad(V) @ ad(W) @ U + ad(W) @ ad(U) @ V
    assert np.abs(jacobi).max() <= 8 * scale * np.linalg.norm(W)


@given(seeds)
def test_ad_of_a_bracket_is_the_commutator(seed):
    U, V, _ = three_twists(seed)
    commutator = ad(U) @ ad(V) - ad(V) @ ad(U)
    bound = 32 * EPS * np.linalg.norm(U) * np.linalg.norm(V)
    assert np.abs(ad(ad(U) @ V) - commutator).max() <= bound


@given(seeds, st.floats(-2, 2))
def test_ad_is_the_rate_of_the_adjoint_of_a_motion(seed, pitch):
    _, _, S = random_screw(seed, pitch)
    h = 1e-5  # central difference: truncation h^2 |ad|^3 / 6 and rounding eps / h, both near 1e-10
    rate = (Ad(exp_se3(S, h)) - Ad(exp_se3(S, -h))) / (2 * h)
    assert np.abs(rate - ad(S)).max() <= 1e-10 * (1 + np.linalg.norm(ad(S))) ** 3


@given(seeds, pitches)
def test_a_screw_moves_the_points_of_its_axis_along_it(seed, pitch):
    point, w, S = random_screw(seed, pitch)
    T = exp_se3(S, 0.9)
    moved = T[:3, :3] @ point + T[:3, 3]
    bound = 16 * EPS * (1 + np.linalg.norm(point) + abs(pitch))
    assert np.abs(moved - (point + w * pitch * 0.9)).max() <= bound


@given(seeds, pitches)
def test_parts_of_a_screw_give_the_screw_back(seed, pitch):
    point, w, S = random_screw(seed, pitch)
    nearest, axis, found = screw_parts(S)
    size = 1 + np.linalg.norm(point) + abs(pitch)
    assert np.abs(axis - w).max() <= 2 * EPS
    assert abs(found - pitch) <= 16 * EPS * size
    assert abs(nearest @ w) <= 16 * EPS * size  # the point of the axis nearest to the origin
    assert np.abs(screw(nearest, axis, found) - S).max() <= 16 * EPS * size


def test_an_infinite_pitch_is_a_translation():
    S = screw((1, 2, 3), (0, 0.6, 0.8), np.inf)
    assert S.tolist() == [0, 0, 0, 0, 0.6, 0.8]
    point, axis, pitch = screw_parts(S)
    assert pitch == np.inf and axis.tolist() == [0, 0.6, 0.8] and not point.any()
    assert np.array_equal(exp_se3(S, 2.0)[:3, 3], [0, 1.2, 1.6])


@given(seeds, st.sampled_from([1e-200, 1e-160, 1.0, 1e200]))
def test_any_twist_is_a_unit_screw_times_a_magnitude(seed, size):
    V = np.random.default_rng(seed).normal(size=6) * size
    for twist in (V, np.array([0, 0, 0, *V[3:]])):
        A, theta = unit_screw(twist)
        part = A[:3] if A[:3].any() else A[3:]
        assert abs(np.linalg.norm(part) - 1) <= 4 * EPS
        assert np.allclose(A * theta, twist, rtol=4 * EPS, atol=0)


def test_swapping_the_order_twice_changes_nothing():
    V = np.arange(6)
    assert swap_order(V).tolist() == [3, 4, 5, 0, 1, 2]
    assert np.array_equal(swap_order(swap_order(V)), V)


@pytest.mark.parametrize(
    ("S", "error", "words"),
    [
        (np.zeros(6), InputError, "S is zero; expected"),
        ((0, 0, 2, 0, 0, 0), InputError, r"S has \|w\| = 2; expected \|w\| = 1"),
        ((0, 0, 0, 0, 3, 0), InputError, r"S has \|v\| = 3; expected .* \|v\| = 1"),
        ((0, 0, 1, 0, 0), ShapeError, r"S must have shape \(6,\), found \(5,\)"),
        ((0, 0, 1, np.nan, 0, 0), InputError, r"S\[3\] is nan"),
    ],
)
def test_what_is_no_screw_axis_is_refused(S, error, words):
    with pytest.raises(error, match=words):
        check_screw(S, "S")


@given(seeds, pitches, st.floats(0.01, 100))
def test_the_screw_that_a_message_gives_has_the_same_axis_and_pitch(seed, pitch, scale):
    """Dividing the angular part alone would give another robot."""
    _, _, S = random_screw(seed, pitch)
    if abs(scale - 1) < 1e-5:
        return
    with pytest.raises(InputError, match="Divide all six entries") as caught:
        check_screw(S * scale, "S")
    given = json.loads(re.search(r"\[.*\]", str(caught.value))[0])
    assert np.abs(check_screw(given, "S") - S).max() < 1e-14 * (1 + np.abs(S).max())


def test_a_screw_off_by_rounding_is_divided_as_a_whole():
    S = np.array([0, 0, 1, 3.0, 4.0, 0.5])
    assert check_screw(S * (1 + 1e-7), "S") == pytest.approx(S, rel=1e-15)


def test_bad_parts_of_a_screw_are_named():
    with pytest.raises(InputError):
        screw((0, 0, 0), (0, 0, 0))
    with pytest.raises(InputError):
        screw((0, 0, 0), (0, 0, 1), -np.inf)
    with pytest.raises(ShapeError):
        screw((0, 0, 0), (0, 0, 1), np.array([1, 2]))
    with pytest.raises(InputError):
        screw_parts(np.zeros(6))
