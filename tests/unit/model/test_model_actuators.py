"""Actuators of a model: names resolved, mimic joints, and robots that are changed."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.joints.actuation import actuate
from kinetree.errors import KinetreeError
from kinetree.joints import Actuator, Mimic
from kinetree.model import build_model

A = Actuator
ARM = kt.robots.planar_2r().with_actuators(
    {
        "both": A({"joint1": 2, "joint2": -1}, (3, 0.5, 0.2), (0.1, -4, -1)),
        "elbow": A.position("joint2", 50, 5, time_constant=0.1),
    }
)


def forces(model, q, dq, u, a):
    return actuate(model, np.asarray(q), np.asarray(dq), np.asarray(u), np.asarray(a)).tau


def test_actuators_are_added_replaced_and_removed_by_name():
    assert ARM.model.actuator_names == ("both", "elbow")
    assert ARM.model.activation_names == ("elbow",)
    other = ARM.with_actuators({"elbow": A.motor("joint2"), "new": A.motor("joint1")})
    assert other.model.actuator_names == ("both", "elbow", "new")
    assert other.model.activation_names == ()
    assert other.with_actuators({"both": None}).model.actuator_names == ("elbow", "new")


def test_a_description_makes_the_same_actuators_again():
    again = build_model(ARM.model.description, unphysical="allow")
    assert again.actuators == ARM.model.actuators


def test_a_locked_joint_becomes_a_part_of_the_law():
    held = ARM.lock({"joint1": 0.4}).model
    whole = forces(ARM.model, [0.4, 0.3], [0, 0.7], [0.5, 1], [0.2])
    part = forces(held, [0.3], [0.7], [0.5, 1], [0.2])
    assert abs(part - whole[1:]).max() < 1e-14
    gone = ARM.with_actuators({"m": A.motor("joint1")}).lock({"joint1": 0.4}).model
    assert gone.actuator_names == ("both", "elbow")
    assert any("actuator 'm' has no effect" in note.text for note in gone.notes)


def test_a_part_of_a_robot_keeps_the_actuators_within_it():
    with pytest.raises(KinetreeError, match="actuator 'both' acts on is 'joint1'"):
        ARM.subtree("link1")
    assert ARM.with_actuators({"both": None}).subtree("link1").model.actuator_names == ("elbow",)


def test_attached_robots_keep_their_actuators_under_other_names():
    pair = ARM.attach(ARM, prefix="b/").model
    assert pair.actuator_names == ("both", "elbow", "b/both", "b/elbow")
    q, dq = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    tau = forces(pair, q, dq, [1, 2, 3, 4], [0.5, 0.6])
    assert (tau[:2] == forces(ARM.model, q[:2], dq[:2], [1, 2], [0.5])).all()
    assert (tau[2:] == forces(ARM.model, q[2:], dq[2:], [3, 4], [0.6])).all()


def test_an_actuator_on_a_mimic_joint_acts_through_its_leader():
    build = kt.Builder("gripper").link("base").link("left", 1.0).link("right", 1.0)
    build.joint("l", "prismatic", "base", "left", axis=(1, 0, 0))
    mimic = Mimic("l", -2, 0.3)
    build.joint("r", "prismatic", "base", "right", axis=(1, 0, 0), mimic=mimic)
    robot = build.build().with_actuators({"x": A.position("r", 10, 2)})
    found = forces(robot.model, [0.1], [0.4], [0.5], [])
    length, speed = -2 * 0.1 + 0.3, -2 * 0.4
    assert found == pytest.approx([-2 * (10 * (0.5 - length) - 2 * speed)], rel=1e-14)
    again = build_model(robot.model.description, unphysical="allow")
    assert forces(again, [0.1], [0.4], [0.5], []) == pytest.approx(found, rel=1e-14)
