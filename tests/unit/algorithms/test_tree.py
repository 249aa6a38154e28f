"""The Tree: steps carry vectors, matrices and bodies as rotation matrices do, in either frames."""

import numpy as np
import pytest

from kinetree import algorithms
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.tree import Rotation, Step, Turn, weightless
from kinetree.model import WORLD
from kinetree.spatial import cross, exp_so3
from kinetree.spatial.inertia import Moments
from robot_states import EPS, any_robot, random_state, size

RNG = np.random.default_rng(4)
R, P = exp_so3(RNG.normal(size=3)), RNG.normal(size=3)
ANGLE = 0.7
ABOUT_Z = exp_so3([0, 0, ANGLE])
TURNS = {
    "none": (None, np.eye(3)),
    "about z": (Turn(np.cos(ANGLE), np.sin(ANGLE)), ABOUT_Z),
    "matrix": (Rotation(exp_so3([0.3, -0.2, 0.5])), exp_so3([0.3, -0.2, 0.5])),
}


@pytest.mark.parametrize("kind", TURNS)
def test_a_step_is_its_rotation_matrix(kind):
    turn, matrix = TURNS[kind]
    step, full = Step(R, turn, P), R @ matrix
    x, K = RNG.normal(size=3), RNG.normal(size=(3, 3))
    assert np.allclose(step.inward(x), full @ x, 0, 8 * EPS)
    assert np.allclose(step.outward(x), full.T @ x, 0, 8 * EPS)
    assert np.allclose(step.matrix_inward(K), full @ K @ full.T, 0, 32 * EPS)
    f, n = step.pair_inward(x, K[0])
    assert np.allclose(f, full @ x, 0, 8 * EPS)
    assert np.allclose(n, full @ K[0] + cross(P, full @ x), 0, 32 * EPS)


@pytest.mark.parametrize("kind", TURNS)
def test_moments_of_mass_points_move_with_them(kind):
    turn, matrix = TURNS[kind]
    points, masses = RNG.normal(size=(5, 3)), RNG.uniform(1, 2, 5)
    body = Moments(masses.sum(), masses @ points, (points.T * masses) @ points)
    seen = points @ (R @ matrix).T + P
    found = Step(R, turn, P).body_inward(body)
    assert found.m == body.m
    assert np.allclose(found.h, masses @ seen, 0, 1e-13)
    assert np.allclose(found.Sigma, (seen.T * masses) @ seen, 0, 1e-13)
    assert np.array_equal(found.Sigma, found.Sigma.T)


@pytest.mark.parametrize("seed", range(5))
def test_twists_are_those_of_the_jacobians(seed):
    model = any_robot(seed, 10)
    x = random_state(model, seed)
    twists = book_tree(model, x.q).twists(x.dq)
    assert all(size(half) == 0 for half in twists[WORLD])
    for i, J in enumerate(algorithms.link_jacobians(model, x.q)):
        assert size(np.concatenate(twists[i]) - J @ x.dq) <= 200 * EPS * size(J) * size(x.dq)


@pytest.mark.parametrize("seed", range(5))
def test_loads_act_alike_before_and_after_they_are_expressed_in_the_frames(seed):
    model = any_robot(seed, 10)
    x = random_state(model, seed)
    tree = lean_tree(lean_model(model), x.q, x.F_ext)
    tau = tree_inverse_dynamics(tree, x.dq, x.ddq)
    assert np.array_equal(tree_inverse_dynamics(tree.with_loads_in_frames(), x.dq, x.ddq), tau)


def test_a_weightless_tree_at_rest_needs_no_force():
    model = any_robot(3, 10)
    x = random_state(model, 3)
    tree, rest = book_tree(model, x.q, x.F_ext), np.zeros(model.n)
    assert size(tree_inverse_dynamics(tree, rest, rest)) > 0
    assert size(tree_inverse_dynamics(weightless(tree), rest, rest)) == 0
