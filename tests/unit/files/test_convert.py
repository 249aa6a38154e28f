"""Vectors in the orders of other libraries: there and back, in batches, and as derivatives say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import Builder, convert, dynamics
from kinetree.joints import Limits
from kinetree.model import joint_pose
from random_robots import ALL_TYPES, random_model
from robot_states import random_state, relative

SEEDS = st.integers(0, 10**6)
LIBRARIES = ("pinocchio", "mujoco", "drake")
MUJOCO_TYPES = ("revolute", "prismatic", "spherical", "planar")


def converters(library, model, **options):
    to, back = getattr(convert, f"to_{library}"), getattr(convert, f"from_{library}")
    return to(model, **options), back(model, **options)


def robot(library, seed, n=6):
    return random_model(seed, n, types=MUJOCO_TYPES if library == "mujoco" else ALL_TYPES)


def one_joint(type):
    builder = Builder("one").link("base").link("a", 1, (0, 0, 1), np.eye(3))
    return builder.joint("j", type, "base", "a", limits=Limits(-3.0, 3.0)).build_model()


@pytest.mark.parametrize("library", LIBRARIES)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_the_way_back_undoes_the_way_there(library, seed):
    model = robot(library, seed)
    order = list(np.random.default_rng(seed).permutation(model.joint_names))
    there, back = converters(library, model, joints=order)
    x = random_state(model, seed)
    q, dq = there.q(x.q), there.dq(x.q, x.dq)
    M = dynamics.mass_matrix(model, x.q)
    J = dynamics.body_jacobian(model, x.q)
    found = back.q(q)
    for joint in model.joints:
        own = list(joint.coords)
        assert relative(joint_pose(joint, found[own]), joint_pose(joint, x.q[own])) < 1e-14
    pairs = [
        (back.dq(q, dq), x.dq),
        (back.ddq(q, dq, there.ddq(x.q, x.dq, x.ddq)), x.ddq),
        (back.tau(q, there.tau(x.q, x.ddq)), x.ddq),
        (back.mass_matrix(q, there.mass_matrix(x.q, M)), M),
        (back.jacobian(q, there.jacobian(x.q, J)), J),
        (back.twist(there.twist(x.F_tip)), x.F_tip),
        (back.wrench(there.wrench(x.F_tip)), x.F_tip),
    ]
    assert max(relative(a, b) for a, b in pairs) < 1e-13


@pytest.mark.parametrize("library", LIBRARIES)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_power_energy_and_twists_are_the_same_everywhere(library, seed):
    model = robot(library, seed)
    there, _ = converters(library, model)
    x = random_state(model, seed)
    dq, tau = there.dq(x.q, x.dq), there.tau(x.q, x.ddq)
    assert tau @ dq == pytest.approx(x.ddq @ x.dq, rel=1e-12, abs=1e-12)
    M = dynamics.mass_matrix(model, x.q)
    assert dq @ there.mass_matrix(x.q, M) @ dq == pytest.approx(x.dq @ M @ x.dq, rel=1e-12)
    J = dynamics.body_jacobian(model, x.q)
    V = there.jacobian(x.q, J) @ dq
    swaps = "jacobian" in there.order.library.linear_first
    np.testing.assert_allclose(V, np.roll(J @ x.dq, 3) if swaps else J @ x.dq, atol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("type", ["free", "planar", "spherical"])
def test_accelerations_are_the_rates_of_rates(library, type):
    model = one_joint(type)
    there, _ = converters(library, model)
    x = random_state(model, 2)
    h = 1e-5

    def rates(t):
        step = x.dq * t + x.ddq * t * t / 2  # exact to first order in dq at t = 0
        q = dynamics.integrate(model, x.q, step)
        return there.dq(q, x.dq + x.ddq * t)

    found = (rates(h) - rates(-h)) / (2 * h)
    np.testing.assert_allclose(found, there.ddq(x.q, x.dq, x.ddq), atol=1e-8)


def moved(there, model, x, h=1e-6):
    """Rates of the other library's coordinates along the motion, by differences."""
    q = [there.q(dynamics.integrate(model, x.q, x.dq * t)) for t in (h, -h)]
    return (q[0] - q[1]) / (2 * h)


