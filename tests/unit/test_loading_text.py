"""kt.load_string: the text of a file gives the same robot as the file."""

import numpy as np
import pytest

import kinetree as kt

BODY = """<inertial><origin xyz="0 0 0.1"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
URDF = f"""<?xml version="1.0" encoding="utf-8"?>
<!-- <mujoco> in a comment is no root -->
<robot name="arm"><link name="a"/><link name="b">{BODY}</link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<dynamics damping="0.5"/></joint></robot>"""
MJCF = """<mujoco model="arm"><worldbody><body name="b"><joint name="j" type="hinge" axis="0 1 0"
damping="0.5"/><inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1"/></body></worldbody></mujoco>"""
SDF = """<sdf version="1.9"><model name="arm"><link name="b"><inertial><pose>0 0 0.1 0 0 0</pose>
<mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
<joint name="j" type="continuous"><parent>world</parent><child>b</child><axis><xyz>0 1 0</xyz>
<dynamics><damping>0.5</damping></dynamics></axis></joint></model></sdf>"""
XACRO = f"""<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="damping" default="0.5"/><link name="a"/><link name="b">{BODY}</link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<dynamics damping="$(arg damping)"/></joint></robot>"""
TEXTS = {"urdf": URDF, "mjcf": MJCF, "sdf": SDF, "xacro": XACRO}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("given", [True, False])
def test_every_format_gives_the_same_arm(kind, given):
    if kind == "mjcf":
        pytest.importorskip("mujoco")
    robot = kt.load_string(TEXTS[kind], format=kind if given else None)
    assert robot.name == "arm" and robot.joint_names == ("j",)
    tau = robot.inverse_dynamics([0.3], [2.0], [1.0])
    wanted = (1 + 2 * 0.1**2) * 1.0 - 2 * 9.81 * 0.1 * np.sin(0.3) + 0.5 * 2.0
    np.testing.assert_allclose(tau, [wanted], rtol=1e-14)


def test_options_are_those_of_a_file():
    assert kt.load_string(URDF, floating=True).n == 7
    free = SDF[: SDF.index("<joint")] + "</model></sdf>"
    assert kt.load_string(free).n == 0 and kt.load_string(free, floating=True).n == 6
    assert kt.load_string(URDF, friction="none").inverse_dynamics([0], [1], [0]) == 0
    robot = kt.load_string(XACRO, arguments={"damping": 2})
    assert robot.inverse_dynamics([0.0], [1.0], [0.0]) == pytest.approx(2)
    with pytest.raises(kt.KinetreeError, match="the text takes no arguments, found damping"):
        kt.load_string(URDF, arguments={"damping": 2})
    with pytest.raises(kt.KinetreeError, match="friction is 'no'"):
        kt.load_string(URDF, friction="no")


def test_the_report_names_the_text():
    report = kt.load_string(URDF).report
    assert str(report).startswith("arm from the text") and report.text == URDF


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", "utf-8"), ("latin-1", "latin-1"), ("utf-16", "utf-16"), ("utf-8-sig", "utf-8")],
)
def test_bytes_are_decoded_as_they_declare(encoding, declared):
    text = URDF.replace("utf-8", declared).replace('name="b"', 'name="blé"', 1)
    text = text.replace('link="b"', 'link="blé"')
    assert kt.load_string(text.encode(encoding)).model.link_names == ("blé",)
    assert kt.load_string(text).model.link_names == ("blé",)  # a str needs no decoding


