"""Numbers of things agree with their nouns."""

import pytest

import kinetree as kt


def test_a_robot_with_one_joint_is_spoken_of_in_the_singular(tmp_path):
    arm = kt.Builder("arm").link("base").link("rod", 1, (0, 0, -0.1))
    arm.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0))
    robot = arm.build()
    path = tmp_path / "arm.urdf"
    path.write_text(robot.to_urdf(), encoding="utf-8")
    said = [
        str(kt.load(path).report), repr(robot.model), robot._repr_html_(),
        str(kt.testing.check_robot(robot, states=1)), kt.views.report_page(robot, samples=10),
        repr(robot.explain([0.1], [0], [0])),
    ]  # fmt: skip
    for text in said:
        for plural in ("1 degrees", "1 joints", "1 warnings", "1 notes", "1 samples"):
            assert f" {plural}" not in f" {text}".replace("\n", " "), (plural, text[:300])
    assert "2 links, 1 joint, 1 degree of freedom" in said[0]
    with pytest.raises(kt.KinetreeError, match="q has 2 entries but 'arm' needs 1: pivot"):
        kt.algorithms.gravity_forces(robot.model, [0.0, 1.0])
    with pytest.raises(kt.KinetreeError, match="q has 1 entry but"):
        kt.algorithms.gravity_forces(kt.robots.rp().model, [0.0])