@pytest.mark.parametrize("library", ["mujoco", "drake"])
def test_linear_rates_are_those_of_the_position_in_the_world(library):
    free, planar = one_joint("free"), one_joint("planar")
    x, (there, _) = random_state(free, 3), converters(library, free)
    position = slice(0, 3) if library == "mujoco" else slice(4, 7)
    linear = slice(0, 3) if library == "mujoco" else slice(3, 6)
    dq = there.dq(x.q, x.dq)
    np.testing.assert_allclose(moved(there, free, x)[position], dq[linear], atol=1e-9)
    x, (there, _) = random_state(planar, 3), converters(library, planar)
    np.testing.assert_allclose(moved(there, planar, x), there.dq(x.q, x.dq), atol=1e-9)


def test_drake_counts_angular_velocity_along_the_axes_of_the_world():
    for type in ("free", "spherical"):
        model = one_joint(type)
        x, (there, _) = random_state(model, 4), converters("drake", model)
        h, joint = 1e-6, model.joints[0]
        q = [dynamics.integrate(model, x.q, x.dq * t) for t in (h, -h)]
        R = joint_pose(joint, x.q)[:3, :3]
        dR = (joint_pose(joint, q[0]) - joint_pose(joint, q[1]))[:3, :3] / (2 * h)
        W = dR @ R.T  # [omega] in the axes of the world
        omega = there.dq(x.q, x.dq)[:3]
        np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], omega, atol=1e-9)


def test_coordinates_by_name():
    q = [0.8, 0.6, 0, 0, 1, 2, 3]
    free = one_joint("free")
    assert convert.to_pinocchio(free).q(q).tolist() == [1, 2, 3, 0.6, 0, 0, 0.8]
    assert convert.to_mujoco(free).q(q).tolist() == [1, 2, 3, 0.8, 0.6, 0, 0]
    assert convert.to_drake(free).q(q).tolist() == q
    assert convert.to_pinocchio(free).dq(q, range(6)).tolist() == [3, 4, 5, 0, 1, 2]
    planar = one_joint("planar")
    assert convert.to_pinocchio(planar).q([0, 1, 2]).tolist() == [1, 2, 1, 0]
    assert convert.to_mujoco(planar).q([0, 1, 2]).tolist() == [1, 2, 0]
    turn = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    ball = convert.to_drake(one_joint("spherical"))
    np.testing.assert_allclose(ball.q(turn), [0, 0, np.pi / 2], atol=1e-15)


def test_hinges_without_ends_have_cosine_and_sine_in_pinocchio():
    builder = Builder("two").link("base").link("a", 1).link("b", 1)
    builder.joint("wheel", "revolute", "base", "a")
    model = builder.joint("elbow", "revolute", "a", "b", limits=Limits(-1, 1)).build_model()
    found = convert.to_pinocchio(model).q([np.pi / 2, 0.5])
    np.testing.assert_allclose(found, [0, 1, 0.5], atol=1e-15)
    np.testing.assert_allclose(convert.from_pinocchio(model).q([0, -1, 0.5]), [-np.pi / 2, 0.5])
    assert convert.to_pinocchio(model, continuous=()).q([2, 0.5]).tolist() == [2, 0.5]
    there = convert.to_pinocchio(model, joints=["elbow", "wheel"])
    assert there.q([0, 0.5]).tolist() == [0.5, 1, 0]
    assert there.tau([0, 0.5], [1, 2]).tolist() == [2, 1]


def test_a_free_joint_with_a_home_pose_is_seen_from_the_world_in_mujoco():
    builder = Builder("far").link("base").link("a", 1, (0, 0, 1), np.eye(3))
    at = random_model(1, 1).M_pi[0]
    model = builder.joint("j", "free", "base", "a", at=at).build_model()
    there, back = converters("mujoco", model)
    x = random_state(model, 5)
    T = dynamics.pose(model, x.q, "a")
    np.testing.assert_allclose(there.q(x.q)[:3], T[:3, 3], atol=1e-15)
    np.testing.assert_allclose(there.dq(x.q, x.dq)[:3], T[:3, :3] @ x.dq[3:], atol=1e-15)
    np.testing.assert_allclose(np.abs(back.q(there.q(x.q))), np.abs(x.q), atol=1e-15)
