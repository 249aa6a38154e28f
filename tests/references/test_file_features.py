"""What each part of a robot file means: MJCF as in MuJoCo, SDF and xacro in closed form.

Every MJCF text is read by both programs, which share no code behind MuJoCo's compiler, and
inverse dynamics with damping and springs, poses, limits and dry friction are compared. URDF is
compared with Pinocchio in test_robot_files.py, SDF with Drake.
"""

import math
import re
import struct

import numpy as np
import pytest
from robot_files import (
    assert_as_mujoco,
    assert_same_robot,
    in_mujoco,
    limits_of,
    load_quietly,
    parse,
    relative,
    remarks,
)

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import KinetreeError, KinetreeWarning, ParseError
from kinetree.joints import Limits
from kinetree.spatial import rpy

EVERY_JOINT = """<body name="wall" pos="0 0 1"><geom size=".1"/>
<body name="b1" pos=".1 .2 .3" euler=".1 .2 .3">
<joint name="x" type="slide" axis="1 2 0" ref=".4" armature=".3"/>
<joint name="turn" pos=".1 0 .2" axis="0 1 1" ref="-.7" damping=".5" frictionloss=".25"
 range="-1 2" stiffness="3" springref=".2"/>
<geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
<body name="b2" pos="0 0 .6"><joint name="ball" type="ball" pos=".1 .2 -.1" armature=".05"/>
<geom type="capsule" size=".05" fromto="0 0 0 .3 .1 .2"/>
<body pos="0 .1 .1"><joint axis="1 0 0"/><geom size=".07" pos=".1 0 0"/></body></body></body></body>
<body name="f" pos="1 2 3"><freejoint name="free"/><geom type="ellipsoid" size=".1 .2 .3"/>
</body>"""
HINGE = '<body name="b1" pos=".1 .2 .3"><joint name="j1" axis="0 .6 .8" {}/>{}</body>'
SOLID = '<inertial pos="0 .1 .2" mass="2" diaginertia="1 1.5 2" quat="1 .1 .2 .3"/>'
GEOM = '<geom size=".1" pos=".1 0 .2"/>'
TWO = (
    '<body name="b1"><joint name="j1" axis="0 1 0" {}/>' + SOLID + '<body name="b2" pos=".3 0 0">'
    '<joint name="j2" axis="0 1 .2" {}/>' + SOLID + "</body></body>"
)
GEOMS = (
    '<geom size=".1" group="0" pos="0 .1 .2"/><geom type="box" size=".1 .2 .3" group="2"/>'
    '<geom type="cylinder" size=".1 .2" euler="10 20 30" group="2"/><body name="b2" pos=".3 0 0">'
    '<joint name="j2" axis="1 1 0"/><geom size=".05" group="1" density="500"/></body>'
)
ROUGH = f"""<body name="b1"><joint axis="0 0 1"/><inertial pos="0 0 .1" mass="1"
diaginertia="1 1 1.5"/>{GEOMS}</body>"""
FLAT = ROUGH.replace("1.5", "2.5")
ROUND = '<body name="b1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>{}</body>'
KIND = '<body name="b2" {}><joint axis="1 2 3"/><geom type="box" size=".1 .2 .3" pos=".1 .2 0"/></body>'  # noqa: E501
ENDS = '<joint joint="j1" coef="2"/><joint joint="j2" coef="-1.5"/>'
CLASSES = """<default><joint damping=".3" armature=".1"/><default class="soft">
<joint stiffness="9" springref="15" damping=".6"/><geom density="300"/></default></default>"""
REPLICATES = """<replicate count="3" offset="0 0 1" euler="0 30 0"><body name="b"><joint name="j"
axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></replicate>"""

