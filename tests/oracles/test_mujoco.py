"""MuJoCo computes the same on random trees, armature of every joint and damping included."""

import dataclasses
import warnings

import numpy as np
import pytest

from kinetree import Robot, convert, load
from kinetree import algorithms as kt
from kinetree.model import JointFriction, random_body, random_model
from kinetree.spatial import quaternion, screw_parts, swap_order
from robot_states import random_state, relative, size

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

AGREEMENT = 1e-11  # as the project specifies for other libraries
TYPES = {"revolute": "hinge", "prismatic": "slide"}


def text(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


def body_text(model, i):
    """Link i and all beyond it as MJCF."""
    joint, M = model.joints[i], model.M_pi[i]
    point, axis, _ = screw_parts(joint.screw)
    I = model.I_com[i]
    inertia = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    inner = "".join(body_text(model, c) for c in model.children[i])
    return (
        f'<body name="b{i}" pos="{text(M[:3, 3])}" quat="{text(quaternion(M[:3, :3]))}">'
        f'<joint name="j{i}" type="{TYPES[joint.type]}" pos="{text(point)}" axis="{text(axis)}" '
        f'armature="{text(joint.armature)}" damping="{text(joint.friction.viscous[0])}"/>'
        f'<inertial pos="{text(model.com[i])}" mass="{text(model.m[i])}" '
        f'fullinertia="{text(inertia)}"/>'
        f"{inner}</body>"
    )


def mjcf(model):
    bodies = "".join(body_text(model, i) for i in model.children[-1])
    return (
        '<mujoco><compiler angle="radian" balanceinertia="false"/>'
        f'<option gravity="{text(model.gravity[3:])}"/>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def damped(joint):
    """The joint with viscous friction alone, equal in both directions."""
    b = joint.friction.viscous[0]
    return dataclasses.replace(joint, friction=JointFriction((b, b)))


@pytest.fixture(params=range(40), ids=lambda seed: f"robot{seed}")
def seed(request):
    return request.param


@pytest.fixture
def case(seed):
    model = random_model(seed, 1 + seed % 30, types=("revolute", "prismatic"))
    model = model.replace(rotors=(), joints=tuple(damped(joint) for joint in model.joints))
    theirs = mujoco.MjModel.from_xml_string(mjcf(model))
    x, data = random_state(model, seed), mujoco.MjData(theirs)
    # bodies come depth first there, and joints with them
    order = [int(theirs.joint(f"j{i}").id) for i in model.links]
    data.qpos[order], data.qvel[order], data.qacc[order] = x.motion
    return model, theirs, data, x, order


def test_inverse_dynamics_agree(case):
    model, theirs, data, x, order = case
    mujoco.mj_inverse(theirs, data)
    assert relative(kt.inverse_dynamics(model, *x.motion), data.qfrc_inverse[order]) < AGREEMENT


def test_mass_matrix_and_bias_agree(case):
    model, theirs, data, x, order = case
    mujoco.mj_forward(theirs, data)
    M = np.zeros((model.n, model.n))
    for column, e in zip(M, np.eye(model.n), strict=True):
        mujoco.mj_mulM(theirs, data, column, e)
    assert relative(kt.mass_matrix(model, x.q), M[np.ix_(order, order)]) < AGREEMENT
    h = kt.bias_forces(model, x.q, x.dq) - kt.friction_forces(model, x.dq)
    assert size(h - data.qfrc_bias[order]) < AGREEMENT * (size(h) + size(M) * size(x.dq) ** 2)


def test_forward_dynamics_agree_within_the_condition_of_M(case):
    model, theirs, data, x, order = case
    data.qfrc_applied[order] = x.ddq
    mujoco.mj_forward(theirs, data)
    ddq = kt.forward_dynamics(model, *x.motion)
    slack = AGREEMENT * max(1, 1e-2 * np.linalg.cond(kt.mass_matrix(model, x.q)))
    assert relative(ddq, data.qacc[order]) < slack


def test_poses_and_jacobians_agree(case):
    model, theirs, data, x, order = case
    mujoco.mj_forward(theirs, data)
    T_si, J = kt.forward_kinematics(model, x.q), kt.link_jacobians(model, x.q)
    for i in model.links:
        body = theirs.body(f"b{i}").id
        p, R = data.xpos[body], data.xmat[body].reshape(3, 3)
        assert size(T_si[i][:3, 3] - p) + size(T_si[i][:3, :3] - R) < AGREEMENT * (1 + size(p))
        turning, moving = np.zeros((2, 3, model.n))
        mujoco.mj_jacBody(theirs, data, moving, turning, body)
        expected = np.concatenate([R.T @ moving, R.T @ turning])[:, order]
        assert size(swap_order(J[i]) - expected) < AGREEMENT * size(J[i])


# Armature of free, ball and planar joints: MuJoCo adds it to M in its own coordinates, for a free
# joint the velocity in the axes of the world and the angular velocity in those of the body.


def inertial_text(rng):
    m, com, I = random_body(rng)
    moments = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return f'<inertial pos="{text(com)}" mass="{text(m)}" fullinertia="{text(moments)}"/>'


def jointed_text(rng, k, joints, inner=""):
    pos, quat = rng.normal(size=3) * 0.3, rng.normal(size=4)
    return (
        f'<body name="b{k}" pos="{text(pos)}" quat="{text(quat)}">{joints}'
        f"{inertial_text(rng)}{inner}</body>"
    )


def floating_text(seed):
    """A floating body with a ball joint and a hinge on it, and a second floating body."""
    rng = np.random.default_rng(seed)

    def joint(name, type):
        point = f'pos="{text(rng.normal(size=3) * 0.2)}"' if type != "free" else ""
        armature = text(rng.uniform(0.1, 3))
        return f'<joint name="{name}" type="{type}" {point} armature="{armature}"/>'

    hand = jointed_text(rng, 3, joint("hinge", "hinge"))
    arm = jointed_text(rng, 2, joint("ball", "ball"), hand)
    hull = jointed_text(rng, 1, joint("free", "free"), arm)
    other = jointed_text(rng, 4, joint("other", "free"))
    return (
        '<mujoco><compiler angle="radian" balanceinertia="false"/>'
        f'<option gravity="{text(rng.normal(size=3) * 5)}"><flag energy="enable"/></option>'
        f"<worldbody>{hull}{other}</worldbody></mujoco>"
    )


def full_mass_matrix(theirs, data):
    M = np.zeros((theirs.nv, theirs.nv))
    for column, e in zip(M, np.eye(theirs.nv), strict=True):
        mujoco.mj_mulM(theirs, data, column, e)
    return M


@pytest.fixture(params=range(3), ids=lambda seed: f"floating{seed}")
def floating(request, tmp_path):
    """(robot as read from the file, MuJoCo's model and data, state, converters)."""
    path = tmp_path / "robot.xml"
    path.write_text(floating_text(request.param))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(path)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    names = [theirs.joint(j).name for j in range(theirs.njnt)]
    there, back = convert.to_mujoco(robot.model, names), convert.from_mujoco(robot.model, names)
    x, data = random_state(robot.model, request.param), mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = there.q(x.q), there.dq(x.q, x.dq)
    data.qacc[:] = there.ddq(x.q, x.dq, x.ddq)
    mujoco.mj_inverse(theirs, data)
    return robot, theirs, data, x, there, back


def test_armature_of_free_and_ball_joints_is_in_M_and_in_the_forces(floating):
    robot, theirs, data, x, _, back = floating
    model, q = robot.model, data.qpos.copy()
    M = back.mass_matrix(q, full_mass_matrix(theirs, data))
    tau = back.tau(q, data.qfrc_inverse)
    assert all(joint.armature > 0 for joint in model.joints)
    for found in (kt.mass_matrix(model, x.q), kt.mass_matrix_by_jacobians(model, x.q)):
        assert relative(found, M) < AGREEMENT
    assert relative(robot.mass_matrix(x.q), M) < AGREEMENT
    for form in ("screw", "closed", "link", "space"):
        assert relative(kt.newton_euler(model, *x.motion, formulation=form).tau, tau) < AGREEMENT
    assert relative(robot.inverse_dynamics(*x.motion), tau) < AGREEMENT
    Y = kt.regressor(model, *x.motion)
    assert relative(Y @ kt.parameters(model), tau) < AGREEMENT


def test_armature_of_free_and_ball_joints_is_in_the_velocity_terms(floating):
    robot, theirs, data, x, there, back = floating
    model, q = robot.model, data.qpos.copy()
    data.qacc[:] = there.ddq(x.q, x.dq, np.zeros(model.n))
    mujoco.mj_inverse(theirs, data)
    h = back.tau(q, data.qfrc_inverse)
    c = h - kt.gravity_forces(model, x.q)
    for C in (kt.coriolis_matrix(model, x.q, x.dq), robot.coriolis_matrix(x.q, x.dq)):
        assert relative(C @ x.dq, c) < AGREEMENT
        skew = kt.mass_matrix_rate(model, x.q, x.dq) - C - C.T
        assert np.abs(skew).max() < AGREEMENT * np.abs(C).max()


def test_accelerations_with_armature_of_free_and_ball_joints(floating):
    robot, theirs, data, x, there, back = floating
    model, q, v = robot.model, data.qpos.copy(), data.qvel.copy()
    data.qfrc_applied[:] = there.tau(x.q, x.ddq)
    mujoco.mj_forward(theirs, data)
    ddq = back.ddq(q, v, data.qacc)
    for find in (
        kt.forward_dynamics,
        kt.forward_dynamics_by_articulated_bodies,
        lambda model, *state: robot.forward_dynamics(*state),
    ):
        assert relative(find(model, x.q, x.dq, x.ddq), ddq) < 1e-10
    kinetic, potential = data.energy[1], data.energy[0]
    assert kt.kinetic_energy(model, x.q, x.dq) == pytest.approx(kinetic, rel=AGREEMENT)
    assert robot.kinetic_energy(x.q, x.dq) == pytest.approx(kinetic, rel=AGREEMENT)
    assert kt.potential_energy(model, x.q) == pytest.approx(potential, rel=AGREEMENT)


def test_derivatives_with_armature_of_free_and_ball_joints(floating):
    """Differences of MuJoCo's own forces along our rates, which its inverse dynamics gives."""
    robot, theirs, data, x, there, back = floating
    model, q, step = robot.model, data.qpos.copy(), 1e-5

    def tau(dq):
        data.qpos[:], data.qvel[:] = q, there.dq(x.q, dq)
        data.qacc[:] = there.ddq(x.q, dq, x.ddq)
        mujoco.mj_inverse(theirs, data)
        return back.tau(q, data.qfrc_inverse)

    expected = [(tau(x.dq + step * e) - tau(x.dq - step * e)) / (2 * step) for e in np.eye(model.n)]
    found = robot.inverse_dynamics_derivatives(*x.motion)
    for by_dq in (kt.inverse_dynamics_derivatives(model, *x.motion)[1], found[1]):
        assert relative(by_dq, np.array(expected).T) < 1e-8


def test_armature_of_a_planar_joint_is_that_of_two_slides_and_a_hinge():
    rng = np.random.default_rng(3)
    m, com, I = random_body(rng)
    model = random_model(3, 1, types=("planar",), fixed=False, drives=False)
    joint = dataclasses.replace(model.joints[0], armature=2.0)
    model = model.replace(
        joints=(joint,), M_pi=np.eye(4)[None], m=np.array([m]), com=com[None], I_com=I[None]
    )
    moments = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    joints = "".join(
        f'<joint type="{type}" axis="{axis}" armature="2"/>'
        for type, axis in (("slide", "1 0 0"), ("slide", "0 1 0"), ("hinge", "0 0 1"))
    )
    theirs = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian" balanceinertia="false"/>'
        f'<option gravity="{text(model.gravity[3:])}"/><worldbody><body>{joints}'
        f'<inertial pos="{text(com)}" mass="{text(m)}" fullinertia="{text(moments)}"/>'
        "</body></worldbody></mujoco>"
    )
    there, back = convert.to_mujoco(model), convert.from_mujoco(model)
    x, data = random_state(model, 3), mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = there.q(x.q), there.dq(x.q, x.dq)
    data.qacc[:] = there.ddq(x.q, x.dq, x.ddq)
    mujoco.mj_inverse(theirs, data)
    tau = back.tau(data.qpos.copy(), data.qfrc_inverse)
    assert relative(kt.inverse_dynamics(model, *x.motion), tau) < AGREEMENT
    assert relative(Robot(model).inverse_dynamics(*x.motion), tau) < AGREEMENT
