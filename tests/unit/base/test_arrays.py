"""Arrays from the caller: numbers become float64, symbols stay, the rest is refused by name."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

from kinetree.base.arrays import array, unit
from kinetree.engine import Port, trace
from kinetree.errors import InputError, ShapeError

EPS = float(np.finfo(float).eps)
X = sympy.Symbol("x")


@pytest.mark.parametrize("value", [[1, 2], (1.0, 2), np.array([1, 2], np.int8), [True, 2]])
def test_numbers_become_float64(value):
    x = array(value, (2,), "q")
    assert x.dtype == np.float64 and x.tolist() == [1, 2]


def test_the_callers_array_is_copied():
    given = np.array([1.0, 2.0])
    array(given, (2,), "q")[0] = 7
    assert given.tolist() == [1, 2]


@pytest.mark.parametrize(
    "entry", [X, mpmath.mpf(1), Fraction(1, 3), Decimal("0.1"), sympy.Rational(1, 3)]
)
def test_other_scalars_stay_as_they_are(entry):
    assert array([entry, 0], (2,), "q")[0] is entry


def test_traced_scalars_pass():
    graph = trace(lambda q: array(q, (2,), "q") * 2, [Port("q", (2,), ("n",))])
    assert len(graph.outputs) == 1


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ([1, 2, 3], ShapeError, r"q must have shape \(2,\), found \(3,\)"),
        ([[1, 2]], ShapeError, r"q must have shape \(2,\), found \(1, 2\)"),
        (1.0, ShapeError, r"q must have shape \(2,\), found \(\)"),
        (None, ShapeError, r"q must have shape \(2,\), found \(\)"),
        ([1, [2, 3]], ShapeError, r"q must be an array of shape \(2,\)"),
        ([1, np.nan], InputError, r"q\[1\] is nan; expected a finite number"),
        ([-np.inf, 1], InputError, r"q\[0\] is -inf; expected a finite number"),
        ("ab", InputError, "q must hold real numbers, found dtype <U2: 'ab'"),
        (["1", "2"], InputError, "q must hold real numbers"),
        ([1, 2j], InputError, "q must hold real numbers, found dtype complex128"),
        ([1, None], InputError, r"q\[1\] is None; expected a number"),
        ([1, {}], InputError, r"q is a list of objects of type dict"),
        (np.array([1, "2"], object), InputError, r"q\[1\] is '2'; expected a number"),
        (np.array([1, np.nan], object), InputError, r"q\[1\] is nan"),
        ([mpmath.mpf("inf"), 1], InputError, r"q\[0\] is \+?inf"),
        ([X, mpmath.nan], InputError, r"q\[1\] is nan"),
        ([10**400, 1], InputError, r"q\[0\] is 10*; expected a finite number"),
        (np.array(["2020"] * 2, "M8[Y]"), InputError, "found dtype datetime64"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(value, error, words):
    with pytest.raises(error, match=words):
        array(value, (2,), "q")


def test_a_length_may_be_left_open():
    assert array(np.zeros((5, 3)), (None, 3), "P").shape == (5, 3)
    with pytest.raises(ShapeError, match=r"P must have shape \(any, 3\), found \(5, 2\)"):
        array(np.zeros((5, 2)), (None, 3), "P")


def test_a_direction_typed_to_seven_digits_is_completed():
    w = unit((0.7071068, 0, 0.7071068), "axis")
    assert abs(np.linalg.norm(w) - 1) <= EPS
    assert unit((0, 0, 1), "axis").tolist() == [0, 0, 1]


def test_a_direction_of_symbols_is_taken_as_it_is():
    w = np.array([sympy.cos(X), sympy.sin(X), 0])
    assert np.array_equal(unit(w, "axis"), w)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((0, 0, 0), "axis is zero; expected a direction of length 1"),
        ((0, 0, 2), r"axis = \[0.0, 0.0, 2.0\] has length 2; .*: \[0.0, 0.0, 1.0\]"),
        ((0, 0, 1.00001), "has length 1.00001; expected length 1"),
        ((0, 0, 1e200), r"has length 1e\+200"),
        ((sympy.Integer(2), 0, 0), "has length 2; expected length 1"),
        ((mpmath.mpf(0), 0, 0), "axis is zero"),
    ],
)
def test_a_direction_of_another_length_is_refused_with_the_way_out(value, words):
    with pytest.raises(InputError, match=words):
        unit(value, "axis")
