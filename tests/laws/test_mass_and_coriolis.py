"""M is symmetric and positive definite, C belongs to it, and both follow from M(q) alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import algorithms as kt
from precise_robots import TINY, derivative, precise, precise_state
from robot_states import EPS, any_robot, random_state, relative, screw_robot, size

SEEDS = st.integers(0, 10**6)
ROUNDING = 1000 * EPS  # up to 30 links, each carried through a few products of 6x6 matrices


@settings(max_examples=40)
@given(SEEDS)
def test_the_mass_matrix_is_symmetric_and_positive_definite(seed):
    model = any_robot(seed)
    q = random_state(model, seed).q
    for way in (kt.mass_matrix, kt.mass_matrix_by_jacobians):
        M = way(model, q)
        assert relative(M.T, M) < ROUNDING
        np.linalg.cholesky(M)  # raises unless positive definite


@settings(max_examples=40)
@given(SEEDS)
def test_the_rate_of_M_less_twice_C_is_skew_symmetric(seed):
    model = any_robot(seed)
    q, dq, _ = random_state(model, seed).motion
    dM, C = kt.mass_matrix_rate(model, q, dq), kt.coriolis_matrix(model, q, dq)
    N = dM - 2 * C
    # both are sums of terms of the size of M dq, which may cancel
    assert size(N + N.T) < ROUNDING * size(kt.mass_matrix(model, q)) * size(dq)


@settings(max_examples=40)
@given(SEEDS)
def test_tau_is_the_sum_of_its_terms(seed):
    model = any_robot(seed)
    x = random_state(model, seed)
    q, dq, ddq = x.motion
    terms = [
        kt.mass_matrix(model, q) @ ddq,
        kt.coriolis_forces(model, q, dq),
        kt.gravity_forces(model, q),
        kt.friction_forces(model, dq),
        -sum(J.T @ F for J, F in zip(kt.link_jacobians(model, q), x.F_ext, strict=True)),
        kt.body_jacobian(model, q).T @ x.F_tip,
    ]
    tau = kt.inverse_dynamics(model, q, dq, ddq, **x.wrenches)
    assert size(tau - sum(terms)) < ROUNDING * sum(map(size, terms))


@pytest.mark.parametrize("seed", range(10))
def test_the_rate_of_M_is_its_derivative_along_the_motion(seed, fifty_digits):
    model = precise(any_robot(seed, most=6))
    q, dq, _ = precise_state(model, random_state(model, seed)).motion
    difference = derivative(lambda h: kt.mass_matrix(model, kt.integrate(model, q, dq * h)))
    assert relative(kt.mass_matrix_rate(model, q, dq), difference) < TINY


@pytest.mark.parametrize("seed", range(8))
def test_C_is_made_of_christoffels_symbols_of_M(seed, fifty_digits):
    """For joints of one degree of freedom, whose rates are derivatives of coordinates."""
    model = precise(screw_robot(seed, most=5))
    q, dq, _ = precise_state(model, random_state(model, seed)).motion
    n = range(model.n)
    unit = np.eye(model.n, dtype=int)
    dM = [derivative(lambda h, k=k: kt.mass_matrix(model, q + unit[k] * h)) for k in n]
    Gamma = np.array(
        [[[(dM[k][i, j] + dM[j][i, k] - dM[i][j, k]) / 2 for k in n] for j in n] for i in n]
    )
    scale = max(size(Gamma), 1e-3)  # a single joint has none
    assert size(kt.coriolis_matrix(model, q, dq) - Gamma @ dq) < TINY * scale
    symbols = kt.christoffel_symbols(model, q)
    assert size(symbols - Gamma) < TINY * scale
    assert size(symbols - symbols.transpose(0, 2, 1)) < TINY * scale
