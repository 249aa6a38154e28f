"""Defaults, texts, single samples and rare branches of planners, checks and interpolation."""

from io import StringIO

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, SingularityError
from kinetree.motion import (
    Trajectory,
    cubic,
    excitation,
    quintic,
    sinusoid,
    spline,
    straight_line,
    trapezoid,
)
from motion_robots import GRAVITY, INERTIA, MASS, PANDA_END, PANDA_START, lift, wheel

PANDA = kt.robots.panda()


def test_planners_sample_every_hundredth_of_a_second():
    """Unless asked for something else."""
    goal = PANDA.pose(PANDA_START) @ kt.spatial.translation((0.05, 0.05, 0.0))
    made = [
        cubic([0], [1], 0.5), quintic([0], [1], 0.5), spline([[0], [1]], 0.5),
        sinusoid(0, 1, 1, 0.5), excitation(PANDA, 0.5),
        straight_line(PANDA, PANDA_START, goal, 0.5),
        trapezoid([0], [1], velocity=4, acceleration=1000, duration=0.5),
    ]  # fmt: skip
    for plan in made[:-1]:
        assert len(plan) == 51 and np.allclose(np.diff(plan.t), 0.01), plan.name
    assert np.diff(made[-1].t).max() <= 0.01 + 1e-15 and len(made[-1]) in (51, 52, 53)
    assert excitation(PANDA, 0.5).name == "excitation"


def test_excitations_reach_one_radian_and_use_most_of_the_limits():
    robot = kt.robots.double_pendulum()
    assert np.abs(excitation(robot, 5, use=1.0).q).max() == pytest.approx(1.0, rel=1e-3)
    assert np.abs(excitation(robot, 5).q).max() == pytest.approx(0.8, rel=1e-3)
    assert np.array_equal(excitation(robot, 5).q, excitation(robot, 5, seed=0, harmonics=5).q)
    assert not np.array_equal(excitation(robot, 5).q, excitation(robot, 5, seed=1).q)
    half = excitation(robot, 6, periods=2)
    assert np.allclose(half.q[:300], half.q[300:600], atol=1e-12)
    with pytest.raises(InputError, match="harmonics is 3 and periods 0"):
        excitation(robot, 5, harmonics=3, periods=0)
    excitation(robot, 5, harmonics=3)


def test_centers_of_joints_with_one_limit_keep_a_radian_away():
    lower = wheel(lower=2.0)
    assert np.allclose(excitation(lower, 5, use=0.5).q[0], 3.0)
    upper = wheel(upper=-2.0)
    assert np.allclose(excitation(upper, 5, use=0.5).q[0], -3.0)
    both = wheel(lower=1.0, upper=4.0)
    assert np.allclose(excitation(both, 5).q[0], 2.5)


def test_a_line_beyond_a_limit_is_refused_at_the_first_sample_beyond():
    """The time in the message is that of the sample: compared with a robot without limits."""
    import dataclasses

    goal = PANDA.pose(PANDA_START) @ kt.spatial.pose(kt.spatial.rpy(0, 0, 2.9), np.zeros(3))
    free = kt.Robot(PANDA.model.replace(joints=tuple(
        dataclasses.replace(x, limits=kt.Limits()) for x in PANDA.model.joints)))  # fmt: skip
    whole = straight_line(free, PANDA_START, goal, 1.0, 0.02)
    limits = [(x.limits.lower, x.limits.upper) for x in PANDA.model.joints]
    low, high = np.array(limits).T
    beyond = ((whole.q < low) | (whole.q > high)).any(axis=1)
    t = whole.t[np.argmax(beyond)]
    with pytest.raises(InputError, match=rf"at t = {t:.4g} s the line needs"):
        straight_line(PANDA, PANDA_START, goal, 1.0, 0.02)


@pytest.mark.parametrize("late", [False, True])
def test_two_jumps_of_unequal_size_stay_within_the_interval(late):
    """Most of the change at one end, the rest far away: no ramp fits, nor two equal jumps."""
    first, second, share_left = (0.05, 0.9, 0.15) if not late else (0.1, 0.95, 0.85)
    a0, a1 = 3.0, -2.0
    knots, a = np.array([0, first, second, 1.0]), np.array([a0, a1 + (a0 - a1) * share_left, a1])
    h = np.diff(knots)
    v = np.concatenate([[0], np.cumsum(h * a)])
    q = np.concatenate([[0], np.cumsum(h * (v[1:] + v[:-1]) / 2)])
    motion = Trajectory(t=[0, 1], q=[[0], [q[-1]]], dq=[[0], [v[-1]]], ddq=[[a0], [a1]])
    fine = motion.resample(np.linspace(0, 1, 1001))
    assert fine.ddq.max() <= a0 * (1 + 1e-9) and fine.ddq.min() >= a1 * (1 + 1e-9)
    speed = np.concatenate([[0], np.cumsum(np.diff(fine.t) * fine.ddq[:-1, 0])])
    assert np.allclose(speed, fine.dq[:, 0], atol=0.01)
    assert np.allclose(fine.q[-1], q[-1]) and np.allclose(np.diff(fine.q[:, 0]) * 1000,
                                                          fine.dq[:-1, 0], atol=0.01)  # fmt: skip


