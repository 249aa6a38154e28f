"""Options, flags and compiler settings that change accelerations: as in MuJoCo, or named."""

import math

import numpy as np
import pytest
from mjcf_files_given import model
from test_mjcf_attach import assert_agrees

from kinetree.algorithms import mass_matrix
from kinetree.constraints import Couple
from kinetree.errors import ParseError
from kinetree.files.description import Spring
from kinetree.files.description.mjcf import read_mjcf
from kinetree.model import build_model

mujoco = pytest.importorskip("mujoco", reason="MJCF needs mujoco")

RUBBING = (
    '<body name="b1"><joint name="j1" axis="0 1 0" damping=".5" frictionloss=".25" '
    'stiffness="7" springref="20"/><inertial pos=".1 0 .1" mass="1" diaginertia="1 1 1"/>{}</body>'
)


def read(folder, text, **options):
    (folder / "toy.xml").write_text(text)
    return read_mjcf(folder / "toy.xml", **options)


def texts(notes):
    return " | ".join(note.text for note in notes)


def flagged(flags, body=RUBBING):
    return model(top=f"<option><flag {flags}/></option>", body=body)


def test_gravity_that_a_flag_disables_is_zero(tmp_path):
    robot = read(tmp_path, flagged('gravity="disable"'))
    assert robot.gravity == (0, 0, 0)
    assert "gravity is 0" in texts(robot.notes)
    assert_agrees(tmp_path / "toy.xml")
    assert read(tmp_path, flagged('gravity="enable"')).gravity == (0, 0, -9.81)


@pytest.mark.parametrize(
    "flag, friction, word",
    [
        ("damper", (0, 0.25), "damping is 0"),
        ("frictionloss", (0.5, 0), "frictionloss) is 0"),
        ("constraint", (0.5, 0), "frictionloss) is 0"),
        ("contact", (0.5, 0.25), ""),
    ],
)
def test_friction_that_a_flag_disables_is_zero(tmp_path, flag, friction, word):
    robot = read(tmp_path, flagged(f'{flag}="disable"'))
    found = robot.joints[0].friction
    assert (found.viscous, found.coulomb) == friction
    assert word in texts(robot.notes)


def test_springs_are_read_unless_a_flag_disables_them(tmp_path):
    robot = read(tmp_path, model(body=RUBBING))
    (spring,) = robot.springs.values()
    assert (spring.stiffness, spring.rest) == (7, pytest.approx(math.radians(20), rel=1e-15))
    assert "spring" not in texts(robot.warnings)
    robot = read(tmp_path, flagged('spring="disable"'))
    assert not robot.springs
    assert "spring" not in texts(robot.warnings) and "springs are off" in texts(robot.notes)


def test_only_active_equality_constraints_are_read(tmp_path):
    equality = '<equality><joint name="tie" joint1="j1" active="{}"/></equality>'
    robot = read(tmp_path, model(top=equality.format("true")))
    assert robot.constrained is not None and list(robot.constrained.constraints) == ["tie"]
    off = '<option><flag equality="disable"/></option>' + equality.format("true")
    for text in (equality.format("false"), off):
        robot = read(tmp_path, model(top=text))
        assert robot.constrained is None and robot.warnings == ()
        assert "not active are left out: 'tie'" in texts(robot.notes)


GEOMS = (
    '<geom size=".1" group="0" pos="0 .1 .2"/><geom type="box" size=".1 .2 .3" group="2"/>'
    '<body name="b2" pos=".3 0 0"><joint name="j2" axis="1 1 0"/>'
    '<geom size=".05" group="1"/></body>'
)


@pytest.mark.parametrize(
    "setting",
    [
        'inertiafromgeom="true"',
        'inertiafromgeom="true" inertiagrouprange="0 1"',
        'settotalmass="7"',
        'boundmass="20" boundinertia="3"',
        'balanceinertia="true"',
        'fusestatic="true"',
        'discardvisual="true"',
        'angle="radian" autolimits="false"',
    ],
)
def test_compiler_settings_that_change_masses_act_as_in_mujoco(tmp_path, setting):
    body = (
        '<body name="b1"><joint name="j1" axis="0 0 1"/>'
        '<inertial pos="0 0 .1" mass="1" diaginertia="1 1 2.5"/>{}</body>'
    )
    if "balance" not in setting:
        body = body.replace("2.5", "1.5")
    text = model(GEOMS, top=f"<compiler {setting}/>", body=body)
    (tmp_path / "toy.xml").write_text(text)
    assert_agrees(tmp_path / "toy.xml")