MOVING = {  # what stands beside the world, and in it
    "every joint": ('<compiler angle="radian"/>', EVERY_JOINT),
    "gravity": ('<option gravity="1 2 -3"/>', EVERY_JOINT),
    "no gravity": ('<option><flag gravity="disable"/></option>', EVERY_JOINT),
    "no damping": ('<option><flag damper="disable"/></option>', EVERY_JOINT),
    "no springs": ('<option><flag spring="disable"/></option>', EVERY_JOINT),
    "degrees": ("", HINGE.format('range="-30 60" springref="20" stiffness="7" ref="-40"', SOLID)),
    "radians": ('<compiler angle="radian"/>', HINGE.format('range="-1 2" ref=".3"', SOLID)),
    "no autolimits": (
        '<compiler autolimits="false"/>',
        HINGE.format('range="-30 60" limited="false"', SOLID),
    ),
    "limited": ("", HINGE.format('range="-30 60" limited="true" frictionloss=".4"', SOLID)),
    "full inertia": (
        "",
        HINGE.format(
            "", '<inertial pos="0 0 .1" mass="1" fullinertia="1 1.5 2 .1 .2 .3"/>'
        ),
    ),
    "turned inertia": ("", HINGE.format("", SOLID.replace('quat="1 .1 .2 .3"', 'euler="9 8 7"'))),
    "quat": ("", ROUND.format(KIND.format('quat="1 .2 .3 .4" pos=".1 0 .2"'))),
    "axis and angle": ("", ROUND.format(KIND.format('axisangle="1 2 3 40"'))),
    "two axes": ("", ROUND.format(KIND.format('xyaxes="1 2 0 0 1 1"'))),
    "z axis": ("", ROUND.format(KIND.format('zaxis="1 2 3"'))),
    "euler of other axes": (
        '<compiler eulerseq="ZyX"/>',
        ROUND.format(KIND.format('euler="10 20 30"')),
    ),
    "inertia of geoms": ('<compiler inertiafromgeom="true"/>', ROUGH),
    "some groups": ('<compiler inertiafromgeom="true" inertiagrouprange="0 1"/>', ROUGH),
    "total mass": ('<compiler settotalmass="7"/>', ROUGH),
    "bounds": ('<compiler boundmass="20" boundinertia="3"/>', ROUGH),
    "balanced": ('<compiler balanceinertia="true"/>', FLAT),
    "fused": ('<compiler fusestatic="true"/>', ROUND.format('<body pos="1 0 0"><geom size=".2"/></body>')),  # noqa: E501
    "no visuals": ('<compiler discardvisual="true"/>', ROUGH),
    "classes": (
        CLASSES,
        '<body childclass="soft"><joint name="a"/><geom size=".1" pos="0 .1 0"/><body><joint '
        'class="main" axis="1 0 0"/><geom size=".1" pos="0 .1 0"/></body></body>',
    ),
    "replicates": ("", REPLICATES),
    "frames": (
        "",
        ROUND.format('<frame pos="1 0 0" euler="0 30 0"><frame pos="0 1 0">'
                     + KIND.format('pos=".1 0 0"') + "</frame></frame>"),
    ),
    "two joints": ("", ROUND.replace("<geom", '<joint axis="0 0 1" pos="1 0 0"/><geom')),
    "aligned free body": (
        "",
        '<body pos="1 2 3"><freejoint align="true"/><geom type="box" size=".1 .2 .3" pos=".4 0 0"'
        ' euler="10 20 30"/><body pos="1 0 0"><joint axis="0 1 0" armature=".1"/>' + GEOM
        + "</body></body>",
    ),
    "ball armature": ("", f'<body><joint type="ball" armature=".2"/>{GEOM}</body>'),
    "actuator armature": (
        '<actuator><motor joint="j1" gear="3" armature=".02" damping=".1"/></actuator>',
        TWO.format("", ""),
    ),
    "spring of a tendon": (
        f'<tendon><fixed name="t" stiffness="7" springlength=".3">{ENDS}</fixed></tendon>',
        TWO.format("", 'ref="8" stiffness="3"'),
    ),
    "spring as drawn": (
        f'<tendon><fixed stiffness="7">{ENDS}</fixed><fixed stiffness="2">{ENDS}</fixed></tendon>',
        TWO.format('ref="20"', ""),
    ),
    "dead band": (
        f'<tendon><fixed name="t" stiffness="7" springlength="-.5 .75">{ENDS}</fixed></tendon>',
        TWO.format("", ""),
    ),
    "damped tendon": (
        f'<tendon><fixed name="t" damping="2">{ENDS}</fixed></tendon>', TWO.format("", "")
    ),
    "tendon inertia": (
        f'<tendon><fixed name="t" armature=".2">{ENDS}</fixed></tendon>', TWO.format("", "")
    ),
    "spatial tendon": (
        '<tendon><spatial stiffness="40" springlength=".3" damping="2"><site site="s0"/>'
        '<site site="s1"/></spatial></tendon>',
        '<site name="s0" pos="0 0 .5"/>'
        + ROUND.format(KIND.format("").replace("<geom", '<site name="s1" pos=".1 .2 .3"/><geom')),
    ),
}  # fmt: skip


def mjcf(top, inside):
    return f"<mujoco model='toy'>{top}<worldbody>{inside}</worldbody></mujoco>"


@pytest.fixture(scope="session")
def mujoco():
    return pytest.importorskip("mujoco", reason="MJCF needs mujoco")


@pytest.mark.parametrize("name", MOVING)
def test_an_mjcf_moves_as_in_mujoco(name, mujoco):
    text = mjcf(*MOVING[name])
    for seed in range(2):
        assert_as_mujoco(mujoco, parse(text), mujoco.MjModel.from_xml_string(text), seed)


FINGER = """<mujoco model="finger"><compiler angle="radian"/><default>
<joint damping=".3"/></default><worldbody><frame name="root" pos="0 0 .1"><body name="f1"
 pos=".1 0 0"><joint name="j1" axis="0 1 0" armature=".2" ref=".3"/>
<geom size=".1" mass="1" pos=".1 0 .2"/><body name="f2" pos="0 0 .5">
<joint name="j2" type="slide" axis="1 1 0"/><inertial pos=".1 .2 .3" mass="2"
 diaginertia=".1 .2 .25"/></body></body></frame></worldbody></mujoco>"""
HAND = """<mujoco model="hand"><option gravity="1 2 -9"/>{}<worldbody><body name="palm">
<joint name="free" type="free"/><geom size=".2" mass="3"/>
<frame pos="0 .5 0" euler="0 0 30">{}</frame></body></worldbody></mujoco>"""
ASSET = '<asset><model name="finger" file="sub/finger.xml"/></asset>'
INCLUDED = f"<mujocoinclude>{ROUND.format(GEOM)}</mujocoinclude>"
STL = '<asset><mesh name="shape" file="shape.stl" scale=".1 .1 .2"/></asset>'
FILES = {  # assets and what the palm holds
    "a body": (ASSET, '<attach model="finger" body="f1" prefix="a_"/>'),
    "a body inside another": (ASSET, '<attach model="finger" body="f2" prefix="a_"/>'),
    "a frame": (ASSET, '<attach model="finger" frame="root" prefix="a_"/>'),
    "the whole": (ASSET, '<attach model="finger" prefix="a_"/>'),
    "twice": (
        ASSET,
        '<attach model="finger" body="f1" prefix="a_"/><frame pos="0 0 1">'
        '<attach model="finger" body="f1" prefix="b_"/></frame>',
    ),
    "replicated": (
        ASSET,
        '<replicate count="3" offset="0 .1 0"><attach model="finger" body="f1" prefix="r_"/>'
        "</replicate>",
    ),
    "a part of itself": (
        "",
        '<body name="arm" pos="1 0 0"><joint/><geom size=".1"/></body>'
        '<attach body="arm" prefix="copy_"/>',
    ),
    "included": ("", '<include file="sub/part.xml"/>'),
    "a mesh": (STL, '<body name="m1"><joint/><geom type="mesh" mesh="shape"/></body>'),
}


