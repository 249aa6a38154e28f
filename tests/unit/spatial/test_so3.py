"""Rotations: exact against fifty digits from the smallest angle to the largest, and refused if bad.

Error bounds. A rotation is built of sin and cos (half an ulp each) and four products and sums, none
of which cancels: 4 eps for an entry of size one. A logarithm passes through the quaternion, whose
entries come of a sum of up to four entries of R (rounded to eps / 2 each, so 2 eps), a division by
the length (2 eps) and one atan2 (1 eps): 8 eps of the angle is granted.
"""

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree.errors import InputError, ShapeError
from kinetree.spatial import (
    cross,
    exp_so3,
    from_quaternion,
    log_so3,
    quaternion,
    rotation,
    rpy,
    skew,
    unskew,
)

EPS = float(np.finfo(float).eps)
numbers = st.floats(-10, 10)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
directions = st.sampled_from(
    [(0, 0, 1), (0, -1, 0), (0.6, 0, -0.8), (2, -1, 3), (1e-9, 1, -1e-4), (-1, -1, -1)]
).map(lambda x: np.array(x) / np.linalg.norm(x))
near_zero = [0.0, 5e-324, 3e-163, 2e-160, 1e-155, 1e-20, 1e-9, 2e-8, 1e-4]
near_pi = [np.pi - gap for gap in (0.0, 1e-15, 1e-12, 1e-9, 1e-8, 1e-5, 1e-2)]
ordinary = [0.1, 1.0, 2.0, 2.5]


def precise(x):
    return np.array([mpmath.mpf(float(v)) for v in np.ravel(x)]).reshape(np.shape(x))


def precise_exp(w):
    """exp([w]) as a power series in sixty digits, which knows nothing of Rodrigues."""
    W, term, total = precise(skew(w)), precise(np.eye(3)), precise(np.eye(3))
    for k in range(1, 90):
        term = term @ W / k
        total = total + term
    return total


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def largest(x):
    return float(max(abs(v) for v in np.ravel(x)))


@pytest.mark.parametrize("angle", near_zero + ordinary + near_pi)
@settings(max_examples=6)
@given(axis=directions)
def test_exp_equals_the_power_series_to_four_eps(angle, axis):
    w = axis * angle
    assert largest(exp_so3(w) - precise_exp(w)) <= 4 * EPS


@pytest.mark.parametrize("angle", near_zero[1:])
@settings(max_examples=6)
@given(axis=directions)
def test_small_rotations_keep_every_digit_of_the_rotation_vector(angle, axis):
    w = axis * angle
    found = unskew(exp_so3(w) - exp_so3(w).T) / 2  # sin(angle) axis, of size `angle`
    expected = unskew(precise_exp(w) - precise_exp(w).T) / 2
    # 4 eps of the angle, and the spacing of subnormal numbers
    assert largest(found - expected) <= 4 * EPS * angle + 5e-324


@pytest.mark.parametrize("angle", near_zero + ordinary + near_pi)
@given(axis=directions)
def test_log_undoes_exp_near_zero_and_near_pi(angle, axis):
    w = axis * angle
    found = log_so3(exp_so3(w))
    # At pi a rotation has two logarithms, w and -w: the angle pi rounded up crosses over.
    error = min(largest(found - w), largest(found + w) if angle > 3.14159 else np.inf)
    # R itself is known to 4 eps, which moves the angle by 4 eps; 8 eps for the logarithm.
    small = 12 * EPS * angle if angle < 1e-3 else 12 * EPS * np.pi
    assert error <= small + 5e-324


@given(axis=directions)
def test_a_half_turn_is_a_rotation_by_pi(axis):
    half_turn = 2 * np.outer(axis, axis) - np.eye(3)
    found = log_so3(half_turn)
    assert abs(np.linalg.norm(found) - np.pi) <= 8 * EPS * np.pi
    assert largest(cross(found, axis)) <= 12 * EPS * np.pi


@given(vectors, vectors)
def test_skew_is_the_cross_product(a, b):
    bound = 2 * EPS * np.linalg.norm(a) * np.linalg.norm(b)  # two products and one sum an entry
    assert largest(skew(a) @ b - np.cross(a, b)) <= bound
    assert largest(cross(a, b) - np.cross(a, b)) <= bound
    assert np.array_equal(unskew(skew(a)), a)
    assert np.array_equal(skew(a), -skew(a).T)


def test_a_turn_about_a_coordinate_axis_has_exact_zeros_and_ones():
    R = rotation(np.eye(3)[2], 0.7)
    assert R[2].tolist() == [0, 0, 1] and R[:, 2].tolist() == [0, 0, 1]


@given(vectors)
def test_quaternion_and_rotation_are_inverse(w):
    R = exp_so3(w)
    q = quaternion(R)
    assert q[0] >= 0 and abs(np.linalg.norm(q) - 1) <= 2 * EPS
    assert largest(from_quaternion(q) - R) <= 16 * EPS  # two conversions of 8 eps


def test_a_quaternion_turns_by_twice_its_angle_about_its_axis():
    R = from_quaternion((np.cos(0.35), 0, 0, np.sin(0.35)))
    assert largest(R - rotation(np.eye(3)[2], 0.7)) <= 4 * EPS


def test_roll_pitch_yaw_turn_about_fixed_axes_in_that_order():
    x, y, z = np.eye(3)
    assert np.allclose(rpy(0.3, 0, 0) @ y, np.cos(0.3) * y + np.sin(0.3) * z, atol=4 * EPS)
    expected = exp_so3(0.5 * z) @ exp_so3(0.4 * y) @ exp_so3(0.3 * x)
    assert largest(rpy(0.3, 0.4, 0.5) - expected) <= 8 * EPS


def test_the_logarithm_keeps_the_digits_of_mpmath():
    w = precise([0.3, -0.4, 1.1]) / 3
    assert largest(log_so3(rotation(w / mpmath.sqrt(w @ w), mpmath.sqrt(w @ w))) - w) < 1e-57


@pytest.mark.parametrize(
    ("q", "words"),
    [
        ((0, 0, 0, 0), "length 0"),
        ((1, 1, 0, 0), "length 1.41421356"),
        ((1, 0, 0, 1e-2), "expected length 1, in the order"),
        (np.array([sympy.Integer(1)] * 4), "length 2"),
        ((np.nan, 0, 0, 1), r"quaternion\[0\] is nan"),
    ],
)
def test_a_quaternion_that_is_not_of_length_one_is_refused(q, words):
    with pytest.raises(InputError, match=words):
        from_quaternion(q)


@pytest.mark.parametrize(
    ("R", "words"),
    [
        (2 * np.eye(3), "differs from 1 by 3"),
        (np.diag([1, 1, -1]), "det R = -1"),
        (np.full((3, 3), 1e200), "is not a rotation"),
        (np.array(2 * np.eye(3), object), "differs from 1 by 3"),
        (rotation(np.eye(3, dtype=int)[2], sympy.Symbol("q")), "R holds symbols"),
    ],
)
def test_what_is_no_rotation_has_no_logarithm(R, words):
    with pytest.raises(InputError, match=words):
        log_so3(R)


def test_shapes_are_named():
    with pytest.raises(ShapeError):
        exp_so3((1, 2))
    with pytest.raises(ShapeError):
        log_so3(np.eye(4))
