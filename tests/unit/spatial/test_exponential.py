"""The matrix exponential: its coefficients by formula, its accuracy where the scaling changes."""

import numpy as np
import pytest

from kinetree.algorithms.derivatives import Linearization
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
