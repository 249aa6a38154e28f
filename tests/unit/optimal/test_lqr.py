"""LQR against SciPy's Riccati solvers, and the refusals."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import kinetree as kt
from kinetree import optimal
from kinetree.errors import KinetreeError


def random_system(rng):
    n, m = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    A, B = rng.normal(size=(n, n)) / np.sqrt(n), rng.normal(size=(n, m))
    J, r = rng.normal(size=(n, n)), rng.normal(size=(m, m))
    return A, B, J @ J.T + np.eye(n), r @ r.T + np.eye(m), 0.1 * rng.normal(size=(n, m))


@pytest.mark.parametrize("discrete", [False, True])
def test_riccati_equations_agree_with_scipy(discrete):
    rng = np.random.default_rng(3)
    solve = scipy.linalg.solve_discrete_are if discrete else scipy.linalg.solve_continuous_are
    for _ in range(30):
        A, B, Q, R, N = random_system(rng)
        found = optimal.lqr(A, B, Q, R, N, discrete=discrete)
        P = solve(A, B, Q, R, s=N)
        if np.abs(P).max() > 1e4:
            continue  # hardly in reach of the inputs: SciPy has no ten digits either
        np.testing.assert_allclose(found.P, P, rtol=0, atol=1e-10 * np.abs(P).max())


def test_sampled_cost_is_that_of_the_continuous_motion():
    A, B, Q, R, _ = random_system(np.random.default_rng(5))
    n, m = B.shape
    dt, x, u = 0.3, np.arange(1.0, n + 1), np.ones(m)
    Ad, Bd, Qd, Rd, Nd = optimal.sampled(A, B, Q, R, dt)

    def rate(t, y):
        dx = A @ y[:n] + B @ u
        return np.append(dx, y[:n] @ Q @ y[:n] + u @ R @ u)

    end = scipy.integrate.solve_ivp(rate, (0, dt), np.append(x, 0.0), rtol=1e-12, atol=1e-13).y[
        :, -1
    ]
    np.testing.assert_allclose(Ad @ x + Bd @ u, end[:n], rtol=1e-9)
    np.testing.assert_allclose(x @ Qd @ x + 2 * x @ Nd @ u + u @ Rd @ u, end[n], rtol=1e-9)


def test_a_regulated_arm_returns_from_a_push():
    robot = kt.robots.double_pendulum()
    q = np.array([np.pi, 0.0])  # upright
    found = optimal.regulate(robot, q, np.eye(4), 0.1 * np.eye(2))
    hold = robot.gravity_forces(q)

    def law(t, position, rates):
        return hold - found.K @ np.concatenate([position - q, rates])

    run = robot.simulate(q + np.array([0.1, -0.05]), tau=law, duration=8.0)
    assert np.abs(run.q[-1] - q).max() < 1e-3


@pytest.mark.parametrize(
    "changed",
    [
        {"A": np.diag([1.0, 2.0]), "B": [[1.0], [0.0]], "R": [[1.0]]},
        {"Q": -np.eye(2)},
        {"R": np.zeros((2, 2))},
        {"Q": [[1.0, np.nan], [0.0, 1.0]]},
        {"B": np.ones((3, 1))},
        {"Q": [[1.0, 1.0], [0.0, 1.0]]},
    ],
    ids=["out of reach", "negative", "free forces", "NaN", "shape", "not symmetric"],
)
def test_problems_without_an_answer_are_refused(changed):
    given = {"A": np.eye(2), "B": np.eye(2), "Q": np.eye(2), "R": np.eye(2)} | changed
    with pytest.raises(KinetreeError):
        optimal.lqr(**given)
