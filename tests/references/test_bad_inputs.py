"""Bad robot files: the class of the error, the line and the element that it names.

The table of the given files (../shared/bad_inputs) states what becomes of each, and words that the
message has. The tables below have short texts, each with one fault. A doubtful text loads with a
warning that names the element, and a strict load refuses it.
"""

import csv
import warnings

import numpy as np
import pytest
from robot_files import SHARED, load_quietly, parse

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import InputError, KinetreeError, ParseError, SingularityError

BAD = SHARED / "bad_inputs"


def rows():
    if not (BAD / "manifest.csv").exists():
        return []
    with open(BAD / "manifest.csv", encoding="utf8") as table:
        return [row for row in csv.DictReader(table) if (BAD / row["file"]).exists()]


ROWS = rows()
given_files = pytest.mark.skipif(not ROWS, reason=f"no malformed files at {BAD}")


@given_files
@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_given_file_is_refused_or_warned_about_as_stated(row):
    outcome, said = outcome_of(BAD / row["file"])
    allowed = row["expected"].split("|")
    assert "root:" not in said  # of a password file
    if outcome != "ERROR" and "OK" in allowed:
        return  # it may say more than was asked for
    assert outcome in allowed, said
    for word in filter(None, row["must_mention"].split(";")):
        assert word.strip().lower() in said.lower()
    if outcome == "ERROR":
        assert said.startswith(row["file"]) or str(BAD) in said


def outcome_of(path):
    """What became of a file, and everything that was said about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = kt.load(path)
        except KinetreeError as error:
            return "ERROR", str(error)
    assert all(issubclass(x.category, kt.errors.KinetreeWarning) for x in caught)
    model = robot.model
    assert np.isfinite(model.M_pi).all() and np.isfinite(model.m).all()
    notes = (*robot.report.warnings, *robot.report.notes)
    said = " ".join(f"{note.where} {note.text}" for note in notes)
    # the table expects warnings about constraints and tendon armature, which are read now
    honoured = model.constraints is not None or bool(model.motors)
    return ("WARN" if robot.report.warnings or honoured else "OK"), said


ACCEPTED = {  # what given files are when they load: (degrees of freedom, total mass)
    "struct_chain_1500_links": (1500, 1501),
    "enc_utf8_bom": (1, 2),
    "enc_latin1_declared": (1, 2),
    "name_unicode_emoji": (1, 2),
    "name_xml_escapes": (1, 2),
    "joint_axis_absent": (1, 2),
    "joint_axis_zero_on_fixed": (0, 2),
    "inertia_trailing_space": (1, 2),
    "joint_planar": (3, 2),
    "mimic_chain_ok": (1, 4),
    "inertial_triangle_violation": (1, 2),
    "inertial_large_offset_1e6": (1, 2),
    "inertial_zero_mass_leaf": (1, 1),
    "joint_limit_no_effort": (1, 2),
    "mj_replicate": (3, 12.566),
    "mj_mesh_missing_but_inertial": (1, 1),
    "mj_gravity_option": (1, 1),
}


@given_files
@pytest.mark.parametrize("name", ACCEPTED)
def test_an_accepted_file_is_read_whole(name):
    (row,) = [row for row in ROWS if row["id"] == name]
    model = load_quietly(BAD / row["file"]).model
    n, mass = ACCEPTED[name]
    assert model.n == n and dynamics.total_mass(model) == pytest.approx(mass, rel=1e-3)
    if name == "joint_axis_absent":
        assert np.ravel(model.joints[0].A).tolist() == [1, 0, 0, 0, 0, 0]
    if name == "name_xml_escapes":
        assert 'a<b>&"c' in model.frames
    if name == "inertial_zero_mass_leaf":
        with pytest.raises(SingularityError, match="j1"):
            dynamics.forward_dynamics(model, [0.1], [0.0], [1.0])
    if name == "mimic_chain_ok":  # j3 = -0.5 (2 j1 + 0.1) + 0.2
        scales = {joint.name: (joint.scale, joint.offset) for joint in model.joints}
        assert scales["j3"] == pytest.approx((-1, 0.15))
    if name == "mj_gravity_option":
        assert model.gravity[5] != -9.81


INERTIA = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/>'
ROBOT = f"""<?xml version="1.0"?>
<robot name="two">
  <link name="base"/>
  <link name="l1"><inertial>
    <origin xyz="0 0 0.1"/><mass value="1"/>{INERTIA}
  </inertial></link>
  <link name="l2"><inertial><mass value="2"/>{INERTIA}</inertial></link>
  <joint name="j1" type="revolute">
    <origin xyz="0 0 0.2" rpy="0 0 0"/><parent link="base"/><child link="l1"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <joint name="j2" type="prismatic">
    <parent link="l1"/><child link="l2"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.5" effort="5" velocity="3"/>
  </joint>
