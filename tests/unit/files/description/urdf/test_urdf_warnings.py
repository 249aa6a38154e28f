"""What a file says and the reader does not take as it stands is told, with its line."""

import math

import pytest
from urdf_texts import INERTIA, ROBOT, changed, read_changed, said

from kinetree.files.description import Limits
from kinetree.files.description.urdf import read_urdf_text

AXIS = '<axis xyz="0 0 1"/>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
MASS = '<mass value="1"/>'

WARNINGS = [
    (LIMIT, '<limit lower="-180" upper="180"/>', "two.urdf:10;j1;degrees"),
    (LIMIT, '<limit lower="1" upper="-1"/>', "j1;lower;upper"),
    (LIMIT, '<limit lower="-1" upper="1" effort="-5"/>', "j1;effort;-5"),
    (LIMIT, '<limit effort="5" velocity="1"/>', "j1;lower;upper"),
    (LIMIT, "", "j1;limit"),
    (LIMIT, '<limit lower="-1" upper="1" effort="0" velocity="2"/>', "j1;effort limit 0;not given"),
    (LIMIT, '<limit lower="-1" upper="1" effort="1" velocity="0"/>', "j1;velocity limit 0"),
    (LIMIT, '<limit lower="0" upper="0" effort="0" velocity="0"/>', "j1;zeros only;unlimited"),
    (LIMIT, '<limit lower="0" upper="0" effort="1" velocity="1"/>', "j1;both 0"),
    ('lower="0" upper="0.5"', 'lower="0" upper="500"', "j2;millimetres"),
    ('xyz="0 0 0.2"', 'xyz="0 0 200"', "j1;millimetres"),
    ('rpy="0 0 0"', 'rpy="90 0 0"', "j1;rpy;degrees"),
    ('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 250"/>', "l1;millimetres"),
    (INERTIA, INERTIA.replace("0.01", "1e5"), "l1;inertia"),
    (INERTIA, '<inertia ixx="1" iyy="1" izz="1"/>', "l1;ixy;ixz;iyz"),
    (INERTIA, "", "l1;<inertia>"),
    (MASS, "", "l1;<mass>"),
    (MASS, '<mass value="1" unit="kg"/>', "l1;attribute 'unit' of <mass> is not read"),
    (MASS, '<mass value="1" unit="kg" of="l"/>', "attributes 'unit', 'of' of <mass> are not"),
    (MASS, '<mass value="1"/><mass value="2"/>', "l1;2 elements;<mass>"),
    (MASS, '<mass value="1"/><Mass value="2"/>', "l1;<Mass>;'mass' meant"),
    ("<inertial>", "stray<inertial>", "l1;stray"),
    (AXIS, '<axis xyz="0 0 2"/>', "j1;axis;length 2"),
    (AXIS, f'{AXIS}<axis xyz="1 0 0"/>', "j1;2 elements;<axis>"),
    (AXIS, f"{AXIS}<dynamic damping='1'/>", "j1;<dynamic>;'dynamics' meant"),
    (AXIS, f"{AXIS}<joint_properties damping='1'/>", "j1;joint_properties"),
    (AXIS, f"{AXIS}<dynamics damping='1' stiffness='3'/>", "j1;stiffness"),
    (AXIS, f"{AXIS}<mimic joint='j2' multiplier='0'/>", "j1;multiplier 0"),
    ('name="two"', "", "robot;name"),
    ('name="two"', 'name="two" version="2.0"', "robot;version;2.0"),
    ("</robot>", "<loop_joint name='x'/></robot>", "loop_joint"),
    ("</robot>", "<inertial/></robot>", "<inertial> in <robot>"),
    ("</robot>", "<Link name='x'/></robot>", "<Link>;'link' meant"),
    ("</robot>", "<xacro:include filename='x'/></robot>", "xacro:include"),
    ("</robot>", "<transmission name='t'><joint name='q'/></transmission></robot>", "'t';'q'"),
    ("</robot>", "<frame name='f' link='nope'/></robot>", "'f';nope"),
    ("</robot>", "<frame name='l1' link='l2'/></robot>", "'l1'"),
]


@pytest.mark.parametrize(("old", "new", "words"), WARNINGS)
def test_a_doubtful_thing_is_warned_about_by_name(old, new, words):
    text = said(read_changed(old, new).warnings)
    for word in words.split(";"):
        assert word in text


def test_the_plain_robot_gives_no_warning():
    assert read_urdf_text(ROBOT).warnings == ()


@pytest.mark.parametrize(
    "extra",
    [
        "<gazebo reference='l1'><material>x</material></gazebo>",
        "<material name='red'><color rgba='1 0 0 1'/></material>",
        "<mujoco><compiler/></mujoco>",
        "<!-- <link name='x'/> -->",
        "<?editor settings?>",
    ],
)
def test_what_belongs_to_others_is_left_to_them(extra):
    robot = read_changed("</robot>", f"{extra}</robot>")
    assert robot.warnings == ()
    assert len(robot.links) == 3


