"""Next to dead centres and singular positions, every finite number is right; inside, there is none.

The reference solves the equations of motion with fifty digits, by one LU factor of the whole
matrix of M and J. It shares the poses and Jacobians with the library, and none of the solvers.
"""

from functools import cache

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Loop
from kinetree.errors import InputError
from kinetree.simulate import SimulationError

BOUND = 1e-5  # relative error that docs/constraints.md promises
DISTANCES = 10.0 ** -np.array([1, 2, 4, 5, 6, 7, 10])


def precise(x):
    return np.array([mpmath.mpf(float(v)) for v in x], object)


def matrix(rows):
    return mpmath.matrix([[mpmath.mpf(v) for v in row] for row in rows])


def data(robot, q, dq):
    """The model, J and gamma of independent rows, M and the forces h of the tree, in 50 digits."""
    model, rows = robot.model.astype(mpmath.mpf), list(robot.model.constraints.basis)
    q, dq = precise(q), precise(dq)
    J = dynamics.constraint_jacobian(model, q)[rows]
    gamma = dynamics.constraint_bias(model, q, dq)[rows]
    tree = model.replace(constraints=None)
    return J, gamma, dynamics.mass_matrix(tree, q), dynamics.bias_forces(tree, q, dq)


def solution(robot, q, dq, tau):
    """ddq and lambda of M ddq - J^T lambda = tau - h, J ddq = -gamma."""
    J, gamma, M, h = data(robot, q, dq)
    n, m = robot.n, len(J)
    top = np.concatenate([M, -J.T], axis=1)
    low = np.concatenate([J, np.zeros((m, m), int)], axis=1)
    right = matrix([[x] for x in (*(precise(tau) - h), *(-gamma))])
    found = mpmath.lu_solve(matrix(np.concatenate([top, low])), right)
    return np.split(np.array([float(x) for x in found]), [n])


def accelerations(robot, q, dq, tau):
    return solution(robot, q, dq, tau)[0]


def motor_forces(robot, q, dq, ddq):
    """tau = r - J^T lambda with J_u^T lambda = r_u for the joints u without motors."""
    J, _, M, h = data(robot, q, dq)
    r, motors = M @ precise(ddq) + h, robot.model.constraints.actuated
    u = [d for d in range(robot.n) if d not in motors]
    B, c = matrix(J[:, u].T), matrix([[r[d]] for d in u])
    lam = mpmath.lu_solve(B.T * B, B.T * c)
    carried = [sum(J[i, d] * lam[i] for i in range(len(J))) for d in range(robot.n)]
    return np.array([float(r[d] - carried[d]) if d in motors else 0.0 for d in range(robot.n)])


def reduced_masses(robot, q):
    """M_r of the independent rates."""
    J, _, M, _ = data(robot, q, np.zeros(robot.n))
    y = list(robot.model.constraints.independent)
    rest = [d for d in range(robot.n) if d not in y]
    N = -mpmath.inverse(matrix(J[:, rest])) * matrix(J[:, y])
    whole = mpmath.zeros(robot.n, len(y))
    for k, d in enumerate(y):
        whole[d, k] = 1
    for k, d in enumerate(rest):
        for j in range(len(y)):
            whole[d, j] = N[k, j]
    found = whole.T * matrix(M) * whole
    return np.array(found.tolist(), float)


@cache
def parallelogram(*motors):
    builder = kt.Builder("parallelogram", gravity=(0, -9.81, 0)).link("base")
    for name, length in (("a", 0.3), ("b", 0.5), ("c", 0.3)):
        builder.link(name, m=1, com=(length / 2, 0, 0), I_com=0.01 * np.eye(3))
    builder.joint("a", "revolute", "base", "a")
    builder.joint("b", "revolute", "a", "b", at=(0.3, 0, 0))
    builder.joint("c", "revolute", "base", "c", at=(0.5, 0, 0))
    builder.frame("fb", "b", (0.5, 0, 0)).frame("fc", "c", (0.3, 0, 0))
    return builder.build().constrained({"loop": Loop("fb", "fc", "axis")}, actuated=motors)


def flat(e):
    """The parallelogram is singular at e = 0."""
    return parallelogram("a"), np.array([e, -e, e])


@cache
def moved_by(name, *motors):
    robot = getattr(kt.robots, name)()
    given = robot.model.constraints
    return kt.constraints.unconstrained(robot).constrained(
        given.given, actuated=motors, independent=motors, near=robot.neutral()
    )


