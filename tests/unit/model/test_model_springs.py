"""Springs of a model: names, mimic joints, refusals in words, and changed robots."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import KinetreeError, NameLookupError
from kinetree.joints import Mimic, Spring
from random_robots import random_model

Q = np.array([0.3, -0.7, 0.4])


def arm(**springs):
    """Two hinges and a slide; "twin" follows the first hinge at -2 q + 0.25."""
    body = {"m": 1, "com": (0.1, 0, 0), "I_com": np.eye(3) / 100}
    builder = kt.Builder("arm").link("base")
    for name in ("upper", "lower", "tip", "side"):
        builder.link(name, **body)
    builder.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.joint("knee", "revolute", "upper", "lower", at=(0.3, 0, 0), axis=(0, 1, 0))
    builder.joint("slide", "prismatic", "lower", "tip", axis=(1, 0, 0))
    twin = Mimic("hip", -2, 0.25)
    builder.joint("twin", "revolute", "base", "side", axis=(0, 1, 0), mimic=twin)
    for name, spring in springs.items():
        builder.spring(name, spring)
    return builder.build()


def forces(robot, q=Q):
    return dynamics.spring_forces(robot.model, q)


def test_a_spring_of_a_mimic_joint_acts_through_its_leader():
    robot = arm(twin=Spring(5, rest=0.1))
    stands = -2 * 0.3 + 0.25
    assert forces(robot) == pytest.approx([-2 * 5 * (stands - 0.1), 0, 0])
    energy = dynamics.spring_energy(robot.model, Q)
    assert energy == pytest.approx(5 / 2 * (stands - 0.1) ** 2)
    both = arm(tie=Spring(5, joints={"hip": 1, "twin": 1}))
    assert forces(both) == pytest.approx([-5 * (-0.3 + 0.25), 0, 0])


def test_springs_are_added_replaced_and_removed_by_name():
    robot = arm(knee=Spring(20))
    changed = robot.with_springs({"knee": Spring(1), "tie": Spring(2, 0, {"hip": 1})})
    assert [x.name for x in changed.model.springs] == ["knee", "tie"]
    assert forces(changed) == pytest.approx([0.6, -0.7, 0])
    assert not changed.with_springs({"knee": None, "tie": None}).model.springs
    with pytest.raises(NameLookupError, match=r"spring to remove is 'x'.*'knee'"):
        robot.with_springs({"x": None})


def test_a_locked_joint_shifts_the_rest_of_a_spring_between_joints():
    robot = arm(tie=Spring(5, 0.2, {"hip": 1, "knee": -3}), hip=Spring(7, 0.1))
    locked = robot.lock({"knee": -0.7})
    rest = [0, 2]
    assert forces(locked, Q[rest]) == pytest.approx(forces(robot)[rest], rel=1e-14)
    both = robot.lock({"hip": 0.3, "knee": -0.7})
    assert not both.model.springs
    texts = [note.text for note in both.model.notes]
    assert "spring 'tie' has no effect: its joints are fixed" in texts


def test_locking_keeps_the_joint_forces_of_the_other_joints():
    model = random_model(3, 5, springs=True, drives=False)
    q, rest = dynamics.random(model, np.random.default_rng(0)), np.zeros(4)
    locked = kt.Robot(model).lock({"joint3": q[2]}).model
    others = [0, 1, 3, 4]
    found = dynamics.bias_forces(locked, q[others], rest)
    assert found == pytest.approx(dynamics.bias_forces(model, q, np.zeros(5))[others], rel=1e-12)


def test_a_part_keeps_its_springs_and_refuses_to_cut_one():
    robot = arm(slide=Spring(5, 0.2), tie=Spring(1, 0, {"knee": 1, "slide": 2}))
    part = robot.subtree("upper")
    assert forces(part, Q[1:]) == pytest.approx(forces(robot)[1:])
    with pytest.raises(KinetreeError, match="spring 'tie' acts on is 'knee'"):
        robot.subtree("lower")


def test_attached_robots_bring_their_springs_under_the_prefix():
    robot = arm(tie=Spring(5, 0.2, {"hip": 1, "knee": -3}), hip=Spring(7, 0.1))
    pair = robot.attach(robot, "tip", prefix="b/")
    assert [x.name for x in pair.model.springs] == ["tie", "hip", "b/tie", "b/hip"]
    found = forces(pair, np.concatenate([Q, 2 * Q]))
    assert found == pytest.approx([*forces(robot), *forces(robot, 2 * Q)])
