"""After conversion, MuJoCo computes the same motion of the MJCF that we write."""

import numpy as np
import pytest

from kinetree import Builder, algorithms, convert
from kinetree.files.write import to_mjcf
from kinetree.model import random_body, random_direction, random_model, random_pose
from robot_states import random_state, relative

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-11
TYPES = ("revolute", "prismatic", "spherical")


def floating_tree(seed, n):
    """A body that floats in the world with a tree of joints on it, and a second one on the base."""
    rng = np.random.default_rng(seed)
    builder = Builder(f"tree {seed}", gravity=rng.normal(size=3) * 5).link("world")
    builder.link("hull", *random_body(rng)).joint("float", "free", "world", "hull")
    names = ["hull", "world"]
    for i in range(n):
        name, parent = f"link{i}", names[int(rng.integers(len(names)))]
        builder.link(name, *random_body(rng))
        builder.joint(
            f"joint{i}",
            str(rng.choice(TYPES)),
            parent,
            name,
            at=random_pose(rng),
            axis=random_direction(rng),
            point=rng.normal(size=3) * 0.2,
            armature=float(rng.uniform(0, 0.1)),
        )
        names.append(name)
    return builder.build_model()


def joint_order(compiled):
    return [compiled.joint(j).name for j in range(compiled.njnt)]


def full_mass_matrix(compiled, data):
    M = np.zeros((compiled.nv, compiled.nv))
    try:
        mujoco.mj_fullM(compiled, data, M)
    except TypeError:  # versions before 3.5 take the matrix second
        mujoco.mj_fullM(compiled, M, data.qM)
    return M


def agrees(model, compiled, seed):
    joints = None if set(model.joint_types) == {"planar"} else joint_order(compiled)
    there = convert.to_mujoco(model, joints)
    back = convert.from_mujoco(model, joints)
    data = mujoco.MjData(compiled)
    x = random_state(model, seed)
    q, v = there.q(x.q), there.dq(x.q, x.dq)
    data.qpos[:], data.qvel[:] = q, v
    data.qacc[:] = there.ddq(x.q, x.dq, x.ddq)
    mujoco.mj_inverse(compiled, data)
    tau = algorithms.inverse_dynamics(model, *x.motion)
    assert relative(back.tau(q, data.qfrc_inverse), tau) < TOLERANCE
    M = algorithms.mass_matrix(model, x.q)
    assert relative(back.mass_matrix(q, full_mass_matrix(compiled, data)), M) < TOLERANCE
    data.qfrc_applied[:] = there.tau(x.q, tau)
    i = len(model.links) - 1
    name = model.link_names[i]
    T = algorithms.pose(model, x.q, name)
    world = np.kron(np.eye(2), T[:3, :3])  # at the body's origin, in the axes of the world
    mujoco.mj_forward(compiled, data)
    assert relative(back.ddq(q, v, data.qacc), x.ddq) < 1e-9
    rows = np.zeros((2, 3, compiled.nv))
    mujoco.mj_jacBody(compiled, data, rows[0], rows[1], data.body(name).id)
    J = there.jacobian(x.q, world @ algorithms.body_jacobian(model, x.q, name))
    assert np.abs(np.concatenate(rows) - J).max() < TOLERANCE
    V = np.zeros(6)
    kind = mujoco.mjtObj.mjOBJ_XBODY
    mujoco.mj_objectVelocity(compiled, data, kind, data.body(name).id, V, 1)
    found = algorithms.body_jacobian(model, x.q, name) @ x.dq
    np.testing.assert_allclose(there.twist(found), V, atol=TOLERANCE)
    # a wrench at the centre of mass, in the axes of the world
    com = T[:3, :3] @ model.com[i]
    F = np.concatenate([x.F_tip[:3] + np.cross(com, x.F_tip[3:]), x.F_tip[3:]])  # at the origin
    data.xfrc_applied[data.body(name).id] = there.wrench(x.F_tip)
    F_ext = np.zeros((len(model.links), 6))
    F_ext[i] = world.T @ F
    mujoco.mj_forward(compiled, data)
    ddq = algorithms.forward_dynamics(model, x.q, x.dq, tau, F_ext=F_ext)
    assert relative(back.ddq(q, v, data.qacc), ddq) < 1e-9


@pytest.mark.filterwarnings("ignore::kinetree.errors.KinetreeWarning")
@pytest.mark.parametrize("seed", range(15))
def test_floating_trees_move_alike(seed):
    model = floating_tree(seed, 1 + seed)
    agrees(model, mujoco.MjModel.from_xml_string(to_mjcf(model)), seed)


@pytest.mark.filterwarnings("ignore::kinetree.errors.KinetreeWarning")
@pytest.mark.parametrize("seed", range(6))
def test_trees_on_a_fixed_base_move_alike(seed):
    model = random_model(seed, 8, types=TYPES, drives=False)
    agrees(model, mujoco.MjModel.from_xml_string(to_mjcf(model)), seed)


def test_a_planar_joint_is_two_slides_and_a_hinge():
    builder = Builder("puck", gravity=(1, 2, 3)).link("world")
    builder.link("puck", 2, (0.1, 0.2, 0.3), np.diag([1, 2, 2.5]))
    model = builder.joint("slide", "planar", "world", "puck").build_model()
    text = """<mujoco><compiler angle="radian"/><option gravity="1 2 3"/><worldbody>
      <body name="puck"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
        <joint type="hinge" axis="0 0 1"/>
        <inertial pos="0.1 0.2 0.3" mass="2" diaginertia="1 2 2.5"/></body>
    </worldbody></mujoco>"""
    for seed in range(5):
        agrees(model, mujoco.MjModel.from_xml_string(text), seed)
