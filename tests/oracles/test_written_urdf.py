"""The URDF that we write is read by Pinocchio (with it urdfdom, and ROS) and by MuJoCo."""

import numpy as np
import pytest

from kinetree import Builder, Limits, algorithms, robots
from kinetree.identify import identify, simulated_recording
from kinetree.model import random_body, random_direction, random_pose
from kinetree.motion import excitation

pytestmark = pytest.mark.filterwarnings("ignore::kinetree.errors.KinetreeWarning")
REAL = ("hand", "iiwa_14", "panda", "quadruped", "ur5e")  # MuJoCo refuses point masses


def random_arm(seed, n=6):
    """Joints with and without each of their limits."""
    rng = np.random.default_rng(seed)
    builder = Builder(f"arm {seed}").link("base", *random_body(rng))
    names = ["base"]
    for i in range(n):
        kind = str(rng.choice(["revolute", "prismatic"]))
        some = [x if rng.random() < 0.5 else np.inf for x in (2.0, 1.0, 3.0, 50.0)]
        builder.link(f"link{i}", *random_body(rng))
        builder.joint(
            f"joint{i}", kind, str(rng.choice(names)), f"link{i}", at=random_pose(rng),
            axis=random_direction(rng), limits=Limits(-some[0], *some[1:]),
        )  # fmt: skip
        names.append(f"link{i}")
    return builder.build()


def gravity_by_name(robot):
    """Joint forces that hold the robot still at q = 0."""
    g = algorithms.gravity_forces(robot.model, algorithms.neutral(robot.model))
    return dict(zip(robot.model.dof_names, g.tolist(), strict=True))


def built_in(name):
    """URDF has no gravity of its own."""
    return getattr(robots, name)().with_gravity((0, 0, -9.81))


def pinocchio_reads(robot):
    pin = pytest.importorskip("pinocchio")
    theirs = pin.buildModelFromXML(robot.to_urdf(), mimic=True)
    assert theirs.nv == robot.n
    data = theirs.createData()
    g = pin.computeGeneralizedGravity(theirs, data, pin.neutral(theirs))
    ours = gravity_by_name(robot)
    for joint in robot.model.joints:
        there = theirs.joints[theirs.getJointId(joint.name)]
        if joint.follows is None and there.nv == 1:
            assert abs(g[there.idx_v] - ours[joint.name]) < 1e-10
            if np.isfinite(joint.limits.lower):
                assert theirs.lowerPositionLimit[there.idx_q] == joint.limits.lower
            assert theirs.effortLimit[there.idx_v] >= min(joint.limits.effort, 1e30)


def mujoco_reads(robot):
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(robot.to_urdf())
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    ours = gravity_by_name(robot)
    follows = any(joint.follows is not None for joint in robot.model.joints)
    for j in range(theirs.njnt):
        name = theirs.joint(j).name
        if name in ours and not follows:  # here a follower acts on what it follows, there not
            assert abs(data.qfrc_bias[theirs.jnt_dofadr[j]] - ours[name]) < 1e-10


@pytest.mark.parametrize("name", robots.TREES)
def test_pinocchio_reads_every_built_in_robot(name):
    pinocchio_reads(built_in(name))


@pytest.mark.parametrize("name", REAL)
def test_mujoco_reads_built_in_robots_with_real_bodies(name):
    mujoco_reads(built_in(name))


@pytest.mark.parametrize("seed", range(20))
def test_random_robots_are_read_by_both(seed):
    robot = random_arm(seed)
    pinocchio_reads(robot)
    mujoco_reads(robot)


@pytest.mark.parametrize("name", ["rp", "scara", "puma_560"])
def test_a_robot_of_point_masses_is_read_by_both_once_it_is_identified(name):
    robot = built_in(name)
    data = simulated_recording(robot, excitation(robot, 6, 0.01, reach=0.8), torque_noise=0.01)
    found = identify(robot, data).robot
    pinocchio_reads(found)
    mujoco_reads(found)