def tetrahedron():
    """A binary STL file, volume 1/6 m^3."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    data = b"".join(
        struct.pack("<12f", 0, 0, 0, *(x for i in face for x in corners[i])) + b"\0\0"
        for face in faces
    )
    return b"\0" * 80 + struct.pack("<I", len(faces)) + data


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def hand(tmp_path):
    """Writes a hand beside the files that it uses."""
    written(tmp_path, "sub/finger.xml", FINGER)
    written(tmp_path, "sub/part.xml", INCLUDED)
    (tmp_path / "shape.stl").write_bytes(tetrahedron())
    return lambda top, inside: written(tmp_path, "hand.xml", HAND.format(top, inside))


@pytest.mark.parametrize("name", FILES)
def test_files_that_an_mjcf_uses_are_put_where_mujoco_puts_them(name, hand, mujoco):
    path = hand(*FILES[name])
    assert_as_mujoco(mujoco, load_quietly(path), mujoco.MjModel.from_xml_path(str(path)))


def test_a_mesh_is_opened_only_where_an_inertia_needs_it(hand, tmp_path, mujoco):
    moving = hand(*FILES["a mesh"])
    (tmp_path / "shape.stl").unlink()
    with pytest.raises(ParseError) as caught:
        load_quietly(moving)
    assert "hand.xml:" in str(caught.value)
    shape = '<geom type="mesh" mesh="shape"{}/>'
    for inside in (SOLID + shape.format(""), GEOM + shape.format(' mass="0"')):
        robot = load_quietly(hand(STL, f'<body name="m1"><joint name="m"/>{inside}</body>'))
        assert "m" in robot.joint_names


def test_no_file_outside_the_folder_is_opened_unless_allowed(hand, tmp_path, mujoco):
    home = tmp_path / "home"
    inside = '<attach model="finger" body="f1" prefix="a_"/>'
    asset = ASSET.replace("sub/finger.xml", "../sub/finger.xml")
    hand("", "")
    for top, body in ((asset, inside), ("", '<include file="../sub/part.xml"/>')):
        path = written(home, "robot.xml", HAND.format(top, body))
        with pytest.raises(ParseError, match="outside"):
            load_quietly(path)
        assert load_quietly(path, folders=[tmp_path]).n > 6


EQUALITIES = {
    "connect": '<connect name="e" body1="a2" body2="b2" anchor="0.1 0.2 -0.1"/>',
    "connect to the world": '<connect name="e" body1="b2" anchor="0.1 0 0.2"/>',
    "connect of sites": '<connect name="e" site1="site_b3" site2="site_a2"/>',
    "weld": '<weld name="e" body1="a2" body2="b2"/>',
    "weld in a pose": '<weld name="e" body1="a1" body2="f" anchor="0.1 0.2 0"'
    ' relpose="0.2 0.1 0.3 0.9 0.1 -0.2 0.3"/>',
    "weld of sites": '<weld name="e" site1="site_f" site2="site_a2"/>',
    "joint": '<joint name="e" joint1="a1" joint2="b2" polycoef="0.1 0.5 -0.3 0.2 0.4"/>',
    "one joint": '<joint name="e" joint1="b1" polycoef="0.2"/>',
}
ARM = """<body name="{0}1" pos="{1} .1 0"><joint name="{0}1" axis="1 .2 .3" pos=".1 0 .2" ref=".3"/>
{2}<body name="{0}2" pos=".3 .1 .2" quat="1 .2 .3 .1"><joint name="{0}2" axis=".1 1 0" ref="-.2"/>
{2}<site name="site_{0}2" pos=".1 0 .3" quat="1 .3 .2 .1"/><body name="{0}3" pos=".2 0 .1">
<joint name="{0}3" type="ball" pos=".1 0 .2"/>{2}<site name="site_{0}3" pos="0 .1 0"/></body></body>
</body>"""
FREE = f'<body name="f" pos="1 0 0"><freejoint/>{SOLID}<site name="site_f" pos="0 .1 .2"/></body>'
ARMS = ARM.format("a", -0.2, SOLID) + ARM.format("b", 0.2, SOLID) + FREE


@pytest.mark.parametrize("name", EQUALITIES)
def test_an_equality_is_closed_where_mujoco_s_is_and_allows_the_same_rates(name, mujoco):
    top = f'<compiler angle="radian"/><equality>{EQUALITIES[name]}</equality>'
    robot, theirs = parse(mjcf(top, ARMS)), mujoco.MjModel.from_xml_string(mjcf(top, ARMS))
    model, rng = robot.model, np.random.default_rng(3)
    there, back = in_mujoco(mujoco, robot, theirs)
    near = back.q(theirs.qpos0.copy())
    q = kt.constraints.project(
        model, dynamics.integrate(model, near, 0.1 * rng.normal(size=robot.n))
    )
    data = mujoco.MjData(theirs)
    theirs.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data.qpos[:] = there.q(q)
    mujoco.mj_forward(theirs, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert rows.any() and np.abs(data.efc_pos[rows]).max() < 1e-9
    theirs_J = data.efc_J.reshape(-1, theirs.nv)[rows]
    J = dynamics.constraint_jacobian(model, q)
    ours = np.array([theirs_J @ there.dq(q, v) for v in np.eye(robot.n)]).T
    assert np.linalg.matrix_rank(J, tol=1e-9) == np.linalg.matrix_rank(ours, tol=1e-9)
    assert relative(np.linalg.pinv(J) @ J, np.linalg.pinv(ours) @ ours) < 1e-8
    assert parse(mjcf(top, ARMS), constraints="none").model.constraints is None


def test_only_active_equalities_are_read(mujoco):
    text = mjcf('<equality><joint name="tie" joint1="j1" active="{}"/></equality>',
                TWO.format("", ""))  # fmt: skip
    assert list(parse(text.format("true")).model.constraints.given) == ["tie"]
    assert parse(text.format("false")).model.constraints is None


AFFINE = 'gaintype="affine" gainprm="2 .5 -1.5" biastype="affine" biasprm=".3 -1 -2"'
ACTUATORS = {
    "without states": '<motor joint="a1" gear="3" ctrlrange="-1 1"/><motor joint="b1" gear="-3" '
    'forcerange="-.5 .3"/><position joint="a1" kp="30" kv="2"/><position joint="b2" kp="30" '
    'dampratio="1" ctrlrange="-1 1"/><velocity joint="b1" kv="3" gear="2"/>'
    '<damper joint="a2" kv="3" ctrlrange="0 1"/><position tendon="t" kp="10" kv="2" gear="1.5"/>'
    f'<general joint="a2" {AFFINE} ctrlrange="-1 1"/><motor jointinparent="b2" gear="2"/>',
    "with states": '<position joint="a1" kp="30" kv="1" timeconst="0.05"/><intvelocity joint="b1" '
    'kp="30" kv="1" actrange="-.01 .005"/><cylinder joint="a2" timeconst=".1" area="3" '
    f'bias="1 -2 -.5"/><general joint="b2" dyntype="filterexact" dynprm=".03" {AFFINE} '
    f'actearly="true"/><general joint="a1" dyntype="filter" dynprm=".03" {AFFINE} '
    'actrange="-.4 .4" actlimited="true"/>',
}
PAIRS = "".join(
    TWO.format("", 'actuatorfrcrange="-1 1.5"').replace('"j', f'"{x}').replace('"b', f'"{x}')
    for x in "ab"
)


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuators_step_as_in_mujoco(name, mujoco):
    tendon = '<tendon><fixed name="t"><joint joint="a1" coef="2"/><joint joint="b2" coef="-1"/>'
    top = (
        '<option timestep=".002" integrator="Euler"><flag eulerdamp="disable" contact="disable"/>'
        f"</option>{tendon}</fixed></tendon><actuator>{ACTUATORS[name]}</actuator>"
    )
    robot, theirs = parse(mjcf(top, PAIRS)), mujoco.MjModel.from_xml_string(mjcf(top, PAIRS))
    data, rng = mujoco.MjData(theirs), np.random.default_rng(len(name))
    data.qpos[:], data.qvel[:] = rng.normal(size=(2, 4)) * 0.7
    data.act[:] = rng.normal(size=theirs.na) * 0.3
    q, dq, a = data.qpos.copy(), data.qvel.copy(), data.act.copy()
    assert len(robot.model.actuator_names) == theirs.nu and len(a) == theirs.na
    for _ in range(20):
        u = data.ctrl[:] = rng.normal(size=theirs.nu) * 1.5
        if len(a):
            q, dq, a = robot.step(q, dq, None, 0.002, controls=np.array(u), activation=a)
        else:
            q, dq = robot.step(q, dq, None, 0.002, controls=np.array(u))
        mujoco.mj_step(theirs, data)
        assert relative(q, data.qpos, 1) < 1e-10 and relative(dq, data.qvel, 1) < 1e-9
        assert relative(a, data.act, 1) < 1e-10


UNREAD = {  # actuators that are left out: what stands beside the world, and the actuator
    "on a ball": ("", '<motor name="weak" joint="ball" gear="1 0 0"/>'),
    "on a site": ("", '<motor name="weak" site="s"/>'),
    "of a disabled group": (
        '<option actuatorgroupdisable="3"/>',
        '<motor name="weak" joint="j1" group="3"/>',
    ),
    "without a gear": ("", '<motor name="weak" joint="j1" gear="0"/>'),
    "with no time constant": (
        "",
        '<general name="weak" joint="j1" dyntype="filter" dynprm="0"/>',
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_an_actuator_that_is_left_out_is_warned_about_by_name(name, mujoco):
    top, actuator = UNREAD[name]
    ball = f'<body><joint name="ball" type="ball"/>{GEOM}<site name="s"/></body>'
    text = mjcf(f"{{}}{top}<actuator>{actuator}</actuator>", TWO.format("", "") + ball)
    with pytest.warns(KinetreeWarning, match="weak"):
        robot = kt.load_string(text.format(""))
    assert not robot.model.actuators
    off = '<option><flag actuation="disable"/></option>'
    assert not parse(text.format(off)).model.actuators


def test_force_limits_are_those_of_the_actuators_of_a_joint(mujoco):
    motors = '<motor joint="j1" gear="-2" forcerange="-5 4"/><motor joint="j2" gear="3" ' \
             'ctrlrange="-1 1"/>'  # fmt: skip
    limits = limits_of(parse(mjcf(f"<actuator>{motors}</actuator>", TWO.format("", ""))))
    assert (limits["j1"].effort, limits["j2"].effort) == (10, 3)


def inertial(m, I, pose=""):
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = "".join(f"<{k}>{x}</{k}>" for k, x in zip(names, I, strict=False))
    pose = f"<pose>{pose}</pose>" if pose else ""
    return f"<inertial>{pose}<mass>{m}</mass><inertia>{entries}</inertia></inertial>"


URDF = """<robot name="arm"><link name="world"/>
<link name="base"><inertial><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><mass value="3"/>
  <inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.25"/></inertial></link>
