"""Planned motions: better than the random ones they start from, and within all limits."""

import dataclasses

import numpy as np
import pytest
from identified_robots import ARM, spatial_arm

import kinetree as kt
from kinetree.errors import InputError
from kinetree.identify import excite, identify, simulated_recording
from kinetree.model import bounds_of


@pytest.mark.parametrize("robot", [spatial_arm, kt.robots.panda], ids=["arm", "panda"])
def test_the_search_improves_the_condition_within_the_limits(robot):
    robot, told = robot(), []
    found = excite(robot, 8, 0.02, rounds=80, watch=lambda k, x: told.append(x))
    assert found.condition < 0.9 * found.before
    assert len(told) == 80 and np.all(np.diff(told) <= 0) and told[-1] == found.condition
    motion, bounds = found.motion, bounds_of(robot.model)
    assert np.all(motion.q >= bounds.lower) and np.all(motion.q <= bounds.upper)
    assert np.all(np.abs(motion.dq) <= 0.8001 * bounds.velocity)
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    assert np.all(np.abs(tau) <= bounds.effort)
    for x in (motion.dq, motion.ddq):
        assert np.abs(x[[0, -1]]).max() < 1e-9  # from rest to rest


def with_effort(robot, effort):
    joints = [
        dataclasses.replace(x, limits=dataclasses.replace(x.limits, effort=e))
        for x, e in zip(robot.model.joints, effort, strict=True)
    ]
    return kt.Robot(robot.model.replace(joints=tuple(joints)))


def test_weak_joints_get_a_smaller_motion_and_too_weak_ones_are_named():
    robot = with_effort(kt.robots.panda(), [32, 32, 32, 32, 4, 4, 4])
    found = excite(robot, 8, 0.02, rounds=20)
    assert np.isfinite(found.before) and found.condition <= found.before
    motion = found.motion
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    assert np.all(np.abs(tau).max(axis=0) <= bounds_of(robot.model).effort)
    with pytest.raises(
        InputError, match=r"'panda_joint2' needs .* of its 5 N m .* give another cen"
    ):
        excite(with_effort(robot, [5] * 7), 8, 0.02, rounds=5)


def test_forces_stay_below_a_torque_speed_curve():
    """The curve falls with speed: at the last speed there is no force left."""
    curve = ((0.0, 16.0), (1.0, 14.0), (3.0, 0.0))
    robot = ARM.with_drives({"lift": kt.Drive(curve=curve)})
    motion = excite(robot, 8, 0.02, rounds=10).motion
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)[:, 1]
    speed = np.abs(motion.dq[:, 1])
    driving = tau * motion.dq[:, 1] > 0
    allowed = np.interp(np.where(driving, speed, 0), *np.array(curve).T)
    assert np.all(np.abs(tau) <= allowed * (1 + 1e-9))
    free = excite(ARM, 8, 0.02, rounds=10).motion
    assert np.abs(motion.dq[:, 1]).max() < np.abs(free.dq[:, 1]).max()


def test_accelerations_stay_below_a_limit_that_is_given():
    free = excite(spatial_arm(), 8, 0.02, rounds=10).motion
    assert np.abs(free.ddq).max() > 3
    limit = np.array([3.0, 2.0, np.inf])
    motion = excite(spatial_arm(), 8, 0.02, rounds=10, acceleration=limit, use=0.9).motion
    assert np.all(np.abs(motion.ddq).max(axis=0) <= 0.9 * limit)
    with pytest.raises(InputError, match=r"acceleration is .* expected limits above 0"):
        excite(spatial_arm(), acceleration=-1)


def test_rates_are_those_of_the_positions():
    motion = excite(spatial_arm(), 8, 0.002, rounds=5).motion
    middle = (motion.q[2:] - motion.q[:-2]) / 0.004
    assert np.abs(middle - motion.dq[1:-1]).max() < 1e-3


def test_a_better_motion_gives_smaller_errors():
    robot = spatial_arm()
    planned = excite(robot, 8, 0.02, rounds=150, seed=2)
    from kinetree.motion import excitation

    errors = []
    for motion in (excitation(robot, 8, 0.02, seed=2), planned.motion):
        data = simulated_recording(robot, motion, torque_noise=0.1)
        found = identify(robot, data, hold_out=0)
        errors.append(found.fit.condition)
    assert errors[1] < errors[0]


def test_no_rounds_are_refused():
    with pytest.raises(InputError, match="expected 1 at least"):
        excite(spatial_arm(), rounds=0)


def test_peaks_between_samples_are_within_the_limits():
    """With all of the limits and few samples, on the series through them at 50 times as many."""
    robot = kt.robots.panda()
    motion = excite(robot, 4, 0.02, rounds=3, use=1).motion
    count = len(motion) - 1
    waves = np.fft.rfft(motion.q[:-1], axis=0)
    rates = waves * (2j * np.pi * np.arange(len(waves)) / 4)[:, None]
    q, dq = (np.fft.irfft(x, 50 * count, axis=0) * 50 for x in (waves, rates))
    limits = [x.limits for x in robot.model.joints]
    assert (np.abs(dq) <= [x.velocity for x in limits]).all()
    assert (q >= [x.lower for x in limits]).all() and (q <= [x.upper for x in limits]).all()
    with pytest.raises(InputError, match=r"dt is 0\.2 s"):
        excite(robot, 4, 0.2, rounds=3)
