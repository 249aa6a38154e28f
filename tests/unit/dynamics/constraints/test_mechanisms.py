"""Known mechanisms: degrees of freedom, motors and forces that follow from statics by hand."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Hold, Loop

I = 0.01 * np.eye(3)


@pytest.fixture(scope="module")
def platform():
    """A Stewart platform: six legs of a universal and a sliding joint under a free plate."""
    # in pairs: two regular hexagons would make every position singular
    thirds = np.repeat(np.arange(3), 2) * 2 * np.pi / 3
    low, high = (thirds + np.tile([-x, x], 3) for x in (0.2, 0.9))
    feet = np.array([np.cos(low), np.sin(low), 0 * low]).T
    hips = 0.5 * np.array([np.cos(high), np.sin(high), 0 * high]).T
    builder = kt.Builder("platform").link("base").link("plate", m=10, I_com=np.eye(3))
    builder.joint("free", "free", "base", "plate")
    given = {}
    for k, foot in enumerate(feet):
        for part in ("yaw", "tilt", "rod"):
            builder.link(f"{part}{k}", m=0.1, com=(0, 0, 0.1), I_com=I)
        builder.joint(f"yaw{k}", "revolute", "base", f"yaw{k}", axis=(1, 0, 0), at=foot)
        builder.joint(f"tilt{k}", "revolute", f"yaw{k}", f"tilt{k}", axis=(0, 1, 0))
        builder.joint(f"slide{k}", "prismatic", f"tilt{k}", f"rod{k}", axis=(0, 0, 1))
        builder.frame(f"hip{k}", "plate", hips[k])
        given[f"ball{k}"] = Loop(f"hip{k}", f"rod{k}", "point")
    tree = builder.build()
    q = np.zeros(tree.nq)
    q[[0, 6]] = 1  # the plate is one metre above the base
    for k in range(6):
        d = hips[k] + [0, 0, 1] - feet[k]
        yaw = np.arctan2(-d[1], d[2])
        tilt = np.arctan2(d[0], np.hypot(d[1], d[2]))
        q[7 + 3 * k : 10 + 3 * k] = yaw, tilt, np.linalg.norm(d)
    motors = [f"slide{k}" for k in range(6)]
    return tree, tree.constrained(given, actuated=motors, near=q), q, feet, hips


def test_a_stewart_platform_moves_in_six_ways_by_six_motors(platform):
    _, robot, q, _, _ = platform
    found = kt.constraints.mobility(robot)
    assert found.joints == 24 and found.degrees_of_freedom == 6 and found.sufficient
    assert found.redundant == () and found.independent == found.actuated
    assert np.abs(dynamics.constraint_errors(robot.model, q)).max() < 1e-12


def test_the_legs_of_a_platform_carry_its_weight_as_in_statics(platform):
    """With legs of almost no mass, six forces along the legs balance the weight of the plate."""
    _, robot, q, feet, hips = platform
    light = robot.model.replace(m=np.where(robot.model.m > 1, robot.model.m, 1e-10))
    tau = dynamics.constrained_inverse_dynamics(light, q, np.zeros(24), np.zeros(24)).tau
    tops = hips + np.array([0, 0, 1])
    directions = (tops - feet) / np.linalg.norm(tops - feet, axis=1)[:, None]
    wrench = np.vstack([directions.T, np.cross(tops, directions).T])
    forces = np.linalg.solve(wrench, [0, 0, 98.1, 0, 0, 0])
    assert np.abs(tau[8::3] - forces).max() < 1e-7


def test_a_five_bar_has_two_degrees_of_freedom():
    builder = kt.Builder("five_bar").link("base")
    for side, x in (("left", 0.0), ("right", 0.4)):
        builder.link(f"{side}1", m=1, com=(0.2, 0, 0), I_com=I)
        builder.link(f"{side}2", m=1, com=(0.2, 0, 0), I_com=I)
        builder.joint(f"{side}_hip", "revolute", "base", f"{side}1", at=(x, 0, 0))
        builder.joint(f"{side}_knee", "revolute", f"{side}1", f"{side}2", at=(0.4, 0, 0))
        builder.frame(f"{side}_tip", f"{side}2", (0.5, 0, 0))
    loop = {"pin": Loop("left_tip", "right_tip", "axis")}
    robot = builder.build().constrained(loop, actuated=["left_hip", "right_hip"])
    assert (
        kt.constraints.mobility(robot).degrees_of_freedom == 2
        and len(kt.constraints.mobility(robot).redundant) == 3
    )
    assert (
        kt.constraints.mobility(robot).independent == ("left_hip", "right_hip")
        and kt.constraints.mobility(robot).sufficient
    )


def test_a_held_body_is_carried_by_its_constraint():
    builder = kt.Builder("box").link("base").link("box", m=3.0, com=(0.1, 0, 0), I_com=I)
    tree = builder.joint("free", "free", "base", "box").build()
    robot = tree.constrained({"weld": Hold("box", "pose", np.eye(4))})
    q = tree.neutral()
    ddq, lam, _ = kt.constraints.forward_dynamics(robot, q, np.zeros(6), np.zeros(6))
    assert np.abs(ddq).max() < 1e-9
    assert np.abs(lam - [0, -0.1 * 3 * 9.81, 0, 0, 0, 3 * 9.81]).max() < 1e-8
