"""kt.load and the report: what a file gives, and what is said about it."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.files.report import tau_effects

URDF = """<robot name="gripper">
  <link name="base"/>
  <link name="palm"><inertial><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="{izz}"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="palm"/>
    <origin xyz="0 0 0.1"/></joint>
  <joint name="l" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="10" velocity="1"/></joint>
  <joint name="r" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="10" velocity="1"/><mimic joint="l"/></joint>
</robot>"""


@pytest.fixture
def gripper(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(URDF.format(izz="1e-4"))
    return path


@pytest.fixture
def impossible(tmp_path):
    path = tmp_path / "impossible.urdf"
    path.write_text(URDF.format(izz="1"))
    return path


def test_without_mimic_every_joint_moves_by_itself(gripper):
    robot = kt.load(gripper, mimic=False)
    assert robot.model.joint_names == ("l", "r")
    np.testing.assert_allclose(robot.mass_matrix([0.0, 0.0]), 0.1 * np.eye(2), atol=1e-17)


def test_a_floating_robot_hangs_on_a_free_joint_called_base(gripper):
    robot = kt.load(gripper, floating=True)
    assert robot.model.joint_names == ("base", "l")
    assert (robot.model.nq, robot.model.n) == (8, 7)
    assert robot.mass_matrix(robot.neutral())[3, 3] == pytest.approx(1.2)


def test_a_floating_robot_keeps_its_own_names(tmp_path):
    body = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    path = tmp_path / "robot.urdf"
    path.write_text(
        f'<robot name="x"><link name="world">{body}</inertial></link><link name="b">{body}'
        '</inertial></link><joint name="base" type="continuous"><parent link="world"/>'
        '<child link="b"/></joint></robot>'
    )
    robot = kt.load(path, floating=True)
    assert robot.model.joint_names == ("kinetree_base", "base")
    assert robot.model.base_name == "kinetree_world" and robot.n == 7


def test_the_report_counts_names_and_places_what_was_merged(gripper):
    report = kt.load(gripper).report
    text = str(report)
    assert "gripper from gripper.urdf" in text
    line = "4 links, 3 joints, 1 degree of freedom, total mass 1.2 kg, moving mass 0.2 kg"
    assert line in text
    assert "= 1 l +0" in text
    assert any("'mount'" in note.text and note.where == "gripper.urdf:9" for note in report.notes)
    assert not report.warnings


def test_impossible_inertia_is_used_and_warned_about_with_its_line(impossible):
    with pytest.warns(kt.errors.KinetreeWarning, match="triangle inequality") as told:
        robot = kt.load(impossible)
    assert str(told[0].message).startswith(f"{impossible}:5: link 'left'")
    (warning,) = robot.report.warnings
    assert "'left'" in warning.text
    assert warning.where == "impossible.urdf:5"
    assert robot.model.I_com[0][2, 2] == 1


RUBBING = """<robot name="rubbing"><link name="a"/>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <dynamics damping="0.5" friction="0.25"/></joint>
  <transmission name="t"><joint name="j"/><actuator name="m"><rotor_inertia value="0.01"/>
    <gear_ratio value="10"/></actuator></transmission>
</robot>"""


def test_the_report_names_all_that_changes_tau(tmp_path, gripper):
    path = tmp_path / "rubbing.urdf"
    path.write_text(RUBBING)
    robot = kt.load(path)
    assert robot.report.effects == (
        "viscous friction 0.5, 1 of 1 joint",
        "Coulomb friction 0.25, 1 of 1 joint",
        "rotors (inertia times ratio^2) 1, 1 of 1 joint",
    )
    assert "+ viscous friction 0.5" in str(robot.report)
    assert kt.load(gripper).report.effects == ()
    flat = robot.with_gravity((0, 0, 0))
    assert "gravity (0, 0, 0)" in [*tau_effects(flat.model)]