def test_orientations_turn_at_constant_rate_between_samples():
    """Half way between two quaternions lies their normalised sum; positions half way."""
    robot = kt.robots.quadruped()
    q = np.stack([robot.neutral()] * 3)
    q[1, :4] = [np.cos(0.4), 0, np.sin(0.4), 0]
    q[2, :4] = [np.cos(0.9), 0, np.sin(0.9), 0]
    dq = np.zeros((3, robot.n))
    dq[:, 1] = [0.8, 1.0, 1.0]
    motion = Trajectory(t=[0, 1, 2], q=q, dq=dq, ddq=0 * dq, model=robot.model)
    found = motion.resample([0.25, 0.5, 1.5])
    for row, angle in zip(found.q, (0.1, 0.2, 0.65), strict=True):
        assert np.allclose(row[:4], [np.cos(angle), 0, np.sin(angle), 0], atol=1e-12)
    assert np.allclose(found.dq[:, 1], [0.85, 0.9, 1.0])
    batch = Trajectory(t=[0, 1, 2], **{x: np.stack([getattr(motion, x)] * 2, axis=1)
                                       for x in ("q", "dq", "ddq")}, model=robot.model)  # fmt: skip
    assert np.allclose(batch.resample([0.25, 0.5, 1.5]).q[:, 1], found.q, atol=1e-15)
    assert np.array_equal(motion.curve(motion.t)[0], motion.q)


def report():
    return PANDA.check(quintic(PANDA_START, PANDA_END, 0.6, robot=PANDA))


def test_columns_of_the_report_line_up():
    lines = str(report()).splitlines()
    heads, rows = lines[2:5], lines[5:12]
    assert len({len(row) for row in rows}) <= 2  # a mark at the end of a line is cut off
    ends = [len(row.rstrip(" !")) for row in rows]
    assert max(ends) - min(ends) <= 1
    at = rows[0].index("..")
    assert all(row[at : at + 2] == ".." or ".." in row for row in rows)
    assert all(row.startswith("  panda_joint") for row in rows)
    columns = [i for i in range(len(rows[0])) if all(i < len(x) and x[i] == " " for x in rows)]
    assert len(columns) >= 9 and len(heads) == 3
    assert max(len(line) for line in lines[:12]) < 110


def test_the_table_of_rich_has_no_frame():
    from rich.console import Console

    console = Console(width=100, record=True, file=StringIO(), color_system=None)
    console.print(report())
    text = console.export_text()
    assert sum(line.startswith("panda_joint") for line in text.splitlines()) == 7
    assert "─" in text and "│" not in text


def odd_friction(speed):
    """Friction that is neither viscous nor Coulomb: 0.2 of the cube of the speed."""
    return 0.2 * speed * speed * speed


def test_friction_of_any_kind_is_searched_for_speeds():
    """tau = s^2 I a + 0.2 (s v)^3 at the peaks of a sine: the root of a cubic."""
    friction = kt.Friction(function=odd_friction)
    robot = wheel(effort=30.0, friction=friction)
    plan = sinusoid([0], [1.0], [1.0], 2.0, 0.001, robot=robot)
    w = 2 * np.pi
    t = np.linspace(0, 1, 20001)

    def peak(s):
        ddq, dq = -w * w * np.sin(w * t) * s * s, w * np.cos(w * t) * s
        return np.abs(INERTIA * ddq + 0.2 * dq**3).max()

    low, high = 0.1, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if peak(middle) <= 30 else (low, middle)
    found = robot.check(plan)
    assert not found.ok and found.slower == pytest.approx(1 / low, rel=1e-4)
    assert found.scaling.fastest == pytest.approx(1 / low, rel=1e-4)
    strong = wheel(effort=400.0, friction=friction)
    found = strong.check(plan)
    assert found.ok and found.slower == 1 and found.scaling.fastest < 1
    s = 1 / found.scaling.fastest
    assert peak(s) == pytest.approx(400, rel=1e-3)


