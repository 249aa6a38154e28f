"""Elementary functions go to the module that knows the scalar."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

from kinetree import scalars
from kinetree.compiler.graph import Port
from kinetree.compiler.trace import TracedScalar, trace

X = sympy.Symbol("x", positive=True)


@pytest.mark.parametrize("name", ["sin", "cos", "sqrt"])
def test_each_kind_keeps_its_kind(name):
    f = getattr(scalars, name)
    assert f(0.25) == getattr(math, name)(0.25) == f(np.float64(0.25)) == f(Fraction(1, 4))
    assert f(X) == getattr(sympy, name)(X)
    with mpmath.workdps(40):
        x = f(mpmath.mpf(1) / 4)
        assert isinstance(x, mpmath.mpf) and x == getattr(mpmath, name)(mpmath.mpf(1) / 4)


@pytest.mark.parametrize("name", ["sin", "cos", "sqrt", "sign"])
def test_a_traced_scalar_is_traced(name):
    seen = []

    def function(x):
        seen.append(getattr(scalars, name)(x))
        return seen[0]

    graph = trace(function, [Port("x", ())])
    assert isinstance(seen[0], TracedScalar)
    assert name in {node.op for node in graph.nodes}


def test_a_whole_number_is_no_obstacle():
    assert scalars.sin(0) == 0 and scalars.cos(0) == 1 and scalars.sqrt(4) == 2


@pytest.mark.parametrize("kind", [float, np.float64, Fraction, mpmath.mpf, sympy.Float])
def test_choices_of_every_kind(kind):
    low, high = kind(-2), kind(3)
    assert scalars.where(low, low, high) == high and scalars.where(high, low, high) == low
    assert scalars.where(kind(0), low, high) == high
    assert scalars.minimum(low, high) == scalars.minimum(high, low) == low
    assert scalars.maximum(low, high) == scalars.maximum(high, low) == high
    assert scalars.clip(kind(7), low, high) == high and scalars.clip(kind(1), low, high) == kind(1)
    assert scalars.absolute(low) == kind(2) and not scalars.absolute(kind(0))


def test_a_choice_of_symbols_and_of_traced_scalars_stays_open():
    y = sympy.Symbol("y")
    assert scalars.where(y, 1, 2).subs(y, 3) == 1 and scalars.where(y, 1, 2).subs(y, -3) == 2
    graph = trace(lambda x: scalars.where(x, 1, 2), [Port("x", ())])
    assert [node.op for node in graph.nodes].count("select") == 1
    assert trace(lambda x: scalars.where(3, x, 2), [Port("x", ())]).count() == {"input": 1}
    assert trace(lambda x: scalars.where(-3, 2, x), [Port("x", ())]).count() == {"input": 1}


@pytest.mark.parametrize(("x", "expected"), [(2.5, 1), (-3, -1), (0.0, 0), (-0.0, 0)])
def test_sign_is_minus_one_zero_or_one(x, expected):
    assert scalars.sign(x) == expected == scalars.sign(mpmath.mpf(x))
    assert scalars.sign(np.float64(x)) == expected == scalars.sign(sympy.Float(x))


def test_the_sign_of_nan_is_nan_and_of_a_symbol_a_symbol():
    assert math.isnan(scalars.sign(math.nan))
    assert scalars.sign(sympy.Symbol("y")) == sympy.sign(sympy.Symbol("y"))


def test_atan2_knows_the_quadrant_in_every_kind():
    assert scalars.atan2(1.0, -1.0) == 3 * math.pi / 4
    assert scalars.atan2(sympy.Integer(1), -1) == 3 * sympy.pi / 4
    with mpmath.workdps(40):
        assert scalars.atan2(mpmath.mpf(1), -1) == mpmath.atan2(1, -1)


def test_arrays_are_taken_element_by_element():
    x = np.array([[-2.0, 0.25], [0.5, 3.0]])
    np.testing.assert_array_equal(scalars.sin(x), [[math.sin(v) for v in row] for row in x])
    np.testing.assert_array_equal(scalars.clip(x, -1, [1, 2]), np.clip(x, -1, [1, 2]))
    np.testing.assert_array_equal(scalars.where(x, 1, 0), x > 0)
    np.testing.assert_array_equal(scalars.atan2(x, 2.0), np.arctan2(x, 2.0))
    assert scalars.sqrt(np.array(4.0)) == 2.0
    symbols = scalars.cos(np.array([X, 2 * X]))
    assert list(symbols) == [sympy.cos(X), sympy.cos(2 * X)]


def test_arrays_of_traced_scalars_stay_traced():
    graph = trace(lambda x: scalars.clip(x, -1, 1), [Port("x", (3,))])
    assert {"min", "max"} <= {node.op for node in graph.nodes}
