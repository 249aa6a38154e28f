"""Elementary functions go to the module that knows the scalar."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy

from kinetree import scalars
from kinetree.engine import Port, guarded, interpret, trace
from kinetree.errors import GraphError, InputError
from kinetree.spatial.duals import Dual

X = sympy.Symbol("x", positive=True)


@pytest.mark.parametrize("name", ["sin", "cos", "sqrt", "exp", "log", "tanh"])
def test_each_kind_keeps_its_kind(name):
    f = getattr(scalars, name)
    assert f(0.25) == getattr(math, name)(0.25) == f(np.float64(0.25)) == f(Fraction(1, 4))
    assert f(X) == getattr(sympy, name)(X)
    with mpmath.workdps(40):
        x = f(mpmath.mpf(1) / 4)
        assert isinstance(x, mpmath.mpf) and x == getattr(mpmath, name)(mpmath.mpf(1) / 4)


@pytest.mark.parametrize("name", ["sin", "cos", "sqrt", "sign", "exp", "log", "tanh"])
def test_a_traced_scalar_is_traced(name):
    assert trace(getattr(scalars, name), [Port("x", ())]).count() == {"input": 1, name: 1}


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
    angles = [[math.atan2(v, 2.0) for v in row] for row in x]  # versions of NumPy round otherwise
    np.testing.assert_array_equal(scalars.atan2(x, 2.0), angles)
    assert scalars.sqrt(np.array(4.0)) == 2.0
    symbols = scalars.cos(np.array([X, 2 * X]))
    assert list(symbols) == [sympy.cos(X), sympy.cos(2 * X)]


def test_arrays_of_traced_scalars_stay_traced():
    graph = trace(lambda x: scalars.clip(x, -1, 1), [Port("x", (3,))])
    assert {"min", "max"} <= {node.op for node in graph.nodes}


def test_floats_leave_the_range_as_kernels_do():
    assert scalars.exp(1e4) == math.inf and scalars.exp(-1e4) == 0
    assert scalars.log(0.0) == -math.inf and math.isnan(scalars.log(-1.0))
    assert math.isnan(scalars.log(mpmath.mpf(-1))) and math.isnan(scalars.exp(math.nan))
    assert scalars.tanh(1e4) == 1 and scalars.tanh(-1e4) == -1


@pytest.mark.parametrize("kind", [float, np.float64, mpmath.mpf])
def test_powers_by_constants(kind):
    for x in (0.5, 2.0, 7.25):
        for c in (0, 1, 3, -2, 0.5, -1.5, 2.5, 0.3, -0.3):
            assert float(scalars.power(kind(x), c)) == pytest.approx(x**c, rel=4e-16)
    assert scalars.power(kind(-2), 3) == -8 and scalars.power(kind(-2), -1) == -0.5
    assert math.isnan(scalars.power(kind(-2), 0.5)) and math.isnan(scalars.power(kind(-2), 0.3))
    assert scalars.power(kind(0), 0.3) == 0 and scalars.power(kind(0), -0.3) == math.inf
    assert scalars.power(kind(0), 0) == 1 and scalars.power(kind(0), -1) == math.inf


def test_powers_of_fractions_and_symbols_stay_exact():
    assert scalars.power(Fraction(2, 3), -2) == Fraction(9, 4)
    assert scalars.power(X, 2.5) == X ** sympy.Rational(5, 2)
    assert scalars.power(X, 3) == X**3


@pytest.mark.parametrize("c", [0, 1, 5, -3, 0.5, 1.5, -0.5, -2.5, 0.3, -1.7, 100])
def test_traced_powers_are_powers(c):
    graph = trace(lambda x: scalars.power(x, c), [Port("x", ())])
    x = np.array([0.1, 0.7, 1.0, 2.3])
    np.testing.assert_allclose(interpret(graph, x)[0], x ** float(c), rtol=2e-14)
    assert interpret(graph, np.zeros(1))[0] == scalars.power(0.0, c)


def test_a_base_with_a_traced_exponent():
    graph = trace(lambda x: 2.5**x, [Port("x", ())])
    np.testing.assert_allclose(
        interpret(graph, np.array([-1.0, 3.0]))[0], [0.4, 2.5**3], rtol=1e-15
    )
    graph = trace(lambda x: np.float64(2.5) ** x + np.power(x + 5, x), [Port("x", ())])
    found = interpret(graph, np.array([-1.0, 3.0]))[0]
    np.testing.assert_allclose(found, [0.4 + 0.25, 2.5**3 + 8**3], rtol=1e-14)
    with pytest.raises(GraphError, match="expected a base above 0"):
        trace(lambda x: (-2.0) ** x, [Port("x", ())])
    with pytest.raises(InputError, match=r"the exponent .*expected a plain number.*exp\(y \* log"):
        trace(lambda x: scalars.power(x, x), [Port("x", ())])


def test_minimum_and_maximum_keep_nan():
    for f in (scalars.minimum, scalars.maximum):
        assert math.isnan(f(math.nan, 1.0)) and math.isnan(f(1.0, math.nan))
        graph = trace(f, [Port("x", ()), Port("y", ())])
        for x, y in ((math.nan, 1.0), (1.0, math.nan)):
            assert np.isnan(interpret(graph, x, y)[0])
    assert scalars.minimum(math.inf, math.inf) == math.inf


def test_one_of_two_arguments_may_be_traced():
    graph = trace(lambda x: scalars.atan2(0.5, x) + scalars.minimum(1, x), [Port("x", ())])
    assert graph.count()["atan2"] == graph.count()["min"] == 1


NUMPY = [
    (lambda x: np.exp(x), np.exp),
    (lambda x: np.log(x), np.log),
    (lambda x: np.tanh(x), np.tanh),
    (lambda x: np.arctan2(x, 0.5), lambda x: np.arctan2(x, 0.5)),
    (lambda x: np.arctan(x), np.arctan),
    (lambda x: np.abs(x - 1), lambda x: abs(x - 1)),
    (lambda x: np.minimum(x, 1.0), lambda x: np.minimum(x, 1)),
    (lambda x: np.maximum(1.0, x), lambda x: np.maximum(x, 1)),
    (lambda x: np.clip(x, 0.5, 1.5), lambda x: np.clip(x, 0.5, 1.5)),
    (lambda x: np.power(x, 1.5), lambda x: x**1.5),
    (lambda x: np.square(x) + np.hypot(x, 2), lambda x: x**2 + np.hypot(x, 2)),
    (lambda x: np.where(x > 1, x, -x), lambda x: np.where(x > 1, x, -x)),
    (lambda x: np.sign(x - 1) * np.tan(x), lambda x: np.sign(x - 1) * np.tan(x)),
]


@pytest.mark.parametrize("k", range(len(NUMPY)))
def test_numpys_functions_reach_traced_arrays_scalars_and_duals(k):
    function, expected = NUMPY[k]
    x = np.array([0.3, 1.2, 2.5])
    graph = trace(lambda x: function(guarded(x)), [Port("x", (3,))])
    np.testing.assert_allclose(interpret(graph, x)[0], expected(x), rtol=1e-14)
    if k != 11:  # np.where is not a function of one traced scalar
        graph = trace(lambda x: function(x), [Port("x", ())])
        np.testing.assert_allclose(interpret(graph, x)[0], expected(x), rtol=1e-14)
        for value in x.tolist():
            found, h = function(Dual(value, 1.0)), 1e-6
            slope = (expected(np.float64(value + h)) - expected(np.float64(value - h))) / (2 * h)
            assert float(found.value) == pytest.approx(float(expected(value)), rel=1e-14)
            assert float(found.slope) == pytest.approx(float(slope), abs=1e-8)