<link name="upper"><inertial><origin xyz="0 0.1 0.2"/><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.05"/></inertial></link>
<link name="slide"><inertial><origin rpy="0 0 1"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.025"/></inertial></link>
<link name="right"><inertial><mass value="0.3"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
<joint name="stand" type="fixed"><parent link="world"/><child link="base"/>
  <origin xyz="0 0 0.5" rpy="0.3 0 0"/></joint>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
  <origin xyz="0.1 0 0.4" rpy="0 0.5 0"/><axis xyz="0 0.6 0.8"/>
  <limit lower="-1.5" upper="2" effort="40" velocity="3"/>
  <dynamics damping="0.7" friction="0.2"/></joint>
<joint name="lift" type="prismatic"><parent link="upper"/><child link="slide"/>
  <origin xyz="0 0 0.3" rpy="0 0 0.7"/><axis xyz="0 0 1"/>
  <limit lower="0" upper="0.4" effort="100" velocity="1"/></joint>
<joint name="follow" type="continuous"><parent link="slide"/><child link="right"/>
  <origin xyz="-0.05 0 0.1"/><axis xyz="1 0 0"/>
  <mimic joint="shoulder" multiplier="-0.5" offset="0.2"/></joint>
</robot>"""
SDF = f"""<sdf version="1.11"><model name="arm">
<link name="base"><pose>0 0 0.5 0.3 0 0</pose>
  {inertial(3, (0.1, 0.2, 0.25, 0.01, 0.02, 0.03), "0 0 0.1 0.1 0.2 0.3")}</link>
