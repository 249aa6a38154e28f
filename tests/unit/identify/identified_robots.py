"""Robots to identify, wrong descriptions of them, and recordings that several files share."""

import dataclasses

import numpy as np

import kinetree as kt
from kinetree.friction import Friction
from kinetree.motion import excitation
from kinetree.spatial import pseudo_inertia


def with_drives(robot):
    """The robot with friction and armature on every joint, each its own."""
    joints = tuple(
        dataclasses.replace(
            joint,
            armature=0.05 + 0.01 * k,
            friction=Friction((0.5 + 0.1 * k,) * 2, (0.8 - 0.05 * k,) * 2),
        )
        for k, joint in enumerate(robot.model.joints)
    )
    return kt.Robot(robot.model.replace(joints=joints))


def misjudged(robot, seed=0):
    """The same robot described with masses and inertias that are off by up to a third."""
    s = np.random.default_rng(seed).uniform(0.7, 1.4, len(robot.model.links))
    model = robot.model
    return kt.Robot(model.replace(m=model.m * s, I_com=model.I_com * s[:, None, None]))


def spatial_arm():
    """Three joints that turn about different axes; three bodies of general shape."""
    arm = kt.Builder("spatial arm").link("base")
    arm.link("turret", 3.0, (0.02, 0.01, 0.1), np.diag([0.03, 0.025, 0.02]))
    arm.link("upper", 2.0, (0.2, 0.01, -0.02), np.diag([0.004, 0.02, 0.022]))
    arm.link("lower", 1.2, (0.15, -0.02, 0.01), np.diag([0.002, 0.011, 0.01]))
    limits = kt.joints.Limits(-2.5, 2.5, 4.0, 80.0)
    arm.joint("turn", "revolute", "base", "turret", axis=(0, 0, 1), limits=limits)
    arm.joint("lift", "revolute", "turret", "upper", at=(0, 0, 0.3), axis=(0, 1, 0), limits=limits)
    arm.joint("bend", "revolute", "upper", "lower", at=(0.4, 0, 0), axis=(0, 1, 0), limits=limits)
    return arm.build()


# one object for all files of tests: its kernels are compiled once
ARM = spatial_arm()
TRUE = with_drives(ARM)
DESCRIBED = misjudged(TRUE)
BARE = misjudged(ARM)  # described without friction and armature


def arm_motion(robot=TRUE, duration=10.0, dt=0.02, seed=1):
    return excitation(robot, duration, dt, harmonics=5, seed=seed)


def exists(model, slack=0.0):
    """Every body has mass and positive second moments, every drive loses energy and has inertia."""
    bodies = zip(model.m, model.com, model.I_com, strict=True)
    return all(np.linalg.eigvalsh(pseudo_inertia(*body))[0] > slack for body in bodies) and all(
        min(*x.friction.viscous, *x.friction.coulomb, x.armature) >= 0 for x in model.joints
    )


def covered(result, true):
    """Which intervals contain the true base parameters."""
    truth = result.base.K @ result.params.values(true.model)
    low, high = result.interval().T
    return (low <= truth) & (truth <= high)
