"""The matrix exponential: its coefficients by formula, its accuracy where the scaling changes."""

import numpy as np
import pytest

from kinetree.dynamics.derivatives import Linearization
from kinetree.errors import InputError
from kinetree.spatial.matrices import exponential
from robot_states import relative


@pytest.mark.parametrize("norm", [5.3, 5.5, 8.0, 10.5, 11.0, 20.0])
def test_the_exponential_is_exact_on_both_sides_of_a_halving(norm, fifty_digits):
    import mpmath

    X = np.random.default_rng(2).normal(size=(4, 4))
    X = X * norm / np.abs(X).sum(0).max()
    exact = mpmath.expm(mpmath.matrix(X.tolist()), method="taylor")
    assert relative(exponential(X), np.array(exact.tolist(), float)) < 4e-15 * norm


def second_order(rng, stiffness, damping, n=3, m=2):
    """First rows of [0, 1, 0; K, D, B; 0, 0, 0], a system of second order with m inputs."""
    top = np.concatenate([np.zeros((n, n)), np.eye(n), np.zeros((n, m))], -1)
    blocks = stiffness * rng.normal(size=(n, n)), damping * rng.normal(size=(n, n))
    return np.concatenate([top, np.concatenate([*blocks, 1e3 * rng.normal(size=(n, m))], -1)])


@pytest.mark.parametrize("dt", [1e-6, 1e-3, 0.01, 0.3])
@pytest.mark.parametrize("stiffness", [0.0, 1e-4, 1.0, 1e4, 1e8])
def test_first_rows_are_those_of_the_square_matrix(dt, stiffness, fifty_digits):
    """Each block to its own size: positions and rates of a stiff system differ by orders."""
    import mpmath

    dt = min(dt, 20 / max(stiffness, 1) ** 0.5)
    X = second_order(np.random.default_rng(int(stiffness)), stiffness, stiffness**0.5) * dt
    square = np.zeros((8, 8))
    square[:6] = X
    with mpmath.workdps(80):
        exact = np.array(mpmath.expm(mpmath.matrix(square.tolist()), method="taylor").tolist())
    E = exponential(X)
    growth = 1 + dt * (1 + stiffness**0.5)
    for rows in (slice(0, 3), slice(3, 6)):
        for columns in (slice(0, 3), slice(3, 6), slice(6, 8)):
            block = exact[rows, columns].astype(float)
            assert relative(E[rows, columns], block) < 2e-14 * growth


def test_a_matrix_has_the_same_bits_alone_and_in_any_batch():
    rng = np.random.default_rng(5)
    sizes = 10.0 ** rng.uniform(-7, 4, 200)
    batch = np.array([second_order(rng, x, x**0.5) for x in sizes]) * 0.01
    together = exponential(batch.reshape(2, 100, 6, 8))
    alone = np.array([exponential(X) for X in batch])
    assert together.reshape(200, 6, 8).tobytes() == alone.tobytes()
    assert exponential(batch[:0]).shape == (0, 6, 8)


def test_a_batch_is_scaled_by_its_largest_norm():
    X = np.array([np.diag([1.0, -2.0]), np.diag([30.0, 0.5])])
    assert np.allclose(exponential(X)[:, 0, 0], np.exp([1, 30]), 1e-13, 0)
    assert np.allclose(exponential(X)[:, 1, 1], np.exp([-2, 0.5]), 1e-13, 0)
    assert np.allclose(exponential(np.zeros((3, 2, 2))), np.eye(2), 0, 1e-15)


def test_numbers_that_are_not_finite_and_a_second_discretization_are_refused():
    with pytest.raises(InputError, match="not finite"):
        exponential(np.array([[np.inf]]))
    system = Linearization(np.zeros((2, 2)), np.ones((2, 1)))
    step = system.discrete(0.5)
    assert step.dt == 0.5 and np.allclose(step.A, np.eye(2)) and np.allclose(step.B, 0.5)
    with pytest.raises(InputError, match=r"discrete already, at steps of 0\.5 s"):
        step.discrete(0.5)
