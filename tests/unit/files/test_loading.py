"""kt.load and the report: what a file gives, and what is said about it."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.files.description import RobotDescription
from kinetree.files.report import Report

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


def test_a_mimic_joint_follows_and_has_no_entry(gripper):
    robot = kt.load(gripper)
    assert robot.model.joint_names == ("l",)
    assert robot.mass_matrix([0.02]) == pytest.approx(np.array([[0.2]]))


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
    with pytest.warns(kt.KinetreeWarning, match="triangle inequality") as told:
        robot = kt.load(impossible)
    assert str(told[0].message).startswith(f"{impossible}:5: link 'left'")
    (warning,) = robot.report.warnings
    assert "'left'" in warning.text
    assert warning.where == "impossible.urdf:5"
    assert robot.model.I_com[0][2, 2] == 1


def test_strict_turns_warnings_into_errors(impossible):
    with pytest.raises(kt.KinetreeError, match=r"strict=True.*'left' is not a physical body"):
        kt.load(impossible, strict=True)


def test_a_file_without_fault_gives_no_warning(gripper):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kt.load(gripper, strict=True)


def test_a_joint_that_moves_no_mass_is_warned_about_and_named_by_forward_dynamics(tmp_path):
    path = tmp_path / "empty.urdf"
    path.write_text(
        '<robot name="empty"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    with pytest.warns(kt.KinetreeWarning, match="'j' moves no mass"):
        robot = kt.load(path)
    with pytest.raises(kt.KinetreeError, match="joint 'j'"):
        robot.forward_dynamics([0.0], [0.0], [0.0])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("robot.srdf", "load the URDF that it belongs to"),
        ("robot.STL", "this is a mesh"),
        ("robot.txt", "ends with '.txt'"),
        ("robot", "has no ending"),
    ],
)
def test_files_of_other_kinds_are_named_for_what_they_are(tmp_path, name, words):
    with pytest.raises(kt.KinetreeError) as caught:
        kt.load(tmp_path / name)
    assert words in str(caught.value) and "Rename" not in str(caught.value)


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
    assert "gravity (0, 0, 0)" in Report.of(path, _empty(), flat.model).effects


def _empty():
    return RobotDescription(name="x", links=(), joints=())


def test_friction_of_a_file_can_be_left_out(tmp_path):
    path = tmp_path / "rubbing.urdf"
    path.write_text(RUBBING)
    with_it, without = kt.load(path), kt.load(path, friction="none")
    assert with_it.inverse_dynamics([0.0], [2.0], [0.0]) == pytest.approx([0.5 * 2 + 0.25])
    assert without.inverse_dynamics([0.0], [2.0], [0.0]) == pytest.approx([0.0])
    assert without.inverse_dynamics([0.0], [0.0], [1.0]) == pytest.approx([2.0])  # rotor stays
    assert not any("friction" in text for text in without.report.effects)
    assert any("friction of 1 joint ('j') is left out" in x.text for x in without.report.notes)
    for other in ("nothing", None, False):
        with pytest.raises(kt.KinetreeError, match="expected 'file' or 'none'"):
            kt.load(path, friction=other)


@pytest.mark.parametrize("name", ["robot.txt", "robot", "robot.usd"])
def test_another_ending_is_refused_with_the_known_ones(tmp_path, name):
    with pytest.raises(kt.KinetreeError, match=r"\.urdf, \.xacro, \.xml, \.mjcf, \.sdf"):
        kt.load(tmp_path / name)


def test_a_missing_file_is_a_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.urdf"):
        kt.load(tmp_path / "nowhere.urdf")


def test_a_missing_file_is_named_with_a_similar_one(gripper):
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'gripper\.urdf'\?"):
        kt.load(gripper.with_name("griper.urdf"))


def test_a_folder_is_refused_with_the_robots_in_it(gripper):
    with pytest.raises(kt.KinetreeError, match=r"is a folder.*It has gripper\.urdf"):
        kt.load(gripper.parent)


def test_a_name_is_a_built_in_robot_with_the_options_of_a_file():
    panda = kt.robots.panda()
    assert kt.load("panda").joint_names == panda.joint_names
    assert kt.load("Puma-560").name == kt.robots.puma_560().name
    assert kt.load("panda", floating=True).n == panda.n + 6
    hand = kt.load("hand", mimic=False)
    assert hand.n > kt.load("hand").n
    with pytest.raises(kt.KinetreeError, match="built-in robot and has no arguments, found a"):
        kt.load("panda", arguments={"a": 1})
    with pytest.raises(kt.KinetreeError, match="model is chosen for SDF files only"):
        kt.load("panda", model="x")


def test_a_word_with_an_ending_or_a_separator_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panda.urdf").write_text(URDF.format(izz="1e-4"))
    assert kt.load("panda.urdf").name == kt.load("./panda.urdf").name == "gripper"
    with pytest.raises(kt.KinetreeError, match="panda has no ending"):
        kt.load("./panda")


def test_a_built_in_name_never_hides_a_file_without_a_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panda.urdf").write_text(URDF.format(izz="1e-4"))
    with pytest.warns(kt.KinetreeWarning, match=r"'panda' is the built-in robot, not the file"):
        robot = kt.load("panda")
    assert robot.name == "Franka Panda"
    with pytest.raises(kt.KinetreeError, match=r"not the file 'panda\.urdf'"):
        kt.load("panda", strict=True)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("pnda", "Did you mean 'panda'?"),
        ("UR5", "Did you mean 'ur5e'?"),
        ("gripper", "Did you mean the file 'gripper.urdf'?"),
        ("griper", "Did you mean 'gripper.urdf'?"),
        ("xyzzy", "Expected a built-in robot"),
        ("", "there is no robot ''"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(word, hint, gripper, monkeypatch):
    monkeypatch.chdir(gripper.parent)
    with pytest.raises(kt.KinetreeError) as caught:
        kt.load(word)
    assert hint in str(caught.value) and "panda" in str(caught.value)


@pytest.mark.parametrize("path", [None, 3, object()])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(kt.KinetreeError, match="path"):
        kt.load(path)
