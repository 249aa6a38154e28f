"""Times at which functions of time switch, against bisection on a dense grid and exact numbers."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine import Port, optimise, trace
from kinetree.scalars import absolute, sin, where
from kinetree.simulate.core.switches import time_switches

PORTS = [Port("t", ()), Port("x", (2,))]


def graph_of(function):
    return optimise(trace(lambda t, x: np.array([function(t, x), x[0]]), PORTS))


def switches(function, end=10.0):
    return sorted(set(time_switches(graph_of(function), end)))


def places(function, end=10.0):
    return [0.5 * (a + b) for a, b in switches(function, end)]


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


def cart():
    rail = kt.Builder("rail").link("base").link("cart", 2.0, I_com=np.eye(3))
    return rail.joint("x", "prismatic", "base", "cart", axis=(1, 0, 0)).build()


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