def test_bytes_in_another_encoding_than_declared_are_refused_with_their_place():
    text = URDF.replace('"b"', '"blé"')
    with pytest.raises(kt.KinetreeError, match=r"the text:3:\d+: byte 0xe9 is not utf-8"):
        kt.load_string(text.encode("latin-1"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (URDF.replace("</link>", "", 1), r"the text:6:\d+: not well-formed"),
        (URDF.replace('value="2"', 'value="two"'), r"the text:3:\d+: link 'b'.*not a decimal"),
        (SDF.replace("<mass>2", "<mass>two"), r"the text:2:1: link 'b'.*not a decimal"),
        (SDF.replace("1.9", "1.0"), r"the text:1:1: this is SDF 1\.0; expected 1\.2 or later"),
        ("<html/>", "the root is <html>; expected <robot>"),
        ("panda.urdf", "which is not XML.*kt.load"),
        ("", "the text:1:1: the file is empty"),
        ("<!DOCTYPE robot []><robot/>", "document type"),
        ("<!-- open", "not well-formed"),
    ],
)
def test_errors_name_the_text_and_its_place(text, words):
    with pytest.raises(kt.KinetreeError, match=f"(?s){words}"):
        kt.load_string(text)


@pytest.mark.parametrize("text", [None, 3, ["<robot/>"]])
def test_other_types_are_refused(text):
    with pytest.raises(kt.KinetreeError, match="expected the text of a robot file"):
        kt.load_string(text)


def test_a_format_that_is_not_that_of_the_text_is_refused():
    with pytest.raises(kt.KinetreeError, match="format is 'urdf', but the root <mujoco> is that"):
        kt.load_string(MJCF, format="urdf")
    with pytest.raises(kt.KinetreeError, match="expected 'urdf', 'xacro', 'mjcf', 'sdf' or None"):
        kt.load_string(URDF, format="usd")


def test_a_text_in_place_of_a_path_names_the_function_for_texts():
    with pytest.raises(kt.KinetreeError, match="load_string"):
        kt.load(URDF)


@pytest.fixture
def parts(tmp_path):
    """A folder with files that a text may include."""
    (tmp_path / "parts.xacro").write_text(
        f'<robot><link name="a"/><link name="b">{BODY}</link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 1 0"/></joint></robot>'
    )
    (tmp_path / "parts.xml").write_text(MJCF.replace('model="arm"', ""))
    return tmp_path


WITH_INCLUDE = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:include filename="{}"/></robot>"""


def test_relative_includes_of_a_xacro_text_start_from_the_folders(parts, monkeypatch):
    text = WITH_INCLUDE.format("parts.xacro")
    assert kt.load_string(text, folders=[parts / "none", parts]).joint_names == ("j",)
    monkeypatch.chdir(parts)  # the current folder does not count
    with pytest.raises(kt.KinetreeError, match=r"(?s)the text:2:1: 'parts\.xacro' is a relative.*"
                                               r"folders="):  # fmt: skip
        kt.load_string(text)
    with pytest.raises(kt.KinetreeError, match="a text has no folder of its own"):
        kt.load_string(WITH_INCLUDE.format("$(dirname)/parts.xacro"), folders=[parts])


def test_packages_of_a_xacro_text_are_searched_in_the_folders(parts):
    (parts / "package.xml").write_text("<package><name>arm_parts</name></package>")
    text = WITH_INCLUDE.format("$(find arm_parts)/parts.xacro")
    assert kt.load_string(text, folders=[parts.parent]).joint_names == ("j",)
    with pytest.raises(kt.KinetreeError, match="package 'arm_parts' is not found"):
        kt.load_string(text)


def test_includes_of_an_mjcf_text_are_opened_in_the_folders_only(parts, monkeypatch):
    pytest.importorskip("mujoco")
    text = '<mujoco model="arm"><include file="parts.xml"/></mujoco>'
    assert kt.load_string(text, folders=[parts / "none", parts]).joint_names == ("j",)
    monkeypatch.chdir(parts)
    with pytest.raises(kt.KinetreeError, match=r"the text:1: .*a text lies in no folder"):
        kt.load_string(text)
    outside = text.replace("parts.xml", "../parts.xml")
    (parts / "inner").mkdir()
    with pytest.raises(kt.KinetreeError, match="outside the model's folder"):
        kt.load_string(outside, folders=[parts / "inner"])
