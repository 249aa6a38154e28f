"""Robots written as URDF, MJCF and JSON and read again: by kinetree, by Pinocchio and by MuJoCo."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from robot_files import (
    SHARED,
    assert_as_mujoco,
    assert_same_robot,
    bare,
    limits_of,
    load_quietly,
    parse,
    quietly,
    relative,
)

import kinetree as kt
from kinetree import dynamics
from kinetree.errors import InputError, KinetreeWarning, ModelError
from kinetree.friction import Friction
from kinetree.joints import Actuator, Limits, Mimic, Rotor, Spring
from kinetree.spatial import exp_so3, rpy

GIVEN = ("panda_gepetto", "ur5e_ros2", "robotiq_2f140", "test_joints_bullet", "urdf_tutorial_07")
SCREWS = ("revolute", "prismatic")


def random_pose(rng):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = exp_so3(rng.normal(size=3)), rng.normal(size=3)
    return T


def direction(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def random_body(rng):
    """Mass, centre and moments of three pairs of masses on turned axes."""
    R, d = exp_so3(rng.normal(size=3)), rng.uniform(0.01, 0.1, 3)
    return rng.uniform(0.5, 3), rng.normal(size=3) * 0.2, R @ np.diag(d.sum() - d) @ R.T


def random_robot(seed, kinds, n=6, *, mimic=False, chain=False, rotors=False):
    """Everything that a format can represent: turned axes, offsets, limits, friction, frames."""
    rng = np.random.default_rng(seed)
    builder = kt.Builder(f"random {seed}").link("base", *random_body(rng))
    links, movers = ["base"], []
    for k in range(n):
        kind, name = kinds[k % len(kinds)], f"link{k}"
        parent = links[-1] if chain else str(rng.choice(links))
        screw = kind in SCREWS
        follows = Mimic(movers[0], 0.7, 0.1) if mimic and screw and movers and k % 3 else None
        own = screw and follows is None
        builder.link(name, *random_body(rng)).joint(
            f"joint{k}", kind, parent, name, at=random_pose(rng), axis=direction(rng),
            point=rng.normal(size=3) * 0.2 * (k % 2), offset=float(rng.normal()) * own,
            friction=Friction(*rng.uniform(0, 1, 2)) if screw else Friction(), mimic=follows,
            limits=Limits(-2.0, 1.5, math.inf, 50.0) if own else Limits(),
            rotor=Rotor(1e-4, 20.0) if rotors and screw else None,
        )  # fmt: skip
        links.append(name)
        movers += [f"joint{k}"] * own
    builder.link("tip", *random_body(rng)).joint("weld", "fixed", links[-1], "tip",
                                                 at=random_pose(rng))  # fmt: skip
    builder.frame("eye", links[1], random_pose(rng)).frame(
        "tool", "tip", random_pose(rng), tool=True
    )
    return builder.build()


URDF_KINDS = ("revolute", "prismatic", "planar", "revolute", "free")
MJCF_KINDS = ("revolute", "prismatic", "spherical", "revolute")


@pytest.mark.parametrize("seed", range(8))
def test_a_random_robot_comes_back_from_urdf(seed):
    robot = random_robot(seed, URDF_KINDS, mimic=seed % 2 == 0, rotors=True)
    one_tip = len(robot.model.tips) == 1  # the tool of a tree with several is lost
    found = kt.load_string(
        kt.convert.to_urdf(robot, losses="error" if one_tip else "allow"), strict=True
    )
    assert found.name == robot.name and found.dof_names == robot.dof_names
    assert robot.model.tool == "tool" and found.model.tool == ("tool" if one_tip else None)
    assert limits_of(found) == limits_of(robot)
    assert_same_robot(found, robot, seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_random_robot_comes_back_from_mjcf(seed):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    chain = seed % 2 == 0
    robot = random_robot(seed, MJCF_KINDS, chain=chain).with_gravity((1, 2, 3))
    text = kt.convert.to_mjcf(
        robot, losses="error" if chain else "allow"
    )  # the order of a tree changes
    found = parse(text)
    assert limits_of(found) == limits_of(robot)
    assert found.model.gravity.tolist() == robot.model.gravity.tolist()
    if chain:
        assert found.model.tool == robot.model.tool and found.dof_names == robot.dof_names
    assert_same_robot(found, robot, seed)


@pytest.mark.parametrize("seed", range(6))
def test_pinocchio_and_mujoco_read_what_is_written_as_the_same_robot(seed):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    robot = random_robot(seed, SCREWS)
    theirs = mujoco.MjModel.from_xml_string(kt.convert.to_mjcf(robot, losses="allow"))
    assert_as_mujoco(mujoco, robot, theirs, seed)
    assert_as_pinocchio(pin, robot, seed)
    assert_as_pinocchio(pin, random_robot(seed, SCREWS, mimic=True), seed)


def assert_as_pinocchio(pin, robot, seed=0):
    """Inverse dynamics without friction, poses and limits of the URDF that a robot writes."""
    theirs = pin.buildModelFromXML(quietly(kt.convert.to_urdf, robot), mimic=True)
    theirs.gravity = pin.Motion(np.array(robot.model.gravity[3:], float), np.zeros(3))
    names = [x for x in theirs.names[1:] if x in robot.joint_names]
    there, back = (f(robot, names) for f in (kt.convert.to_pinocchio, kt.convert.from_pinocchio))
    rng = np.random.default_rng(seed)
    q, (dq, ddq) = dynamics.random(robot.model, rng), rng.normal(size=(2, robot.n))
    data, their_q = theirs.createData(), there.q(q)
    tau = pin.rnea(theirs, data, their_q, there.dq(q, dq), there.ddq(q, dq, ddq))
    rigid = bare(robot).model.replace(rotors=())
    assert relative(dynamics.inverse_dynamics(rigid, q, dq, ddq), back.tau(their_q, tau)) < 1e-11
    pin.framesForwardKinematics(theirs, data, their_q)
    for name in robot.model.frames:
        place = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)]
        assert relative(dynamics.pose(robot.model, q, name), place.homogeneous, 1) < 1e-11
    for name, limits in limits_of(robot).items():
        joint = theirs.joints[theirs.getJointId(name)]
        if np.isfinite(limits.lower):
            assert theirs.lowerPositionLimit[joint.idx_q] == limits.lower
            assert theirs.upperPositionLimit[joint.idx_q] == limits.upper
            assert theirs.effortLimit[joint.idx_v] == min(limits.effort, 1e30)


@pytest.mark.parametrize("name", kt.robots.TREES)
def test_a_built_in_robot_comes_back_from_urdf(name):
    robot = getattr(kt.robots, name)()
    found = parse(quietly(kt.convert.to_urdf, robot))
    assert set(robot.model.frames) <= set(found.model.frames)
    assert_same_robot(bare(found).with_gravity(robot.model.gravity[3:]), without_armature(robot))


def without_armature(robot):
    """The robot without what URDF cannot represent."""
    model = bare(robot).model
    return kt.Robot(model.replace(joints=tuple(replace(x, armature=0) for x in model.joints)))


@pytest.mark.parametrize("name", ["iiwa_14", "panda", "quadruped", "ur5e", *kt.robots.MECHANISMS])
def test_a_built_in_robot_comes_back_from_mjcf_as_mujoco_reads_it(name):
    mujoco = pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    robot = getattr(kt.robots, name)()
    text = quietly(kt.convert.to_mjcf, robot)
    assert_as_mujoco(mujoco, robot, mujoco.MjModel.from_xml_string(text))
    found = parse(text)
    massless = name in kt.robots.MECHANISMS  # links between joints of one body have no names there
    assert_same_robot(
        kt.constraints.unconstrained(found),
        kt.constraints.unconstrained(robot),
        all_frames=not massless,
    )
    if robot.model.constraints is not None:
        q = kt.constraints.project(robot, kt.dynamics.start_position(robot))
        order = [robot.coordinate_names.index(x) for x in found.coordinate_names]
        assert np.abs(dynamics.constraint_errors(found.model, q[order])).max() < 1e-9
        assert (
            kt.constraints.mobility(found).degrees_of_freedom
            == kt.constraints.mobility(robot).degrees_of_freedom
        )


@pytest.mark.skipif(not (SHARED / "models").exists(), reason="no given robot files")
@pytest.mark.parametrize("name", GIVEN)
def test_a_given_robot_comes_back_from_urdf(name):
    (path,) = (SHARED / "models" / "urdf" / name).glob("*.urdf")
    robot = load_quietly(path)
    found = parse(quietly(kt.convert.to_urdf, robot))
    assert limits_of(found) == limits_of(robot)
    assert_same_robot(found, robot)


def test_numbers_without_rotation_come_back_bit_by_bit():
    rng = np.random.default_rng(1)
    builder = kt.Builder("straight").link("base")
    for k in range(4):
        I = np.diag(rng.uniform(1, 2, 3)) * 10.0 ** rng.uniform(-9, 0)
        builder.link(f"l{k}", float(rng.uniform(0.1, 3)), rng.normal(size=3), I)
        axis, parent = np.eye(3)[rng.integers(3)], f"l{k - 1}" if k else "base"
        builder.joint(f"j{k}", "revolute", parent, f"l{k}", at=rng.normal(size=3), axis=axis)
    model = builder.build_model()
    texts = [kt.convert.to_urdf(kt.Robot(model)), kt.convert.to_mjcf(kt.Robot(model))]
    for text in texts:
        found = parse(text).model
        for key in ("M_pi", "m", "com", "I_com", "gravity"):
            np.testing.assert_array_equal(getattr(found, key), getattr(model, key))


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2, 1.5707, 0.0])
def test_rotations_keep_their_digits_near_a_pitch_of_ninety_degrees(pitch):
    rng = np.random.default_rng(0)
    for exponent in range(-16, 0, 2):
        T = np.eye(4)
        T[:3, :3] = rpy(1.0, pitch, -2.0) @ exp_so3(rng.normal(size=3) * 10.0**exponent)
        builder = kt.Builder("turned").link("a").link("b", 1).joint("w", "fixed", "a", "b", at=T)
        found = dynamics.pose(parse(kt.convert.to_urdf(builder.build())).model, (), "b")
        np.testing.assert_allclose(found, T, rtol=0, atol=3e-15)


def pendulum(name="swing", **options):
    builder = kt.Builder("pendulum").link("base").link("rod", 1, (0, 0, -0.5), np.eye(3) * 0.1)
    return builder.joint(name, "revolute", "base", "rod", axis=(0, 1, 0), **options).build()


LOSSES = {  # what a format does not have: (writer, options of a joint, word that names it)
    "armature": ("to_urdf", {"armature": 0.25}),
    "viscous": ("to_urdf", {"friction": Friction((1, 2))}),
    "coulomb": ("to_urdf", {"friction": Friction(0, (1, 2))}),
    "rotor": ("to_urdf", {"rotor": Rotor(1e-3, link="rod")}),
    "function friction": ("to_urdf", {"friction": Friction(function=lambda dq: dq)}),
    "velocity": ("to_mjcf", {"limits": Limits(velocity=5.0)}),
    "viscous friction": ("to_mjcf", {"friction": Friction((1, 2))}),
    "rotor of": ("to_mjcf", {"rotor": Rotor(1e-3, link="rod")}),
}


@pytest.mark.parametrize("word", LOSSES)
def test_what_a_format_does_not_have_is_named_and_refused_on_request(word):
    writer, options = LOSSES[word]
    if writer == "to_mjcf":
        pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    robot = pendulum(**options)
    write = partial(getattr(kt.convert, writer), robot)
    with pytest.warns(KinetreeWarning, match=f"{word}.*'swing'"):
        text = write()
    assert text == write(losses="allow")
    assert "'swing'" in text.partition("<!--")[2]  # a comment says so in the file
    with pytest.raises(ModelError, match=f"{word}.*'swing'"):
        write(losses="error")
    assert parse(text).joint_names == ("swing",)


UNWRITABLE = {
    "helical": "to_urdf", "spherical": "to_urdf", "helical ": "to_mjcf", "planar": "to_mjcf",
}  # fmt: skip


@pytest.mark.parametrize("kind", UNWRITABLE)
def test_joints_that_a_format_does_not_have_are_refused(kind):
    builder = kt.Builder("odd").link("base").link("a", 1, I_com=np.eye(3))
    pitch = {"pitch": 0.1} if "helical" in kind else {}
    robot = builder.joint("jb", kind.strip(), "base", "a", **pitch).build()
    with pytest.raises(ModelError):
        getattr(kt.convert, UNWRITABLE[kind])(robot)


@pytest.mark.parametrize("name", ["bell\a", "${name}", "x" * 1001])
def test_names_that_no_reader_takes_are_refused(name):
    with pytest.raises(ModelError):
        kt.convert.to_urdf(pendulum(name))


def test_names_are_escaped():
    name = "a <b> & \"c\" 'd' \u00e9--e-"
    robot = pendulum(name, armature=1.0)
    for text in (kt.convert.to_urdf(robot, losses="allow"), kt.convert.to_mjcf(robot)):
        assert parse(text).joint_names == (name,)


def test_infinite_limits_are_written_as_a_number_that_reads_back_as_none():
    for limits in (Limits(upper=1.0), Limits(lower=-1.0, effort=3.0)):
        robot = pendulum(limits=limits)
        assert limits_of(parse(kt.convert.to_urdf(robot, losses="error"))) == limits_of(robot)
    found = limits_of(parse(kt.convert.to_urdf(robot, infinity=1e9)))["swing"]
    assert found == Limits(-1.0, 1e9, 1e9, 3.0)
    with pytest.raises(InputError, match="infinity"):
        kt.convert.to_urdf(robot, infinity=-1.0)
    with pytest.raises(InputError, match="losses"):
        kt.convert.to_urdf(robot, losses="perhaps")


def test_springs_armature_and_actuators_come_back_from_mjcf():
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    robot = pendulum(armature=0.25, limits=Limits(effort=8.0), friction=Friction(0.3, 0.1))
    robot = robot.with_springs({"coil": Spring(5.0, 0.2, {"swing": 1})}).with_actuators(
        {"servo": Actuator.position("swing", 90.0, 3.0, gear=2.0, force_range=(-3.0, 4.0))}
    )
    found = parse(kt.convert.to_mjcf(robot))
    assert_same_robot(found, robot)
    assert limits_of(found) == limits_of(robot)
    ours, theirs = robot.model.actuators[0], found.model.actuators[0]
    for key in ("name", "arms", "gain", "bias", "dynamics", "force_range", "control_range"):
        assert getattr(ours, key) == getattr(theirs, key), key


def test_an_effort_limit_that_a_motor_implies_comes_back_from_mjcf():
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    motor = Actuator.motor("swing", 4.0, control_range=(-2.0, 2.0))
    robot = pendulum(limits=Limits(effort=8.0)).with_actuators({"motor": motor})
    assert limits_of(parse(kt.convert.to_mjcf(robot, losses="error"))) == limits_of(robot)


def test_a_coupling_of_joints_comes_back_from_mjcf():
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    couple = kt.constraints.Couple("joint1", {"joint0": (0.5, -0.3)}, 0.1)
    robot = random_robot(0, ("revolute",), 2, chain=True).constrained({"tie": couple})
    found = parse(quietly(kt.convert.to_mjcf, robot))
    for q in np.random.default_rng(0).normal(size=(3, 2)):
        error = q[1] - (0.1 + 0.5 * q[0] - 0.3 * q[0] ** 2)
        assert abs(dynamics.constraint_errors(found.model, q)[0]) == pytest.approx(abs(error))
    assert np.sign(dynamics.constraint_errors(robot.model, q)[0]) == np.sign(error)


def command(*words):
    """A command of kinetree, in a process of its own."""
    run = [sys.executable, "-m", "kinetree", *map(str, words)]
    return subprocess.run(run, capture_output=True, text=True, check=False)


def test_the_command_writes_urdf_and_mjcf_and_compares(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    for name in ("a.urdf", "a.xml"):
        done = command("convert", "panda", "-o", tmp_path / name, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["difference"] < 1e-9
        assert_same_robot(bare(load_quietly(tmp_path / name)), without_armature(kt.robots.panda()),
                          tolerance=1e-9)  # fmt: skip
    done = command("convert", "panda", "-o", tmp_path / "a.txt")
    assert done.returncode != 0 and "a.txt" in done.stderr