<joint name="stand" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="shoulder" type="revolute"><pose relative_to="base">0.1 0 0.4 0 0.5 0</pose>
  <parent>base</parent><child>upper</child>
  <axis><xyz>0 0.6 0.8</xyz><limit><lower>-1.5</lower><upper>2</upper><effort>40</effort>
  <velocity>3</velocity></limit><dynamics><damping>0.7</damping><friction>0.2</friction></dynamics>
  </axis></joint>
<link name="upper"><pose relative_to="shoulder"/>{inertial(2, (0.1, 0.1, 0.05), "0 0.1 0.2 0 0 0")}
</link>
<joint name="lift" type="prismatic"><pose relative_to="upper" degrees="true">0 0 0.3 0 0
  {math.degrees(0.7)}</pose><parent>upper</parent><child>slide</child>
  <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>0.4</upper><effort>100</effort>
  <velocity>1</velocity></limit></axis></joint>
<link name="slide"><pose relative_to="lift"/>{inertial(1, (0.01, 0.02, 0.025), "0 0 0 0 0 1")}
</link>
<joint name="follow" type="continuous"><pose relative_to="slide">-0.05 0 0.1 0 0 0</pose>
  <parent>slide</parent><child>right</child><axis><xyz>1 0 0</xyz>
  <mimic joint="shoulder"><multiplier>-0.5</multiplier><offset>0</offset><reference>0.4</reference>
  </mimic></axis></joint>
