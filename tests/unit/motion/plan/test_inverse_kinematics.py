"""Inverse kinematics undoes forward kinematics, within limits, or says why it cannot."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import bounds_of
from kinetree.motion import inverse_kinematics

ARMS = {"panda": kt.robots.panda(), "ur5e": kt.robots.ur5e(), "iiwa": kt.robots.iiwa_14()}
MANY = pytest.mark.many


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("case", [1, 7, *(pytest.param(k, marks=MANY) for k in (0, 2, 3, 4, 5, 6))])
def test_reachable_poses_are_reached_within_the_limits(name, case):
    robot = ARMS[name]
    T = robot.pose(robot.random(rng=case))
    q = robot.inverse_kinematics(T, robot.random(rng=case + 100))
    assert np.array_equal(q, inverse_kinematics(robot, T, robot.random(rng=case + 100)))
    assert np.allclose(robot.pose(q), T, rtol=0, atol=2e-10)
    bounds = bounds_of(robot.model)
    assert np.all((q >= bounds.lower) & (q <= bounds.upper))


def test_a_near_start_gives_the_near_answer():
    robot = ARMS["ur5e"]
    q = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    found = robot.inverse_kinematics(robot.pose(q), q + 0.05)
    assert np.allclose(found, q, atol=1e-8)


def test_it_converges_to_rounding_where_it_started_there():
    robot = ARMS["panda"]
    q = robot.random(rng=3)
    assert np.array_equal(robot.inverse_kinematics(robot.pose(q), q), q)


def test_positions_alone_need_fewer_joints():
    robot = kt.robots.planar_2r()
    T = robot.pose([0.4, 0.8])
    q = robot.inverse_kinematics(T, [0.1, 0.1], part="position")
    assert np.allclose(robot.pose(q)[:3, 3], T[:3, 3], rtol=0, atol=1e-9)


def test_any_frame_and_any_joint_can_be_asked_for():
    robot = kt.robots.quadruped()
    start = robot.neutral()
    start[7:] = np.tile([0.1, 0.6, -1.2], 4)
    T = robot.pose(start, "rear_left_foot") @ kt.spatial.translation((0.05, 0.02, 0.1))
    q = robot.inverse_kinematics(T, start, frame="rear_left_foot")
    assert np.allclose(robot.pose(q, "rear_left_foot"), T, rtol=0, atol=1e-9)
    assert np.linalg.norm(q[:4]) == pytest.approx(1, abs=1e-12)


def test_limits_hold_joints_back_and_are_named():
    builder = kt.Builder("arm").link("base").link("upper", 1.0).link("lower", 1.0)
    limits = kt.Limits(-0.5, 0.5)
    builder.joint("shoulder", "revolute", "base", "upper", axis=(0, 0, 1), limits=limits)
    builder.joint(
        "elbow", "revolute", "upper", "lower", at=(1, 0, 0), axis=(0, 0, 1), limits=limits
    )
    builder.frame("tip", "lower", (1, 0, 0), tool=True)
    robot = builder.build()
    T = kt.spatial.translation((0, 1.9, 0))  # needs the shoulder at a right angle
    with pytest.raises(InputError, match=r"'shoulder' at 0\.5.*at a limit"):
        robot.inverse_kinematics(T, part="position", restarts=3)
    inside = robot.pose([0.45, -0.3])
    q = robot.inverse_kinematics(inside, [-0.5, 0.5], part="position")
    assert np.allclose(robot.pose(q)[:3, 3], inside[:3, 3], atol=1e-9)


def test_out_of_reach_is_said_in_millimetres_and_degrees():
    robot = ARMS["panda"]
    with pytest.raises(
        InputError, match=r"does not reach .* 'tool' at position \[2\.0, 0\.0, 0\.5\]"
    ):
        robot.inverse_kinematics(kt.spatial.translation((2, 0, 0.5)), restarts=2)
    with pytest.raises(InputError, match=r"of 3 starts stays \d+(\.\d+)? mm and .* deg away"):
        robot.inverse_kinematics(kt.spatial.translation((2, 0, 0.5)), restarts=2)


@pytest.mark.parametrize(
    ("T", "options", "says"),
    [
        (np.eye(3), {}, r"T must have shape \(4, 4\)"),
        (2 * np.eye(4), {}, "last row"),
        (np.eye(4), {"part": "angle"}, "part is 'angle'"),
        (np.eye(4), {"q0": [0, 1]}, "q0 has 2 entries"),
    ],
)
def test_bad_arguments_are_named(T, options, says):
    with pytest.raises(InputError, match=says):
        ARMS["panda"].inverse_kinematics(T, **options)