def test_an_aligned_free_body_moves_as_in_mujoco(tmp_path):
    body = (
        '<body name="b1" pos="1 2 3"><freejoint align="true"/><geom type="box" size=".1 .2 .3" '
        'pos=".4 0 0" euler="10 20 30"/>{}</body>'
    )
    inside = (
        '<body pos="1 0 0"><joint axis="0 1 0" armature=".1"/><geom size=".1" pos="0 0 1"/></body>'
    )
    (tmp_path / "toy.xml").write_text(model(inside, body=body))
    assert_agrees(tmp_path / "toy.xml")


def test_dry_friction_of_a_free_joint_is_named(tmp_path):
    body = (
        '<body name="b1"><joint name="f" type="free" frictionloss="2"/><geom size=".1"/>{}</body>'
    )
    assert "axes of the body" in texts(read(tmp_path, model(body=body)).warnings)


def test_a_motor_that_gives_no_force_is_named_with_its_joint(tmp_path):
    top = '<actuator><motor joint="j1" gear="0" ctrlrange="-1 1"/></actuator>'
    robot = read(tmp_path, model(top=top))
    assert robot.joints[0].limits.effort == 0
    assert "give no force" in texts(robot.warnings) and "'j1'" in texts(robot.warnings)


@pytest.mark.parametrize("states", ["", 'actdim="1"', 'actdim="2"', 'actdim="3" dyntype="user"'])
def test_a_plugin_actuator_is_named_and_its_control_is_no_effort(tmp_path, states):
    """The control of a position servo is an angle: it bounds no joint force."""
    top = (
        '<extension><plugin plugin="mujoco.pid"><instance name="pid"/></plugin></extension>'
        f'<actuator><plugin joint="j1" instance="pid" ctrlrange="-2 2" {states}/></actuator>'
    )
    robot = read(tmp_path, model(top=top))
    assert robot.joints[0].limits.effort == np.inf
    assert "plugins are ignored: 'mujoco.pid'" in texts(robot.warnings)
    assert "actuators" in texts(robot.warnings)


@pytest.mark.parametrize(
    "joints",
    [
        '<joint/><joint armature=".1"/>',  # inertia of its own rate
        '<joint/><joint pos="1 0 0"/>',  # beside each other
        '<joint/><joint type="slide"/>',  # about and along one line
        '<joint/><joint axis="0 1 0"/><joint axis="0 0 1"/>',  # singular where it begins, only
        '<joint type="slide"/><joint type="ball" pos="0 0 1"/>',
    ],
)
def test_joints_of_a_body_that_move_it_in_different_ways_are_read(tmp_path, joints):
    body = f'<body name="b1">{joints}<geom size=".1" pos=".2 0 0"/>{{}}</body>'
    robot = build_model(read(tmp_path, model(body=body)))
    q = np.linspace(0.4, 1.3, robot.nq)
    if "ball" in joints:
        q[1:] /= np.linalg.norm(q[1:])
    assert np.linalg.cond(np.array(mass_matrix(robot, q), float)) < 1e6


def test_bounds_of_the_compiler_put_other_numbers_in_place_of_negative_ones(tmp_path):
    inside = '<body><inertial pos="0 0 0" mass="-1" diaginertia="-1 1 1"/></body>'
    top = '<compiler boundmass="0.5" boundinertia="0.25"/>'
    (found,) = [x.bodies[0] for x in read(tmp_path, model(inside, top=top)).links if x.name == "#2"]
    assert found.m == 0.5
    np.testing.assert_allclose(np.diag(found.I_com), [0.25, 1, 1])