<link name="right"><pose relative_to="follow"/>{inertial(0.3, (0.001, 0.001, 0.001))}</link>
</model></sdf>"""
ONE = f"""<sdf version="{{version}}"><world name="w">{{world}}<model name="m"><link name="a">
{{pose}}{inertial(2, (1, 1, 1))}</link><joint name="j" type="{{type}}">{{inside}}
<parent>world</parent><child>a</child><axis><xyz{{by}}>0 0.6 0.8</xyz>{{axis}}</axis></joint>
{{more}}</model></world></sdf>"""


def one(type="revolute", version="1.11", **parts):
    """An SDF of one joint."""
    empty = dict.fromkeys(("world", "pose", "inside", "axis", "more", "by"), "")
    return ONE.format(type=type, version=version, **empty | parts)


def test_a_robot_is_the_same_as_sdf_and_as_urdf():
    found, expected = parse(SDF), parse(URDF)
    assert_same_robot(found, expected)
    assert limits_of(found) == limits_of(expected)
    assert set(parse(SDF, mimic=False).joint_names) == {"shoulder", "lift", "follow"}


def screw(text):
    return np.ravel(np.array(parse(text).model.joint("j").A, float))


def test_threads_of_screws_are_per_turn_or_in_the_old_way_inverse_and_left_handed():
    axis = np.array([0, 0.6, 0.8])
    new = screw(one("screw", inside="<screw_thread_pitch>0.5</screw_thread_pitch>"))
    old = screw(one("screw", inside="<thread_pitch>4</thread_pitch>"))
    assert relative(new, [*axis, *(axis * 0.5 / (2 * math.pi))]) < 1e-14
    assert relative(old, [*axis, *(axis * -0.25)]) < 1e-14


LIMITS = {
    "": Limits(),
    "<limit/>": Limits(),
    "<limit><lower>-1e16</lower><upper>1e16</upper><effort>-1</effort><velocity>-1</velocity>"
    "</limit>": Limits(),
    "<limit><lower>-inf</lower><upper>inf</upper><effort>inf</effort></limit>": Limits(),
    "<limit><lower>-1</lower></limit>": Limits(lower=-1),
    "<limit><upper>2</upper><velocity>3</velocity></limit>": Limits(upper=2, velocity=3),
    "<limit><effort>7</effort></limit>": Limits(effort=7),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_sdf(limit):
    assert limits_of(parse(one(axis=limit)))["j"] == LIMITS[limit]


def test_damping_friction_and_springs_of_sdf():
    element = (
        "<dynamics><damping>0.5</damping><friction>0.25</friction>"
        "<spring_stiffness>4</spring_stiffness><spring_reference>0.1</spring_reference>"
    )
    text = one(axis=f"{element}</dynamics>", pose="<pose>0 0 0 0 0 0</pose>")
    tau = dynamics.inverse_dynamics(parse(text).model, [0.6], [2.0], [0.0])
    assert tau == pytest.approx([0.5 * 2 + 0.25 + 4 * (0.6 - 0.1)])
    ball = one("ball", axis="<dynamics><damping>0.5</damping></dynamics>")
    dq = np.array([1.0, -2, 3])
    assert dynamics.friction_forces(parse(ball).model, dq).tolist() == [0.5, -1, 1.5]


GRAVITY = {
    ("1.5", "<physics type='ode'><gravity>0 0 -1.62</gravity></physics>"): (0, 0, -1.62),
    ("1.6", "<physics type='ode'><gravity>0 0 -1.62</gravity></physics>"): (0, 0, -9.8),
    ("1.9", "<gravity>0 1 -3</gravity>"): (0, 1, -3),
    ("1.9", ""): (0, 0, -9.8),
}


@pytest.mark.parametrize(("version", "world"), GRAVITY)
def test_gravity_of_sdf_is_that_of_the_world(version, world):
    robot = parse(one(version=version, world=world))
    assert tuple(robot.model.gravity[3:]) == GRAVITY[version, world]


IN_MODEL = "<use_parent_model_frame>true</use_parent_model_frame>"
AXES = {  # whether the axis is in the model frame: version, what follows <xyz>
    ("1.2", ""): True, ("1.4", ""): True, ("1.5", ""): False, ("1.5", IN_MODEL): True,
    ("1.6", IN_MODEL): True, ("1.6", ""): False, ("1.9", ""): False,
    ("1.4", IN_MODEL.replace("true", "0")): False,
}  # fmt: skip


@pytest.mark.parametrize(("version", "flag"), AXES)
def test_the_axis_of_sdf_is_in_the_joint_or_in_the_model(version, flag):
    text = one(version=version, axis=flag, pose="<pose>0 0 1 0.2 0.5 0.7</pose>",
               inside="<pose>0 0 0 0.4 0 0</pose>")  # fmt: skip
    R = rpy(0.2, 0.5, 0.7).T if AXES[version, flag] else rpy(0.4, 0, 0)
    assert relative(screw(text)[:3], R @ [0, 0.6, 0.8]) < 1e-14


def test_frames_of_sdf_may_be_named_by_poses_and_axes():
    """A frame is in the axes of what it is attached to, here a link that stands elsewhere."""
    more = (
        '<frame name="f" attached_to="a"><pose>0 0 1 0.3 0 0</pose></frame>'
        '<frame name="g"><pose relative_to="f">0 1 0 0 0.2 0</pose></frame>'
    )
    text = one(more=more, by=' expressed_in="g"', pose="<pose>1 2 3 0.4 0 0</pose>")
    R_ag = rpy(0.3, 0, 0) @ rpy(0, 0.2, 0)
    assert relative(screw(text)[:3], R_ag @ [0, 0.6, 0.8]) < 1e-14
    p = np.array([0, 0, 1]) + rpy(0.3, 0, 0) @ [0, 1, 0]
    found = dynamics.pose(parse(text).model, [0.0], "g")[:3, 3]
    assert relative(found, np.array([1, 2, 3]) + rpy(0.4, 0, 0) @ p) < 1e-14


def test_several_models_are_refused_unless_one_is_chosen_or_can_move():
    text = '<sdf version="1.9"><world name="w">{}</world></sdf>'
    ground = '<model name="ground"><static>1</static><link name="l"/></model>'
    left, right = (f'<model name="{x}"><link name="a"/></model>' for x in ("left", "right"))
    assert parse(text.format(ground + left)).name == "left"
    with pytest.raises(KinetreeError, match="'ground', 'left', 'right'"):
        parse(text.format(ground + left + right))
    assert parse(text.format(ground + left + right), model="right").name == "right"


GRIPPER = f"""<sdf version="1.9"><model name="gripper"><pose>9 9 9 0 0 0</pose>
<link name="palm"><pose>0 0 0.1 0 0 0</pose>{inertial(1, (1, 1, 1))}</link>
<frame name="mount"><pose>0 0 -0.3 0 0 0</pose></frame></model></sdf>"""
HOLDER = """<sdf version="1.9"><model name="arm"><link name="base"/>{}
<joint name="hold" type="revolute"><parent>base</parent><child>{}palm</child>
<axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""


@pytest.mark.parametrize("merge", [False, True])
def test_a_model_that_an_sdf_includes_stands_where_the_include_says(merge, tmp_path):
    written(tmp_path, "models/gripper/model.sdf", GRIPPER)
    more = "<name>g</name><pose>1 0 0 0 0 0</pose><placement_frame>mount</placement_frame>"
    attribute = ' merge="true"' if merge else ""
    include = f"<include{attribute}><uri>model://gripper</uri>{more}</include>"
    text = HOLDER.format(include, "" if merge else "g::")
    robot = parse(text, folders=[tmp_path / "models"])
    name = "palm" if merge else "g::palm"
    p = dynamics.pose(robot.model, [0.0], name)[:3, 3]
    assert relative(p, [1, 0, 0.4]) < 1e-14  # the mount at 1 0 0, the palm 0.4 m above it
    with pytest.raises(KinetreeError, match="gripper"):
        parse(text)


def test_a_loop_of_sdf_is_closed_by_one_of_its_joints():
    links = {"crank": "0 0", "coupler": "0.3 0", "rocker": "0.8 0"}
    joints = {"j1": ("base", "crank", "0 0"), "j2": ("crank", "coupler", "0 0"),
              "j3": ("base", "rocker", "0 0"), "j4": ("rocker", "coupler", "0.3 0.4")}  # fmt: skip
    body = inertial(1, (0.01, 0.02, 0.02))
    parts = "".join(
        f'<link name="{x}"><pose>{p} 0 0 0 0</pose>{body}</link>' for x, p in links.items()
    )
    parts += "".join(
        f'<joint name="{x}" type="revolute"><parent>{p}</parent><child>{c}</child>'
        f"<pose>{at} 0 0 0 0</pose><axis><xyz>0 0 1</xyz></axis></joint>"
        for x, (p, c, at) in joints.items()
    )
    floor = '<joint name="floor" type="fixed"><parent>world</parent><child>base</child></joint>'
    text = f'<sdf version="1.9"><model name="bars"><link name="base">{body}</link>{parts}{floor}'
    robot = parse(text + "</model></sdf>")
    assert set(robot.joint_names) == {"j1", "j2", "j3"}
    assert kt.constraints.mobility(robot).degrees_of_freedom == 1
    assert np.abs(dynamics.constraint_errors(robot.model, np.zeros(3))).max() < 1e-14
    assert "'j4'" in remarks(robot)


