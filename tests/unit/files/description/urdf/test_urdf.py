import math

import numpy as np
import pytest
from urdf_texts import ROBOT, changed, read_changed, said

from kinetree.errors import KinetreeError, ParseError
from kinetree.files.description import Friction, Limits, Mimic, Rotor
from kinetree.files.description.urdf import read_urdf, read_urdf_text
from kinetree.spatial import rotation


def test_links_and_joints_come_in_the_order_of_the_file_with_their_lines():
    robot = read_urdf_text(ROBOT, name="two.urdf")
    assert robot.name == "two"
    assert [(link.name, link.where) for link in robot.links] == [
        ("base", "two.urdf:3"),
        ("l1", "two.urdf:4"),
        ("l2", "two.urdf:7"),
    ]
    assert [(j.name, j.type, j.parent, j.child, j.where) for j in robot.joints] == [
        ("j1", "revolute", "base", "l1", "two.urdf:8"),
        ("j2", "prismatic", "l1", "l2", "two.urdf:12"),
    ]
    assert robot.warnings == ()


def test_pose_screw_limits_and_body_are_those_of_the_file():
    robot = read_urdf_text(ROBOT)
    j1, j2 = robot.joints
    np.testing.assert_array_equal(
        j1.M_pc, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.2], [0, 0, 0, 1]]
    )
    np.testing.assert_array_equal(j1.A, [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(j2.A, [0, 0, 0, 0, 1, 0])
    assert j1.limits == Limits(-1, 1, velocity=2, effort=10)
    (body,) = robot.links[1].bodies
    assert body.m == 1
    np.testing.assert_array_equal(body.com, [0, 0, 0.1])
    np.testing.assert_array_equal(body.I_com, np.diag([0.01, 0.02, 0.03]))
    assert robot.links[0].bodies == ()


def test_a_turned_inertial_origin_turns_the_inertia_and_not_the_centre():
    robot = read_changed('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 0.1" rpy="0 0 0.5"/>')
    (body,) = robot.links[1].bodies
    R = rotation(np.array([0, 0, 1]), 0.5)
    np.testing.assert_allclose(body.I_com, R @ np.diag([0.01, 0.02, 0.03]) @ R.T, atol=1e-17)
    np.testing.assert_array_equal(body.com, [0, 0, 0.1])


def test_rpy_turns_about_fixed_axes_x_then_y_then_z():
    robot = read_changed('rpy="0 0 0"', 'rpy="0.1 0.2 0.3"')
    x, y, z = np.eye(3)
    expected = rotation(z, 0.3) @ rotation(y, 0.2) @ rotation(x, 0.1)
    np.testing.assert_allclose(robot.joints[0].M_pc[:3, :3], expected, atol=1e-16)


def test_quat_xyzw_says_the_same_as_rpy():
    half = 0.35
    quaternion = f"0 {math.sin(half)} 0 {math.cos(half)}"
    robot = read_changed('rpy="0 0 0"', f'quat_xyzw="{quaternion}"')
    expected = rotation(np.array([0, 1, 0]), 0.7)
    np.testing.assert_allclose(robot.joints[0].M_pc[:3, :3], expected, atol=1e-15)
    assert len(robot.warnings) == 1  # that Pinocchio ignores it, without a version
    text = ROBOT.replace('rpy="0 0 0"', f'quat_xyzw="{quaternion}"')
    assert not read_urdf_text(text.replace('name="two"', 'name="two" version="1.1"')).warnings


@pytest.mark.parametrize(
    ("word", "kind"),
    [("continuous", "revolute"), ("floating", "free"), ("planar", "planar"), ("fixed", "fixed")],
)
def test_other_joint_types_map_to_ours_and_have_no_position_limits(word, kind):
    joint = read_changed('type="revolute"', f'type="{word}"').joints[0]
    assert joint.type == kind
    assert (joint.limits.lower, joint.limits.upper) == (-math.inf, math.inf)
    assert (joint.A is None) == (word != "continuous")


def test_a_continuous_joint_keeps_its_other_limits():
    joint = read_changed('type="revolute"', 'type="continuous"').joints[0]
    assert joint.limits == Limits(velocity=2, effort=10)


def test_absent_axis_is_x_with_a_note():
    robot = read_changed('<axis xyz="0 0 1"/>', "")
    np.testing.assert_array_equal(robot.joints[0].A, [1, 0, 0, 0, 0, 0])
    assert "'j1': no <axis>" in said(robot.notes)


@pytest.mark.parametrize("axis", ["0 3 4", "0 3e-200 4e-200", "0 3e59 4e59", "0 3e-320 4e-320"])
def test_only_the_direction_of_an_axis_counts(axis):
    robot = read_changed('<axis xyz="0 0 1"/>', f'<axis xyz="{axis}"/>')
    tolerance = 1e-3 if "320" in axis else 1e-15  # 3e-320 itself has but three digits
    np.testing.assert_allclose(robot.joints[0].A[:3], [0, 0.6, 0.8], atol=tolerance)
    assert np.linalg.norm(robot.joints[0].A[:3]) == pytest.approx(1, abs=1e-15)
    assert "'j1': axis has length" in said(robot.warnings)


def test_a_zero_axis_on_a_fixed_joint_is_fine():
    text = changed('type="revolute"', 'type="fixed"').replace("0 0 1", "0 0 0")
    assert read_urdf_text(text).warnings == ()


def test_dynamics_become_friction():
    robot = read_changed('<axis xyz="0 0 1"/>', '<dynamics damping="0.3" friction="0.4"/>')
    assert robot.joints[0].friction == Friction(viscous=0.3, coulomb=0.4)
    assert robot.joints[1].friction == Friction()


def test_mimic_may_refer_to_a_later_joint_and_chain():
    robot = read_changed(
        '<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><mimic joint="j2" multiplier="-2" offset=".5"/>'
    )
    assert robot.joints[0].mimic == Mimic("j2", -2.0, 0.5)


ROTOR = """<transmission name="t"><type>Simple</type><joint name="j1"/><actuator name="m">
<drake:rotor_inertia value="1e-4"/>{gear}</actuator>{outside}</transmission></robot>"""


@pytest.mark.parametrize(
    ("gear", "outside", "ratio"),
    [
        ('<drake:gear_ratio value="50"/>', "", 50),
        ("<mechanicalReduction> 60 </mechanicalReduction>", "", 60),
        ("", "<mechanicalReduction>70</mechanicalReduction>", 70),
        ("", "", 1),
    ],
)
def test_a_rotor_inertia_in_a_transmission_becomes_a_rotor(gear, outside, ratio):
    robot = read_changed("</robot>", ROTOR.format(gear=gear, outside=outside))
    assert robot.joints[0].rotor == Rotor(1e-4, ratio)
    assert robot.joints[1].rotor is None


def test_frames_and_meshes_are_kept():
    shape = """<visual><origin xyz="1 2 3"/><geometry>
      <mesh filename="package://p/a.stl" scale="1 2 3"/></geometry></visual>"""
    text = ROBOT.replace('<link name="base"/>', f'<link name="base">{shape}</link>')
    text = text.replace("</robot>", '<frame name="tip" link="l2" xyz="0 0 1"/></robot>')
    robot = read_urdf_text(text)
    (mesh,) = robot.meshes
    assert (mesh.link, mesh.path, mesh.scale, mesh.kind) == (
        "base",
        "package://p/a.stl",
        (1, 2, 3),
        "visual",
    )
    np.testing.assert_array_equal(mesh.T[:3, 3], [1, 2, 3])
    (frame,) = robot.frames
    assert (frame.name, frame.link, frame.T[2, 3]) == ("tip", "l2", 1)


def test_names_survive_escapes_and_unicode():
    text = changed('name="base"', 'name="a&lt;b&gt;&amp;&quot;ü🤖"')
    text = text.replace('"base"', '"a&lt;b&gt;&amp;&quot;ü🤖"')
    assert read_urdf_text(text).links[0].name == 'a<b>&"ü🤖'


def test_joints_may_come_before_links_and_children_before_parents():
    lines = ROBOT.splitlines()
    joints, links = lines[7:15], lines[2:7]
    text = "\n".join(
        [*lines[:2], *joints[4:], *joints[:4], *reversed(links[:1]), *links[1:], lines[-1]]
    )
    robot = read_urdf_text(text)
    assert [joint.name for joint in robot.joints] == ["j2", "j1"]


def test_an_undeclared_world_becomes_the_root_with_a_warning():
    robot = read_urdf_text(ROBOT.replace('<link name="base"/>', "").replace('"base"', '"world"'))
    assert [link.name for link in robot.links] == ["world", "l1", "l2"]
    assert "'world'" in said(robot.warnings)


def test_a_file_is_read_and_named_by_its_last_part(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    for place in (path, str(path), str(path).encode()):
        assert read_urdf(place).joints[0].where == "two.urdf:8"


def test_a_missing_file_is_also_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nope\.urdf") as caught:
        read_urdf(tmp_path / "nope.urdf")
    assert isinstance(caught.value, ParseError)


@pytest.mark.parametrize("path", ["a\0b", 5, None, "x" * 5000, ROBOT])
def test_what_is_no_path_is_refused_with_our_errors(path):
    with pytest.raises(KinetreeError):
        read_urdf(path)


def test_text_of_another_type_is_refused():
    with pytest.raises(KinetreeError, match="list"):
        read_urdf_text([ROBOT])  # type: ignore[arg-type]
