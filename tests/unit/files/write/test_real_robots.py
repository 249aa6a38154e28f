"""Real robots written and read again: the given files, skipped where that folder is absent."""

import dataclasses
from pathlib import Path

import pytest
from exported_robots import limits_by_name, worst_difference

import kinetree
from kinetree import load, robots
from kinetree.errors import KinetreeError
from kinetree.files.description.urdf import read_urdf_text
from kinetree.model import JointFriction, build_model

SHARED = Path(__file__).parents[5] / "shared" / "models" / "urdf"
FILES = sorted(SHARED.glob("*/*.urdf"))
pytestmark = pytest.mark.filterwarnings("ignore::kinetree.errors.KinetreeWarning")


def sayable(model):
    """The model without the data that URDF cannot represent."""
    joints = tuple(
        dataclasses.replace(
            x, armature=0, friction=x.friction if x.screw is not None else JointFriction()
        )
        for x in model.joints
    )
    return model.replace(joints=joints)


def check(robot):
    text = robot.to_urdf()
    found = build_model(read_urdf_text(text), unphysical="allow")
    assert found.coordinate_names == robot.model.coordinate_names
    assert set(robot.model.frames) <= set(found.frames)
    assert found.tool == robot.model.tool or f"the tool is '{robot.model.tool}'" in text
    assert limits_by_name(found) == limits_by_name(robot.model)
    assert worst_difference(found, sayable(robot.model), 1) < 1e-12


@pytest.mark.skipif(not FILES, reason=f"no robots in {SHARED.parent.name} beside the project")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_a_real_robot_comes_back(file):
    try:
        robot = load(file)
    except KinetreeError:
        pytest.skip("no robot: the file is refused, as it should be")
    check(robot)


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa_14", "quadruped", "humanoid", "hand"])
def test_a_built_in_robot_comes_back(name):
    check(getattr(robots, name)())


def test_robots_are_reshaped_and_written_through_the_front_door(tmp_path):
    arm, hand = robots.ur5e(), robots.hand()
    both = arm.with_tool("flange", (0, 0, 0.01), m=0.1).attach(hand, prefix="hand/")
    assert isinstance(both, kinetree.Robot) and both.n == arm.n + hand.n
    held = both.lock({name: 0.1 for name in both.model.joint_names[: arm.n]})
    assert held.n == hand.n
    part = both.subtree(both.model.link_names[2])
    assert part.n == both.n - 3
    path = tmp_path / "both.urdf"
    path.write_text(both.to_urdf(), encoding="utf-8")
    assert load(path).model.joint_names == both.model.joint_names
    assert arm.to_mjcf().startswith("<?xml")
