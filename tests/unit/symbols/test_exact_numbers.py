"""Floats become what was meant: decimals their fractions, rotations exact and orthonormal."""

import numpy as np
import pytest

sympy = pytest.importorskip("sympy")

from kinetree.spatial import exp_so3, rotation, rpy, screw  # noqa: E402
from kinetree.symbols.exact import (  # noqa: E402
    exact_array,
    exact_direction,
    exact_number,
    exact_offset,
    exact_rotation,
    exact_screw,
)

EPS = float(np.finfo(float).eps)
R = sympy.Rational
x, y, z = np.eye(3)


def same(found, expected):
    return sympy.Matrix(np.asarray(found)) == sympy.Matrix(np.asarray(expected))


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.4318, R(2159, 5000)), (-9.81, R(-981, 100)), (1e-5, R(1, 100000)), (3, 3), (0.0, 0),
     (0.1 + 0.2, R(3, 10)), (np.float64(0.25), R(1, 4)), (np.int64(7), 7)],
)  # fmt: skip
def test_decimals_are_the_fractions_they_say(given, expected):
    assert exact_number(given) == expected


def test_symbols_stay_and_floats_inside_become_fractions():
    L = sympy.Symbol("L")
    assert exact_number(L / 2) == L / 2
    assert exact_number(0.5 * L + 0.1) == L / 2 + R(1, 10)


def test_rounding_beside_large_entries_is_zero():
    assert list(exact_array([1.0, 1e-17, 0.5])) == [1, 0, R(1, 2)]
    assert list(exact_array([1e-17])) == [R(1, 10**17)]  # nothing says that it is rounding


STEPS = [k * np.pi / 12 for k in range(-12, 13) if k % 2 == 0 or k % 3 == 0]


@pytest.mark.parametrize("angle", STEPS)
@pytest.mark.parametrize("axis", [x, y, z], ids="xyz")
def test_turns_by_parts_of_pi_are_roots(axis, angle):
    found, change = exact_rotation(rotation(axis, angle), 0)
    assert change <= 4 * EPS
    twelfth = sympy.nsimplify(round(angle * 12 / np.pi)) * sympy.pi / 12
    exact = rotation(np.array([sympy.Integer(int(v)) for v in axis]), twelfth)
    assert same(found, exact)


@pytest.mark.parametrize("seed", range(10))
def test_any_other_rotation_is_exactly_orthonormal_and_near(seed):
    given = exp_so3(np.random.default_rng(seed).normal(size=3))
    found, change = exact_rotation(given, 1e-10)
    assert same(found @ found.T, np.eye(3, dtype=int)) and change <= 8 * EPS
    assert all(v.is_Rational for v in found.ravel())


def test_combined_special_turns_are_exact():
    found, _ = exact_rotation(rpy(np.pi / 6, 0, np.pi / 4), 0)
    assert found[0, 0] == sympy.sqrt(2) / 2 and found[2, 1] == R(1, 2)
    assert same((found @ found.T), np.eye(3, dtype=int))


def test_pi_of_twelve_digits_is_pi_unless_rounding_alone_is_allowed():
    given = rpy(0, 1.57079632679, 0)
    found, change = exact_rotation(given, 1e-10)
    assert found[0, 0] == 0 and found[0, 2] == 1 and 1e-12 < change < 1e-11
    strict, change = exact_rotation(given, 0)
    assert strict[0, 0] != 0 and change <= 8 * EPS
    assert same(strict @ strict.T, np.eye(3, dtype=int))


def test_directions_have_length_one_exactly():
    assert list(exact_direction(np.ones(3) / 3**0.5, 0)) == [sympy.sqrt(3) / 3] * 3
    for seed in range(5):
        given = np.random.default_rng(seed).normal(size=3)
        given = given / np.linalg.norm(given)
        found = exact_direction(given, 0)
        assert sum(v * v for v in found) == 1
        assert np.abs(found.astype(float) - given).max() <= 4 * EPS


def test_a_hinge_has_no_pitch_exactly_and_a_helix_keeps_its_own():
    axis = np.array([0.6, 0.0, 0.8])
    given = screw((0.1, 0.2, 0.3), axis, 0)
    found = exact_screw(given, 0, hinge=True)
    assert found[:3] @ found[3:] == 0 and sum(v * v for v in found[:3]) == 1
    assert np.abs(found.astype(float) - given).max() <= 4 * EPS
    helix = exact_screw(screw((0.1, 0.2, 0.3), axis, 0.05), 0, hinge=False)
    assert helix[:3] @ helix[3:] == R(1, 20)


def test_slides_are_unit_directions():
    assert list(exact_screw(np.array([0, 0, 0, 0, 0.6, 0.8]), 0, False))[4:] == [R(3, 5), R(4, 5)]


@pytest.mark.parametrize("k", [-12, -5, 1, 2, 3, 6, 11])
def test_offsets_by_parts_of_pi_are_exact(k):
    assert exact_offset(k * np.pi / 12) == R(k, 12) * sympy.pi
    assert exact_offset(0.3) == R(3, 10)
