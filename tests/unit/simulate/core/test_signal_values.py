"""Signals at their samples, between and beyond them, against NumPy's own interpolation."""

import numpy as np
import pytest

from kinetree.simulate import signal
from kinetree.simulate.core.signals import hold, line, sample_signal

T = np.array([-1.0, 0.25, 0.3, 2.0, 5.5])  # uneven, and not from zero
VALUES = np.random.default_rng(4).normal(size=(5, 2, 3))
TIMES = np.concatenate([np.linspace(-3, 7, 101), T])
NOT_ENDS = np.zeros(len(TIMES), bool)


def test_a_linear_signal_is_numpys_interpolation():
    found = line(signal(T, VALUES, "linear"), TIMES, NOT_ENDS)
    for i in range(2):
        for j in range(3):
            expected = np.interp(TIMES, T, VALUES[:, i, j])
            assert found[:, i, j] == pytest.approx(expected, abs=1e-14)


def test_a_held_signal_has_the_value_of_the_last_sample():
    found = hold(signal(T, VALUES), TIMES, NOT_ENDS)
    for at, value in zip(TIMES, found, strict=True):
        before = [k for k in range(len(T)) if T[k] <= at]
        assert np.array_equal(value, VALUES[max(before, default=0)])


def test_at_the_end_of_a_step_a_held_signal_has_not_changed_yet():
    found = hold(signal(T, VALUES), T, np.ones(5, bool))
    assert np.array_equal(found, VALUES[[0, 0, 1, 2, 3]])
    one = signal([0.5], VALUES[:1])
    assert np.array_equal(hold(one, np.array([0.0, 9.0]), np.zeros(2, bool)), VALUES[[0, 0]])


@pytest.mark.parametrize("kind", ["hold", "linear"])
def test_one_sample_is_a_constant(kind):
    sampled = sample_signal(signal([0.5], VALUES[:1], kind), (3,), "tau")
    (found,) = sampled.at(np.array([0.0, 0.5, 9.0]), np.zeros(3, bool))
    assert np.array_equal(found, VALUES[[0, 0, 0]])
    assert sampled.batch == (2,) and sampled.shapes == ((3,),)