def test_faulty_limits_are_dropped_since_they_do_not_change_the_dynamics():
    robot = read_changed(LIMIT, '<limit lower="1" upper="-1" velocity="-2" effort="3"/>')
    assert robot.joints[0].limits == Limits(-math.inf, math.inf, math.inf, 3.0)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ('lower="-1" upper="1" effort="0" velocity="0.0"', Limits(-1.0, 1.0)),
        ('lower="-1" upper="1" effort="0" velocity="2"', Limits(-1.0, 1.0, velocity=2.0)),
        ('lower="0" upper="0" effort="0" velocity="0"', Limits()),
        ('lower="0" upper="0" effort="1" velocity="0"', Limits(0.0, 0.0, effort=1.0)),
    ],
)
def test_limits_of_zero_are_taken_as_not_given(text, limits):
    """As exporters and many robot descriptions mean them; a range of zero is kept."""
    assert read_changed(LIMIT, f"<limit {text}/>").joints[0].limits == limits


def test_a_continuous_joint_may_have_zeros_for_a_range():
    text = changed(LIMIT, '<limit lower="0" upper="0" effort="0" velocity="3"/>')
    joint = read_urdf_text(text.replace("revolute", "continuous")).joints[0]
    assert joint.limits == Limits(velocity=3.0)


def test_a_limit_without_bounds_means_zero_by_the_rules_of_urdf():
    limits = read_changed(LIMIT, '<limit lower="-1" effort="3" velocity="4"/>').joints[0].limits
    assert limits == Limits(-1.0, 0.0, 4.0, 3.0)


def test_endless_limits_are_not_taken_for_degrees():
    assert read_changed(LIMIT, '<limit lower="-1e16" upper="1e16"/>').warnings == ()


@pytest.mark.parametrize(("axis", "warns"), [("0 0 1", False), ("0 0 -1", False), ("1 0 0", True)])
def test_a_planar_joint_warns_when_its_axis_is_not_z(axis, warns):
    text = changed(AXIS, f'<axis xyz="{axis}"/>').replace("revolute", "planar")
    assert ("planar" in said(read_urdf_text(text).warnings)) is warns


def test_mimic_on_or_of_a_fixed_joint_is_ignored_with_a_warning():
    text = changed(AXIS, f'{AXIS}<mimic joint="j2"/>')
    for fixed in ("revolute", "prismatic"):
        robot = read_urdf_text(text.replace(fixed, "fixed"))
        assert robot.joints[0].mimic is None
        assert "'j1'" in said(robot.warnings)


def test_dynamics_of_fixed_joints_are_noted():
    text = changed(AXIS, f'{AXIS}<dynamics damping="0.5" friction="0.1"/>')
    assert "fixed joint has no effect" in said(
        read_urdf_text(text.replace("revolute", "fixed")).notes
    )
    without = text.replace("revolute", "fixed").replace("0.5", "0").replace("0.1", "0")
    assert "no effect" not in said(read_urdf_text(without).notes)


def test_a_massless_moving_link_is_noted():
    text = ROBOT.replace(f'<inertial><mass value="2"/>{INERTIA}</inertial>', "")
    assert "'l2' moves" in said(read_urdf_text(text).notes)


def test_controllers_and_transmissions_without_rotor_are_noted_once():
    text = ROBOT.replace("<axis", "<safety_controller k_velocity='1'/><calibration/><axis")
    drive = "<transmission name='{0}'><joint name='{0}'/><actuator name='a'/></transmission>"
    text = text.replace("</robot>", f"{drive.format('j1')}{drive.format('j2')}</robot>")
    notes = read_urdf_text(text).notes
    assert len([note for note in notes if "(2 times)" in note.text]) == 3


def test_a_warning_shared_by_many_joints_is_given_once():
    joint = '<joint name="k{0}" type="fixed"><parent link="l2"/><child link="m{0}"/><odd/></joint>'
    extra = "".join(f'<link name="m{i}"/>' + joint.format(i) for i in range(9))
    (warning,) = read_changed("</robot>", f"{extra}</robot>").warnings
    assert "joint 'k0', joint 'k1', joint 'k2' and 6 more: <odd>" in warning.text


def test_a_transmission_over_several_joints_gives_no_rotor():
    drive = """<transmission name="t"><joint name="j1"/><joint name="j2"/><actuator name="a">
      <rotor_inertia value="1"/></actuator></transmission></robot>"""
    robot = read_changed("</robot>", drive)
    assert [joint.rotor for joint in robot.joints] == [None, None]
    assert "transmission 't'" in said(robot.warnings)


def test_floods_of_unknown_things_end_in_one_line():
    flood = "".join(f"<thing{i}/>" for i in range(500))
    notes = read_changed("</robot>", f"{flood}</robot>").notes
    assert len(notes) < 110
    assert "more that is not read" in notes[-1].text


def test_a_mesh_that_cannot_be_read_does_not_matter():
    shape = '<visual><origin xyz="1"/><geometry><mesh filename="a.stl"/></geometry></visual>'
    robot = read_changed('<link name="base"/>', f'<link name="base">{shape}</link>')
    assert robot.meshes == () and robot.warnings == ()
    assert "mesh is skipped" in said(robot.notes)
