"""Derivatives of graphs: against differences in fractions, and against each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from random_programs import ARITHMETIC, INPUTS, programs, run

import kinetree as kt
from kinetree import scalars
from kinetree.engine import (
    Port,
    gradient,
    hessian,
    hessian_vector,
    interpret,
    jacobian,
    jvp,
    optimise,
    trace,
    vjp,
)

X = Port("x", (3,), ("n",))
Y = Port("y", (2,))


def every_function(x, y):
    """All operations once, away from kinks."""
    choice = scalars.where(x[0] - 5, x[1] * x[2], x[1] / (x[2] * x[2] + 2))
    waves = scalars.sin(x[0]) * scalars.cos(y[0] - x[1])
    return np.array([choice + waves, scalars.sqrt(x @ x + 1) - scalars.sign(y[1]) * y[1], -y[0]])


def differences(function, at, step=1e-6):
    """d function/d x by central differences in each element."""
    unit = np.eye(len(at))
    return np.stack(
        [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in unit], -1
    )


@pytest.fixture(scope="module")
def graph():
    return trace(every_function, [X, Y], [("f", ("m",))])


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("first", [0.4, 6.0])
def test_jacobians_are_differences(graph, mode, first):
    x, y = np.array([first, -0.7, 1.3]), np.array([0.2, -0.9])
    by_x, by_y = interpret(jacobian(graph, mode=mode), x, y)
    expected = differences(lambda v: interpret(graph, v, y)[0], x)
    np.testing.assert_allclose(by_x, expected, rtol=0, atol=1e-9)
    expected = differences(lambda v: interpret(graph, x, v)[0], y)
    np.testing.assert_allclose(by_y, expected, rtol=0, atol=1e-9)


def exact_slope(steps, u, w, k):
    """Slope of the last value along input k, by dual numbers over fractions."""
    inputs = [[value, Fraction(int(j == k))] for j, value in enumerate([*u, w])]
    pairs = [Pair(*pair) for pair in inputs]
    return Pair.of(run(steps, pairs[:3], pairs[3])[-1]).slope


class Pair:
    """A fraction and its slope."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope

    @classmethod
    def of(cls, x):
        return x if isinstance(x, cls) else cls(Fraction(x), Fraction(0))

    def __add__(self, other):
        y = Pair.of(other)
        return Pair(self.value + y.value, self.slope + y.slope)

    def __neg__(self):
        return Pair(-self.value, -self.slope)

    def __sub__(self, other):
        return self + -Pair.of(other)

    def __rsub__(self, other):
        return Pair.of(other) - self

    def __mul__(self, other):
        y = Pair.of(other)
        return Pair(self.value * y.value, self.value * y.slope + self.slope * y.value)

    def __truediv__(self, other):
        y = Pair.of(other)
        ratio = self.value / y.value
        return Pair(ratio, (self.slope - ratio * y.slope) / y.value)

    __radd__, __rmul__ = __add__, __mul__


@given(programs(ARITHMETIC, longest=15))
def test_jacobians_of_random_programs_are_exact_in_fractions(steps):
    u, w = [Fraction(2, 3), Fraction(-5, 4), Fraction(7, 5)], Fraction(-3, 2)
    graph = trace(lambda u, w: run(steps, list(u), w)[-1], INPUTS)
    expected = [exact_slope(steps, u, w, k) for k in range(4)]
    given_arrays = np.array(u, object), np.array(w, object)
    for mode in ("forward", "reverse"):
        by_u, by_w = interpret(jacobian(graph, mode=mode), *given_arrays)
        assert [*by_u, by_w[()]] == expected
    fused = jacobian(optimise(graph))  # fused operations come apart again
    by_u, by_w = interpret(fused, *given_arrays)
    assert [*by_u, by_w[()]] == expected


def test_products_are_the_jacobian_times_vectors(graph):
    rng = np.random.default_rng(0)
    x, y, v_x, v_y, w = (rng.normal(size=k) for k in (3, 2, 3, 2, 3))
    J_x, J_y = interpret(jacobian(graph), x, y)
    (along,) = interpret(jvp(graph), x, y, v_x, v_y)
    np.testing.assert_allclose(along, J_x @ v_x + J_y @ v_y, rtol=1e-14)
    by_x, by_y = interpret(vjp(graph), x, y, w)
    np.testing.assert_allclose(by_x, w @ J_x, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(by_y, w @ J_y, rtol=1e-13, atol=1e-15)
    (only,) = interpret(jvp(graph, ["y"]), x, y, v_y)
    np.testing.assert_allclose(only, J_y @ v_y, rtol=1e-14)


def test_gradient_hessian_and_hessian_vector_agree():
    graph = trace(lambda x: scalars.sin(x[0]) * x[1] * x[1] + x @ x * x[2], [X])
    x, v = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, -0.5])
    (g,), (H,) = interpret(gradient(graph), x), interpret(hessian(graph), x)
    np.testing.assert_allclose(
        g, differences(lambda z: interpret(graph, z)[0], x), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(
        H, differences(lambda z: interpret(gradient(graph), z)[0], x), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(H, H.T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(interpret(hessian_vector(graph), x, v)[0], H @ v, rtol=1e-14)


def test_the_jacobian_is_sparse_and_shares():
    """Nothing is computed for what does not depend, and one sine serves value and slope."""
    graph = trace(lambda x: np.array([scalars.sin(x[0]), x[1] * x[1], 3 * x[2]]), [X])
    found = jacobian(graph)
    assert found.count()["mul"] + found.count()["add"] <= 1
    assert found.count()["cos"] == 1 and found.count()["sin"] == 0
    both = jacobian(trace(lambda x: scalars.sin(x[0]) * scalars.cos(x[0]), [X]))
    assert (both.count()["sin"], both.count()["cos"]) == (1, 1)


def test_directions_replace_elements():
    graph = trace(lambda x: x[0] * x[1] + x[2], [X])
    along = {"x": lambda x: np.array([[x[1], 0], [0, 1], [2, 0]])}
    for mode in ("forward", "reverse"):
        (found,) = interpret(jacobian(graph, along=along, mode=mode), np.array([3.0, 5.0, 7.0]))
        assert found.tolist() == [5.0 * 5.0 + 2, 3.0]


def test_derivative_of_a_function_and_of_a_kernel_are_kernels():
    kernel = kt.kernels.derivative(lambda x, t: x * t * t, "t", shapes={"x": 3, "t": ()})
    assert kernel.signature == "(3),()->(3)"
    assert kernel(np.ones((5, 3)), 2.0).tolist() == [[4.0] * 3] * 5
    again = kt.kernels.derivative(kernel, "t")
    assert again(np.ones(3), 2.0).tolist() == [2.0] * 3
    robot = kt.robots.planar_2r()
    q = np.array([0.3, -0.4])
    g = kt.kernels.derivative(robot.potential_energy, kind="gradient")(q)
    np.testing.assert_allclose(g, robot.gravity_forces(q), rtol=1e-14)
    H_v = kt.kernels.derivative(robot.potential_energy, "q", kind="hessian_vector")
    H = kt.kernels.derivative(robot.gravity_forces, "q")(q)
    np.testing.assert_allclose(H_v(q, [1.0, 2.0]), H @ [1, 2], rtol=1e-14)
