"""tau is linear in (m, m c, I about the origin) of every link."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import algorithms as kt
from kinetree.model.samples import ALL_TYPES, random_body, random_model
from kinetree.spatial import skew
from robot_states import EPS, random_state, size

ROUNDING = 1000 * EPS  # up to 20 links, each carried through a few products of 6x6 matrices


def parameters(model):
    """(m, m c, I about the origin) of every link."""
    bodies = zip(model.m, model.com, model.I_com, strict=True)
    return [(m, m * c, I + m * skew(c) @ skew(c).T) for m, c, I in bodies]


def with_parameters(model, values):
    m = np.array([v[0] for v in values])
    com = np.array([v[1] / v[0] for v in values])
    I = [v[2] - v[0] * skew(c) @ skew(c).T for v, c in zip(values, com, strict=True)]
    return model.replace(m=m, com=com, I_com=np.array(I))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0.1, 10), st.floats(0.1, 10))
def test_tau_is_linear_in_the_inertial_parameters(seed, a, b):
    one = random_model(seed, 1 + seed % 20, types=ALL_TYPES, mimic=True, drives=False)
    rng = np.random.default_rng(seed)
    bodies = [random_body(rng) for _ in one.links]
    two = one.replace(
        **dict(zip(("m", "com", "I_com"), map(np.array, zip(*bodies, strict=True)), strict=True))
    )
    pairs = zip(parameters(one), parameters(two), strict=True)
    mixed = [tuple(a * x + b * y for x, y in zip(p, r, strict=True)) for p, r in pairs]
    x = random_state(one, seed)
    base = {"V_base": x.V_base, "dV_base": x.dV_base}
    tau_1, tau_2, tau = (
        kt.inverse_dynamics(model, *x.motion, **base)
        for model in (one, two, with_parameters(one, mixed))
    )
    assert size(tau - a * tau_1 - b * tau_2) < ROUNDING * (a * size(tau_1) + b * size(tau_2))


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_a_payload_adds_its_own_forces(seed):
    model = random_model(seed, 1 + seed % 20, types=ALL_TYPES, drives=False)
    x = random_state(model, seed)
    m, com, I_com = random_body(np.random.default_rng(seed))
    loaded = model.with_payload(m, com, I_com)
    T, J, dJ = (
        kt.pose(model, x.q),
        kt.body_jacobian(model, x.q),
        kt.body_jacobian_rate(model, x.q, x.dq),
    )
    V, dV = J @ x.dq, J @ x.ddq + dJ @ x.dq
    up = np.concatenate([np.zeros(3), -(T[:3, :3].T @ model.gravity[3:])])
    c = skew(com)
    G = np.block([[I_com + m * c @ c.T, m * c], [m * c.T, m * np.eye(3)]])
    F = kt.body_wrench(G, V, dV + up)
    tau, more = (kt.inverse_dynamics(robot, *x.motion) for robot in (model, loaded))
    assert size(more - tau - J.T @ F) < ROUNDING * (size(tau) + size(J) * size(F))
