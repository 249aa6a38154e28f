"""Elastic joints: motor and link with a spring between them."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError
from motion_robots import INERTIA, MASS, lift, wheel
from random_robots import random_model

MOTOR, STIFFNESS = 0.3, 700.0


def frequencies(robot):
    """Angular frequencies of small motions about rest, rad/s, ascending."""
    A = robot.linearize(robot.neutral(), np.zeros(robot.n), np.zeros(robot.n)).A
    return np.sort(np.abs(np.linalg.eigvals(np.asarray(A)).imag))[::2]


@pytest.mark.parametrize(
    ("make", "joint", "inertia"), [(wheel, "spin", INERTIA), (lift, "rise", MASS)]
)
def test_the_two_frequencies_are_those_of_the_closed_form(make, joint, inertia):
    robot = make().with_gravity([0, 0, 0])
    robot = robot.with_elastic_joint(joint, STIFFNESS, motor_inertia=MOTOR)
    free = np.sqrt(STIFFNESS * (1 / MOTOR + 1 / inertia))
    assert frequencies(robot) == pytest.approx([0, free], rel=1e-9, abs=1e-9)
    clamped = robot.lock({joint: 0})
    assert frequencies(clamped) == pytest.approx([np.sqrt(STIFFNESS / inertia)], rel=1e-9)


def test_damping_of_the_deflection_is_that_of_the_closed_form():
    b = 4.0
    robot = wheel().with_elastic_joint("spin", STIFFNESS, b, MOTOR).lock({"spin": 0})
    A = np.asarray(robot.linearize([0], [0], [0]).A)
    expected = np.roots([INERTIA, b, STIFFNESS])
    assert np.sort_complex(np.linalg.eigvals(A)) == pytest.approx(np.sort_complex(expected))


def test_the_joint_keeps_its_name_drive_limits_and_friction():
    limits = kt.joints.Limits(-1, 2, 3, 4)
    builder = kt.Builder().link("base").link("arm", 1, (0.1, 0, 0), np.eye(3))
    builder.joint(
        "pan", "revolute", "base", "arm", limits=limits, armature=0.2,
        friction=kt.friction.Friction(0.5, 0.1), drive=kt.joints.Drive(peak=3),
    )  # fmt: skip
    robot = builder.build().with_elastic_joint("pan", 100, 0.3)
    motor, gear = robot.model.joints
    assert robot.joint_names == ("pan", "pan_elastic")
    assert (motor.limits, motor.armature, motor.drive.peak) == (limits, 0.2, 3)
    assert motor.friction.viscous == (0.5, 0.5) and gear.friction.viscous == (0.3, 0.3)
    assert (gear.limits, gear.armature, gear.drive) == (kt.joints.Limits(), 0, None)
    assert robot.model.tool == "arm"


def elastic(seed, n=4, k=200.0):
    """A random tree with armature everywhere, and the same with all joints elastic."""
    rigid = kt.Robot(random_model(seed, n, types=("revolute", "prismatic"), springs=True))
    rng = np.random.default_rng(seed)
    inertia = dict(zip(rigid.joint_names, rng.uniform(0.1, 1, n), strict=True))
    soft = rigid
    for name in rng.permutation(rigid.joint_names):
        soft = soft.with_elastic_joint(str(name), k, 0.1, inertia[str(name)])
    return rigid, soft, inertia


@pytest.mark.parametrize("seed", range(4))
def test_locked_deflections_give_the_rigid_robot_back(seed):
    rigid, soft, inertia = elastic(seed)
    bare = soft.lock({f"{name}_elastic": 0 for name in inertia})
    rng = np.random.default_rng(seed)
    q, dq, ddq = rng.normal(size=(3, rigid.n))
    own = np.array([float(x.armature) for x in rigid.model.joints])
    rotors = np.zeros(rigid.n)
    assert bare.joint_names == rigid.joint_names
    added = [inertia[name] for name in rigid.joint_names] - own + rotors
    without = kt.Robot(rigid.model.replace(rotors=()))  # the given inertia takes their place
    expected = without.inverse_dynamics(q, dq, ddq) + added * ddq
    assert bare.inverse_dynamics(q, dq, ddq) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_armature_and_rotors_of_the_robot_stay_with_the_motor(seed):
    """Rotors on moving carriers keep their gyroscopic forces."""
    rigid = kt.Robot(random_model(seed, 4, types=("revolute", "prismatic")))
    soft = rigid
    for name in rigid.joint_names:
        has = any(rigid.model.joints[x.joint].name == name for x in rigid.model.rotors)
        if has or rigid.model.joint(name).armature:
            soft = soft.with_elastic_joint(name, 300)
    deflections = [name for name in soft.joint_names if name.endswith("_elastic")]
    assert deflections
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, rigid.n))
    bare = soft.lock(dict.fromkeys(deflections, 0))
    expected = rigid.inverse_dynamics(q, dq, ddq)
    assert bare.inverse_dynamics(q, dq, ddq) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    state = np.random.default_rng(seed).normal(size=(3, soft.n))
    tau = soft.inverse_dynamics(*state)
    assert soft.forward_dynamics(*state[:2], tau) == pytest.approx(state[2], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_forces_of_the_link_and_of_the_motor_obey_newton(seed):
    """The deflection's row: links move as the rigid robot at q + d, driven by the spring."""
    rigid, soft, inertia = elastic(seed)
    rng = np.random.default_rng(seed)
    names = list(soft.joint_names)
    motor = [names.index(name) for name in rigid.joint_names]
    gear = [names.index(f"{name}_elastic") for name in rigid.joint_names]
    q, dq, ddq = rng.normal(size=(3, soft.n)) * 0.3
    tau = soft.inverse_dynamics(q, dq, ddq)
    bare = kt.Robot(rigid.model.replace(rotors=())).with_friction(
        dict.fromkeys(rigid.joint_names, kt.friction.Friction())
    )
    own = np.array([float(x.armature) for x in rigid.model.joints])
    links = bare.inverse_dynamics(*((x[motor] + x[gear]) for x in (q, dq, ddq)))
    links = links - own * (ddq[motor] + ddq[gear])
    spring = 200 * q[gear] + 0.1 * dq[gear]
    J = np.array([inertia[name] for name in rigid.joint_names])
    assert tau[gear] == pytest.approx(links + spring, rel=1e-9, abs=1e-8)
    friction = rigid.friction_forces(dq[motor])
    expected = J * ddq[motor] + friction + links
    assert tau[motor] == pytest.approx(expected, rel=1e-9, abs=1e-8)


def test_a_file_of_an_elastic_robot_is_read_back():
    robot = kt.robots.ur5e().with_elastic_joint("elbow", 9000, 3, 2.0)
    robot = robot.with_elastic_joint("shoulder_pan", 12000, 4, 3.0)
    again = kt.load_string(kt.convert.to_mjcf(robot, losses="allow"))
    assert again.joint_names == robot.joint_names
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, robot.n)) * 0.1
    tau = robot.inverse_dynamics(q, dq, ddq)
    assert again.inverse_dynamics(q, dq, ddq) == pytest.approx(tau, rel=1e-9, abs=1e-9)


def test_a_joint_that_follows_or_leads_another_is_refused():
    hand = kt.Builder().link("base").link("left", 1).link("right", 1)
    hand = hand.joint("a", "prismatic", "base", "left")
    hand = hand.joint("b", "prismatic", "base", "right", mimic=kt.joints.Mimic("a")).build()
    for name in ("a", "b"):
        with pytest.raises(ModelError):
            hand.with_elastic_joint(name, 10, motor_inertia=1)
