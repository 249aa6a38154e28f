"""C, momentum and reference forces over a Tree agree with the book, in either set of frames."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.coriolis_matrix import tree_coriolis_matrix
from kinetree.algorithms.energy import tree_momentum
from kinetree.algorithms.joints.tangents import integrate, inverse_rate
from kinetree.algorithms.lean import lean_model, lean_tree
from kinetree.algorithms.regressor import moments_of, numbers_of, reference_forces
from kinetree.algorithms.textbook.jacobians import coriolis_matrix_by_jacobians
from kinetree.files.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.model import WORLD
from kinetree.spatial import Ad, box, inverse, translation
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


@pytest.mark.parametrize("seed", range(6))
def test_reference_forces_are_the_terms_of_the_book(seed):
    builder = kt.Builder("tree", gravity=(1.0, -2.0, -9.0)).link("base")
    kinds = ["revolute", "spherical", "prismatic", "free", "planar", "helical"]
    rng = np.random.default_rng(seed)
    for k in range(4):
        builder.link(f"l{k}", 1 + rng.random(), rng.normal(size=3), box(2, *(0.1 + rng.random(3))))
        parent = "base" if k == 0 else f"l{rng.integers(k)}"
        kind = kinds[(seed + k) % 6]
        axis = rng.normal(size=3)
        more = {} if kind in ("spherical", "free", "planar") else {"axis": axis / size(axis)}
        more |= {"pitch": 0.3} if kind == "helical" else {}
        builder.joint(f"j{k}", kind, parent, f"l{k}", at=rng.normal(size=3), **more)
    model = builder.build_model()
    x, y = random_state(model, seed), random_state(model, seed + 100)
    lean = lean_model(model, regrouped=False)
    tree = lean_tree(lean, x.q)
    theta = np.array([numbers_of(link.body) for link in lean.links], float)
    expected = algorithms.mass_matrix_by_jacobians(model, x.q) @ y.ddq
    expected = expected + coriolis_matrix_by_jacobians(model, x.q, x.dq) @ y.dq
    expected = expected + algorithms.gravity_forces(model, x.q)
    s = rng.normal(size=model.n)
    forces, shares = reference_forces(tree, x.dq, y.dq, y.ddq, theta, s)
    assert size(forces - expected) <= ROUNDING * (size(expected) + size(theta) * size(x.dq))
    # for any other masses, too: linear in theta, and the shares are Y^T s
    other = rng.normal(size=theta.shape)
    rest = reference_forces(tree, x.dq, y.dq, y.ddq, other, s)
    both, same = reference_forces(tree, x.dq, y.dq, y.ddq, theta + 2 * other, s)
    assert size(both - forces - 2 * rest[0]) <= ROUNDING * (size(forces) + 2 * size(rest[0]))
    assert np.array_equal(shares, same)
    assert abs(np.sum(shares * other) - s @ rest[0]) <= ROUNDING * size(shares) * size(other)
    back = numbers_of(moments_of(other[0]))
    assert np.array_equal(back, other[0])


# positions moved along tangent vectors, against the matrix exponential of another package


def robot_of(kind):
    builder = kt.Builder("one").link("base").link("body", 1, (0, 0, 0), box(1, 1, 1, 1))
    return builder.joint("joint", kind, "base", "body").build_model()


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def twist_of(kind, v):
    """A tangent vector of the joint as a 4 x 4 matrix."""
    w, u = {
        SPHERICAL: lambda: (v, np.zeros(3)),
        FREE: lambda: (v[:3], v[3:]),
        PLANAR: lambda: (np.array([0, 0, v[0]]), np.array([v[1], v[2], 0])),
    }[kind]()
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = hat(w), u
    return X


ANGLES = [0.0, 1e-9, 0.3, 0.4999, 0.5001, 2.0, 3.0]  # of |w|: the series end at 0.5


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("kind", [SPHERICAL, FREE, PLANAR])
def test_positions_move_along_the_exponential(kind, angle):
    model = robot_of(kind)
    rng = np.random.default_rng(3)
    q = algorithms.random(model, rng)
    v = rng.normal(size=model.n)
    turn = slice(0, 1) if kind == PLANAR else slice(0, 3)
    v[turn] *= angle / size(v[turn])
    pose = algorithms.forward_kinematics(model, q)[0] @ expm(twist_of(kind, v))
    for way in (integrate, algorithms.integrate):
        moved = way(model, q, v)
        assert np.allclose(algorithms.forward_kinematics(model, moved)[0], pose, 0, 16 * EPS)
        back = algorithms.difference(model, q, moved)
        assert np.allclose(back, v, 0, 64 * EPS)
    if kind == PLANAR:
        assert moved[0] == q[0] + v[0]  # turns are counted
    else:
        assert abs(size(moved[:4]) - 1) <= 2 * EPS


@pytest.mark.parametrize("kind", [SPHERICAL, FREE, PLANAR])
def test_the_rate_of_exponential_coordinates_is_right_to_third_order(kind):
    """exp(u(t)) with du/dt from `inverse_rate` moves with the body rate v, up to u^4."""
    model = robot_of(kind)
    rng = np.random.default_rng(5)
    direction, v = rng.normal(size=(2, model.n))
    left = []
    for small in (0.2, 0.1):
        u, h = direction * small, 1e-4
        du = inverse_rate(model, u, v)
        ahead, behind = (expm(twist_of(kind, u + s * h * du)) for s in (1, -1))
        rate = np.linalg.inv(expm(twist_of(kind, u))) @ (ahead - behind) / (2 * h)
        left.append(size(rate - twist_of(kind, v)))
    assert left[0] < 5e-4 and left[1] < left[0] / 12