def rocker(e):
    """A four-bar with its motor at the rocker: a dead centre where crank and coupler align."""
    reach = np.sqrt(0.2**2 + 0.5**2 + 2 * 0.2 * 0.5 * np.cos(e))
    turn = np.arccos((0.5**2 + reach**2 - 0.4**2) / (2 * 0.5 * reach))
    crank = turn - np.arctan2(0.5 * np.sin(e), 0.2 + 0.5 * np.cos(e))
    x, y = reach * np.cos(turn) - 0.5, reach * np.sin(turn)
    return moved_by("four_bar", "rocker"), np.array([crank, e, np.arctan2(y, x)])


def folded(e):
    """A five-bar whose elbows nearly coincide, so that its outer bars are parallel."""
    robot = kt.robots.five_bar()
    angle = np.arccos(0.25)
    left, right = angle, np.pi - angle + e
    elbows = [
        np.array([x + 0.2 * np.cos(a), 0.2 * np.sin(a)]) for x, a in ((-0.05, left), (0.05, right))
    ]
    middle, apart = (elbows[0] + elbows[1]) / 2, elbows[1] - elbows[0]
    across = np.array([-apart[1], apart[0]]) / np.hypot(*apart)
    tip = middle + across * np.sqrt(0.09 - apart @ apart / 4)
    turns = [np.arctan2(*(tip - elbow)[::-1]) for elbow in elbows]
    return robot, np.array([left, turns[0] - left, right, turns[1] - right])


def stretched(e):
    """A delta moved by its plate, its arms and rods nearly in line."""
    robot = moved_by("delta", "x", "y", "z")
    low, high = 1.0, 2.5
    for _ in range(200):
        a = (low + high) / 2
        wide = 0.1 + 0.2 * np.cos(a) + 0.5 * np.cos(a + e) > 0.05
        low, high = (a, high) if wide else (low, a)
    z = -(0.2 * np.sin(a) + 0.5 * np.sin(a + e))
    return robot, np.array([a, e, 0, a, e, 0, a, e, 0, 0, 0, z])


def right(found, expected):
    return np.isnan(found).any() or np.abs(found - expected).max() <= BOUND * np.abs(expected).max()


@pytest.mark.parametrize("place", [flat, rocker, folded, stretched])
def test_every_finite_number_next_to_a_singular_position_is_right(place):
    still = None
    with mpmath.workdps(50):
        for e in DISTANCES:
            robot, q = place(e)
            still = np.zeros(robot.n)
            assert np.abs(kt.constraints.errors(robot, q)).max() < 1e-12
            ddq, tau = (
                robot.forward_dynamics(q, still, still),
                robot.inverse_dynamics(q, still, still),
            )
            assert right(ddq, accelerations(robot, q, still, still)), e
            assert right(tau, motor_forces(robot, q, still, still)), e
            assert right(
                kt.constraints.reduced_dynamics(robot, q, still)[0], reduced_masses(robot, q)
            ), e
            if e > 1e-3:
                assert np.isfinite(ddq).all() and np.isfinite(tau).all()
            if e < 1e-6:
                assert np.isnan(tau).any()


def test_batches_mark_the_singular_states_alone_with_the_same_bits():
    robot, q = flat(0.3)
    states = np.stack([q, flat(0.0)[1], q, flat(1e-7)[1], flat(1e-3)[1]])
    dq, still = np.tile([1.0, -1, 1], (5, 1)), np.zeros((5, 3))
    ddq = robot.forward_dynamics(states, dq, still)
    assert np.isnan(ddq).any(axis=1).tolist() == [0, 1, 0, 1, 0]
    for k in (0, 2, 4):
        assert ddq[k].tobytes() == robot.forward_dynamics(states[k], dq[k], still[k]).tobytes()


def test_a_simulation_names_the_time_and_the_loop():
    robot, q = flat(0.0)
    with pytest.raises(InputError):
        robot.simulate(q, [1, -1, 1], duration=0.1)
    robot, q = flat(0.02)
    with pytest.raises(SimulationError):
        # the first of these steps ends in the flat position itself
        robot.with_gravity((0, 0, 0)).simulate(
            q, [-2, 2, -2], duration=0.1, dt=0.01, method="semi_implicit_euler"
        )
