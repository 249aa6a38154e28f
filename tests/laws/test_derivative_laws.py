"""Derivatives: the recursion, the differentiated graph and fifty-digit differences are one.

All are evaluated for the same floats. The recursion and the graph round a few hundred operations
of size eps each, so 1e-12 of the norm, which the project specifies, leaves three digits to spare.
Accelerations solve M x = b, which magnifies by the condition of M: beyond 100 it is granted.
"""

from functools import partial

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree.algorithms.derivatives.forward_dynamics import tree_forward_derivatives
from kinetree.algorithms.derivatives.inverse_dynamics import tree_derivatives
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.engine import Port, interpret, jacobian, jvp, trace
from kinetree.engine.kernels import derivative_kernel
from precise_robots import H, derivative, numbers, precise, precise_state
from robot_states import any_robot, random_state, relative, screw_robot, size

pytest.importorskip("mpmath")

ACCURACY = 1e-12
TREES = range(40)  # of 1 to 8 joints, chains and trees, with and without mimic joints
WHOLE = range(0, 40, 10)  # of these every column is compared, of the others one direction


def robot_and_state(seed):
    model = any_robot(seed, 8)
    return model, random_state(model, seed)


def conditioned(model, q):
    """Accuracy of a solution of M x = b."""
    return ACCURACY * max(1.0, 1e-2 * float(np.linalg.cond(kt.mass_matrix(model, q))))


def agree(found, expected, accuracy=ACCURACY):
    """Norm-wise; a derivative that is zero must be found as zero."""
    return size(found - expected) <= accuracy * max(size(expected), size(found))


def along(model, x, f, v):
    """Slopes of f(q, dq, last) along v in q and in dq, by differences of fifty digits."""
    exact = precise(model)
    y = precise_state(exact, x)
    v = numbers(v)
    by_q = derivative(lambda h: f(exact, kt.integrate(exact, y.q, v * h), y.dq, y.ddq, y.F_ext))
    by_dq = derivative(lambda h: f(exact, y.q, y.dq + v * h, y.ddq, y.F_ext))
    return by_q, by_dq


@pytest.mark.parametrize("seed", TREES)
def test_the_recursion_is_the_difference_of_inverse_dynamics(seed, fifty_digits):
    model, x = robot_and_state(seed)
    by_q, by_dq = kt.inverse_dynamics_derivatives(model, *x.motion, x.F_ext)
    directions = (
        np.eye(model.n) if seed in WHOLE else [np.random.default_rng(seed).normal(size=model.n)]
    )
    for v in directions:
        slopes = along(model, x, kt.inverse_dynamics, v)
        assert size(by_q @ v - slopes[0]) <= ACCURACY * size(by_q) * size(v)
        assert size(by_dq @ v - slopes[1]) <= ACCURACY * size(by_dq) * size(v)


@pytest.mark.parametrize("seed", TREES[::4])
def test_the_recursion_is_the_difference_of_forward_dynamics(seed, fifty_digits):
    model, x = robot_and_state(seed)
    by_q, by_dq, by_tau = kt.forward_dynamics_derivatives(model, *x.motion, x.F_ext)
    v = np.random.default_rng(seed).normal(size=model.n)
    slopes, slack = along(model, x, kt.forward_dynamics, v), conditioned(model, x.q)
    assert agree(by_q @ v, slopes[0], slack)
    assert agree(by_dq @ v, slopes[1], slack)
    M = kt.mass_matrix(model, x.q)
    assert size(by_tau @ M - np.eye(model.n)) < slack * size(by_tau) * size(M)
    assert np.array_equal(by_tau, by_tau.T)


def ports(model):
    return [Port("q", (model.nq,)), *(Port(name, (model.n,)) for name in ("dq", "ddq"))]


