"""Trapezoids: the least time, one joint at its bound, all joints on one line."""

import numpy as np
import pytest

from kinetree.errors import InputError
from kinetree.motion import trapezoid
from kinetree.robots import panda

Q0, Q1 = np.array([0.0, 1.0, 2.0]), np.array([2.0, 0.5, 2.0])


def test_speeds_reach_the_bound_and_never_exceed_it():
    motion = trapezoid(Q0, Q1, velocity=[0.8, 5, 5], acceleration=[4, 0.5, 9], dt=1e-3)
    # joint 1: v = 0.8 / 2 a second of the way; joint 2: a = 0.5 / 0.5
    v, a = 0.4, 1.0
    assert motion.duration == pytest.approx(1 / v + v / a, rel=1e-14)
    assert np.abs(motion.dq).max(axis=0) == pytest.approx([0.8, 0.2, 0], rel=1e-12)
    assert np.abs(motion.ddq).max(axis=0) == pytest.approx([2.0, 0.5, 0], rel=1e-12)
    assert np.allclose(motion.q[[0, -1]], [Q0, Q1], rtol=0, atol=1e-14)


def test_a_short_way_has_no_cruise():
    motion = trapezoid([0], [1], velocity=100, acceleration=4, dt=1e-3)
    assert motion.duration == pytest.approx(2 * np.sqrt(1 / 4), rel=1e-14)
    assert motion.dq.max() == pytest.approx(2, rel=1e-14)  # the peak is a sample
    assert np.all(np.abs(motion.ddq) == 4)


def test_all_joints_stay_on_the_line():
    motion = trapezoid(Q0, Q1, velocity=1, acceleration=3)
    share = motion.q[:, 0] / 2
    assert np.allclose(motion.q, Q0 + share[:, None] * (Q1 - Q0), rtol=0, atol=1e-14)


def test_rates_integrate_to_positions():
    motion = trapezoid(Q0, Q1, velocity=1, acceleration=3, dt=1e-3)
    steps = np.diff(motion.t)[:, None] * (motion.dq[1:] + motion.dq[:-1]) / 2
    assert np.allclose(np.cumsum(steps, axis=0), motion.q[1:] - Q0, atol=3 * 1e-6 / 4)


def test_a_longer_duration_is_kept():
    motion = trapezoid([0], [1], velocity=1, acceleration=2, duration=3.0, dt=1e-3)
    assert motion.duration == pytest.approx(3.0, rel=1e-14)
    assert motion.q[-1, 0] == pytest.approx(1, rel=1e-14)
    with pytest.raises(InputError, match=r"takes at least 1\.5 s"):
        trapezoid([0], [1], velocity=1, acceleration=2, duration=1.4)


def test_velocities_are_the_robots_own():
    robot = panda()
    q = np.array([0, 0, 0, -1, 0, 1, 0.0])
    motion = trapezoid(q, q + 0.5, acceleration=10, robot=robot)
    assert motion.dq.max() == pytest.approx(2.175, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"acceleration": 1}, "needs velocity bounds"),
        ({"acceleration": -1, "velocity": 1}, "acceleration is .* above 0"),
        ({"acceleration": [1, 2], "velocity": 1}, "acceleration has 2 entries; expected 3"),
        ({"acceleration": 1, "velocity": 1, "dt": 0}, "dt is 0 s"),
    ],
)
def test_bad_bounds_are_named(options, says):
    with pytest.raises(InputError, match=says):
        trapezoid(Q0, Q1, **options)


def test_no_way_is_no_trapezoid():
    with pytest.raises(InputError, match="same position"):
        trapezoid(Q0, Q0, velocity=1, acceleration=1)
