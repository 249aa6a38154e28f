"""Every fault of a file is an error that says where it is, whose, and what was expected."""

import pytest
from urdf_texts import INERTIA, ROBOT, changed

from kinetree.errors import ParseError
from kinetree.files.description.urdf import read_urdf_text

XYZ = '<origin xyz="0 0 0.2" rpy="0 0 0"/>'
AXIS = '<axis xyz="0 0 1"/>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
MASS = '<mass value="1"/>'

NUMBERS = ["0 0 0,2", "0,0,0.2", "0 0", "0 0 1 2", "", " ", "0 0 nan", "0 0 -inf", "0 0 1e400"]
NUMBERS += ["0 0 0x10", "0 0 20cm", "0 0 ${h/2}", "$(arg xyz)", "0 0 1e", "0 0 .", "0 0 --1"]
NUMBERS += ["0 0 1_0", "0 0 1d-3", "0 0 \u22121", "0\u00a00 1", "0 0 \uff11", "0;0;1", "0 0 1e61"]


@pytest.mark.parametrize("value", NUMBERS)
def test_three_numbers_are_three_finite_decimals(value):
    with pytest.raises(ParseError, match=r"j1.*xyz") as caught:
        read_urdf_text(changed(XYZ, f'<origin xyz="{value}"/>'), name="two.urdf")
    assert str(caught.value).startswith("two.urdf:9:5: ")


@pytest.mark.parametrize("value", ["1.", ".5", "+1", "-1e-3", " 1\t", "1E+05", "007", "-0"])
def test_every_way_to_write_a_decimal_is_read(value):
    robot = read_urdf_text(changed(XYZ, f'<origin xyz="{value} 0 0"/>'))
    assert robot.joints[0].M_pc[0, 3] == float(value)


FAULTS = [
    # joints
    (AXIS, '<axis xyz="0 0 0"/>', "j1;axis;zero"),
    (AXIS, "<axis/>", "j1;axis;xyz"),
    (AXIS, '<axis xyz="z"/>', "j1;axis;z"),
    (AXIS, '<axis xyz="0 0 1 0"/>', "j1;axis;found 4"),
    ('type="revolute"', "", "j1;type"),
    ('type="revolute"', 'type=""', "j1;type"),
    ('type="revolute"', 'type="Revolute"', "j1;'revolute' meant"),
    ('type="revolute"', 'type="revolute "', "j1;'revolute' meant"),
    ('type="revolute"', 'type="ball"', "j1;ball;floating"),
    ('<joint name="j1"', "<joint", "joint;name"),
    ('<joint name="j1"', '<joint name=" "', "joint;empty"),
    ('<joint name="j1"', '<joint Name="j1"', "joint;name;Name"),
    ('<joint name="j1"', '<joint name="${p}j1"', "xacro"),
    ('<parent link="base"/>', "", "j1;parent"),
    ('<parent link="base"/>', "<parent/>", "j1;parent;link"),
    ('<parent link="base"/>', "<parent>base</parent>", "j1;parent;link"),
    ('<parent link="base"/>', '<parent link="base"/><parent link="l2"/>', "j1;2 elements;parent"),
    ('<child link="l1"/>', "", "j1;child"),
    ('<child link="l1"/>', '<child link="nope"/>', "j1;nope;base"),
    ('<child link="l1"/>', '<child link="L1"/>', "j1;L1;'l1' meant"),
    ('<parent link="base"/>', '<parent link=" base"/>', "j1; base;'base' meant"),
    (LIMIT, '<limit lower="nan" upper="1"/>', "j1;lower;nan"),
    (LIMIT, '<limit lower="-1" upper="1" effort="ten"/>', "j1;effort;ten"),
    (AXIS, '<dynamics damping="-1"/>', "j1;damping;-1"),
    (AXIS, '<dynamics friction="inf"/>', "j1;friction;inf"),
    (XYZ, '<origin xyz="0 0 0" rpy="0 0"/>', "j1;rpy;found 2"),
    (XYZ, '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', "j1;rpy;quat_xyzw"),
    (XYZ, '<origin quat_xyzw="0 0 0 0"/>', "j1;quat_xyzw;zero"),
    (AXIS, '<joint name="x" type="fixed"/>', "j1;<joint>"),
    (AXIS, "<xacro:limits/>", "j1;xacro"),
    # mimic
    (AXIS, f'{AXIS}<mimic joint="nope"/>', "j1;nope;j2"),
    (AXIS, f'{AXIS}<mimic joint="j1"/>', "j1;circle"),
    (AXIS, f"{AXIS}<mimic/>", "j1;mimic;joint"),
    (AXIS, f'{AXIS}<mimic joint="j2" multiplier="nan"/>', "j1;multiplier;nan"),
    (AXIS, f'{AXIS}<mimic joint="j2" offset="1,5"/>', "j1;offset;1,5"),
    # links
    (MASS, '<mass value="-1"/>', "l1;mass;-1"),
    (MASS, '<mass value="inf"/>', "l1;mass;inf"),
    (MASS, '<mass value="1 kg"/>', "l1;mass;kg"),
    (MASS, "<mass/>", "l1;mass;value"),
    (MASS, "<mass>1</mass>", "l1;mass;value"),
    (MASS, '<mass value="1,5"/>', "l1;mass;1,5;comma"),
    (INERTIA, '<inertia ixx="1" ixy="0" ixz="0" iyy="nan" iyz="0" izz="1"/>', "l1;iyy;nan"),
    (INERTIA, '<inertia ixx="1" ixy="0" ixz="0" iyz="0" izz="1"/>', "l1;iyy"),
    ('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0"/>', "l1;xyz"),
    ('<link name="base"/>', "<link/>", "link;name"),
    ('<link name="base"/>', '<link name=""/>', "link;empty"),
    ('<link name="base"/>', f'<link name="{"b" * 2000}"/>', "link;1000"),
    ('<link name="base"/>', '<link name="base"><link name="x"/></link>', "base;<link>"),
    # structure
    ('<link name="base"/>', '<link name="base"/><link name="base"/>', "two links;'base'"),
    ('<link name="base"/>', '<link name="base"/><link name="lost"/>', "base;lost;root"),
    ('<link name="base"/>', "", "j1;base"),
    ('<joint name="j2"', '<joint name="j1"', "two joints;'j1'"),
    ('<child link="l2"/>', '<child link="l1"/>', "j2;itself"),
    ('<parent link="base"/>', '<parent link="l2"/>', "j1;j2;loop"),
    (
        '<parent link="base"/><child link="l1"/>',
        '<parent link="base"/><child link="l2"/>',
        "l2;two",
    ),
    ("</robot>", "<group><joint><parent/><child/></joint></group></robot>", "group"),
    ("</robot>", '<drake:joint name="x" type="ball"/></robot>', "drake:joint"),
    ("</robot>", '<xacro:if value="1"><link name="x"/></xacro:if></robot>', "xacro"),
    # the root
    ("<robot", "<Robot", "mismatched"),
    ("</robot>", "", "line;complete"),
    ("</robot>", "</robot><robot/>", "after document element"),
]


