"""exp, log, tanh, atan2, abs, min and max in graphs: slopes, folding, simplification, meaning."""

import math

import mpmath
import numpy as np
import pytest
import sympy

from kinetree import scalars
from kinetree.engine import Kernel, Port, gradient, interpret, jacobian, jvp, optimise, trace, vjp
from kinetree.errors import GraphError

SMOOTH = {
    "exp": lambda x, y: scalars.exp(x * y),
    "log": lambda x, y: scalars.log(x * x + y),
    "tanh": lambda x, y: scalars.tanh(3 * x - y),
    "saturated tanh": lambda x, y: scalars.tanh(8 * x + 9 * y),
    "atan2": lambda x, y: scalars.atan2(x, y - 2),
    "power": lambda x, y: scalars.power(x, 1.5) + scalars.power(y, -0.3) + x**-2.5,
    "abs": lambda x, y: scalars.absolute(x - 2 * y) * y,
    "min": lambda x, y: scalars.minimum(x * y, x - y) + x,
    "max": lambda x, y: scalars.maximum(x * y, x - y) + x,
    "stribeck": lambda x, y: (0.6 + 0.4 * scalars.exp(-((x / 0.3) ** 2))) * scalars.tanh(y / 0.05),
}
PORTS = [Port("x", ()), Port("y", ())]


def exact_slopes(f, x, y):
    """Central differences of eighty digits, fifty of which remain."""
    with mpmath.workdps(80):
        a, b, h = mpmath.mpf(x), mpmath.mpf(y), mpmath.mpf(10) ** -16
        by_x = (f(a + h, b) - f(a - h, b)) / (2 * h)
        return float(by_x), float((f(a, b + h) - f(a, b - h)) / (2 * h))


@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_are_those_of_fifty_digits(name):
    f = SMOOTH[name]
    graph = trace(f, PORTS, [("f", ())])
    rng = np.random.default_rng(3)
    for x, y in rng.uniform(0.1, 1.5, (20, 2)):
        expected = exact_slopes(f, x, y)
        for mode in ("forward", "reverse"):
            slopes = Kernel(optimise(jacobian(graph, mode=mode)))(x, y)
            np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-250)
        (along,) = interpret(jvp(graph), x, y, 1.0, 0.0)
        np.testing.assert_allclose(along, expected[0], rtol=1e-12, atol=1e-250)
        np.testing.assert_allclose(interpret(vjp(graph), x, y, 1.0), expected, rtol=1e-12)


def test_tanh_keeps_the_digits_of_its_slope_and_of_further_ones():
    graph = trace(scalars.tanh, [Port("x", ())], [("f", ())])
    first = gradient(graph)
    second = gradient(first)
    third = gradient(second)
    for x in (0.0, 1e-9, 0.4, -3.0, 12.0, 40.0):
        with mpmath.workdps(60):
            t = mpmath.tanh(mpmath.mpf(x))
            s = 1 / mpmath.cosh(mpmath.mpf(x)) ** 2
            expected = s, -2 * t * s, 4 * t * t * s - 2 * s * s
        for found, value in zip((first, second, third), expected, strict=True):
            np.testing.assert_allclose(interpret(found, x)[0], float(value), rtol=1e-12, atol=1e-15)
    for graph in (first, second, third):
        assert np.array_equal(np.abs(interpret(graph, np.array([800.0, -1e5]))[0]) < 1e-80, [1, 1])


def test_kinks_have_the_documented_side():
    at = {"x": 1.0, "y": 1.0}
    for name, f in (("min", scalars.minimum), ("max", scalars.maximum)):
        slopes = interpret(jacobian(trace(f, PORTS, [("f", ())])), *at.values())
        assert [float(s) for s in slopes] == [0, 1], name  # that of the second
    (slope,) = interpret(gradient(trace(scalars.absolute, [Port("x", ())], [("f", ())])), 0.0)
    assert slope == 0


@pytest.mark.parametrize("x", [0.3, -2.7, 1e-8, 40.0])
def test_functions_of_constants_have_the_bits_of_kernels(x):
    for name in ("exp", "log", "tanh", "absolute"):
        if name == "log" and x < 0:
            continue
        f = getattr(scalars, name)
        folded = trace(lambda t, f=f: t * 0 + f(t * 0 + x), [Port("t", ())])
        assert Kernel(folded)(0.0) == Kernel(trace(f, [Port("x", ())], [("y", ())]))(x)
    pair = trace(lambda t: scalars.atan2(t * 0 + x, 0.7), [Port("t", ())])
    kernel = Kernel(trace(scalars.atan2, PORTS, [("f", ())]))
    assert Kernel(pair)(0.0) == kernel(x, 0.7)
    exact = trace(lambda t: scalars.exp(t * 0) + scalars.tanh(t * 0), [Port("t", ())])
    assert set(exact.count()) == {"const"}


def test_a_logarithm_of_a_negative_constant_is_refused():
    with pytest.raises(GraphError, match=r"logarithm of the constant -2\.0, which is negative"):
        trace(lambda t: scalars.log(t * 0 - 2), [Port("t", ())])
    assert interpret(trace(lambda t: scalars.log(t * 0), [Port("t", ())]), 1.0)[0] == -math.inf


LETTERS = {name: sympy.Symbol(name, real=True) for name in "xy"}
LETTERS |= {name: sympy.Symbol(name, nonnegative=True) for name in "abc"}


def test_rules_shorten_what_users_write():
    def listing(f):
        return trace(f, PORTS).count()

    assert listing(lambda x, y: scalars.log(scalars.exp(x))) == {"input": 1}
    assert listing(lambda x, y: scalars.absolute(-x) - scalars.absolute(x)) == {"const": 1}
    assert listing(lambda x, y: scalars.sign(x) * abs(x)) == {"input": 1}
    assert listing(lambda x, y: scalars.minimum(x, x)) == {"input": 1}
    assert listing(lambda x, y: scalars.tanh(-x) + scalars.tanh(x)) == {"const": 1}