@pytest.mark.parametrize(
    ("actuator", "is_named"),
    [
        ('<position name="a" joint="j1" kp="-5"/>', True),
        ('<velocity name="a" joint="j1" kv="-5"/>', True),
        ('<general name="a" joint="j1" biastype="affine" biasprm="0 0 5"/>', True),
        ('<general name="a" joint="j1" biasprm="0 5 5"/>', False),  # bias is not affine
        ('<position name="a" joint="j1" kp="5" gear="-3"/>', False),  # pulls back all the same
        ('<motor name="a" joint="j1" gear="-3"/>', False),
    ],
)
def test_servos_that_push_away_from_their_goal_are_named(tmp_path, actuator, is_named):
    robot = read(tmp_path, model(top=f"<actuator>{actuator}</actuator>"))
    assert ("push away from their goal" in texts(robot.warnings)) is is_named


SECOND = '<body name="b2"><joint name="j2" axis="0 1 0"/><geom size=".1"/></body>'


@pytest.mark.parametrize(("name", "found"), [("cord", "cord"), ("j1", "tendon/j1")])
def test_a_fixed_tendon_is_a_spring_of_its_own_name_unless_a_joint_has_it(tmp_path, name, found):
    ends = '<joint joint="j1" coef="2"/><joint joint="j2" coef="-1"/>'
    cord = f'<fixed name="{name}" stiffness="5" springlength=".25">{ends}</fixed>'
    robot = read(tmp_path, model(SECOND, top=f"<tendon>{cord}</tendon>"))
    assert robot.springs == {found: Spring(5, 0.25, {"j1": 2, "j2": -1})}


def test_a_joint_may_be_coupled_to_the_first_joint_or_to_none(tmp_path):
    pair = '<joint name="pair" joint1="j2" joint2="j1" polycoef=".5 2 0 0 0"/>'
    alone = '<joint name="alone" joint1="j2" polycoef=".5 2 0 0 0"/>'
    equal, still = pair.replace("5 2", "5 1"), pair.replace("5 2", "5 0")
    for text, by in ((pair, {"j1": (2,)}), (equal, {"j1": (1,)}), (still, {}), (alone, {})):
        robot = read(tmp_path, model(SECOND, top=f"<equality>{text}</equality>"))
        (couple,) = robot.constrained.constraints.values()
        assert couple == Couple("j2", by, 0.5)


def test_keyframes_are_named_and_must_fit(tmp_path):
    key = '<keyframe><key name="home" qpos="{}"/></keyframe>'
    robot = read(tmp_path, model(top=key.format("1")))
    assert robot.warnings == () and "keyframes are not read" in texts(robot.notes)
    two = '<body name="b2"><joint/><geom size=".1"/></body>'
    assert read(tmp_path, model(two, top=key.format("1e-2-.5"))).warnings == ()
    with pytest.raises(
        ParseError, match=r"toy\.xml:1: <key> 'home' has 2 entries in qpos; expected 1"
    ):
        read(tmp_path, model(top=key.format("1 2")))


def test_a_part_of_a_model_is_told_from_a_model(tmp_path):
    """A file of keyframes alone is not one whose keyframes are wrong."""
    with pytest.raises(ParseError, match=r"has no <worldbody>.*file that includes it"):
        read(tmp_path, '<mujoco><keyframe><key name="home" qpos="0 0 0"/></keyframe></mujoco>')


@pytest.mark.parametrize(
    "around", ["<frame>{}</frame>", '<replicate count="2" offset="1 0 0">{}</replicate>']
)
def test_a_misspelt_attribute_inside_a_frame_is_not_passed_over(tmp_path, around):
    """MuJoCo compares elements with its schema everywhere but there."""
    inside = '<body name="b2"><joint name="j2" armature=".1" {}/><geom size=".1"/></body>'
    assert read(tmp_path, model(around.format(inside.format("")))).joints[1].armature == 0.1
    with pytest.raises(ParseError, match=r"toy\.xml:1: <joint> 'j2' of body 'b2' .*'dampng'"):
        read(tmp_path, model(around.format(inside.format('dampng="3"'))))


