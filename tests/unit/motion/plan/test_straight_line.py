"""Straight lines of the tool: on the line everywhere, with rates that are exact."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, SingularityError
from kinetree.motion import resample, straight_line
from kinetree.spatial import log_so3, pose, rpy, translation
from motion_robots import PANDA_START

PANDA = kt.robots.panda()
START = PANDA.pose(PANDA_START)
GOAL = pose(START[:3, :3] @ rpy(0.3, -0.2, 0.4), START[:3, 3] + [0.1, 0.25, -0.1])


def test_the_tool_is_on_the_line_to_rounding():
    motion = straight_line(PANDA, PANDA_START, GOAL, 1.0, 0.01)
    T = PANDA.pose(motion.q)
    way = GOAL[:3, 3] - START[:3, 3]
    share = (T[:, :3, 3] - START[:3, 3]) @ way / (way @ way)
    off = T[:, :3, 3] - START[:3, 3] - share[:, None] * way
    assert np.abs(off).max() < 1e-13
    s = motion.t**3 * (10 - 15 * motion.t + 6 * motion.t**2)
    assert np.allclose(share, s, rtol=0, atol=1e-13)
    turned = [log_so3(START[:3, :3].T @ R) for R in T[:, :3, :3]]
    whole = log_so3(START[:3, :3].T @ GOAL[:3, :3])
    assert np.allclose(turned, s[:, None] * whole, rtol=0, atol=1e-12)
    assert np.allclose(T[-1], GOAL, rtol=0, atol=1e-13)


def test_between_samples_it_stays_on_the_line():
    """q, dq and ddq belong together: the quintic through them errs by h^6."""
    motion = straight_line(PANDA, PANDA_START, GOAL, 1.0, 0.01)
    middle = resample(motion, motion.t[:-1] + 0.005)
    p = PANDA.pose(middle.q)[:, :3, 3] - START[:3, 3]
    way = GOAL[:3, 3] - START[:3, 3]
    assert np.abs(np.cross(p, way / np.linalg.norm(way))).max() < 1e-11


def test_rates_are_derivatives_of_positions_for_redundant_arms_too():
    worst = []
    for dt in (0.02, 0.01):
        motion = straight_line(PANDA, PANDA_START, GOAL, 1.0, dt)
        ends = motion.q[2:] - motion.q[:-2], motion.dq[2:] - motion.dq[:-2]
        worst.append([np.abs(x / (2 * dt) - y[1:-1]).max()
                      for x, y in zip(ends, (motion.dq, motion.ddq), strict=True)])  # fmt: skip
    assert np.log2(np.array(worst[0]) / worst[1]) == pytest.approx([2, 2], abs=0.1)


def test_joint_rates_are_the_least():
    """dq = J^+ V has no part that leaves the tool where it is."""
    motion = straight_line(PANDA, PANDA_START, GOAL, 1.0, 0.05)
    for q, dq in zip(motion.q, motion.dq, strict=True):
        J = PANDA.body_jacobian(q)
        null = np.linalg.svd(J)[2][6:]
        assert np.abs(null @ dq).max() < 1e-12


def test_a_position_alone_suits_arms_with_few_joints():
    robot = kt.robots.planar_2r()
    q0 = np.array([0.3, 1.2])
    goal = robot.pose([0.9, 0.9])[:3, 3]
    motion = straight_line(robot, q0, goal, 2.0, 0.01, part="position")
    p = robot.pose(motion.q)[:, :3, 3]
    way = goal - p[0]
    assert np.abs(np.cross(p - p[0], way)).max() < 1e-12
    assert np.allclose(p[-1], goal, rtol=0, atol=1e-12)


def test_lines_that_leave_the_workspace_or_the_limits_are_refused_in_time():
    with pytest.raises((InputError, SingularityError), match=r"at t = 0\.\d+ s"):
        straight_line(PANDA, PANDA_START, START @ translation((0, 0, 1.5)), 1.0)
    turned = START @ pose(rpy(0, 0, 2.9), np.zeros(3))
    with pytest.raises(
        InputError, match=r"at t = 0\.\d+ s the line needs 'panda_joint7' at \S+, bey"
    ):
        straight_line(PANDA, PANDA_START, turned, 1.0)
    with pytest.raises(InputError, match=r"at t = 0 s the line needs 'panda_joint4' at 1"):
        straight_line(PANDA, np.ones(7), GOAL, 1.0)


def test_a_singular_start_is_told():
    robot = kt.robots.planar_2r()
    stretched = robot.pose([0.3, 0.0])[:3, 3]
    with pytest.raises((InputError, SingularityError), match="singular"):
        straight_line(robot, [0.3, 0.4], stretched * 1.2, 1.0, part="position")


def test_a_line_from_near_a_singular_position_is_followed():
    """The arm is almost stretched: the least singular value of its Jacobian is about 0.01."""
    robot = kt.robots.planar_2r()
    q0 = np.array([0.3, 0.03])
    assert 1e-3 < np.linalg.svd(robot.body_jacobian(q0)[3:5])[1][-1] < 0.02
    goal = 0.9 * robot.pose(q0)[:3, 3]
    found = straight_line(robot, q0, goal, 1.0, part="position")
    np.testing.assert_allclose(robot.pose(found.q[-1])[:3, 3], goal, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((PANDA_START, GOAL, 1.0, -0.1), "dt is -0.1 s"),
        ((PANDA_START, GOAL, 0.0), "duration is 0 s"),
        ((PANDA_START, np.eye(3), 1.0), "goal must have shape"),
        ((PANDA_START[:3], GOAL, 1.0), "q0 has 3 entries"),
    ],
)
def test_bad_arguments_are_named(arguments, says):
    with pytest.raises(InputError, match=says):
        straight_line(PANDA, *arguments)
