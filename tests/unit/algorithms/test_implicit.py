"""Implicit accelerations solve the equations of the end of the step, whatever their matrix."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms import spring_stiffness, step
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.implicit import implicit_accelerations
from kinetree.algorithms.joints.gains import Gains
from kinetree.model import random_model

H = 0.01


def branches():
    """Two arms of two joints each on one slide, a mimic joint, and springs across the arms."""
    builder = kt.Builder("branches", gravity=(0, -9.81, 0)).link("base")
    for name in ("cart", "left", "hand", "right", "claw", "thumb"):
        builder.link(name, 1.2, (0.1, 0.05, 0.02), np.diag([0.02, 0.03, 0.04]))
    builder.joint("slide", "prismatic", "base", "cart", axis=(1, 0, 0))
    builder.joint("shoulder", "revolute", "cart", "left", axis=(0, 0, 1))
    builder.joint("wrist", "revolute", "left", "hand", axis=(0, 1, 0), at=(0.3, 0, 0))
    builder.joint("hip", "revolute", "cart", "right", axis=(0, 0, 1))
    builder.joint("knee", "revolute", "right", "claw", axis=(0, 0, 1), at=(0.2, 0, 0))
    builder.joint("grip", "revolute", "right", "thumb", mimic=kt.Mimic("knee", -0.5, 0.1))
    robot = builder.build()
    springs = {
        "slide": kt.Spring(300.0, rest=0.2),
        "grip": kt.Spring(50.0),
        "belt": kt.Spring(4e4, rest=-0.3, joints={"wrist": 1, "knee": -0.7, "slide": 2}),
    }
    friction = {"wrist": kt.Friction(viscous=(2.0, 5.0)), "grip": kt.Friction(viscous=3.0)}
    return robot.with_springs(springs).with_friction(friction)


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return algorithms.random(model, rng), *rng.normal(size=(2, model.n))


def damping(model, dq):
    """Slopes of smooth friction by central differences."""
    e, eps = np.eye(model.n), 1e-6
    ends = [[algorithms.friction_forces(model, dq + s * x) for x in e] for s in (eps, -eps)]
    return (np.array(ends[0]) - np.array(ends[1])).T / (2 * eps)


def expected(model, q, dq, tau, kp=0, kd=0, positions=True):
    """A, and the acceleration of the step, by NumPy."""
    n = model.n
    M = np.array(algorithms.mass_matrix(model, q), float)
    K = (np.array(spring_stiffness(model), float) + kp) if positions else np.zeros((n, n))
    A = M + H * (damping(model, dq) + kd) + H * H * K
    return np.linalg.solve(A, tau - algorithms.bias_forces(model, q, dq) - H * K @ dq)


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_springs_across_branches_and_gains_are_those_of_the_end(seed, positions):
    model = branches().model
    q, dq, tau = state(model, seed)
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(2, model.n, model.n))
    full = G @ G.swapaxes(-1, -2) * 100  # symmetric
    rough = full + rng.normal(size=G.shape) * 20
    flat = [np.diag(np.diag(x)) for x in full]
    cases = [
        (None, (0, 0)),
        (Gains(*full), full),
        (Gains(*rough, symmetric=False), rough),
        (Gains.of_joints(*map(np.diag, flat)), flat),
        (Gains.of_joints(None, np.diag(flat[1])), (0, flat[1])),
    ]
    for gains, (kp, kd) in cases:
        tree = book_tree(model, q)
        a, ddq = implicit_accelerations(tree, dq, tau, H, gains=gains, positions=positions)
        wanted = expected(model, q, dq, tau, kp, kd, positions)
        assert np.allclose(np.array(a, float), wanted, rtol=1e-7)  # damping by differences
        now = algorithms.forward_dynamics(model, q, dq, tau)
        assert np.allclose(np.array(ddq, float), now, rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_any_robot_moves_as_numpy_solves_it(seed):
    """Random trees with mimic joints, rotors, quaternions, planar joints and springs."""
    model = algorithms.stiction.without_dry_friction(random_model(seed, 6))
    q, dq, tau = state(model, seed)
    for method, positions in (("implicit", True), ("implicitfast", False)):
        _, rates = step(model, q, dq, tau, H, method=method)
        wanted = dq + H * expected(model, q, dq, tau, positions=positions)
        assert np.allclose(np.array(rates, float), wanted, rtol=1e-6, atol=1e-8)


def test_a_law_that_is_not_symmetric_stops_at_dry_friction():
    """A joint that friction holds stays at rest; the others move as if it were welded."""
    friction = {"hip": kt.Friction(coulomb=1e4)}
    robot = branches().with_friction(friction)
    model, smooth = robot.model, algorithms.stiction.without_dry_friction(robot.model)
    q, dq, tau = state(model)
    held = model.dof_names.index("hip")
    dq[held] = 0
    rng = np.random.default_rng(1)
    G = np.eye(model.n) * 50 + rng.normal(size=(2, model.n, model.n)) * 10
    gains = Gains(*G, symmetric=False)
    a, _ = implicit_accelerations(book_tree(model, q), dq, tau, H, 1 / H, gains)
    K = np.array(spring_stiffness(smooth), float) + G[0]
    A = np.array(algorithms.mass_matrix(smooth, q), float)
    A = A + H * (damping(smooth, dq) + G[1]) + H * H * K
    b = tau - algorithms.bias_forces(smooth, q, dq) - H * K @ dq
    free = [k for k in range(model.n) if k != held]
    wanted = np.linalg.solve(A[np.ix_(free, free)], b[free])
    a = np.array(a, float)
    assert a[held] == 0 and np.allclose(a[free], wanted, rtol=1e-7)
