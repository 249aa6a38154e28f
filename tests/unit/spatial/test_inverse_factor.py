from fractions import Fraction

import numpy as np
import pytest

from kinetree.model.samples import random_model
from kinetree.spatial.matrices import InverseFactor, eliminated, factor, solve


def tree_matrix(parent: tuple[int, ...], seed: int) -> np.ndarray:
    """A positive definite matrix of whole numbers, zero between unrelated joints."""
    n, rng = len(parent), np.random.default_rng(seed)
    M = np.zeros((n, n), dtype=object)
    for i in range(n):
        M[i, i], j = Fraction(100 * n), parent[i]
        while j >= 0:
            M[i, j] = M[j, i] = Fraction(int(rng.integers(1, 20)))
            j = parent[j]
    return M


@pytest.mark.parametrize("seed", range(5))
def test_exact_numbers_give_the_exact_inverse(seed: int) -> None:
    parent = random_model(seed, 9).parent
    M = tree_matrix(parent, seed)
    B = tree_matrix(parent, seed + 1)
    inverse = InverseFactor(factor(M, ["joint"] * len(M)))
    assert np.array_equal(M @ inverse.matrix(), np.eye(len(M), dtype=int))
    assert np.array_equal(M @ inverse.times(B), B)


def test_the_inverse_is_symmetric_to_the_last_digit() -> None:
    A = np.random.default_rng(3).normal(size=(8, 8))
    M = A @ A.T + 8 * np.eye(8)
    found = InverseFactor(factor(M, ["joint"] * 8)).matrix()
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(found, np.linalg.inv(M), rtol=1e-12, atol=1e-13)


def test_columns_agree_with_substitution() -> None:
    A, B = np.random.default_rng(4).normal(size=(2, 6, 6))
    M = factor(A @ A.T + np.eye(6), ["joint"] * 6)
    np.testing.assert_allclose(InverseFactor(M).times(B), solve(M, B), rtol=1e-11, atol=1e-12)


def test_a_column_reaches_ancestors_only() -> None:
    parent = (-1, 0, 1, 1, 3, 0)  # 0 - 1 - {2, 3 - 4}, 0 - 5
    M = factor(tree_matrix(parent, 0), ["joint"] * 6)
    assert set(eliminated(M, {4: 1})) == {4, 3, 1, 0}
    assert set(eliminated(M, {5: 1})) == {5, 0}
    unrelated = InverseFactor(factor(tree_matrix((-1, 0, -1), 0), ["joint"] * 3)).matrix()
    assert unrelated[2, 0] == 0 and isinstance(unrelated[2, 0], int)