HEAD = '<?xml version="1.0"?>\n<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
X, M = '<xacro:property name="x" value=', '<xacro:macro name="m" params='
UNIT = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
XACRO = {  # before the robot, its mass as an expression, and the mass
    ('<xacro:property name="a" value="2"/>', "${a + 1}"): 3,
    (f'{X}"${{y}}"/><xacro:property name="y" value="2"/>', "${x}"): 2,  # late
    (f'{X}"1"/><xacro:property name="x" default="2"/>', "${x}"): 1,
    (f'{X}"7"/>{M}"x:=^"><xacro:property name="z" value="${{x}}" scope="parent"/></xacro:macro>'
     "<xacro:m/>", "${z}"): 7,
    (f'{M}"x:=^|5"><xacro:property name="z" value="${{x}}" scope="parent"/></xacro:macro>'
     "<xacro:m/>", "${z}"): 5,
    (f'{M}"">{X}"4" scope="parent"/></xacro:macro><xacro:m/>', "${x}"): 4,
    ('<xacro:arg name="h" default="3"/>', "$(arg h)"): 3,
    ('<xacro:arg name="h" default="3"/>', "$(eval h * 2)"): 6,
    ("", "$(eval 2 * (1 + (2)))"): 6,
    ("", "${[2 * i for i in range(3)][-1]}"): 4,
    ("", "${dict(a=1, b=2)['b']}"): 2,
    ("", "${0.1 + 0.2}"): 0.1 + 0.2,
    ("", "${round(degrees(pi / 2))}"): 90,
    ("", "${len('abc') if 2 in [1, 2] else 1}"): 3,
    ("", "${sqrt(2) * cos(pi / 4)}"): 1,
    ("", "${2 ** 3 % 5 // 2}"): 1,
    ("", "${len(xacro.tokenize('a, b;c'))}"): 3,
    ("", "${max(1, 2) + abs(-1.5)}"): 3.5,
    ("", "$(optenv KINETREE_NO_SUCH_VARIABLE 4)"): 4,
}  # fmt: skip


@pytest.mark.parametrize(("before", "mass"), XACRO)
def test_expressions_properties_and_arguments_of_xacro(before, mass):
    body = f'<link name="a"><inertial><mass value="{mass}"/>{UNIT}</inertial></link>'
    robot = parse(f"{HEAD}{before}{body}</robot>", format="xacro")
    assert dynamics.total_mass(robot.model) == pytest.approx(XACRO[before, mass], rel=1e-15)


TREES = {  # what stands in the file beside the base, in which A makes a link: names of the links
    '<xacro:if value="true">A</xacro:if>': "a",
    '<xacro:if value="0">A</xacro:if>B': "b",
    '<xacro:unless value="${1 > 2}">A</xacro:unless>': "a",
    '<xacro:property name="p">A</xacro:property><xacro:insert_block name="p"/>': "a",
    f'{M}"**all"><xacro:insert_block name="all"/></xacro:macro><xacro:m><x>AB</x></xacro:m>': "a b",
    f'{M}"n"><xacro:l n="x${{n}}"/><xacro:if value="${{n}}"><xacro:m n="${{n - 1}}"/></xacro:if>'
    '</xacro:macro><xacro:m n="2"/>': "x2 x1 x0",
    f"{M}\"p:='b c'\"><xacro:l n='${{p}}'/></xacro:macro><xacro:m/>": "b_c",
    '<xacro:call macro="l" n="z"/>': "z",
    "<xacro:l n=\"${'_'.join(['a', 'b']).upper()}\"/>": "A_B",
    '<xacro:element xacro:name="link" name="e"/><joint name="je" type="fixed"><parent link="base"/>'
    '<child><xacro:attribute name="link" value="e"/></child></joint>': "e",
}  # fmt: skip
LINK = """<xacro:macro name="l" params="n"><link name="${n.replace(' ', '_')}"/>
<joint name="j_${n}" type="fixed"><parent link="base"/>
<child link="${n.replace(' ', '_')}"/></joint></xacro:macro><link name="base"/>"""
LETTERS = {x.upper(): f'<xacro:l n="{x}"/>' for x in "ab"}


@pytest.mark.parametrize("inside", TREES)
def test_conditions_blocks_and_macros_of_xacro(inside):
    text = re.sub("(?<=>)([AB]+)(?=<|$)", lambda x: "".join(map(LETTERS.get, x[1])), inside)
    robot = parse(f"{HEAD}{LINK}{text}</robot>")
    assert {*TREES[inside].split(), "base"} == set(robot.model.frames)


PART = """{}<xacro:macro name="part" params="h"><link name="a"/><joint name="j" type="fixed">
<origin xyz="0 0 ${{{} * h}}"/><parent link="base"/><child link="a"/></joint></xacro:macro>
</robot>"""
WHOLE = (
    HEAD
    + """<xacro:include filename="$(find parts)/part.xacro"/>
<xacro:arg name="height" default="0.5"/><link name="base"/><xacro:part h="$(arg height)"/>
</robot>"""
)


def height(path, **options):
    return dynamics.pose(load_quietly(path, **options).model, (), "a")[2, 3]


@pytest.fixture
def workspace(tmp_path):
    for name, factor in (("one", 2), ("two", 30)):
        manifest = "<package format='3'><name>parts</name><version>1.0.0</version></package>"
        written(tmp_path, f"{name}/p/package.xml", manifest)
        written(tmp_path, f"{name}/p/part.xacro", PART.format(HEAD, factor))
    return written(tmp_path, "robot/arm.urdf.xacro", WHOLE)


