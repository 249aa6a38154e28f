"""Compiled derivatives: those of the textbook, of differences, and of second order."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.engine.kernels import derivative_kernel
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.errors import NameLookupError, SingularityError
from robot_states import any_robot, random_state, relative, size

SEEDS = (3, 5, 7, 12)


@pytest.mark.parametrize(("seed", "wrenches"), [(3, True), (5, False), (7, True), (12, False)])
def test_kernels_are_the_textbook(seed, wrenches):
    model = any_robot(seed, 6)
    x = random_state(model, seed)
    given = [*x.motion, *([x.F_ext] if wrenches else [])]
    for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        found = compile_kernel(model, name, wrenches=wrenches)(*given)
        expected = getattr(algorithms, name)(model, *given)
        slack = 1e-13
        if name.startswith("forward"):
            slack *= max(1.0, 1e-1 * float(np.linalg.cond(algorithms.mass_matrix(model, x.q))))
        for one, other in zip(found, expected, strict=True):
            assert size(one - other) <= slack * size(other)


def test_wrenches_may_follow_and_batches_broadcast():
    robot = kt.robots.puma_560()
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 4, 6))
    F_ext = rng.normal(size=(6, 6))
    by_q, by_dq = robot.inverse_dynamics_derivatives(q, dq, ddq, F_ext)
    assert by_q.shape == by_dq.shape == (4, 6, 6)
    one = algorithms.inverse_dynamics_derivatives(robot.model, q[2], dq[2], ddq[2], F_ext)
    assert relative(by_q[2], one[0]) < 1e-14 and relative(by_dq[2], one[1]) < 1e-14
    assert robot.inverse_dynamics_derivatives.signature == "(n),(n),(n)->(n,n),(n,n)"


@pytest.mark.parametrize("seed", SEEDS)
def test_any_quantity_can_be_differentiated_along_tangents(seed):
    model = any_robot(seed, 4)
    x, h = random_state(model, seed), 1e-6
    v = random_state(model, seed + 1).dq
    kernels = {
        "pose": algorithms.pose,
        "potential_energy": algorithms.potential_energy,
        "body_jacobian": algorithms.body_jacobian,
        "mass_matrix": algorithms.mass_matrix,
        "center_of_mass": algorithms.center_of_mass,
    }
    forward, back = (algorithms.integrate(model, x.q, sign * h * v) for sign in (1, -1))
    for name, function in kernels.items():
        slope = derivative_kernel(model, name)(x.q) @ v
        difference = (np.asarray(function(model, forward)) - function(model, back)) / (2 * h)
        assert size(slope - difference) < 1e-7 * max(1.0, size(difference))


def test_the_slope_of_a_pose_is_the_body_jacobian():
    robot = kt.robots.panda()
    q = np.random.default_rng(0).normal(size=7)
    T, dT = robot.pose(q), robot.derivative("pose")(q)
    J = robot.body_jacobian(q)
    for k in range(7):
        V = np.linalg.inv(T) @ dT[..., k]
        found = [V[2, 1], V[0, 2], V[1, 0], *V[:3, 3]]
        np.testing.assert_allclose(found, J[:, k], rtol=0, atol=1e-14)


def test_derivatives_by_free_data_are_the_regressor():
    robot = kt.robots.planar_2r()
    model = robot.model
    q, dq, ddq = np.random.default_rng(5).normal(size=(3, 2))
    found = robot.derivative("inverse_dynamics", "mass", free=["mass"])(q, dq, ddq, model.m)
    h = 0.5  # tau is linear in the masses
    for k in range(2):
        more, less = (model.replace(m=model.m + s * h * np.eye(2)[k]) for s in (1, -1))
        slope = algorithms.inverse_dynamics(more, q, dq, ddq)
        slope = (slope - algorithms.inverse_dynamics(less, q, dq, ddq)) / (2 * h)
        np.testing.assert_allclose(found[:, k], slope, rtol=0, atol=1e-11)


def test_unrelated_joints_give_exact_zeros():
    builder = kt.Builder("two arms").link("base").link("left", 1, (0.1, 0, 0))
    builder.link("right", 1, (0.1, 0.2, 0))
    builder.joint("l", "revolute", "base", "left", axis=(0, 1, 0))
    builder.joint("r", "revolute", "base", "right", axis=(0, 1, 0))
    by_q, by_dq, by_tau = builder.build().forward_dynamics_derivatives(*np.ones((3, 2)))
    for found in (by_q, by_dq, by_tau):
        assert found[0, 1] == found[1, 0] == 0
    assert by_q[0, 0] != 0 and by_tau[1, 1] != 0


def test_what_has_no_inertia_has_no_accelerations_to_differentiate():
    builder = kt.Builder("ghost").link("base").link("arm")
    builder.joint("hinge", "revolute", "base", "arm", axis=(0, 1, 0))
    with pytest.raises(SingularityError, match="hinge"):
        builder.build().forward_dynamics_derivatives([0.0], [0.0], [0.0])
    with pytest.raises(NameLookupError, match="no input 'tau'"):
        kt.robots.planar_2r().derivative("mass_matrix", "tau")