TENDON = '<tendon><fixed name="t" {}><joint joint="j1" coef="2"/></fixed></tendon>'


@pytest.mark.parametrize(
    "top, words",
    [
        ('<actuator><motor joint="j1" damping="2 1 3"/></actuator>', "linear in the speed"),
        ('<actuator><motor joint="j1" damping="0 0 3"/></actuator>', "linear in the speed"),
        (TENDON.format('stiffness="7" damping="0 2"'), "linear springs and motors are kept"),
        (TENDON.format('stiffness="7" damping="0 0 2"'), "linear springs and motors are kept"),
        (
            TENDON.format("") + '<actuator><motor tendon="t" damping="2"/></actuator>',
            "armature and damping of actuators that drive no single joint",
        ),
        (
            TENDON.format("") + '<actuator><motor tendon="t" damping="0 2"/></actuator>',
            "armature and damping of actuators that drive no single joint",
        ),
        (
            TENDON.format('stiffness="0 2"') + '<actuator><motor tendon="t"/></actuator>',
            "of these tendons actuators, linear springs and motors are kept",
        ),
    ],
)
def test_damping_and_springs_that_are_left_out_are_named(tmp_path, top, words):
    if not hasattr(mujoco.MjModel, "actuator_dampingpoly"):
        pytest.skip("this version of MuJoCo has no curved damping")
    assert words in texts(read(tmp_path, model(top=top)).warnings)


def test_linear_damping_of_a_motor_is_read_without_a_warning(tmp_path):
    top = '<actuator><motor joint="j1" gear="3" damping="2"/></actuator>'
    robot = read(tmp_path, model(top=top))
    assert robot.joints[0].friction.viscous == 18 and not robot.warnings


BALL = '<body><joint name="ball" type="ball"/><geom size=".1"/></body>'
SPATIAL = '<tendon><spatial name="s"><site site="a"/><site site="b"/></spatial></tendon>'
SITED = '<site name="a"/><body><joint name="j9"/><geom size=".1"/><site name="b"/></body>'
ONE_BODY = '<site name="a"/><site name="b" pos="1 0 0"/>'
LEFT_OUT = {
    "on a ball or free joint": ("", '<motor joint="ball" gear="1 0 0"/>', BALL),
    "on a spatial tendon": (SPATIAL, '<motor tendon="s"/>', ONE_BODY),
    "on a site": ("", '<motor site="a"/>', SITED),
    "its group 3 is disabled": ('<option actuatorgroupdisable="3"/>',
                                '<motor joint="j1" group="3"/>', ""),
    "gear 0": ("", '<motor joint="j1" gear="0"/>', ""),
    "a time constant that is not positive": (
        "", '<general joint="j1" dyntype="filter" dynprm="0"/>', ""),
    "has an actuatorfrcrange": (
        '<tendon><fixed name="t" actuatorfrclimited="true" actuatorfrcrange="-1 1">'
        '<joint joint="j1" coef="1"/></fixed></tendon>', '<motor tendon="t"/>', ""),
}  # fmt: skip


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_an_actuator_that_is_left_out_is_named_with_the_reason(reason, tmp_path):
    top, actuator, body = LEFT_OUT[reason]
    robot = read(tmp_path, model(top=f"{top}<actuator>{actuator}</actuator>", inside=body))
    assert not robot.actuators and reason in texts(robot.warnings)
    off = '<option><flag actuation="disable"/></option>' + top
    robot = read(tmp_path, model(top=f"{off}<actuator>{actuator}</actuator>", inside=body))
    assert not robot.actuators and "actuators are off" in texts(robot.notes)
    assert reason not in texts(robot.warnings)


def test_an_equality_of_bodies_that_cannot_move_apart_has_no_effect(tmp_path):
    inside = '<body name="rigid"><geom size=".1"/></body>'
    top = '<equality><weld name="w" body1="rigid" body2="b1"/></equality>'
    robot = read(tmp_path, model(inside, top=top))
    assert robot.constrained is None
    assert "cannot move apart have no effect: 'w'" in texts(robot.notes)
