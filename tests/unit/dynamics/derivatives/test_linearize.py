"""A linear system near a state: against the motion itself, and its exact steps."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics import linearize
from robot_states import any_robot, random_state, size


def test_a_pendulum_swings_as_its_formula_says():
    """ddq = -(g / l) sin q - b dq / (m l^2) + tau / (m l^2), upright and hanging."""
    builder = kt.Builder("pendulum").link("base").link("bob", 2.0, (0, 0, -0.5))
    friction = kt.friction.Friction(viscous=0.3)
    builder.joint("pivot", "revolute", "base", "bob", axis=(0, 1, 0), friction=friction)
    robot = builder.build()
    for q, sign in ((0.0, -1), (np.pi, 1)):
        system = robot.linearize([q], [0.0], [0.0])
        np.testing.assert_allclose(
            system.A, [[0, 1], [sign * 9.81 / 0.5, -0.3 / 0.5]], rtol=0, atol=1e-13
        )
        np.testing.assert_allclose(system.B, [[0], [1 / 0.5]], rtol=1e-15)


def test_batches_of_linearizations():
    robot = kt.robots.panda()
    rng = np.random.default_rng(3)
    q, dq, tau = rng.normal(size=(3, 5, robot.n))
    system = robot.linearize(q, dq, tau, dt=0.01)
    assert system.A.shape == (5, 14, 14) and system.B.shape == (5, 14, 7) and system.dt == 0.01
    for k in range(5):
        one = linearize(robot.model, q[k], dq[k], tau[k]).discrete(0.01)
        np.testing.assert_allclose(system.A[k], one.A, rtol=0, atol=1e-11)
        np.testing.assert_allclose(system.B[k], one.B, rtol=0, atol=1e-11 * size(one.B))


@pytest.mark.parametrize("seed", [5, 7])
def test_exact_steps_of_free_and_rubbing_robots_are_those_of_fifty_digits(seed, fifty_digits):
    """exp and its integral, by Taylor's series; scaling and squaring rounds a few dozen times."""
    mpmath = pytest.importorskip("mpmath")
    robot, dt = kt.Robot(any_robot(seed, 3)), 0.05
    state = random_state(robot.model, seed)
    system = robot.linearize(state.q, state.dq, state.ddq)
    found = robot.linearize(state.q, state.dq, state.ddq, dt=dt)
    rows, columns = system.B.shape
    whole = np.zeros((rows + columns, rows + columns))
    whole[:rows, :rows], whole[:rows, rows:] = system.A, system.B
    exact = mpmath.expm(mpmath.matrix(whole.tolist()) * mpmath.mpf(dt), method="taylor")
    exact = np.array(exact.tolist(), float)
    assert np.abs(found.A - exact[:rows, :rows]).max() < 1e-13 * np.abs(exact).max()
    assert np.abs(found.B - exact[:rows, rows:]).max() < 1e-13 * np.abs(exact[:, rows:]).max()
