"""Slopes of J, Lambda and eta: the formulas, differentiated graphs and fifty-digit differences.

Inverses of M and of J M^-1 J^T magnify roundings by their conditions, beyond 100 each.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.derivatives.task_space import task_slopes, tree_terms
from kinetree.model import random_model, zeros
from kinetree.spatial.matrices import factor, solve
from precise_robots import derivative, numbers, precise, precise_state
from robot_states import random_state, size

ACCURACY, LINEAR = 1e-12, [3, 4, 5]
TYPES = (("revolute", "prismatic"), ("free", "revolute"), ("spherical", "helical"), ("planar",))
CASES = [(seed, expressed) for seed in range(len(TYPES)) for expressed in ("body", "space")]


def task(model, q, dq, expressed):
    """J, Lambda and eta of three rows, from their definitions, over any scalars."""
    jacobian = getattr(algorithms, f"{expressed}_jacobian")
    rate = getattr(algorithms, f"{expressed}_jacobian_rate")
    J, dJ = jacobian(model, q)[LINEAR], rate(model, q, dq)[LINEAR]
    names = [str(k) for k in range(model.n)]
    M = factor(algorithms.mass_matrix(model, q), names)
    Lambda = solve(factor(J @ solve(M, J.T), names), np.eye(3, dtype=int))
    h = algorithms.inverse_dynamics(model, q, dq, zeros(model.n))
    return J, Lambda, Lambda @ (J @ solve(M, h)) - Lambda @ (dJ @ dq)


def sample(seed):
    model = random_model(seed, 4, types=(*TYPES[seed], "revolute"), mimic=True, chain=True)
    return model, random_state(model, seed)


def allowed(model, q, expressed):
    _, Lambda, _ = task(model, q, np.zeros(model.n), expressed)
    conditions = np.linalg.cond(algorithms.mass_matrix(model, q)), np.linalg.cond(Lambda)
    return ACCURACY * float(np.prod([max(1.0, x / 100) for x in conditions]))


@pytest.mark.parametrize(("seed", "expressed"), CASES)
def test_formulas_are_differences_in_fifty_digits(seed, expressed, fifty_digits):
    model, state = sample(seed)
    exact = precise(model)
    at = precise_state(exact, state)
    terms = tree_terms(book_tree(model, state.q), state.dq)
    found = task_slopes(model, terms, state.q, state.dq, None, expressed, LINEAR)
    dJ, dL, deta_dq, deta_dv = found
    u, v = np.random.default_rng(seed).normal(size=(2, model.n))

    def along(h, u, v):
        q = algorithms.integrate(exact, at.q, h * numbers(u))
        return np.concatenate(
            [np.ravel(x) for x in task(exact, q, at.dq + h * numbers(v), expressed)]
        )

    by_q = np.concatenate([np.ravel(dJ @ u), np.ravel(dL @ u), deta_dq @ u])
    by_dq = np.concatenate([np.zeros(3 * model.n + 9), deta_dv @ v])
    for got, way in ((by_q, (u, 0 * v)), (by_dq, (0 * u, v))):
        wanted = derivative(lambda h, way=way: along(h, *way))
        for part in np.split(np.arange(len(got)), [3 * model.n, 3 * model.n + 9]):
            error, largest = size(got[part] - wanted[part]), size(wanted[part])
            assert error <= allowed(model, state.q, expressed) * max(largest, 1e-3)


@pytest.mark.parametrize("expressed", ["body", "space"])
def test_kernels_are_differentiated_graphs(expressed):
    robot, rng = kt.robots.scara(), np.random.default_rng(1)
    model, n = robot.model, robot.n
    q, dq = np.array([robot.random(rng=k) for k in range(5)]), rng.normal(size=(5, n))
    found = robot.task_space_derivatives(q, dq, expressed=expressed, rows=LINEAR)

    def function(q, dq):
        return task(model, q, dq, expressed)

    graph = kt.derivative(function, shapes={"q": n, "dq": n})(q, dq)
    wanted = {"dJ_dq": 0, "dLambda_dq": 2, "deta_dq": 4, "deta_dv": 5}
    for name, k in wanted.items():
        got = getattr(found, name)
        for b in range(5):
            limit = allowed(model, q[b], expressed) * max(size(graph[k][b]), 1e-3)
            assert size(got[b] - graph[k][b]) <= limit, name
