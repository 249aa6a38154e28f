"""Bounds of operations on intervals of time: they hold all values, and hardly more."""

import warnings

import numpy as np
import pytest

from kinetree.engine.compiler.graph import Node, Port
from kinetree.engine.compiler.interpret import FLOATS
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.scalars import cos, sin, sqrt, where
from kinetree.simulate.core.switches import (
    INTERVALS,
    TimeFunction,
    depends_on_time_alone,
    interval,
    time_switches,
)

EPS = np.finfo(float).eps
UNARY = {"sin": np.sin, "cos": np.cos, "neg": np.negative, "sign": np.sign}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
TERNARY = {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}


def frames(seed, count=200, width=3.0):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-12, 12, count)
    half = rng.uniform(0, 1, count) ** 3 * width
    return middle - half, middle + half


def grid(a, count=401):
    return np.clip(a[0] + (a[1] - a[0]) * np.linspace(0, 1, count)[:, None], *a)


@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_interval(op):
    a = frames(1)
    values = UNARY[op](grid(a))
    low, high = INTERVALS[op](a)
    assert (low <= values.min(0)).all() and (high >= values.max(0)).all()
    steps = (a[1] - a[0]) / 400
    assert (values.min(0) - low <= steps**2 + 1e-14).all()
    assert (high - values.max(0) <= steps**2 + 1e-14).all()


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "abs"])
def test_bounds_of_monotone_functions_and_magnitudes_contain_all_values(op):
    a = frames(4)
    a = (np.abs(a[0]), np.abs(a[0]) + a[1] - a[0]) if op == "log" else a
    values = FLOATS[op](grid(a))
    low, high = INTERVALS[op](a)
    assert (low <= values.min(0)).all() and (high >= values.max(0)).all()
    ends = np.abs(values).max(0) * 1e-14
    assert (low >= values.min(0) - ends - (op == "abs") * 0.05).all()
    assert (high <= values.max(0) + ends).all()


@pytest.mark.parametrize("op", ["atan2", "min", "max"])
def test_bounds_of_angles_and_of_the_smaller_number_contain_all_values(op):
    a, b = frames(5, 60), frames(6, 60)
    low, high = INTERVALS[op](a, b)
    values = FLOATS[op](grid(a, 41)[:, None], grid(b, 41)[None])
    assert (low <= values.min((0, 1))).all() and (high >= values.max((0, 1))).all()


@pytest.mark.parametrize("op", [*BINARY, "div"])
def test_functions_of_two_intervals(op):
    """The extremes of sums, products and quotients lie at the corners."""
    a, b = frames(2), frames(3)
    low, high = INTERVALS[op](a, b)
    through = (b[0] <= 0) & (b[1] >= 0)
    function = BINARY.get(op, np.divide)
    corners = np.array([function(x, y) for x in a for y in b])
    if op == "div":
        assert through.any() and (low[through] == -np.inf).all() and (high[through] == np.inf).all()
        low, high, corners = low[~through], high[~through], corners[:, ~through]
    size = abs(corners).max(0)
    assert (low <= corners.min(0)).all() and (corners.min(0) - low <= 8 * EPS * size).all()
    assert (high >= corners.max(0)).all() and (high - corners.max(0) <= 8 * EPS * size).all()


@pytest.mark.parametrize("op", TERNARY)
def test_functions_of_three_intervals(op):
    a, b, c = frames(4), frames(5), frames(6)
    low, high = INTERVALS[op](a, b, c)
    corners = np.array([TERNARY[op](x, y, z) for x in a for y in b for z in c])
    size = abs(corners).max(0) + abs(np.array(c)).max(0)
    assert (abs(corners.min(0) - low) <= 16 * EPS * size).all()
    assert (abs(corners.max(0) - high) <= 16 * EPS * size).all()


def test_a_sine_is_bounded_closely_near_zero_and_far_from_it():
    """Neither near its zeros: a rounded argument must not hide what the sine is."""
    rng = np.random.default_rng(8)
    at = np.concatenate([rng.uniform(-1e6, 1e6, 10_000), rng.normal(size=10_000) ** 9 * 1e-12])
    low, high = INTERVALS["sin"]((at, at))
    assert (low <= np.sin(at)).all() and (np.sin(at) <= high).all()
    assert (high - low <= 8 * EPS * abs(np.sin(at))).all()


def switches_of(condition, end=10.0):
    graph = trace(
        lambda t, x: where(condition(t), x, 0) * np.ones(1), [Port("t", ()), Port("x", ())]
    )
    return time_switches(optimise(graph), end)


@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("at", [0.37, 3.1, 7.77])
def test_a_sine_that_passes_zero_slowly_switches_there(rate, at):
    ((before, after),) = [
        pair for pair in switches_of(lambda t: sin(rate * (t - at))) if abs(pair[0] - at) < 1
    ]
    assert before == pytest.approx(at, rel=4e-16) and after == np.nextafter(before, 10)


def test_what_changes_at_the_start_is_no_switch():
    assert switches_of(lambda t: t) == []
    assert switches_of(lambda t: sin(t), 3.0) == []
    assert len(switches_of(lambda t: t - 1e-9)) == 1


def test_choices_between_intervals():
    """A condition that is above zero throughout takes the first, one never above it the second."""
    a = np.array([1.0, -2.0, -1.0, 0.0]), np.array([2.0, -1.0, 1.0, 0.0])
    b = np.full(4, 5.0), np.full(4, 6.0)
    c = np.full(4, -3.0), np.full(4, -2.0)
    low, high = INTERVALS["select"](a, b, c)
    assert low.tolist() == [5.0, -3.0, -3.0, -3.0] and high.tolist() == [6.0, -2.0, 6.0, -2.0]


def test_roots_begin_at_zero_and_what_is_not_defined_may_be_anything():
    a = np.array([-1.0, 4.0, -3.0]), np.array([9.0, 16.0, -2.0])
    with np.errstate(invalid="ignore"):
        low, high = interval(Node("sqrt", (0,)), [a], a)
    assert low.tolist() == [0.0, 2.0, -np.inf] and high.tolist() == [3.0, 4.0, np.inf]
    zero = np.zeros(1), np.zeros(1)
    with np.errstate(invalid="ignore"), warnings.catch_warnings(action="ignore"):
        low, high = interval(Node("div", (0, 0)), [zero, zero], zero)
    assert low[0] == -np.inf and high[0] == np.inf


def test_ranges_of_whole_functions_hold_their_values():
    def function(t):
        return where(cos(2 * t), sin(t) * t - 1 / (t + 2), sqrt(t + 1) * (t - 5) * (3 - t))

    graph = trace(lambda t: np.array([function(t)]), [Port("t", ())])
    (root,) = graph.roots()
    assert depends_on_time_alone(graph)[root]
    found = TimeFunction(graph, root)
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 10, 300)
    high = low + rng.uniform(0, 0.5, 300)
    bottom, top = found.range(low, high)
    values = np.array([found(t) for t in grid((low, high), 101)])
    assert (bottom <= values.min(0)).all() and (values.max(0) <= top).all()
    assert np.median((top - bottom) / np.maximum(np.ptp(values, axis=0), 1e-3)) < 4