def test_packages_of_xacro_are_found_in_the_folders_and_arguments_are_given(workspace, tmp_path):
    one, two = ({"folders": [tmp_path / name]} for name in ("one", "two"))
    assert [height(workspace, **x) for x in (one, two, one)] == [1, 15, 1]
    assert height(workspace, arguments={"height": 2}, **one) == 4
    with pytest.raises(KinetreeError, match="hight"):
        kt.load(workspace, strict=True, arguments={"hight": 2}, **one)
    with pytest.raises(KinetreeError, match="parts"):
        load_quietly(workspace)


def test_includes_of_xacro_are_relative_to_their_file_and_yaml_has_units(tmp_path, monkeypatch):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    include = '<xacro:include filename="sub/b.xacro"/>'
    data = "<xacro:property name='d' value=\"${xacro.load_yaml('data.yaml')}\"/>"
    path = written(tmp_path, "a.xacro", f"{HEAD}{include}{LINK}{data}</robot>".replace(
        "</robot>", '<link name="a"/><joint name="j" type="fixed"><parent link="base"/>'
        '<child link="a"/><origin xyz="0 0 ${d.list[1] + d.angle / pi + d.x + h}"/></joint></robot>'
    ))  # fmt: skip
    written(tmp_path, "sub/b.xacro", f'{HEAD}<xacro:include filename="c.xacro"/></robot>')
    for folder, h in (("sub/", 100), ("", 5)):
        c = f'{HEAD}<xacro:property name="h" value="{h}"/></robot>'
        written(tmp_path, f"{folder}c.xacro", c)
    written(tmp_path, "data.yaml", "list: [1, 2.5]\nangle: !degrees 180\nx: !millimeters 2 * 5\n")
    monkeypatch.chdir(tmp_path.parent)
    assert height(path) == pytest.approx(2.5 + 1 + 0.01 + 100, rel=1e-15)


def test_a_namespace_of_xacro_keeps_its_macros_and_properties_apart(tmp_path):
    own = '<xacro:property name="x" value="3"/>'
    macro = f'{M}"">{X}"${{x + 4}}" scope="parent"/></xacro:macro>'
    written(tmp_path, "n.xacro", f"{HEAD}{own}{macro}</robot>")
    body = f'<link name="a"><inertial><mass value="{{}}"/>{UNIT}</inertial></link></robot>'
    include = f'{HEAD}<xacro:include filename="n.xacro" ns="n"/><xacro:n.m/>'
    for mass, expected in (("${n.x}", 3), ("${x}", 7)):
        path = written(tmp_path, "a.xacro", include + body.format(mass))
        assert dynamics.total_mass(load_quietly(path).model) == expected
    with pytest.raises(KinetreeError, match="'m'"):
        load_quietly(written(tmp_path, "a.xacro", f"{include}<xacro:m/></robot>"))


def test_environment_variables_are_read_where_that_is_allowed(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_TEST_NAME", "outside")
    text = f'{HEAD}<link name="$(env KINETREE_TEST_NAME)"/></robot>'
    assert "outside" in parse(text, environment=True, format="xacro").model.frames
    with pytest.raises(KinetreeError):
        parse(text, format="xacro")


@pytest.mark.parametrize(
    "gear", ["<gear_ratio value='60'/>", "<mechanicalReduction>60</mechanicalReduction>"]
)
def test_a_rotor_in_a_urdf_adds_its_inertia_by_the_square_of_the_ratio(gear):
    body = f'<inertial><mass value="1"/>{UNIT}</inertial>'
    text = f"""<robot name="r"><link name="a"/><link name="b">{body}</link><joint name="j"
    type="continuous"><parent link="a"/><child link="b"/></joint><transmission name="t">
    <joint name="j"/><actuator name="m"><rotor_inertia value="1e-3"/>{gear}</actuator>
    </transmission></robot>"""
    assert dynamics.mass_matrix(parse(text).model, [0.0])[0, 0] == pytest.approx(1 + 3.6)


CONTACTS = f"""<robot name="leg"><link name="trunk"><inertial><mass value="1"/>{UNIT}</inertial>
<collision name="box"><origin xyz="0 0 .1"/><geometry><box size="0.2 0.4 0.6"/></geometry>
</collision></link><link name="foot"><contact><lateral_friction value="0.9"/></contact>
<collision name="ball"><geometry><sphere radius="0.03"/></geometry></collision></link>
<joint name="ankle" type="fixed"><parent link="trunk"/><child link="foot"/>
<origin xyz="0 0 -0.5"/></joint><gazebo reference="trunk"><mu1>0.3</mu1></gazebo></robot>"""


def test_collision_shapes_of_a_urdf_are_contacts_where_they_are_asked_for():
    assert parse(CONTACTS, floating=True).model.contacts is None
    contacts = parse(CONTACTS, floating=True, contacts="file").model.contacts
    friction = sorted(contacts.frictions)
    assert friction == [0.3] * 8 + [0.9]
    corners = [x.position for x in contacts.points if x.radius == 0]
    assert (
        sorted(np.abs(np.array(corners) - [0, 0, 0.1]).round(12).tolist()) == [[0.1, 0.2, 0.3]] * 8
    )
    (foot,) = [x for x in contacts.points if x.radius]
    assert foot.radius == 0.03 and relative(foot.position, [0, 0, 0]) < 1e-15


def test_the_root_of_a_xacro_file_may_use_its_folder(tmp_path):
    head = '<robot name="$(dirname)" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (tmp_path / "arm.xacro").write_text(f'{head}<link name="a"/></robot>')
    assert kt.load(tmp_path / "arm.xacro").name == str(tmp_path)
