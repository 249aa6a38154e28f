"""Malformed and hostile MJCF files: the expected outcome, and words that lead to the element."""

import os

import pytest
from mjcf_files_given import BAD_INPUTS, bad_inputs, model

from kinetree.errors import KinetreeError, ParseError
from kinetree.files.description.mjcf import read_mjcf

pytest.importorskip("mujoco", reason="MJCF needs mujoco")


def outcome(path) -> tuple[str, str]:
    try:
        robot = read_mjcf(path)
    except KinetreeError as error:
        return "ERROR", str(error)
    text = "\n".join(note.text for note in (*robot.warnings, *robot.notes))
    # the list expects a warning about constraints and tendon armature, which are honoured now
    honoured = robot.constrained or robot.motors
    return ("WARN" if robot.warnings or honoured else "OK"), text


@pytest.mark.parametrize("row", bad_inputs())
def test_given_file_ends_as_the_manifest_says(row):
    found, text = outcome(BAD_INPUTS / row["file"])
    assert found in row["expected"].split("|"), text
    for word in filter(None, row["must_mention"].split(";")):
        assert word.lower() in text.lower()


def joint(attributes: str) -> str:
    """A second body b2 whose joint j2 has these attributes."""
    return model(f'<body name="b2"><joint name="j2" {attributes}/><geom size=".1"/></body>')


def place(pos: str) -> str:
    """A second body b2, fixed at this place."""
    return model(f'<body name="b2" pos="{pos}"><geom size=".1"/></body>')


def inertial(attributes: str) -> str:
    """A body b1 with these attributes of its inertia."""
    return model(body=f'<body name="b1"><joint/><inertial {attributes}/>{{}}</body>')


def joints(elements: str) -> str:
    """A body b1 with these joints."""
    return model(body=f'<body name="b1">{elements}<geom size=".1"/>{{}}</body>')


def replicate(count: str, inside: str = "<site/>") -> str:
    return f'<replicate count="{count}">{inside}</replicate>'


DEEP = "<mujoco><worldbody>" + "<body>" * 600 + "</body>" * 600 + "</worldbody></mujoco>"
ENTITY = "<!DOCTYPE m [<!ENTITY a 'b'>]><mujoco>&a;</mujoco>"
PLATE = '<asset><mesh name="m" builtin="plate" params="50000 50000"/></asset>'
FLEX = '<deformable><flex name="f" dim="1" body="b1 b1"/></deformable>'

