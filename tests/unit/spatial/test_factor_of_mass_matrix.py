"""M = L^T D L: reproduces M, solves, fills no zero of a tree, and names the joint that fails."""

import numpy as np
import pytest

from kinetree import Builder
from kinetree import algorithms as kt
from kinetree.algorithms.textbook.mass_factor import factor_mass_matrix
from kinetree.errors import SingularityError
from kinetree.model import random_model
from kinetree.spatial.matrices import factor, solve
from robot_states import EPS, any_robot, random_state, relative


def full(parts, n):
    L = np.eye(n)
    for i, row in enumerate(parts.L):
        for j, entry in row.items():
            L[i, j] = entry
    return L.T @ np.diag(parts.D) @ L


@pytest.mark.parametrize("seed", range(20))
def test_the_factor_multiplies_out_to_M_and_solves(seed):
    model = any_robot(seed)
    M = kt.mass_matrix(model, random_state(model, seed).q)
    parts = factor_mass_matrix(model, M)
    assert relative(full(parts, model.n), M) < 100 * EPS  # backward stable, n <= 60
    b = np.random.default_rng(seed).normal(size=model.n)
    assert relative(solve(parts, b), np.linalg.solve(M, b)) < 100 * EPS * np.linalg.cond(M)


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_is_factored_without_fill(seed):
    model = random_model(seed, 20, drives=False)
    M = kt.mass_matrix(model, random_state(model, seed).q)
    parts = factor_mass_matrix(model, M)
    for i in model.links:
        assert set(parts.L[i]) == set(model.path(i)[:-1])  # ancestors, and nothing else
    assert sum(map(len, parts.L)) < 20 * 19 / 2


def test_a_joint_that_moves_no_inertia_is_named():
    builder = Builder("stick").link("base").link("rod", 1, (1, 0, 0)).link("tip")
    builder.joint("hinge", "revolute", "base", "rod")
    builder.joint("twirl", "revolute", "rod", "tip", at=(1, 0, 0), axis=(1, 0, 0))
    model = builder.build_model()
    ways = (
        kt.forward_dynamics,
        kt.forward_dynamics_by_articulated_bodies,
        kt.forward_dynamics_by_inverse_dynamics,
    )
    for way in ways:
        with pytest.raises(SingularityError, match=r"joint 'twirl'.*armature"):
            way(model, [0, 0], [0, 0], [0, 0])


def test_the_pivot_of_a_singular_matrix_is_refused():
    with pytest.raises(SingularityError, match="first"):
        factor(np.array([[1.0, 1.0], [1.0, 1.0]]), ["first", "second"])


def test_symbols_are_factored_as_they_are():
    sympy = pytest.importorskip("sympy")
    a, b, c = sympy.symbols("a b c")
    M = np.array([[a, b], [b, c]], object)
    x = solve(factor(M, ["1", "2"]), np.array([1, 0], object))
    assert sympy.simplify(x[0] - c / (a * c - b * b)) == 0
    assert sympy.simplify(x[1] + b / (a * c - b * b)) == 0