</robot>
"""
XYZ = '<origin xyz="0 0 0.2" rpy="0 0 0"/>'
AXIS = '<axis xyz="0 0 1"/>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
MASS = '<mass value="1"/>'
TYPE = 'type="revolute"'
END = "</robot>"
BASE = '<link name="base"/>'
PAIR = '<parent link="base"/><child link="l1"/>'


def changed(old, new):
    assert old in ROBOT
    return ROBOT.replace(old, new, 1)


def refused(error, text, words, **options):
    """The message of the error, which has the words."""
    with pytest.raises(error) as caught:
        parse(text, **options)
    message = str(caught.value)
    for word in words.split(";"):
        assert word.lower() in message.lower(), message
    assert len(message) < 1200
    return message


URDF_FAULTS = [  # what is replaced, by what, and what the message names
    *[(XYZ, f'<origin xyz="{x}"/>', "9:;j1;xyz") for x in (
        "0 0 0,2", "0,0,0.2", "0 0", "0 0 1 2", "", "0 0 nan", "0 0 -inf", "0 0 1e400", "0 0 0x10",
        "0 0 20cm", "0 0 ${h/2}", "0 0 1e", "0 0 --1", "0 0 1_0", "0 0 1d-3", "0 0 \u22121",
        "0\u00a00 1", "0 0 \uff11", "0;0;1")],
    (AXIS, '<axis xyz="0 0 0"/>', "j1;axis"),
    (AXIS, "<axis/>", "j1;axis;xyz"),
    (AXIS, '<axis xyz="0 0 1 0"/>', "j1;axis"),
    (TYPE, "", "j1;type"),
    (TYPE, 'type="Revolute"', "j1;revolute"),
    (TYPE, 'type="ball"', "j1;ball"),
    ('<joint name="j1"', "<joint", "joint;name"),
    ('<joint name="j1"', '<joint name=" "', "joint"),
    ('<parent link="base"/>', "", "j1;parent"),
    ('<parent link="base"/>', "<parent/>", "j1;parent;link"),
    ('<parent link="base"/>', '<parent link="base"/><parent link="l2"/>', "j1;parent"),
    ('<parent link="base"/>', '<parent link=" base"/>', "j1;base"),
    ('<child link="l1"/>', "", "j1;child"),
    ('<child link="l1"/>', '<child link="L1"/>', "j1;L1;'l1'"),
    (LIMIT, '<limit lower="nan" upper="1"/>', "j1;lower;nan"),
    (LIMIT, '<limit lower="-1" upper="1" effort="ten"/>', "j1;effort;ten"),
    (AXIS, '<dynamics damping="-1"/>', "j1;damping;-1"),
    (AXIS, '<dynamics friction="inf"/>', "j1;friction;inf"),
    (XYZ, '<origin xyz="0 0 0" rpy="0 0"/>', "j1;rpy"),
    (XYZ, '<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', "j1;rpy;quat_xyzw"),
    (XYZ, '<origin quat_xyzw="0 0 0 0"/>', "j1;quat_xyzw"),
    (AXIS, "<xacro:limits/>", "xacro:limits"),
    (AXIS, f'{AXIS}<mimic joint="nope"/>', "j1;nope"),
    (AXIS, f'{AXIS}<mimic joint="j1"/>', "j1"),
    (AXIS, f"{AXIS}<mimic/>", "j1;mimic;joint"),
    (AXIS, f'{AXIS}<mimic joint="j2" multiplier="nan"/>', "j1;multiplier;nan"),
    (AXIS, f'{AXIS}<mimic joint="j2" offset="1,5"/>', "j1;offset;1,5"),
    (MASS, '<mass value="-1"/>', "l1;mass;-1"),
    (MASS, '<mass value="inf"/>', "l1;mass;inf"),
    (MASS, '<mass value="1 kg"/>', "l1;mass;kg"),
    (MASS, "<mass>1</mass>", "l1;mass;value"),
    (INERTIA, INERTIA.replace("0.02", "nan"), "l1;iyy;nan"),
    (INERTIA, INERTIA.replace('iyy="0.02"', ""), "l1;iyy"),
    ('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0"/>', "l1;xyz"),
    (BASE, "<link/>", "link;name"),
    (BASE, '<link name=""/>', "link"),
    (BASE, f'<link name="{"b" * 2000}"/>', "link"),
    (BASE, BASE + BASE, "base"),
    (BASE, f'{BASE}<link name="lost"/>', "base;lost"),
    (BASE, "", "j1;base"),
    ('<joint name="j2"', '<joint name="j1"', "j1"),
    ('<child link="l2"/>', '<child link="l1"/>', "j2"),
    ('<parent link="base"/>', '<parent link="l2"/>', "j1;j2"),
    (PAIR, '<parent link="base"/><child link="l2"/>', "l2"),
    (END, f"<group><joint><parent/><child/></joint></group>{END}", "group"),
    (END, f'<drake:joint name="x" type="ball"/>{END}', "drake:joint"),
    (END, "", "line"),
    (END, f"{END}<robot/>", "16:"),
    (END, f"<transmission name='t'><joint name='j1'/><actuator name='m'><rotorInertia>-1"
          f"</rotorInertia></actuator></transmission>{END}", "'t'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), URDF_FAULTS)
def test_a_fault_of_a_urdf_names_its_element(old, new, words):
    refused(ParseError, changed(old, new), words)


def test_the_text_without_fault_is_read_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = kt.load_string(ROBOT, strict=True)
    assert robot.joint_names == ("j1", "j2")


ROOTS = {
    "<sdf version='1.6'><model name='m'/></sdf>": "link",
    "<ROBOT/>": "ROBOT",
    "<html/>": "html",
    "<bike/>": "bike",
    "<robot name='r'/>": "link",
    "": "empty",
    "<robot>": "robot",
    "<!DOCTYPE r [<!ENTITY a 'b'>]><robot name='r'><link name='&a;'/></robot>": "DOCTYPE",
    "<robot>\n<b/>\n<<<<<<< HEAD\n</robot>": "3:",
}


@pytest.mark.parametrize("text", ROOTS)
def test_something_else_than_a_robot_is_named(text):
    refused(InputError, text, ROOTS[text])


def test_a_wrong_mimic_does_no_harm_where_none_is_wanted():
    text = changed(AXIS, f'{AXIS}<mimic joint="nope"/>')
    assert parse(text, mimic=False).joint_names == ("j1", "j2")
    circle = changed(AXIS, f'{AXIS}<mimic joint="j2"/>').replace(
        '<axis xyz="0 1 0"/>', '<mimic joint="j1"/>')  # fmt: skip
    refused(ParseError, circle, "j1;j2")


URDF_DOUBTS = [  # what is replaced, by what, and what the warning names
    (MASS, MASS.replace("1", "1'"), "l1;mass;stray quote"),
    (LIMIT, '<limit lower="-180" upper="180"/>', "j1"),
    (LIMIT, '<limit lower="1" upper="-1"/>', "j1;lower;upper"),
    (LIMIT, '<limit lower="-1" upper="1" effort="-5"/>', "j1;effort"),
    (LIMIT, '<limit effort="5" velocity="1"/>', "j1;lower"),
    (LIMIT, "", "j1;limit"),
    (LIMIT, LIMIT.replace("10", "0"), "j1;effort"),
    (LIMIT, '<limit lower="0" upper="0" effort="0" velocity="0"/>', "j1"),
    ('upper="0.5"', 'upper="500"', "j2"),
    ('xyz="0 0 0.2"', 'xyz="0 0 200"', "j1"),
    ('rpy="0 0 0"', 'rpy="90 0 0"', "j1;rpy"),
    ('<origin xyz="0 0 0.1"/>', '<origin xyz="0 0 250"/>', "l1"),
    (INERTIA, INERTIA.replace("0.01", "1e5"), "l1;inertia"),
    (INERTIA, INERTIA.replace("0.03", "0.3"), "l1"),
    (INERTIA, '<inertia ixx="1" iyy="1" izz="1"/>', "l1;ixy"),
    (INERTIA, "", "l1;inertia"),
    (MASS, "", "l1;mass"),
    (MASS, '<mass value="1" unit="kg"/>', "l1;unit"),
    (MASS, '<mass value="1"/><mass value="2"/>', "l1;mass"),
    (MASS, '<mass value="1"/><Mass value="2"/>', "l1;Mass"),
    ("<inertial>", "stray<inertial>", "l1;stray"),
    (AXIS, '<axis xyz="0 0 2"/>', "j1;axis"),
    (AXIS, f'{AXIS}<axis xyz="1 0 0"/>', "j1;axis"),
    (AXIS, f"{AXIS}<dynamic damping='1'/>", "j1;dynamic"),
    (AXIS, f"{AXIS}<dynamics damping='1' stiffness='3'/>", "j1;stiffness"),
    (AXIS, f"{AXIS}<mimic joint='j2' multiplier='0'/>", "j1"),
    (' name="two"', "", "robot;name"),
    (END, f"<loop_joint name='x'/>{END}", "loop_joint"),
    (END, f"<Link name='x'/>{END}", "Link"),
    (END, f"<transmission name='t'><joint name='q'/></transmission>{END}", "'t';'q'"),
    (END, f"<frame name='f' link='nope'/>{END}", "'f';nope"),
    (END, f"<gazebo><joint name='loop'/></gazebo>{END}", "joint"),
    (END, "<gazebo reference='j1'><springStiffness>9</springStiffness></gazebo>" + END, "spring"),
    (END, f"<mujoco><option gravity='0 0 0'/></mujoco>{END}", "gravity"),
    (TYPE, 'type="planar"', "j1"),
    (BASE, "", "world"),
]


@pytest.mark.parametrize(("old", "new", "words"), URDF_DOUBTS)
def test_a_doubt_of_a_urdf_is_a_warning_that_names_it_and_a_strict_load_refuses(old, new, words):
    text = changed(old, new)
    if words == "world":
        text = text.replace('"base"', '"world"')
    if 'type="planar"' in new:
        text = text.replace(AXIS, '<axis xyz="1 0 0"/>')
    robot = parse(text)
    said = " ".join(f"{x.where} {x.text}" for x in robot.report.warnings)
    for word in words.split(";"):
        assert word in said
    refused(KinetreeError, text, "", strict=True)


HELD = {  # doubtful limits of j1 -> those that are taken; they do not change the dynamics
    'lower="1" upper="-1" velocity="-2" effort="3"': kt.joints.Limits(effort=3.0),
    'lower="-1" upper="1" effort="0" velocity="0"': kt.joints.Limits(-1.0, 1.0),
    'lower="0" upper="0" effort="0" velocity="0"': kt.joints.Limits(),
    'lower="0" upper="0" effort="1" velocity="0"': kt.joints.Limits(0.0, 0.0, effort=1.0),
    'lower="-1" effort="3" velocity="4"': kt.joints.Limits(-1.0, 0.0, 4.0, 3.0),
    'lower="-1e30" upper="1e30" effort="1e31" velocity="1e30"': kt.joints.Limits(),
    'lower="0.5" upper="0.5" effort="1" velocity="1"': kt.joints.Limits(0.5, 0.5, 1.0, 1.0),
}


@pytest.mark.parametrize("limit", HELD)
def test_limits_that_mean_none_are_none(limit):
    assert parse(changed(LIMIT, f"<limit {limit}/>")).model.joint("j1").limits == HELD[limit]


BODY = (
    '<body name="b1"><joint name="j1" axis="0 0 1"/>'
    '<inertial pos="0 0 .1" mass="1" diaginertia="1 1 1"/>{}</body>'
)


def mjcf(inside="", *, top="", body=BODY):
    """One hinged body that holds `inside`, and `top` beside the world."""
    return f"<mujoco model='toy'>{top}<worldbody>{body.format(inside)}</worldbody></mujoco>"


def joint(attributes):
    return mjcf(f'<body name="b2"><joint name="j2" {attributes}/><geom size=".1"/></body>')


def place(pos):
    return mjcf(f'<body name="b2" pos="{pos}"><geom size=".1"/></body>')


def inertial(attributes):
    return mjcf(body=f'<body name="b1"><joint/><inertial {attributes}/>{{}}</body>')


def joints(elements):
    return mjcf(body=f'<body name="b1">{elements}<geom size=".1"/>{{}}</body>')


def replicate(count, inside="<site/>"):
    return f'<replicate count="{count}">{inside}</replicate>'


DEEP = "<mujoco><worldbody>" + "<body>" * 600 + "</body>" * 600 + "</worldbody></mujoco>"
PLATE = '<asset><mesh name="m" builtin="plate" params="50000 50000"/></asset>'
TENDON = '<tendon><fixed name="t" {}><joint joint="j1" coef="2"/></fixed></tendon>'
MJCF_FAULTS = [  # MuJoCo itself accepts the first ones, without a word
    (inertial('pos="0 0 0" mass="nan" diaginertia="1 1 1"'), "b1;mass;nan"),
    (joint('armature="inf"'), "b2;j2;armature;inf"),
    (joint('axis="0x10 0 1"'), "b2;j2;axis;0x10"),
    (joint('damping="-1"'), "j2;damping;-1"),
    (joint('armature="-1"'), "j2;armature;-1"),
    (mjcf('<body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 -1 1"/></body>'), "'b'"),
    (mjcf('<body name="b"><inertial pos="0 0 0" mass="-.1" diaginertia="1 1 1"/></body>'), "'b'"),
    (joints('<joint name="j1" axis="0 0 2"/><joint name="j2" pos="0 0 3" axis="0 0 -1"/>'),
     "j1;j2"),
    (joints('<joint name="j1" type="slide"/><joint name="j2" type="slide"/>'), "j1;j2"),
    (joints('<joint name="j1"/><joint name="j2" type="ball"/>'), "j1;j2"),
    (mjcf(top='<option gravity="0 0 nan"/>'), "option;gravity;nan"),
    (mjcf(top='<actuator><motor joint="j1" gear="1e200" armature="1"/></actuator>'), "j1;armature"),
    (place("0,5 0 1"), "b2;pos"),
    (place("0 0 1e400"), "b2;pos"),
    (place("0 0 ${h}"), "b2;pos"),
    (place("0 0"), "b2;pos"),
    (joint('axis="0 0 0"'), "j2;b2;axis"),
    (joint('limited="true" range="2 1"'), "j2;range"),
    (joint('type="universal"'), "j2;universal"),
    (joint("").replace("j2", "j1"), "j1"),
    (joints("<freejoint/><freejoint/>"), "b1"),
    (joints('<joint type="ball"/><joint/>'), "b1"),
    (inertial('pos="0 0 0" mass="1" diaginertia="1 1 3"'), "b1;inertia"),
    (inertial('pos="0 0 0" mass="1" fullinertia="1 1 1 2 0 0"'), "b1;inertia"),
    (inertial('mass="1" diaginertia="1 1 1"'), "b1;pos"),
    (mjcf(top='<actuator><motor name="m" joint="nope"/></actuator>'), "nope;m"),
    (mjcf(top='<equality><weld body1="nope" body2="b1"/></equality>'), "nope;weld"),
    (mjcf(top='<keyframe><key name="home" qpos="0 0 0"/></keyframe>'), "home;qpos"),
    (mjcf("<bone/>"), "bone;b1"),
    (mjcf(top='<deformable><flex name="f" dim="1" body="b1 b1"/></deformable>'), "flex"),
    (mjcf('<attach model="m" body="b" prefix="p"/>'), "attach"),
    (mjcf(replicate("1000000000")), "replicate"),
    (mjcf(replicate("900", replicate("900"))), "replicate"),
    (mjcf(top=PLATE), "'m'"),
    (mjcf('<frame><body name="b2"><joint name="j2" dampng="3"/><geom size=".1"/></body></frame>'),
     "j2;b2;dampng"),
    ("<mujocoinclude><body/></mujocoinclude>", "mujocoinclude"),
    ("<!DOCTYPE m [<!ENTITY a 'b'>]><mujoco>&a;</mujoco>", "DOCTYPE"),
    (DEEP, "500"),
    (mjcf()[:90], "line"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), MJCF_FAULTS, ids=range(len(MJCF_FAULTS)))
def test_a_fault_of_an_mjcf_names_its_element(text, words):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    refused(KinetreeError, text, words)


MJCF_DOUBTS = {
    "pull": TENDON.format("") + '<equality><tendon name="pull" tendon1="t"/></equality>',
    "density": '<option density="1.2"/>',
    "biceps": '<actuator><muscle name="biceps" joint="j1" lengthrange="0 1"/></actuator>',
    "mujoco.pid": '<extension><plugin plugin="mujoco.pid"/></extension>',
    "push": '<actuator><position name="push" joint="j1" kp="-5"/></actuator>',
    "weak": '<actuator><motor name="weak" joint="j1" gear="0" ctrlrange="-1 1"/></actuator>',
    "'t'": TENDON.format('stiffness="7" damping="0 2"'),
}  # fmt: skip
MJCF_DOUBTS_INSIDE = {
    "balloon": '<body name="balloon" gravcomp="1"><geom size=".1"/></body>',
    "soft": '<body><joint name="soft" type="ball" stiffness="2"/><geom size=".1"/></body>',
    "oil": '<body><joint name="oil" damping="1 2"/><geom size=".1"/></body>',
}


def test_an_mjcf_without_bodies_is_read_as_mujoco_does_and_a_strict_load_refuses():
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    robot = parse("<mujoco model='m'><asset/></mujoco>")
    assert robot.n == 0 and "worldbody" in robot.report.warnings[0].text
    refused(KinetreeError, "<mujoco model='m'/>", "worldbody", strict=True)


@pytest.mark.parametrize("word", [*MJCF_DOUBTS, *MJCF_DOUBTS_INSIDE])
def test_what_an_mjcf_has_and_the_dynamics_lack_is_warned_about_by_name(word):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    text = mjcf(MJCF_DOUBTS_INSIDE.get(word, ""), top=MJCF_DOUBTS.get(word, ""))
    robot = parse(text)
    said = " ".join(note.text for note in robot.report.warnings)
    assert word in said or (word == "weak" and "'j1'" in said)
    refused(KinetreeError, text, "", strict=True)


def sdf_inertial(m, I):
    entries = "".join(f"<{k}>{x}</{k}>" for k, x in zip(("ixx", "iyy", "izz"), I, strict=True))
    return f"<inertial><mass>{m}</mass><inertia>{entries}</inertia></inertial>"


SDF = f"""<sdf version="1.11"><model name="m"><link name="a">{sdf_inertial(2, (1, 1, 1))}</link>
<joint name="j" type="{{type}}">{{inside}}<parent>world</parent><child>a</child>
<axis><xyz>0 0 1</xyz>{{axis}}</axis></joint>{{more}}</model></sdf>"""
FIXED = '<joint name="{}" type="fixed"><parent>{}</parent><child>{}</child></joint>'


MASSLESS = "".join(
    f'<link name="{k}"><pose>{x} 0 {z} 0 0 0</pose><inertial><mass>0</mass><inertia><ixx>0</ixx>'
    "<iyy>0</iyy><izz>0</izz></inertia></inertial></link>"
    for k, x, z in (("b", 0, 1), ("c", 1, 1), ("d", 1, 0))
) + "".join(
    f'<joint name="{p}{c}" type="revolute"><parent>{p}</parent><child>{c}</child>'
    "<axis><xyz>0 1 0</xyz></axis></joint>"
    for p, c in ("ab", "bc", "cd", "da")
)


def test_a_loop_without_mass_is_refused_by_its_joint_unless_its_constraints_are_left_out():
    text = one(more=MASSLESS, type="fixed").replace("<axis><xyz>0 0 1</xyz></axis>", "", 1)
    refused(KinetreeError, text, "cd;inertia;constraints='none'")
    assert parse(text, constraints="none").n == 3


def one(inside="", axis="", more="", type="revolute"):
    """An SDF model of one joint."""
    return SDF.format(type=type, inside=inside, axis=axis, more=more)


SDF_FAULTS = [
    (one().replace("1.11", "1.0"), "1.0"),
    (one().replace("1.11", "2.0"), "2.0"),
    (one().replace(' version="1.11"', ""), "version"),
    (one().replace('<model name="m">', '<model name="m" canonical_link="x">'), "'x'"),
    (one().replace('<model name="m">', '<model name="m" placement_frame="x">'), "'x'"),
    ('<sdf version="1.9"/>', "model"),
    ('<sdf version="1.9"><model name="m"/></sdf>', "link"),
    (one(type="gearbox"), "'j';gearbox"),
    (one(type="hinge"), "'j';hinge"),
    (one(type="Revolute"), "'j';revolute"),
    (one("<pose>1 2 3</pose>"), "pose;6"),
    (one('<pose frame="a">0 0 0 0 0 0</pose>'), "frame;relative_to"),
    (one('<pose relative_to="b"/>'), "relative_to;'b'"),
    (one(more='<frame name="f"><pose relative_to="g"/></frame>'
         '<frame name="g"><pose relative_to="f"/></frame>'), "'f';'g'"),
    (one(more='<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>'), "'f'"),
    (one('<pose relative_to="world"/>'), "world"),
    (one().replace("<child>a", "<child>b"), "child;'b'"),
    (one().replace("<child>a</child>", ""), "child"),
    (one().replace("<child>a", "<child>world"), "child;world"),
    (one().replace("<parent>world</parent>", ""), "parent"),
    (one().replace(">world<", ">a<"), "'j'"),
    (one(more='<link name="j"/>'), "'j'"),
    (one(more='<link name="__x__"/>'), "__x__"),
    (one(more='<link name="x::y"/>'), "x::y"),
    (one(more='<link name="b"/><link name="c"/>' + FIXED.format("k", "a", "b")
         + FIXED.format("l", "b", "c") + FIXED.format("o", "c", "a")),
     "'o';'l';'c'"),
    (one().replace("0 0 1", "0 0 0"), "'j';axis"),
    (one(type="universal"), "axis2"),
    (one("<axis2><xyz>0 0 -1</xyz></axis2>", type="universal"), "j/axis;j/axis2"),
    (one().replace("<iyy>1", "<iyy>-1"), "'a';iyy;-1"),
    (one().replace("<mass>2", "<mass>-2"), "'a';mass;-2"),
    (one().replace("<mass>2</mass>", "<mass>2</mass>" * 2), "'a';mass"),
    (one().replace("<inertial>", '<inertial auto="true">'), "auto"),
    (one(axis="<limit><lower>-1,5</lower></limit>"), "'j';lower;-1,5"),
    (one(axis="<dynamics><damping>nan</damping></dynamics>"), "'j';damping;nan"),
    (one(axis="<dynamics><damping>-1</damping></dynamics>"), "'j';damping;-1"),
    (one(axis="<dynamics><spring_stiffness>-1</spring_stiffness></dynamics>"),
     "'j';spring_stiffness;-1"),
    (one(axis='<mimic joint="x"><multiplier>1</multiplier></mimic>'), "'j';mimic;'x'"),
    (one(axis='<mimic joint="a"/>'), "'j';mimic;'a'"),
    (one(axis='<mimic joint="j" axis="axis2"/>'), "axis2;'j'"),
    (one(axis='<mimic joint="j"/>'), "'j';multiplier"),
    (one("<thread_pitch>0</thread_pitch>", type="screw"), "thread_pitch"),
    (one("<thread_pitch>4</thread_pitch><screw_thread_pitch>0.5</screw_thread_pitch>",
         type="screw"), "thread_pitch;0.5"),
    (one().replace(' type="revolute"', ""), "'j';type"),
    (one(more='<model name="n"><static>true</static><link name="b"/></model>'), "static"),
    (one(more='<model name="n">' * 60 + '<link name="b"/>' + "</model>" * 60), "nested"),
    (one(more='<link name="b"/><joint name="k" type="ball"><parent>b</parent><child>a</child>'
         "</joint>"), "'k';ball"),
    (one().replace("<link", "<static>maybe</static><link", 1), "static;maybe"),
    (one().replace("<xyz>", '<xyz expressed_in="x">'), "expressed_in;'x'"),
    (one('<pose degrees="true" rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose>'), "degrees"),
    (f"<!DOCTYPE sdf [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>{one()}", "1:"),
    (one(more="<include><uri>https://x.org/m</uri></include>"), "https"),
    (one(more="<include><uri>model://missing</uri></include>"), "missing"),
    (one(more="<include/>"), "include;uri"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), SDF_FAULTS, ids=range(len(SDF_FAULTS)))
def test_a_fault_of_an_sdf_names_its_element(text, words):
    refused(InputError, text, words)


SDF_DOUBTS = [
    (one(axis="<limit><lower>-400</lower><upper>400</upper></limit>"), "'j'"),
    (one(axis="<limit><upper>300</upper></limit>", type="prismatic"), "'j'"),
    (one("stray"), "'j';stray"),
    (one("<pose>0 0 101 0 0 0</pose>"), "'j'"),
    (one(type="screw"), "'j'"),
    (one(axis="<initial_position>1</initial_position>"), "initial_position"),
    (one().replace("<inertial>", "<kinematic>true</kinematic><inertial>"), "kinematic"),
    (one().replace("<inertial>", "<inertial><fluid_added_mass/>"), "fluid_added_mass"),
    (one().replace('<link name="a">', '<link name="a"><gravity>0</gravity>'), "gravity"),
    (one(more='<lnk name="x"/>'), "lnk"),
    (one().replace("<link", "<static>true</static><link", 1), "static"),
    (one().replace("1.11", "1.13"), "1.13"),
    ('<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>', "'a'"),
]


@pytest.mark.parametrize(("text", "words"), SDF_DOUBTS, ids=range(len(SDF_DOUBTS)))
def test_a_doubt_of_an_sdf_is_a_warning_that_names_it(text, words):
    said = " ".join(f"{x.where} {x.text}" for x in parse(text).report.warnings)
    for word in words.split(";"):
        assert word in said
    refused(KinetreeError, text, "", strict=True)


HEAD = '<?xml version="1.0"?>\n<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
XACRO_FAULTS = {
    '<link name="${1 / 0}"/>': "1 / 0",
    '<link name="${nothing}"/>': "nothing",
    '<link name="${"/>': "link",
    '<link name="$(find no_such_package)"/>': "no_such_package",
    '<link name="$(find ../../etc)"/>': "../../etc",
    '<link name="$(what x)"/>': "what",
    '<link name="$(arg b)"/>': "'b'",
    '<link name="$(env KINETREE_NO_SUCH_VARIABLE)"/>': "KINETREE_NO_SUCH_VARIABLE",
    '<link name="${().__class__}"/>': "link",
    '<xacro:m name="a"/>': "'m'",
    '<xacro:macro name="m" params="a b:=1"/><xacro:m c="1"/>': "'c'",
    '<xacro:macro name="m" params="a"/><xacro:m/>': "'a'",
    '<xacro:macro name="m" params="*a"/><xacro:m/>': "*a",
    '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>': "m",
    '<xacro:include filename="robot.xacro"/>': "robot.xacro",
    '<xacro:include filename="missing.xacro"/>': "missing.xacro",
    '<xacro:property name="x" value="${x}"/><link name="${x}"/>': "'x'",
    '<xacro:if value="perhaps"/>': "perhaps",
    '<xacro:insert_block name="b"/>': "'b'",
    '<xacro:property name="1x" value="2"/>': "1x",
    '<xacro:include/>': "filename",
    "<link name=\"${xacro.load_yaml('none.yaml')}\"/>": "none.yaml",
    "<link name=\"${9 ** 9 ** 9}\"/>": "power",
}  # fmt: skip


@pytest.mark.parametrize("inside", XACRO_FAULTS)
def test_a_fault_of_a_xacro_names_its_element_and_line(inside, tmp_path):
    path = tmp_path / "robot.xacro"
    path.write_text(f"{HEAD}\n{inside}</robot>")
    with pytest.raises(ParseError) as caught:
        load_quietly(path)
    message = str(caught.value)
    assert XACRO_FAULTS[inside] in message and "robot.xacro:" in message


@pytest.mark.parametrize(
    "name", ["robot.srdf", "robot.STL", "robot.txt", "robot.usd", "./robot", "nowhere.urdf", ""]
)
def test_what_is_no_robot_file_is_refused_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KinetreeError) as caught:
        kt.load(name)
    assert name.removeprefix("./") in str(caught.value)
    if name == "nowhere.urdf":
        assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize("path", [None, 3, "a\0b", "x" * 5000])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(KinetreeError):
        kt.load(path)


OPTIONS = [{"friction": "nothing"}, {"constraints": None}, {"contacts": "some"},
           {"arguments": {"a": "1"}}, {"model": "x"}]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda x: next(iter(x)))
def test_an_option_that_a_urdf_has_no_use_for_is_named(options):
    refused(InputError, ROBOT, next(iter(options)), **options)


def test_long_chains_and_loops_need_no_recursion():
    links = "".join(f'<link name="l{i}"/>' for i in range(3000))
    joint = '<joint name="j{0}" type="fixed"><parent link="l{0}"/><child link="l{1}"/></joint>'
    chain = "".join(joint.format(i, i + 1) for i in range(2999))
    robot = parse(f"<robot name='r'>{links}{chain}</robot>")
    assert robot.n == 0 and "l2999" in robot.model.frames
    refused(ParseError, f"<robot name='r'>{links}{chain}{joint.format(2999, 0)}</robot>", "j2999")


def test_messages_stay_short_whatever_the_file_holds():
    refused(ParseError, changed(XYZ, f'<origin xyz="{"9" * 60_000}x 0 0"/>'), "j1")


PIECES = ["0", "-1", "nan", "1e308", '"', "<", "/>", "&", "\u00e9", "world", "j1", "xacro:", "${x}"]


def mutant(text, rng):
    """The text with one to four of its parts removed, repeated, moved or replaced."""
    for _ in range(int(rng.integers(1, 5))):
        a, b, c = sorted(int(x) for x in rng.integers(0, len(text), 3))
        b = min(b, a + 30)
        piece = PIECES[int(rng.integers(len(PIECES)))]
        middle = (text[:0], text[a:b] * 2, piece, text[a:b] + text[c : c + 30])
        text = text[:a] + middle[int(rng.integers(4))] + text[b:]
    return text


@pytest.mark.parametrize("text", [ROBOT, mjcf(), one()], ids=["urdf", "mjcf", "sdf"])
def test_a_mutated_text_gives_a_robot_or_an_error_of_kinetree(text):
    if "<mujoco" in text:
        pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    rng, refusals = np.random.default_rng(0), 0
    for _ in range(200):
        try:
            assert parse(mutant(text, rng)).nq >= 0
        except KinetreeError:
            refusals += 1
    assert 40 < refusals < 200  # others are still robots
