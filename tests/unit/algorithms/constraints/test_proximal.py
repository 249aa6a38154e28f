"""The proximal solution: its stated error, exact numbers, and the balance of joints and motors."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.constraints.dynamics import (
    constraint_forces,
    eliminated_rows,
    symmetric_product,
)
from kinetree.algorithms.constraints.solve import (
    DEPENDENT_EPS,
    DEPENDENT_STEPS,
    EPS,
    STEPS,
    Proximal,
    gram,
    independent_rows,
    least_norm,
    solve_general,
)
from kinetree.constraints import Hold, Loop
from kinetree.errors import SingularityError
from kinetree.spatial.matrices import factor, solve


@pytest.mark.parametrize("sigma", [1.0, 1e-6, 1e-9, 1e-11, 1e-13])
def test_the_error_is_that_of_the_proximal_steps(sigma):
    """x_K = x (1 - (EPS / (sigma + EPS))^K) of each eigenvector, in a turned basis."""
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    A = turn.T @ np.diag([1.0, sigma]) @ turn
    found = Proximal(A.astype(object), [1.0, 1.0], ["a", "b"]).solve(turn.T @ np.array([1, sigma]))
    expected = [1.0, 1 - (EPS / (sigma + EPS)) ** STEPS]
    rounding = 1e-16 / (sigma + EPS)  # of A itself
    assert np.abs(turn @ found - expected).max() < 1e-14 + 4 * rounding


def dependent_rows(seed, weights):
    """J of five rows and rank three, the rows in other units, and any forces."""
    rng = np.random.default_rng(seed)
    J = np.diag(weights) @ rng.normal(size=(5, 3)) @ rng.normal(size=(3, 6))
    return J, rng.normal(size=5)


@pytest.mark.parametrize("sigma", [1.0, 1e-4, 1e-6, 1e-8])
def test_the_error_of_dependent_rows_is_that_of_their_steps(sigma):
    """The third eigenvalue is zero; the part of the right side that it cannot reach is ignored."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    A = (turn.T @ np.diag([1.0, sigma, 0]) @ turn).astype(object)
    A = (A + A.T) / 2
    solver = Proximal(A, [1.0] * 3, list("abc"), dependent=True)
    for outside in (0, 1):
        found = turn @ solver.solve(turn.T @ np.array([1, sigma, outside]))
        reached = 1 - (DEPENDENT_EPS / (sigma + DEPENDENT_EPS)) ** DEPENDENT_STEPS
        size = sigma + DEPENDENT_EPS
        rounding = 3e-15 / size + outside * 1e-16 / size**2  # of A, which turns its null space
        assert abs(found[0] - 1) < 1e-13
        assert abs(found[1] - reached**2) < 1e-13 + rounding
        assert abs(found[2]) < 1e-6 + 100 * outside


@pytest.mark.parametrize("seed", range(5))
def test_forces_of_least_norm_are_those_of_singular_values(seed):
    J, lam = dependent_rows(seed, [1, 0.1, 10, 1, 3])
    found = least_norm(J.astype(object), lam, list("abcde")).astype(float)
    expected = np.linalg.lstsq(J.T, J.T @ lam, rcond=1e-10)[0]
    assert np.abs(found - expected).max() < 1e-11 * np.abs(lam).max()


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


def test_independent_rows_are_chosen_where_they_are():
    J = np.array([[0, 0], [1, 2], [2, 4], [0, 3]], object) * Fraction(1, 7)
    chosen = independent_rows(J, 2)
    assert (
        len(chosen) == 2 and J[chosen[0], 0] * J[chosen[1], 1] != J[chosen[0], 1] * J[chosen[1], 0]
    )
    assert len(independent_rows(J[:3], 2)) == 1  # a singular position
    x = sympy.Symbol("x")
    assert independent_rows(np.array([[x - x, 0], [x, 1], [0, x]], object), 2) == [1, 2]


def test_a_zero_matrix_gives_finite_numbers():
    A = np.zeros((2, 2), object) + np.array([[0.0, 0.0], [0.0, 1.0]])
    found = np.array(Proximal(A, [1.0, 1.0], ["a", "b"]).solve(np.array([0.0, 1.0])), float)
    assert np.isfinite(found).all() and found[0] == 0 and abs(found[1] - 1) < 1e-15


def test_exact_numbers_are_solved_exactly():
    A = np.array([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(3)]], object)
    b = np.array([Fraction(1), Fraction(2)], object)
    assert list(A @ Proximal(A, [1.0, 1.0], ["a", "b"]).solve(b)) == list(b)


def test_general_systems_are_solved_for_floats_and_symbols():
    rng = np.random.default_rng(0)
    B, C = rng.normal(size=(4, 4)), rng.normal(size=(4, 3))
    found = np.array(solve_general(B.astype(object), C.astype(object))[0], float)
    assert np.abs(B @ found - C).max() < 1e-12
    x = sympy.Symbol("x")
    exact = solve_general(np.array([[0, 1], [x, 2]], object), np.array([[3], [4]], object))
    assert [sympy.simplify(v) for v in exact[0][:, 0]] == [-2 / x, 3]
    tall = np.array([[0, 0], [0, Fraction(1)], [Fraction(2), 3]], object)
    assert list(solve_general(tall, tall @ np.array([[5], [7]]))[0][:, 0]) == [5, 7]
    with pytest.raises(SingularityError, match="choose other independent joints"):
        solve_general(np.array([[0, 1], [0, 2]], object), np.array([[3], [4]], object))


def test_a_gram_matrix_is_symmetric_to_the_last_bit():
    rng = np.random.default_rng(1)
    J, w = rng.normal(size=(4, 6)), rng.uniform(1, 2, 6)
    found = gram(J.astype(object), list(w)).astype(float)
    assert (found == found.T).all() and np.abs(found - (J * w) @ J.T).max() < 1e-13


def test_eliminated_rows_give_the_exact_product_and_reach_ancestors_alone():
    # 0 - 1 - 2 and 0 - 3 - 4: rows of the last joints of two branches
    rng = np.random.default_rng(3)
    M = np.diag([Fraction(90)] * 5).astype(object)
    for i, j in ((1, 0), (2, 1), (2, 0), (3, 0), (4, 3), (4, 0)):
        M[i, j] = M[j, i] = Fraction(int(rng.integers(1, 20)))
    J = np.array([[0, 3, -2, 0, 0], [0, 0, 0, 0, 7]], dtype=object)
    found = factor(M, ["joint"] * 5)
    Y, over_D = eliminated_rows(found, J)
    assert [[d for d, x in enumerate(row) if x != 0] for row in Y] == [[0, 1, 2], [0, 3, 4]]
    assert (symmetric_product(over_D, Y) == J @ solve(found, J.T)).all()


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
