"""The momentum of the joints and its rate, against M, C, h and motions of 50 digits."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from closed_loops import four_bar
from kinetree import algorithms
from kinetree.algorithms.joints.springs import without_passive_forces
from kinetree.engine.kernels import kernel
from kinetree.errors import ModelError
from kinetree.model import ALL_TYPES, random_model
from precise_robots import numbers, precise
from robot_states import EPS, size


def robot(seed, **options):
    """A random tree with springs, rotors, armature and friction."""
    options = {"types": ALL_TYPES, "mimic": seed % 2 == 0, "springs": True} | options
    return random_model(seed, 1 + seed % 7, **options)


def state(model, seed):
    rng = np.random.default_rng(seed)
    return algorithms.random(model, rng), *rng.normal(size=(2, model.n))


@pytest.mark.parametrize("seed", range(12))
def test_it_is_m_dq_and_the_forces_less_h_plus_the_rate_of_m(seed):
    model = robot(seed)
    q, dq, tau = state(model, seed)
    p, f = algorithms.momentum_balance(model, q, dq, tau)
    h, dM = algorithms.bias_forces(model, q, dq), algorithms.mass_matrix_rate(model, q, dq)
    scale = size(tau) + size(h) + size(dM @ dq)
    assert size(p - algorithms.mass_matrix(model, q) @ dq) < 100 * EPS * max(size(p), scale)
    assert size(f - (tau - h + dM @ dq)) < 100 * EPS * scale


@pytest.mark.parametrize("seed", range(12))
def test_the_transposed_coriolis_forces_are_c_transposed_times_dq(seed):
    model = robot(seed)
    q, dq, _ = state(model, seed)
    C = algorithms.coriolis_matrix(model, q, dq)
    found = algorithms.transposed_coriolis_forces(model, q, dq)
    assert size(found - C.T @ dq) < 100 * EPS * (1 + size(C) * size(dq))
    rest = np.zeros(model.n)
    assert not algorithms.transposed_coriolis_forces(model, q, rest).any()


@pytest.mark.parametrize("seed", range(6))
def test_f_and_external_forces_are_the_rate_of_m_dq_along_the_motion(seed):
    """No C here: M dq is differentiated along the motion that forward dynamics gives."""
    model = robot(seed, mimic=False)
    q, dq, tau = state(model, seed)
    F_ext = np.random.default_rng(seed + 50).normal(size=(len(model.links), 6))
    ddq = algorithms.forward_dynamics(model, q, dq, tau, F_ext)
    rest, smooth = np.zeros(model.n), without_passive_forces(model)
    at_rest = [algorithms.inverse_dynamics(smooth, q, rest, rest, x) for x in (None, F_ext)]
    pushed = at_rest[0] - at_rest[1]
    with mpmath.workdps(50):
        exact = precise(model)
        start, rate, change = (numbers(x) for x in (q, dq, ddq))

        def momentum(t):
            # to second order, q moves along dq + ddq t / 2 for the time t
            here = algorithms.integrate(exact, start, rate * t + change * (t * t / 2))
            return algorithms.mass_matrix(exact, here) @ (rate + change * t)

        h = mpmath.mpf(10) ** -15
        slope = np.array((momentum(h) - momentum(-h)) / (2 * h), float)
    _, f = algorithms.momentum_balance(model, q, dq, tau)
    assert size(pushed) > 0.1 and size(f + pushed - slope) < 1e-9 * (size(slope) + size(f))


@pytest.mark.parametrize("seed", range(8))
def test_without_external_forces_load_friction_is_taken_off_tau(seed):
    model = robot(seed, laws=True, types=("revolute", "prismatic"), mimic=False)
    q, dq, tau = state(model, seed)
    ddq = algorithms.forward_dynamics(model, q, dq, tau)
    M, dM = algorithms.mass_matrix(model, q), algorithms.mass_matrix_rate(model, q, dq)
    _, f = algorithms.momentum_balance(model, q, dq, tau)
    assert size(f - (M @ ddq + dM @ dq)) < 1e-9 * (size(f) + size(M @ ddq))


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_of_regrouped_masses_gives_the_same(seed):
    model = robot(seed, laws=True)
    q, dq, tau = state(model, seed)
    for found, expected in zip(
        kernel(model, "momentum_balance")(q, dq, tau),
        algorithms.momentum_balance(model, q, dq, tau),
        strict=True,
    ):
        assert size(found - expected) < 1e-12 * (size(expected) + size(tau))


def test_it_needs_fewer_operations_than_inverse_dynamics():
    """C^T dq costs some cross products at each joint, and the matrix C is not formed."""
    robot = kt.robots.panda()
    counts = [
        robot.compile(x).graph.operations
        for x in ("momentum_balance", "inverse_dynamics", "coriolis_matrix")
    ]
    assert counts[0] < counts[1] < counts[2]


def test_constraints_are_refused_by_name():
    tied = four_bar()
    for ask in (
        lambda: algorithms.momentum_balance(tied.model, [0] * 3, [0] * 3, [0] * 3),
        lambda: tied.compile("momentum_balance"),
    ):
        with pytest.raises(ModelError, match=r"(?s)does not honour constraints.*unconstrained\(\)"):
            ask()
