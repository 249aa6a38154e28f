"""MuJoCo computes the same on random trees of hinges and slides, armature and damping included."""

import dataclasses

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree.model import JointFriction
from kinetree.model.samples import random_model
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
def case(request):
    seed = request.param
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
