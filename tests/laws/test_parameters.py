"""Laws of the parameters in which the dynamics is linear."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import SCREWS, SEEDS, Units, build, close, mechanisms, state

import kinetree as kt
from kinetree import dynamics

UNITS = st.sampled_from([Units(1e3, 1e3, 1e3), Units(1e-3, 1.0, 1.0), Units(1.0, 1e3, 1e-2)])


def stacked(robot, count, seed=0):
    """Regressors of random states, one above the other; rates of either sign."""
    states = [state(robot, seed + k) for k in range(count)]
    return np.vstack([dynamics.regressor(robot.model, *x) for x in states])


@settings(max_examples=50)
@given(mechanisms(), SEEDS)
def test_forces_are_linear_in_the_parameters(mechanism, seed):
    model = build(mechanism).model
    q, dq, ddq = state(build(mechanism), seed)
    pi = dynamics.parameters(model)
    tau = dynamics.inverse_dynamics(model, q, dq, ddq)
    Y = dynamics.regressor(model, q, dq, ddq)
    close(Y @ pi, tau, 1e-11, np.abs(Y * pi).max(initial=0))


@settings(max_examples=30)
@given(mechanisms(), SEEDS)
def test_other_parameters_make_another_robot(mechanism, seed):
    model = build(mechanism).model
    q, dq, ddq = state(build(mechanism), seed)
    pi = dynamics.parameters(model) * np.random.default_rng(seed).uniform(0.9, 1.1)
    other = dynamics.with_parameters(model, pi)
    close(dynamics.parameters(other), pi, 1e-12)
    tau = dynamics.inverse_dynamics(other, q, dq, ddq)
    Y = dynamics.regressor(model, q, dq, ddq)
    close(Y @ pi, tau, 1e-11, np.abs(Y * pi).max(initial=0))


@settings(max_examples=30)
@given(mechanisms(), SEEDS)
def test_the_reference_regressor_has_the_coriolis_matrix_of_the_rates(mechanism, seed):
    """Y pi = M ddq_r + C(q, dq) dq_r + g + springs + friction(dq)."""
    robot = build(mechanism)
    model, (q, dq, ddq) = robot.model, state(robot, seed)
    dq_r = ddq[::-1].copy()
    Y = dynamics.reference_regressor(model, q, dq, dq_r, ddq)
    tau = dynamics.mass_matrix(model, q) @ ddq + dynamics.gravity_forces(model, q)
    tau = tau + dynamics.coriolis_matrix(model, q, dq) @ dq_r
    tau = tau + dynamics.spring_forces(model, q) + dynamics.friction_forces(model, dq)
    close(Y @ robot.parameters, tau, 1e-10, 10.0)


@settings(max_examples=30)
@given(mechanisms(4), SEEDS)
def test_base_parameters_are_as_many_as_the_rank_and_give_tau(mechanism, seed):
    robot = build(mechanism)
    base = kt.identify.base_parameters(robot)
    kept = [base.columns[k] for k in base.kept]
    Y = stacked(robot, 3 * len(robot.parameters), seed)
    size = np.linalg.norm(Y, axis=0)
    values = np.linalg.svd(Y[:, size > 1e-9] / size[size > 1e-9], compute_uv=False)
    assert base.count == (values > 1e-10 * values[0]).sum()
    tau = Y @ robot.parameters
    close(Y[:, kept] @ base.values(robot.parameters), tau, 1e-9, np.abs(Y * robot.parameters).max())


@settings(max_examples=30)
@given(mechanisms(4, types=(*SCREWS, "spherical", "fixed"), floating=False), UNITS)
def test_the_same_parameters_are_identifiable_in_other_units(mechanism, units):
    """The armature of a free or planar joint is one number for turns and slides: it has no unit."""
    plain, scaled = build(mechanism), build(mechanism, units)
    assert kt.identify.base_parameters(plain).kept == kt.identify.base_parameters(scaled).kept


@settings(max_examples=20)
@given(mechanisms(4), st.randoms(use_true_random=False))
def test_the_same_parameters_are_identifiable_in_another_order(mechanism, random):
    parts = range(len(mechanism.parts))
    other = build(mechanism, order=random.sample(parts, len(parts)))
    a, b = kt.identify.base_parameters(build(mechanism)), kt.identify.base_parameters(other)
    assert a.count == b.count
    idle = [
        {str(p) for p, k in zip(x.parameters, x.K.T, strict=True) if not k.any()} for x in (a, b)
    ]
    assert idle[0] == idle[1]


@settings(max_examples=10)
@given(mechanisms(3, drives=("friction", "armature"), floating=False), SEEDS)
def test_a_payload_is_a_body_on_the_tool(mechanism, seed):
    """Its own weight, inertia and wrench on the tool add up to the forces of the loaded robot."""
    robot = build(mechanism)
    q, dq, ddq = state(robot, seed)
    m, com, I = 0.7, np.array([0.1, 0.0, -0.05]), np.diag([0.02, 0.03, 0.04])
    loaded = robot.with_payload(m, com, I)
    G = kt.spatial.spatial_inertia(m, com, I)
    model = robot.model
    T = dynamics.pose(model, q)
    V = dynamics.frame_velocity(model, q, dq)
    dV = dynamics.frame_acceleration(model, q, dq, ddq)
    up = np.concatenate([np.zeros(3), -T[:3, :3].T @ mechanism.gravity])
    F = G @ (dV + up) - kt.spatial.ad(V).T @ G @ V
    tau = dynamics.inverse_dynamics(model, q, dq, ddq)
    tau = tau + dynamics.body_jacobian(model, q).T @ F
    close(dynamics.inverse_dynamics(loaded.model, q, dq, ddq), tau, 1e-10, 1.0)