# Fault -> the text, and words its message must contain. MuJoCo accepts those marked with a star.
REFUSED = {
    "nan mass*": (inertial('pos="0 0 0" mass="nan" diaginertia="1 1 1"'), "b1 mass nan"),
    "infinite armature*": (joint('armature="inf"'), "b2 j2 armature inf"),
    "hexadecimal axis*": (joint('axis="0x10 0 1"'), "b2 j2 axis 0x10"),
    "negative damping*": (joint('damping="-1"'), "j2 damping -1"),
    "negative armature*": (joint('armature="-1"'), "j2 armature -1"),
    "negative moment of a static body*": (
        model('<body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 -1 1"/></body>'),
        "b diaginertia boundinertia",
    ),
    "negative mass of a static body*": (
        model('<body name="b"><inertial pos="0 0 0" mass="-.1" diaginertia="1 1 1"/></body>'),
        "b mass boundmass",
    ),
    "hinges about one line*": (
        joints('<joint name="j1" axis="0 0 2"/><joint name="j2" pos="0 0 3" axis="0 0 -1"/>'),
        "j1 j2 singular armature",
    ),
    "parallel slides*": (
        joints('<joint name="j1" type="slide"/><joint name="j2" type="slide"/>'),
        "j1 j2 singular armature",
    ),
    "four hinges through a point*": (
        joints('<joint/><joint axis="0 1 0"/><joint axis="1 0 0"/><joint axis="1 1 0"/>'),
        "singular armature",
    ),
    "hinge through a ball*": (
        joints('<joint name="j1"/><joint name="j2" type="ball"/>'),
        "j1 j2 singular armature",
    ),
    "nan gravity*": (model(top='<option gravity="0 0 nan"/>'), "option gravity nan"),
    "decimal comma": (place("0,5 0 1"), "b2 pos"),
    "overflow": (place("0 0 1e400"), "b2 pos large"),
    "expression": (place("0 0 ${h}"), "b2 pos"),
    "two numbers": (place("0 0"), "b2 pos enough"),
    "zero axis": (joint('axis="0 0 0"'), "j2 b2 axis"),
    "reversed range": (joint('limited="true" range="2 1"'), "j2 range"),
    "unknown type": (joint('type="universal"'), "j2 universal hinge"),
    "duplicate joint": (joint("").replace("j2", "j1"), "j1 repeated"),
    "two free joints": (joints("<freejoint/><freejoint/>"), "b1 dofs"),
    "free and hinge": (joints("<freejoint/><joint/>"), "b1"),
    "ball then hinge": (joints('<joint type="ball"/><joint/>'), "b1 ball"),
    "triangle inequality": (
        inertial('pos="0 0 0" mass="1" diaginertia="1 1 3"'),
        "b1 inertia balanceinertia",
    ),
    "indefinite inertia": (
        inertial('pos="0 0 0" mass="1" fullinertia="1 1 1 2 0 0"'),
        "b1 fullinertia",
    ),
    "inertia without place": (inertial('mass="1" diaginertia="1 1 1"'), "b1 pos"),
    "unknown joint of a motor": (
        model(top='<actuator><motor name="m" joint="nope"/></actuator>'),
        "nope m",
    ),
    "unknown body of a constraint": (
        model(top='<equality><weld body1="nope" body2="b1"/></equality>'),
        "nope weld",
    ),
    "keyframe of wrong length": (
        model(top='<keyframe><key name="home" qpos="0 0 0"/></keyframe>'),
        "home qpos",
    ),
    "unknown element": (model("<bone/>"), "bone b1"),
    "flex": (model(top=FLEX), "flex f"),
    "another model": (model('<attach model="m" body="b" prefix="p"/>'), "attach"),
    "another model as asset": (
        model(top='<asset><model name="m" file="../m.xml"/></asset>'),
        "model m",
    ),
    "gear beyond all numbers*": (
        model(top='<actuator><motor joint="j1" gear="1e200" armature="1"/></actuator>'),
        "j1 armature inf",
    ),
    "huge replicate": (model(replicate("1000000000")), "replicate count"),
    "replicates in replicates": (model(replicate("900", replicate("900"))), "replicate elements"),
    "huge built-in mesh": (model(top=PLATE), "m params"),
    "not MJCF": ("<sdf version='1.6'/>", "sdf mujoco"),
    "part of a model": ("<mujocoinclude><body/></mujocoinclude>", "mujocoinclude"),
    "entities": (ENTITY, "DOCTYPE"),
    "format string as class": (model('<geom class="%s%n%s%n" size=".1"/>'), "class"),
    "nested too deep": (DEEP, "limit 500"),
    "cut off": (model()[:90], "line"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize("text, words", REFUSED.values(), ids=REFUSED)
def test_refused_with_the_file_and_the_element_named(tmp_path, text, words):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.raises(KinetreeError) as caught:
        read_mjcf(path)
    message = str(caught.value)
    assert message.startswith("robot.xml:")
    for word in words.split():
        assert word.lower() in message.lower(), message


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xfe<\0", b"{}", b"<mujoco \xff/>"]
)
def test_bytes_that_are_no_xml_are_refused(tmp_path, data):
    path = tmp_path / "robot.xml"
    path.write_bytes(data)
    with pytest.raises(ParseError, match=r"robot\.xml"):
        read_mjcf(path)


@pytest.mark.parametrize("path", ["no such file.xml", ".", "a\0b", None, 3.5])
def test_what_is_no_file_is_refused(path):
    with pytest.raises(KinetreeError):
        read_mjcf(path)


def test_a_missing_file_is_also_the_error_python_users_expect():
    with pytest.raises(FileNotFoundError):
        read_mjcf("no such file.xml")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(ParseError, match="regular file"):
        read_mjcf(tmp_path / "pipe.xml")
    (tmp_path / "robot.xml").write_text('<mujoco><include file="pipe.xml"/></mujoco>')
    with pytest.raises(ParseError, match="regular file"):
        read_mjcf(tmp_path / "robot.xml")


@pytest.mark.parametrize("attribute", ["name", "class"])
def test_words_that_look_like_numbers_are_lawful_names(tmp_path, attribute):
    path = tmp_path / "robot.xml"
    defaults = '<default><default class="nan"/></default>'
    path.write_text(model(f'<geom {attribute}="nan" size=".1"/>', top=defaults))
    assert read_mjcf(path).name == "toy"


def test_percent_signs_in_names_survive(tmp_path):
    path = tmp_path / "robot.xml"
    defaults = '<default><default class="50%n"/></default>'
    path.write_text(model('<body name="%s%n"><geom class="50%n" size=".1"/></body>', top=defaults))
    assert "%s%n" in [link.name for link in read_mjcf(path).links]


def test_infinite_limits_are_lawful(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(model(top='<actuator><motor joint="j1" ctrlrange="-inf inf"/></actuator>'))
    assert read_mjcf(path).joints[0].limits.effort == float("inf")
