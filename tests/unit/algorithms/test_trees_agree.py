"""C, momentum and reference forces over a Tree agree with the book, in either set of frames."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetree import algorithms
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.coriolis_matrix import tree_coriolis_matrix
from kinetree.algorithms.energy import tree_momentum
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.textbook.jacobians import coriolis_matrix_by_jacobians
from kinetree.model import WORLD
from kinetree.spatial import Ad, inverse, translation
from robot_states import EPS, any_robot, random_state, size

SEEDS = st.integers(0, 10**6)
ROUNDING = 1000 * EPS


@settings(max_examples=25)
@given(SEEDS)
def test_the_coriolis_matrix_is_the_books(seed):
    model = any_robot(seed, 12)
    q, dq, _ = random_state(model, seed).motion
    C = coriolis_matrix_by_jacobians(model, q, dq)
    scale = ROUNDING * size(algorithms.mass_matrix(model, q)) * size(dq)
    assert size(algorithms.mass_matrix_rate(model, q, dq) - C - C.T) <= 2 * scale
    plain = lean_model(model, regrouped=False)
    for tree in (book_tree(model, q), lean_tree(lean_model(model), q), lean_tree(plain, q)):
        assert size(tree_coriolis_matrix(tree, dq) - C) <= scale


@settings(max_examples=25)
@given(SEEDS)
def test_momentum_is_the_books(seed):
    model = any_robot(seed, 12)
    q, dq, _ = random_state(model, seed).motion
    expected = momentum_by_jacobians(model, q, dq)
    allowed = ROUNDING * max(size(expected), size(model.m))
    for tree in (book_tree(model, q), lean_tree(lean_model(model, regrouped=False), q)):
        assert size(tree_momentum(tree, dq) - expected) <= allowed
    com = algorithms.center_of_mass(model, q)
    about = Ad(translation(com)).T @ expected
    found = algorithms.centroidal_momentum(model, q, dq)
    assert size(found - about) <= allowed * (1 + size(com))


def momentum_by_jacobians(model, q, dq):
    """Every body's momentum G J dq and every rotor's spin, written in {s} and added up."""
    T_si, J = algorithms.forward_kinematics(model, q), algorithms.link_jacobians(model, q)
    total = np.zeros(6)
    for i in model.links:
        total = total + Ad(inverse(T_si[i])).T @ (model.G[i] @ (J[i] @ dq))
    for rotor in model.rotors:
        s = rotor.s if rotor.link == WORLD else T_si[rotor.link][:3, :3] @ rotor.s
        total[:3] += s * (rotor.inertia * rotor.ratio * dq[rotor.dof])
    return total


# M ddq_r + C dq_r + g of estimated masses


# positions moved along tangent vectors, against the matrix exponential of another package
