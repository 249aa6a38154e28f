"""The stacked matrices of the closed form are what the book says they are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import algorithms as kt
from kinetree.model import ALL_TYPES, random_model
from robot_states import EPS, any_robot, random_state, relative, size

SEEDS = st.integers(0, 10**6)
ROUNDING = 1000 * EPS  # up to 30 links, each carried through a few products of 6x6 matrices


def depth(model):
    return max(len(model.path(i)) for i in model.links)


@settings(max_examples=30)
@given(SEEDS)
def test_W_is_nilpotent_and_L_inverts_one_less_W(seed):
    model = any_robot(seed, most=15)
    x = random_state(model, seed)
    form = kt.closed_form(model, *x.motion)
    one = np.eye(len(form.W))
    deepest = depth(model)
    assert np.any(np.linalg.matrix_power(form.W, deepest - 1))
    assert not np.any(np.linalg.matrix_power(form.W, deepest))
    assert size(form.L @ (one - form.W) - one) < ROUNDING * size(form.L)
    series = sum(np.linalg.matrix_power(form.W, k) for k in range(deepest))
    assert relative(form.L, series) < ROUNDING


@settings(max_examples=30)
@given(SEEDS)
def test_J_stacks_the_body_jacobians_of_all_links(seed):
    model = any_robot(seed, most=15)
    x = random_state(model, seed)
    form = kt.closed_form(model, *x.motion)
    J = kt.link_jacobians(model, x.q)
    assert relative(form.J, J.reshape(-1, model.n)) < ROUNDING
    assert relative(form.V, form.J @ x.dq) < ROUNDING
    carried = kt.closed_form(model, *x.motion, V_base=x.V_base)
    assert relative(carried.V, form.J @ x.dq + form.L @ carried.V_base) < ROUNDING


@settings(max_examples=30)
@given(SEEDS)
def test_M_C_and_g_follow_from_the_stacks_of_a_robot_without_drives(seed):
    model = random_model(seed, 1 + seed % 15, types=ALL_TYPES, drives=False, mimic=True)
    q, dq, ddq = random_state(model, seed).motion
    form = kt.closed_form(model, q, dq, ddq)
    M = kt.mass_matrix(model, q)
    c, g = kt.coriolis_forces(model, q, dq), kt.gravity_forces(model, q)
    assert relative(form.M, M) < ROUNDING
    assert size(form.C @ dq - c) < ROUNDING * size(M) * size(dq) ** 2
    assert size(form.g - g) < ROUNDING * size(form.G) * size(model.gravity)
    tau = kt.inverse_dynamics(model, q, dq, ddq, formulation="closed")
    total = form.M @ ddq + form.C @ dq + form.g
    assert relative(total, tau) < ROUNDING * size(M) * size(form.L)


@settings(max_examples=30)
@given(SEEDS)
def test_stacks_satisfy_the_equations_of_the_recursion(seed):
    model = any_robot(seed, most=15)
    x = random_state(model, seed)
    form = kt.closed_form(model, *x.motion, **x.all)
    V = form.W @ form.V + form.A @ x.dq + form.V_base
    dV = (
        form.W @ form.dV
        + form.A @ x.ddq
        - form.ad_Adq @ (form.W @ form.V + form.V_base)
        + form.dV_base
    )
    F = form.W.T @ form.F + form.G @ form.dV - form.ad_V.T @ form.G @ form.V
    F = F + form.F_tip - form.F_ext + form.F_rotor
    assert relative(V, form.V) < ROUNDING
    assert relative(dV, form.dV) < ROUNDING
    assert relative(F, form.F) < ROUNDING
    drives = kt.newton_euler(model, *x.motion, **x.all)
    tau = form.A.T @ form.F + drives.tau_rotor + drives.tau_friction
    assert relative(tau, drives.tau) < ROUNDING
