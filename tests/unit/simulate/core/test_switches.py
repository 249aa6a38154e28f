"""Times at which functions of time switch, against bisection on a dense grid and exact numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.engine import Port, optimise, trace
from kinetree.scalars import absolute, clip, cos, maximum, minimum, sign, sin, sqrt, where
from kinetree.simulate.core.switches import time_switches

PORTS = [Port("t", ()), Port("x", (2,))]


def graph_of(function):
    return optimise(trace(lambda t, x: np.array([function(t, x), x[0]]), PORTS))


def switches(function, end=10.0):
    return sorted(set(time_switches(graph_of(function), end)))


def places(function, end=10.0):
    return [0.5 * (a + b) for a, b in switches(function, end)]


def test_a_comparison_with_time_gives_neighbouring_numbers():
    ((before, after),) = switches(lambda t, x: where(t > 3.1, x[0], 0))
    assert before == 3.1 and after == math.nextafter(3.1, 4)
    pairs = switches(lambda t, x: where(t >= 3.1, x[0], 0))
    assert pairs[0] == (math.nextafter(3.1, 0), 3.1)
    ((before, after),) = switches(lambda t, x: where(3.1 - t, x[0], 0))
    assert before < 3.1 <= after == math.nextafter(before, 4)


def test_a_pulse_of_a_millisecond_in_an_hour():
    found = places(lambda t, x: where(absolute(t - 1800.0) < 5e-4, 1, 0), 3600.0)
    assert [t for t in found if abs(t - 1800) > 1e-9] == pytest.approx([1799.9995, 1800.0005])


def test_square_waves_and_nested_choices():
    wave = places(lambda t, x: where(sin(200 * t), 1, -1))
    assert wave == pytest.approx(np.arange(1, 637) * np.pi / 200, abs=1e-13)
    nested = places(lambda t, x: where(where(t > 2, t - 5, t - 1), 1, 0))
    assert nested == pytest.approx([1, 2, 5])
    product = places(lambda t, x: where((t - 1) * (t - 2) * (t - 7.5), 1, 0))
    assert product == pytest.approx([1, 2, 7.5])
    quotient = places(lambda t, x: where(1 / (t - 4) - 1, 1, 0))
    assert quotient == pytest.approx([4, 5])


def test_what_bends_counts_and_what_depends_on_the_state_does_not():
    assert places(lambda t, x: clip(t - 3, 0, 1) * x[0]) == pytest.approx([3, 4])
    assert places(lambda t, x: sign(t - 6) * x[0])[0] == pytest.approx(6)
    assert places(lambda t, x: minimum(t, 2) + maximum(sqrt(t), 2)) == pytest.approx([2, 4])
    assert switches(lambda t, x: where(x[0] - t, 1, 2)) == []
    assert switches(lambda t, x: sin(t) * x[0]) == []
    assert switches(lambda t, x: where(t - 11, x[0], 1)) == []  # after the end


@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_random_conditions_against_a_dense_grid(seed):
    """Where the condition changes on a fine grid, a switch was found, and nowhere else."""
    rng = np.random.default_rng(seed)
    a, b, w, p = rng.normal(size=4)

    def condition(t, s=sin, c=cos):
        return a * s(3 * w * t + p) + b * c(2 * t) + 0.3 * a * b * t - 0.5 * b

    found = np.array(places(lambda t, x: where(condition(t), x[0], 0)))
    grid = np.linspace(0, 10, 20_001)
    above = condition(grid, np.sin, np.cos) > 0
    crossing = grid[1:][above[1:] != above[:-1]]
    near = abs(found[:, None] - crossing[None]) if len(found) else np.zeros((0, len(crossing)))
    assert (near.min(0, initial=np.inf) <= 6e-4).all()
    for t in found:
        sides = condition(np.array([t - 1e-9, t + 1e-9]), np.sin, np.cos)
        assert sides[0] * sides[1] <= 0 or abs(sides).max() < 1e-8


def test_traced_comparisons_are_numbers():
    """They agree with Python's on floats, NaN included."""
    nan = float("nan")

    def compare(x, y):
        return [x < y, x > y, x <= y, x >= y, x < 2, x > 2, x <= 2, x >= 2, 2 < x, 2 >= x]

    graph = trace(lambda x, y: np.array(compare(x, y)), [Port("x", ()), Port("y", ())])
    from kinetree.engine import interpret

    for x in (1.0, 2.0, 3.0, nan, math.inf):
        for y in (1.0, 2.0, 3.0, nan, -math.inf):
            (found,) = interpret(graph, np.array(x), np.array(y))
            assert found.tolist() == [float(c) for c in compare(x, y)]


def test_a_law_that_branches_on_a_comparison_is_still_refused():
    def law(t, q, dq):
        return np.array([1.0 if t > 1 else 0.0] * len(dq))

    robot = kt.robots.double_pendulum()
    motion = robot.simulate([0.1, 0.2], duration=0.1, controller=law, limits="ignore")
    assert not motion.meta["compiled"] and "truth value" in motion.meta["note"]


def cart():
    rail = kt.Builder("rail").link("base").link("cart", 2.0, I_com=np.eye(3))
    return rail.joint("x", "prismatic", "base", "cart", axis=(1, 0, 0)).build()


@pytest.mark.filterwarnings("error")
def test_a_gaussian_force_warns_of_nothing():
    pushed = cart().simulate(
        [0.0], duration=6.0, tau=lambda t: np.array([np.exp(-(((t - 3.1) / 0.05) ** 2))])
    )
    assert pushed.dq[-1, 0] == pytest.approx(0.05 * np.sqrt(np.pi) / 2, rel=1e-9)


def test_a_function_of_time_in_python_says_what_may_be_missed():
    def pulse(t):
        return np.array([2000.0 if 60 < float(t) < 60.001 else 0.0])

    found = cart().simulate([0.0], duration=100.0, tau=pulse).meta
    assert found["compiled"] and "shorter than the duration / 2,048" in found["note"]
    assert "tau = 'pulse'" in found["note"]
    assert cart().simulate([0.0], duration=1.0, tau=lambda t: np.array([t])).meta["note"] is None


@pytest.mark.parametrize("places", [2046, 2047, 2048, 2049])
def test_a_pulse_of_that_length_in_python_is_never_missed(places):
    begin, length = 1234 / places + 1e-9, 1.0001 / 2048

    def pulse(t):
        return np.array([2.0 / length if begin < float(t) < begin + length else 0.0])

    assert cart().simulate([0.0], duration=1.0, tau=pulse).dq[-1, 0] == pytest.approx(1, rel=1e-9)
