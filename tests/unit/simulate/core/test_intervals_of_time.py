"""Bounds of operations on intervals of time: they hold all values, and hardly more."""

import inspect

import numpy as np
import pytest

from kinetree.engine import Port, optimise, trace
from kinetree.engine.compiler.interpret import FLOATS
from kinetree.scalars import sin, where
from kinetree.simulate.core.switches import (
    INTERVALS,
    time_switches,
)

EPS = np.finfo(float).eps
POINTS = {1: 401, 2: 41, 3: 13}  # on each interval, by the number of arguments


def frames(seed, count=200, width=3.0):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-12, 12, count)
    half = rng.uniform(0, 1, count) ** 3 * width
    return middle - half, middle + half


def grid(a, count=401):
    return np.clip(a[0] + (a[1] - a[0]) * np.linspace(0, 1, count)[:, None], *a)


@pytest.mark.parametrize("op", INTERVALS)
def test_bounds_contain_all_values_and_hardly_more(op):
    count = len(inspect.signature(INTERVALS[op]).parameters)
    args = [frames(7 * k + count, 200 if count == 1 else 60) for k in range(count)]
    if op in ("sqrt", "log", "div"):  # of positive numbers
        args[-1] = np.abs(args[-1][0]), np.abs(args[-1][0]) + args[-1][1] - args[-1][0]
    low, high = INTERVALS[op](*args)
    shape = [[-1 if i == k else 1 for i in range(count)] for k in range(count)]
    grids = [grid(x, POINTS[count]).reshape(*s, len(low)) for x, s in zip(args, shape, strict=True)]
    values = FLOATS[op](*grids).reshape(-1, len(low))
    size = np.abs(values).max(0) + sum(np.abs(x).max(0) for x in args)
    rounding = 16 * EPS * size if op in ("fma", "fms", "fnma") else 0
    assert (low <= values.min(0) + rounding).all() and (high >= values.max(0) - rounding).all()
    # extremes lie at the corners, but those of waves and of magnitudes; angles jump
    steps = (args[0][1] - args[0][0]) / (POINTS[count] - 1)
    slack = {"sin": steps**2, "cos": steps**2, "abs": steps, "atan2": np.inf}.get(op, 0.0)
    close = 16 * EPS * size + slack
    assert (low >= values.min(0) - close).all() and (high <= values.max(0) + close).all()


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
