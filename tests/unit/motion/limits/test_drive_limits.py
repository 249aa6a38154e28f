"""The limit check with torque-speed curves, against dense samples and closed forms."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import Trajectory, scale_time, sinusoid
from motion_robots import INERTIA, wheel

FORCE, SPEED = 20.0, 4.0
LINE = kt.Drive([(0, FORCE), (SPEED, 0)])


def swing(robot, amplitude=1.0, dt=0.0107, frequency=0.5):
    return sinusoid([0], [amplitude], [frequency], 2.0, dt, phase=0.2, robot=robot)


def at(robot, dq, ddq):
    return Trajectory(t=[0], q=[[0]], dq=[[dq]], ddq=[[ddq]], model=robot.model)


def test_a_force_ahead_is_compared_with_the_curve_and_one_behind_with_standstill():
    robot = wheel().with_drives({"spin": LINE})
    limit = FORCE * (1 - 3 / SPEED)
    assert robot.check(at(robot, 3, 0.999 * limit / INERTIA)).ok
    report = robot.check(at(robot, 3, 1.1 * limit / INERTIA))
    (violation,) = report.violations
    assert (violation.limit, violation.rate) == (pytest.approx(limit), 3)
    assert "limit 5 of its drive at 3 rad/s (110 %)" in str(violation)
    assert report.joint("spin").torque_use == pytest.approx(1.1)
    assert robot.check(at(robot, 3, -0.999 * FORCE / INERTIA)).ok
    braking = robot.check(at(robot, 3, -1.01 * FORCE / INERTIA)).violations
    assert [x.rate for x in braking] == [None]
    assert "limit -0" not in str(robot.check(at(robot, -5, -1)))


def test_scaling_solves_for_the_speed_at_which_force_and_curve_meet():
    """I ddq s^2 = F (1 - s dq / v): a quadratic of s."""
    robot = wheel().with_drives({"spin": LINE})
    dq, ddq = 3.0, 30.0
    s = np.roots([INERTIA * ddq, FORCE * dq / SPEED, -FORCE]).max()
    report = robot.check(at(robot, dq, ddq))
    assert report.slower == pytest.approx(1 / s, rel=1e-12)
    mirrored = robot.check(at(robot, -dq, -ddq))
    assert mirrored.slower == pytest.approx(1 / s, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_peaks_between_samples_are_those_of_a_dense_motion(seed):
    """Coarse samples find the same largest share of the limit as two hundred times as many."""
    rng = np.random.default_rng(seed)
    speeds = [0, *np.sort(rng.uniform(0.5, 4, 2)), 4.5]
    forces = [60, *np.sort(rng.uniform(35, 60, 2))[::-1], 30]
    robot = wheel(friction=kt.Friction(viscous=rng.uniform(0, 3)))
    robot = robot.with_drives({"spin": kt.Drive(list(zip(speeds, forces, strict=True)))})
    coarse, dense = (swing(robot, 1.0, dt, 0.6) for dt in (0.02, 0.0001))
    shares = [robot.check(x).joint("spin").torque_use for x in (coarse, dense)]
    assert shares[0] == pytest.approx(shares[1], rel=2e-4)


@pytest.mark.parametrize(("seed", "efficiency"), [(0, 1), (1, 0.7)])
def test_the_slower_motion_fits_and_no_faster_one_does(seed, efficiency):
    rng = np.random.default_rng(seed)
    robot = kt.robots.ur5e()
    motion = sinusoid(
        [0, -1, 1, 0, 0.5, 0], rng.uniform(0.3, 0.6, 6), rng.uniform(0.3, 0.8, 6), 3.0, 0.01,
        robot=robot,
    )  # fmt: skip
    tau = np.abs(robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)).max(0)
    fast = np.abs(motion.dq).max(0)
    drives = {
        name: kt.Drive(
            [(0, 3 * tau[k]), (fast[k], 1.5 * tau[k]), (1.5 * fast[k], 0)], None, efficiency
        )
        for k, name in enumerate(robot.joint_names)
    }
    robot = robot.with_drives(drives)
    factor = robot.check(motion).scaling.fastest
    for share, fits in ((1 + 1e-4, True), (1 - 1e-3, False)):
        report = robot.check(scale_time(motion, factor * share))
        assert (not any(x.quantity == "torque" for x in report.violations)) == fits


def test_a_mirrored_motion_gets_the_same_verdict():
    robot = wheel().with_drives({"spin": LINE})
    motion = swing(robot)
    mirrored = motion.replace(q=-motion.q, dq=-motion.dq, ddq=-motion.ddq)
    first, second = robot.check(motion), robot.check(mirrored)
    assert first.slower == pytest.approx(second.slower, rel=1e-12)
    times = [sorted(y for x in z.violations for y in (x.start, x.end)) for z in (first, second)]
    assert times[0] == pytest.approx(times[1]) and times[0]


def test_plots_show_the_force_of_the_drive_at_the_rate_of_the_moment():
    robot = wheel().with_drives({"spin": LINE})
    motion = swing(robot)
    (chart,) = motion.plot(panels=["tau"]).charts
    least, most = chart.series[0].limits
    dq = motion.dq[:, 0]
    np.testing.assert_allclose(most, np.minimum(FORCE * (1 - dq / SPEED), FORCE))
    np.testing.assert_allclose(least, -np.minimum(FORCE * (1 + dq / SPEED), FORCE))