def test_steps_of_inverse_kinematics_stop_at_limits_and_use_the_others():
    """One joint is held by its limit; the rest takes over what it would have done."""
    builder = kt.Builder("gantry").link("base").link("one", 1.0).link("two", 1.0)
    limits = kt.Limits(-0.1, 0.1)
    builder.joint("x", "prismatic", "base", "one", axis=(1, 0, 0), limits=limits)
    builder.joint("y", "prismatic", "one", "two", axis=(1, 0, 0), limits=kt.Limits(-2, 2))
    builder.frame("tip", "two", (0, 0, 0), tool=True)
    robot = builder.build()
    for goal in (0.15, 1.5, 2.05):
        q = robot.inverse_kinematics(kt.spatial.translation((goal, 0, 0)), part="position")
        assert q.sum() == pytest.approx(goal, abs=1e-9) and abs(q[0]) <= 0.1
    with pytest.raises(InputError):
        robot.inverse_kinematics(kt.spatial.translation((5, 0, 0)), part="position")


def test_gravity_of_a_lift_in_the_report():
    robot = lift(effort=MASS * GRAVITY * 0.9)
    text = str(robot.check(quintic([0], [1], 5, robot=robot)))
    assert "gravity alone needs 29.43 N on 'rise'" in text
    assert "a slower motion does not help there" in text


def humped(speed):
    """Friction that is largest at 1 rad/s."""
    return 5 / (1 + 20 * (speed - 1) * (speed - 1))


def test_a_motion_that_fits_slower_or_much_faster_has_two_factors():
    """5 / (1 + 20 (s - 1)^2) <= 2 outside of 1 -+ sqrt(1.5 / 20)."""
    robot = wheel(effort=2.0, friction=kt.Friction(function=humped))
    t = np.linspace(0, 1, 11)
    one = np.ones((11, 1))
    motion = Trajectory(t=t, q=t[:, None], dq=one, ddq=0 * one, model=robot.model)
    found = robot.check(motion)
    assert found.slower == pytest.approx(1 / (1 - np.sqrt(1.5 / 20)), rel=1e-9)
    assert found.scaling.fastest == pytest.approx(0.01, rel=1e-9)


def test_reports_do_not_depend_on_when_a_motion_begins():
    robot = wheel(friction=kt.Friction(viscous=0.3))
    motion = sinusoid([0], [1], [1.0], 1.3, 0.01, robot=robot)
    here = robot.check(motion).joint("spin")
    later = robot.check(motion.replace(t=motion.t + 50)).joint("spin")
    for name in ("work", "drawn", "mean_power", "rms_torque", "mean_torque"):
        assert getattr(later, name) == pytest.approx(getattr(here, name), rel=1e-9), name
    assert here.drawn == pytest.approx(np.sum(np.maximum(motion_power(motion), 0)) * 0.01, rel=1e-2)


def motion_power(motion):
    return (INERTIA * motion.ddq + 0.3 * motion.dq) * motion.dq


def test_free_bases_have_no_straight_lines():
    robot = kt.robots.quadruped()
    with pytest.raises(InputError, match="a straight line takes joints of one degree of freedom"):
        straight_line(robot, robot.neutral(), np.eye(4), 1.0)


def test_free_bases_have_no_time_optimal_motions():
    robot = kt.robots.quadruped()
    q = np.stack([robot.neutral()] * 3)
    zero = np.zeros((3, robot.n))
    motion = Trajectory(t=[0, 1, 2], q=q, dq=zero, ddq=zero, model=robot.model)
    with pytest.raises(InputError, match="time-optimal scaling takes joints of one degree of free"):
        kt.motion.time_optimal(robot, motion)


@pytest.mark.parametrize(("q", "cause"), [(0.0, "gravity alone needs 29.43"),
                                          (1.0, "gravity and springs need 79.43")])  # fmt: skip
def test_the_load_of_a_spring_is_named_in_the_report(q, cause):
    """50 N/m that rest at 0, and 3 kg to be carried."""
    robot = lift(effort=20.0)
    if q:
        robot = robot.with_springs({"rise": kt.Spring(50.0)})
    still = Trajectory(t=[0, 1], q=[[q], [q]], dq=np.zeros((2, 1)), ddq=np.zeros((2, 1)),
                       model=robot.model)  # fmt: skip
    report = robot.check(still)
    assert f"{cause} N on 'rise'" in str(report) and f"{cause} N" in report._repr_html_()
    assert report.slower is None


def test_a_line_through_a_singularity_is_refused_there():
    robot = kt.robots.double_pendulum()
    q0 = np.array([0.3, 1.0])
    with pytest.raises(SingularityError, match=r"at t = 0\.5 s the line passes a singularity"):
        straight_line(robot, q0, -robot.pose(q0)[:3, 3], 1.0, part="position")
