"""The proximal solution: its stated error, exact numbers, and the balance of joints and motors."""

from fractions import Fraction

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.constraints.dynamics import (
    constraint_forces,
)
from kinetree.algorithms.constraints.solve import (
    Proximal,
)
from kinetree.constraints import Hold, Loop


def dependent_rows(seed, weights):
    """J of five rows and rank three, the rows in other units, and any forces."""
    rng = np.random.default_rng(seed)
    J = np.diag(weights) @ rng.normal(size=(5, 3)) @ rng.normal(size=(3, 6))
    return J, rng.normal(size=5)


@pytest.mark.parametrize("seed", range(5))
def test_dependent_rows_are_solved_for_the_same_sums_of_forces_in_any_units(seed):
    found = []
    for units in ([1] * 5, [1, 1e-3, 1e3, 1, 10]):
        J, _ = dependent_rows(seed, units)
        A = J @ J.T
        A = ((A + A.T) / 2).astype(object)
        solver = Proximal(A, [float(x) for x in A.diagonal()], list("abcde"), dependent=True)
        found.append(J.T @ solver.solve(J @ np.arange(6.0)).astype(float))
    assert np.abs(found[0] - found[1]).max() < 1e-10
    own = np.linalg.svd(dependent_rows(seed, [1] * 5)[0])[2][:3]
    assert np.abs(found[0] - own.T @ own @ np.arange(6.0)).max() < 1e-10


def test_exact_numbers_are_solved_exactly():
    A = np.array([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(3)]], object)
    b = np.array([Fraction(1), Fraction(2)], object)
    assert list(A @ Proximal(A, [1.0, 1.0], ["a", "b"]).solve(b)) == list(b)


@pytest.mark.parametrize("seed", range(6))
def test_motor_forces_are_the_weighted_least_ones(seed):
    """Against the equations of the minimum, solved by NumPy, for a held arm with spare motors."""
    rng = np.random.default_rng(seed)
    arm = kt.robots.panda()
    q = np.array([0.1, 0.3, 0.2, -1.5, 0.1, 1.8, 0.3]) + rng.normal(size=7) * 0.1
    hold = {"hand": Hold(arm.model.tool, "pose", arm.pose(q))}
    count = int(rng.integers(2, 8))
    motors = sorted(rng.choice(arm.joint_names, count, replace=False))
    weights = dict(zip(motors, rng.uniform(1, 900, count).tolist(), strict=True))
    given = algorithms.constrain(arm.model, hold, actuated=weights, near=q).constraints
    J = algorithms.constraint_jacobian(arm.model.replace(constraints=given), q)
    r = rng.normal(size=7)
    lam = np.array(
        constraint_forces(given, given.kept, J[list(given.kept)].astype(object), r), float
    )
    a, u = list(given.actuated), [d for d in range(7) if d not in given.actuated]
    W = np.diag([float(w) for w in given.weights])
    H, K = J[:, a] @ W @ J[:, a].T, J[:, u]
    whole = np.block([[H, K], [K.T, np.zeros((len(u), len(u)))]])
    right = np.concatenate([J[:, a] @ W @ r[a], r[u]])
    expected = np.linalg.lstsq(whole, right, rcond=1e-14)[0][: len(J)]
    if given.passive and len(u) == len(J):
        expected = np.linalg.solve(J[:, u].T, r[u])
    tau, best = r - J.T @ lam, r - J.T @ expected
    assert np.abs(tau[u]).max(initial=0) < 1e-9 * (1 + np.abs(lam).max())
    assert np.abs(tau - best).max() < 1e-8 * (1 + np.abs(lam).max())


def test_heavier_robots_accelerate_alike_under_larger_forces():
    """The typical diagonal makes the steps independent of units: masses in g instead of kg."""
    tree = kt.robots.ur5e()
    q = np.array([0.1, -1, 1.2, 0.3, 0.5, 0.2])
    hold = {"hand": Hold(tree.model.tool, "pose", tree.pose(q))}
    found = []
    for scale in (1, 1e6):
        heavy = tree.model.replace(m=tree.model.m * scale, I_com=tree.model.I_com * scale)
        model = algorithms.constrain(heavy, {"hand": hold["hand"]}, near=q)
        state = q, np.zeros(6), np.ones(6) * scale
        ddq, lam, _ = algorithms.constrained_forward_dynamics(model, *state)
        found.append((ddq, lam / scale))
    assert np.abs(found[0][1] - found[1][1]).max() < 1e-9 * np.abs(found[0][1]).max()
    assert np.abs(found[0][0]).max() < 1e-9 and np.abs(found[1][0]).max() < 1e-9


def test_a_loop_written_from_the_other_side_changes_signs_of_forces_only():
    from closed_loops import slider_crank_position, slider_crank_tree

    tree, q = slider_crank_tree(), slider_crank_position(0.5)
    ends = [("pin", "tip"), ("tip", "pin")]
    found = []
    for first, second in ends:
        model = algorithms.constrain(tree.model, {"loop": Loop(first, second, "point")})
        dq = algorithms.project_rates(model, q, [1.0, 0, 0])
        f = algorithms.constrained_forward_dynamics(model, q, dq, [1, 0, 0])
        axes = algorithms.pose(tree.model, q, first)[:3, :3]
        found.append((f.ddq, axes @ f.lam))
    assert np.abs(found[0][0] - found[1][0]).max() < 1e-11
    assert np.abs(found[0][1] + found[1][1]).max() < 1e-10