@pytest.mark.parametrize("seed", TREES)
def test_the_recursion_is_the_differentiated_graph(seed):
    model, x = robot_and_state(seed)
    by_q, by_dq = kt.inverse_dynamics_derivatives(model, *x.motion)
    lean = lean_model(model)
    graph = trace(
        lambda q, dq, ddq: tree_inverse_dynamics(lean_tree(lean, q), dq, ddq), ports(model)
    )
    if seed in WHOLE:
        chart = {"q": partial(kt.tangent_map, model)}
        found = interpret(jacobian(graph, ["q", "dq"], along=chart), *x.motion)
        assert agree(found[0], by_q) and agree(found[1], by_dq)
    v = np.random.default_rng(seed).normal(size=model.n)
    moved = kt.tangent_map(model, x.q) @ v
    (found,) = interpret(jvp(graph, ["q"]), *x.motion, moved)
    assert size(found - by_q @ v) <= ACCURACY * size(by_q) * size(v)
    (found,) = interpret(jvp(graph, ["dq"]), *x.motion, v)
    assert size(found - by_dq @ v) <= ACCURACY * size(by_dq) * size(v)


@pytest.mark.parametrize("seed", TREES[::5])
def test_lean_frames_give_the_derivatives_of_the_textbook(seed):
    model, x = robot_and_state(seed)
    lean = lean_model(model)
    found = tree_derivatives(lean_tree(lean, x.q, x.F_ext), x.dq, x.ddq)
    for one, other in zip(
        found, kt.inverse_dynamics_derivatives(model, *x.motion, x.F_ext), strict=True
    ):
        assert agree(one, other)
    found = tree_forward_derivatives(lean_tree(lean, x.q, x.F_ext), x.dq, x.ddq)
    slack = conditioned(model, x.q)
    expected = kt.forward_dynamics_derivatives(model, *x.motion, x.F_ext)
    for one, other in zip(found, expected, strict=True):
        assert agree(one, other, slack)


@pytest.mark.parametrize("seed", TREES[::5])
def test_tau_changes_with_acceleration_by_M_and_with_rates_by_twice_C(seed):
    """Where rates are those of coordinates, c = C dq with Christoffel's symbols gives 2 C."""
    model = screw_robot(seed, 12)
    x = random_state(model, seed)
    _, by_dq = kt.inverse_dynamics_derivatives(model, *x.motion)
    h = 1e-6
    slopes = kt.friction_forces(model, x.dq + h) - kt.friction_forces(model, x.dq - h)
    C = kt.coriolis_matrix(model, x.q, x.dq)
    expected = 2 * C + np.diag(slopes / (2 * h))
    assert relative(by_dq, expected) < 1e-9  # what the difference of friction leaves


@pytest.mark.parametrize("seed", TREES[::5])
def test_the_tangent_map_is_the_slope_of_integrate(seed, fifty_digits):
    model, x = robot_and_state(seed)
    exact = precise(model)
    q = precise_state(exact, x).q
    v = numbers(x.dq)
    slope = derivative(lambda h: kt.integrate(exact, q, v * h))
    assert size(kt.tangent_map(exact, q) @ v - slope) < float(H) * size(v)


@pytest.mark.parametrize("seed", TREES[::10])
def test_gravity_forces_have_a_symmetric_slope_at_rest_without_free_turns(seed):
    """d g/d q is the Hessian of the potential energy."""
    model = screw_robot(seed, 12)
    x, rest = random_state(model, seed), np.zeros(model.n)
    by_q, _ = kt.inverse_dynamics_derivatives(model, x.q, rest, rest)
    assert agree(by_q, by_q.T)


@pytest.mark.parametrize("seed", [3, 5, 7, 8, 13])
def test_second_derivatives_are_differences_of_the_recursion(seed, fifty_digits):
    """Joints of all types; d/dq d/dq is along tangent vectors twice, and so not symmetric."""
    model = any_robot(seed, 3)
    x, v = random_state(model, seed), np.random.default_rng(seed).normal(size=model.n)
    second = derivative_kernel(
        model, "inverse_dynamics_derivatives", ("q", "dq"), wrenches=True
    )  # of d tau/d q by q and dq, then of d tau/d dq
    found = [part @ v for part in second(x.q, x.dq, x.ddq, x.F_ext)]
    by_q, by_dq = along(model, x, lambda *y: np.array(kt.inverse_dynamics_derivatives(*y)), v)
    for got, wanted in zip(found, (by_q[0], by_dq[0], by_q[1], by_dq[1]), strict=True):
        assert agree(got, wanted)
