"""Uniform time scaling: exact factors, and what slowing down cannot mend."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.motion import Trajectory, excitation, quintic, scale_time, sinusoid
from motion_robots import GRAVITY, INERTIA, MASS, PANDA_END, PANDA_START, lift, wheel

W = 2 * np.pi
MANY = pytest.mark.many


def swing(robot, amplitude=1.0, dt=0.0107):
    return sinusoid([0], [amplitude], [1.0], 2.0, dt, phase=0.2, robot=robot)


def test_inertia_alone_slows_by_the_root_of_the_excess():
    limit = INERTIA * W * W / 3
    report = wheel(effort=limit).check(swing(wheel()))
    assert report.slower == pytest.approx(np.sqrt(3), rel=1e-7)
    assert report.scaling.fastest == report.slower


def test_speed_slows_in_proportion():
    report = wheel(velocity=W / 5).check(swing(wheel()))
    assert report.slower == pytest.approx(5, rel=1e-7)


def test_gravity_stays_what_it_is():
    limit = MASS * (GRAVITY + 0.5 * W * W)
    report = lift(effort=limit).check(swing(lift()))
    assert report.slower == pytest.approx(np.sqrt(2), rel=1e-7)


def test_room_is_told():
    limit = INERTIA * W * W * 4
    report = wheel(effort=limit).check(swing(wheel()))
    assert report.ok and report.slower == 1
    assert report.scaling.fastest == pytest.approx(1 / 2, rel=1e-7)
    assert "2 times as fast" in str(report)


@pytest.mark.parametrize("coulomb", [0.0, 2.0])
def test_friction_follows_its_own_powers(coulomb):
    """At s times the speed: s^2 inertia, s viscous, 1 Coulomb; one sample has a closed form."""
    b, dq, ddq, limit = 4.0, 3.0, 5.0, 12.0
    robot = wheel(effort=limit, friction=kt.Friction(viscous=b, coulomb=coulomb))
    motion = Trajectory(t=[0], q=[[0]], dq=[[dq]], ddq=[[ddq]], model=robot.model)
    A, B, C = INERTIA * ddq, b * dq, coulomb - limit
    s = (-B + np.sqrt(B * B - 4 * A * C)) / (2 * A)
    assert robot.check(motion).slower == pytest.approx(1 / s, rel=1e-13)


def test_a_friction_function_is_searched_to_the_same_answer():
    b = 4.0
    known = wheel(effort=30, friction=kt.Friction(viscous=b))
    searched = wheel(effort=30, friction=kt.Friction(function=lambda dq: b * dq))
    factors = [robot.check(swing(robot, dt=0.001)).slower for robot in (known, searched)]
    assert factors[0] == pytest.approx(factors[1], rel=5e-6)  # peaks between samples: (w h)^2 / 8


@pytest.mark.parametrize("seed", [2, *(pytest.param(k, marks=MANY) for k in (0, 1, 3))])
@pytest.mark.parametrize("make", [kt.robots.panda, kt.robots.ur5e, kt.robots.puma_560])
def test_the_slower_motion_fits_and_no_faster_one_does(make, seed):
    robot = make()
    motion = excitation(robot, 2.0, 0.005, seed=seed)
    limits = {
        "effort": 0.5
        + 0.5 * np.abs(robot.inverse_dynamics(motion.q, motion.dq, 0 * motion.q)).max(0)
    }
    limits["effort"] = limits["effort"] + np.abs(robot.gravity_forces(motion.q)).max(0)
    factor = robot.check(motion, **limits).slower
    assert factor is not None
    if factor > 1:
        assert robot.check(scale_time(motion, factor), **limits).ok
        faster = robot.check(scale_time(motion, factor * (1 - 1e-5)), **limits)
        assert any(v.quantity == "torque" for v in faster.violations)
        peaks = [
            load.torque_use for load in robot.check(scale_time(motion, factor), **limits).joints
        ]
        assert max(peaks) == pytest.approx(1, abs=2e-6)


def test_where_gravity_is_too_much_nothing_slower_fits():
    robot = lift(effort=MASS * GRAVITY * 0.99)
    report = robot.check(swing(robot, 0.5))
    (load,) = report.scaling.overloads
    assert report.slower is None and load.gravity
    assert load.torque == pytest.approx(MASS * GRAVITY) and load.joint == "rise"
    assert "gravity alone needs 29.43 N on 'rise'" in str(report)
    assert "a slower motion does not help" in str(report)


def test_a_fall_may_fit_though_standing_does_not():
    """One instant of falling at 5 m/s^2: it fits as it is, and only up to a certain speed."""
    fall = {"t": [0], "q": [[0]], "dq": [[0]], "ddq": [[-5]]}
    robot = lift(effort=MASS * 6)
    report = robot.check(Trajectory(**fall, model=robot.model))
    assert report.ok and report.slower == 1
    assert report.scaling.fastest == pytest.approx(1 / np.sqrt((GRAVITY + 6) / 5), rel=1e-12)
    tight = lift(effort=MASS * 4)
    report = tight.check(Trajectory(**fall, model=tight.model))
    assert not report.ok and report.slower is None
    assert report.scaling.fastest == pytest.approx(1 / np.sqrt((GRAVITY + 4) / 5), rel=1e-12)
    assert "times as fast" in str(report)


def test_coulomb_friction_too_much_is_no_gravity():
    robot = wheel(effort=1.0, friction=kt.Friction(coulomb=1.5))
    report = robot.check(quintic([0], [1], 1, robot=robot))
    assert report.slower is None and not report.scaling.overloads[0].gravity
    assert "friction and gravity need" in str(report)


def test_positions_need_another_path():
    robot = wheel(upper=0.5)
    report = robot.check(quintic([0], [1], 1, robot=robot))
    assert report.slower == 1 and not report.ok
    assert "another path" in str(report)


def test_scaled_trajectories_keep_their_path():
    robot = kt.robots.panda()
    motion = quintic(PANDA_START, PANDA_END, 1, robot=robot)
    slow = scale_time(motion, 2.5, robot)
    assert slow.duration == pytest.approx(2.5) and np.array_equal(slow.q, motion.q)
    assert np.allclose(slow.dq * 2.5, motion.dq) and np.allclose(slow.ddq * 6.25, motion.ddq)
    assert slow.tau is not None
    again = robot.inverse_dynamics(slow.q, slow.dq, slow.ddq)
    assert np.array_equal(slow.tau, again)
    with pytest.raises(InputError, match="factor is 0"):
        scale_time(motion, 0)