@pytest.mark.parametrize(("old", "new", "words"), FAULTS)
def test_a_fault_is_an_error_that_names_it(old, new, words):
    with pytest.raises(ParseError) as caught:
        read_urdf_text(changed(old, new), name="two.urdf")
    message = str(caught.value)
    assert message.startswith("two.urdf:")
    for word in words.split(";"):
        assert word in message


def test_mimic_joints_in_a_circle_are_named():
    text = changed(AXIS, f'{AXIS}<mimic joint="j2"/>')
    text = text.replace('<axis xyz="0 1 0"/>', '<mimic joint="j1"/>')
    with pytest.raises(ParseError, match=r"'j1' -> 'j2' -> 'j1'"):
        read_urdf_text(text)


def test_a_wrong_mimic_does_no_harm_where_none_is_wanted():
    text = changed(AXIS, f'{AXIS}<mimic joint="nope"/>')
    with pytest.raises(ParseError, match="mimic=False"):
        read_urdf_text(text)
    assert read_urdf_text(text, mimic=False).joints[0].mimic is None


@pytest.mark.parametrize("word", ["floating", "planar"])
def test_mimic_needs_one_coordinate_on_both_sides(word):
    text = changed(LIMIT, '<mimic joint="j2"/>')
    with pytest.raises(ParseError, match="j1"):
        read_urdf_text(text.replace("revolute", word))
    with pytest.raises(ParseError, match=r"j1.*mimics.*j2"):
        read_urdf_text(text.replace("prismatic", word))


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ("<sdf version='1.6'><model name='m'/></sdf>", "sdf"),
        ("<mujoco model='m'/>", "MJCF"),
        ("<ROBOT/>", "lower case"),
        ("<xacro:robot/>", "xacro"),
        ("<!DOCTYPE html><html></html>", "web page"),
        ("<html/>", "web page"),
        ("<bike/>", "<bike>"),
        ("<robot name='r'/>", "<link>"),
        ("<robot name='r'><Link name='a'/></robot>", "<link>"),
    ],
)
def test_something_else_than_a_urdf_is_recognised(root, words):
    with pytest.raises(ParseError, match=words):
        read_urdf_text(root)


def test_a_rotor_inertia_must_be_a_number_that_is_not_negative():
    transmission = '<transmission name="t"><joint name="j1"/><actuator name="m"><rotorInertia>{}'
    transmission += "</rotorInertia></actuator></transmission></robot>"
    for value in ("-1", "x", ""):
        with pytest.raises(ParseError, match="transmission 't'"):
            read_urdf_text(changed("</robot>", transmission.format(value)))


def test_messages_stay_short_whatever_the_file_holds():
    value = "9" * 60_000
    with pytest.raises(ParseError) as caught:
        read_urdf_text(changed(XYZ, f'<origin xyz="{value}x 0 0"/>'))
    assert len(str(caught.value)) < 500


def test_long_chains_and_loops_need_no_recursion():
    links = "".join(f'<link name="l{i}"/>' for i in range(3000))
    joint = '<joint name="j{0}" type="fixed"><parent link="l{0}"/><child link="l{1}"/></joint>'
    joints = "".join(joint.format(i, i + 1) for i in range(2999))
    assert len(read_urdf_text(f"<robot name='r'>{links}{joints}</robot>").joints) == 2999
    with pytest.raises(ParseError, match="loop"):
        read_urdf_text(f"<robot name='r'>{links}{joints}{joint.format(2999, 0)}</robot>")


def test_the_unbroken_robot_is_read():
    assert len(read_urdf_text(ROBOT).joints) == 2
