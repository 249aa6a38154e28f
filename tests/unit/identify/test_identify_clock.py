"""Held, dropped and jittered samples: the times at which a robot was measured."""

import re

import numpy as np
import pytest
from identified_robots import ARM as ROBOT

from kinetree.identify import make_recording
from kinetree.identify.clock import held_rows, measured_times


def waves(t, seed=0, n=3):
    """A smooth motion of several joints, (T, n)."""
    rng = np.random.default_rng(seed)
    w, phase = 2 * np.pi * rng.uniform(0.1, 0.9, (4, n)), rng.uniform(0, 7, (4, n))
    return sum(0.25 * np.sin(t[:, None] * w[k] + phase[k]) for k in range(4))


def logged(seed, dropped=0.05, repeated=0.05, jitter=0.4, dt=1e-3, count=6000):
    """Rows of a robot that measures at even steps: their steps, times of the file, positions."""
    rng = np.random.default_rng(seed)
    there = rng.random(count) >= dropped
    there[0] = True
    rows = np.flatnonzero(there)
    rows = np.repeat(rows, 1 + (rng.random(len(rows)) < repeated))
    t = dt * (rows + jitter * rng.random(len(rows)) + 0.5 * np.r_[False, np.diff(rows) == 0])
    order = np.argsort(t, kind="stable")
    q = waves(dt * np.arange(count), seed) + 1e-7 * rng.normal(size=(count, 3))
    return rows[order], t[order], q[rows[order]]


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_counted_where_the_clock_of_the_file_is_uneven(seed):
    rows, t, q = logged(seed)
    held = held_rows(t, q)
    assert np.array_equal(held, np.r_[False, np.diff(rows) == 0])
    times = measured_times(t[~held], q[~held])
    steps = times - 1e-3 * rows[~held]
    inner = slice(1000, -1000)  # near the ends, speeds are not reliable: times of the file decide
    assert np.ptp(steps[inner]) < 1e-5
    assert np.abs(times - t[~held]).max() < 2e-3


def test_units_and_order_of_the_joints_do_not_change_the_steps():
    _, t, q = logged(1)
    held = held_rows(t, q)
    t, q = t[~held], q[~held]
    times = measured_times(t, q)
    assert np.allclose(measured_times(1000 * t, q * [1e3, 1, 1e-6]) / 1000, times, atol=1e-9)
    assert np.allclose(measured_times(t, q[:, ::-1]), times, atol=1e-9)
    assert np.allclose(measured_times(t + 50, q) - 50, times, atol=1e-7)


def test_times_that_explain_the_motion_are_kept():
    rng = np.random.default_rng(0)
    t = 1e-3 * (np.arange(6000) + rng.uniform(-0.4, 0.4, 6000))
    assert measured_times(t, waves(t) + 1e-7 * rng.normal(size=(6000, 3))) is None
    even = 1e-3 * np.arange(6000)
    assert measured_times(even, waves(even)) is None


def test_steps_that_the_motion_cannot_show_are_not_counted():
    rng = np.random.default_rng(0)
    t = 1e-3 * (np.arange(6000) + 0.4 * rng.random(6000))
    q = waves(1e-3 * np.arange(6000))
    assert measured_times(t, q + 1e-7 * rng.normal(size=q.shape)) is not None
    noisy = q + 0.01 * rng.normal(size=q.shape)
    still = 0 * q
    late = np.sort(t + 3e-3 * rng.random(6000))
    for times, positions in ((t, noisy), (t, still), (late, noisy), (t[:20], q[:20])):
        assert measured_times(times, positions) is None


def test_rest_is_not_taken_for_held_samples():
    t = 1e-3 * np.arange(4000)
    s = np.clip((t - 1) / 1.5, 0, 1)[:, None]
    q = (10 * s**3 - 15 * s**4 + 6 * s**5) * [1.0, 0.5, -0.7]
    assert not held_rows(t, q).any()
    assert not held_rows(t, np.round(q / 1.5e-3) * 1.5e-3).any()  # 12 bits
    assert not held_rows(t, 0 * q).any()
    ramp = np.where(s > 0, np.minimum(s, 0.4), 0) * [1.0, 0.5, -0.7]  # begins and ends abruptly
    found = held_rows(t, ramp)
    assert not found[:995].any() and not found[1700:].any()


@pytest.mark.parametrize("times", [2, 5, 10])
def test_a_logger_that_is_faster_than_the_robot_is_seen(times):
    t = 1e-3 * np.arange(6000)
    q = waves(t)[(np.arange(6000) // times) * times]
    held = held_rows(t, q)
    expected = np.arange(6000) % times != 0
    inner = slice(2 * times, -2 * times)  # nothing is known before and after the record
    assert np.array_equal(held[inner], expected[inner])


def test_the_notes_of_a_recording_count_what_was_changed():
    rows, t, q = logged(2)
    tau = np.random.default_rng(0).normal(size=q.shape)
    notes = make_recording(ROBOT, t, q, tau).notes
    held = len(rows) - len(set(rows))
    missing = rows[-1] + 1 - len(set(rows))
    assert notes[0].startswith(f"{held:,} of {len(rows):,} rows repeat the row before")
    assert re.search(r"replaced by whole steps of (0.001|0.00099999\d*|0.001000\d*) s", notes[1])
    assert notes[2].split()[0] in {str(missing + k) for k in (-1, 0, 1)}


def test_accelerations_over_counted_steps_are_those_of_the_motion():
    _, t, q = logged(3)
    tau = np.zeros_like(q) + t[:, None]
    data = make_recording(ROBOT, t, q, tau)
    late = np.median(data.t - 1e-3 * np.rint(data.t / 1e-3))
    at = data.t - 0.2e-3  # the file is late by 0.2 ms on average
    true = (waves(at + 1e-4, 3) - 2 * waves(at, 3) + waves(at - 1e-4, 3)) / 1e-8
    assert np.abs(late) < 5e-4
    assert np.sqrt(np.mean((data.ddq - true) ** 2)) < 0.01 * true.std()
