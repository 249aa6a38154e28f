"""Weights of a fit: its errors are orthogonal to the columns with them, in any units of forces."""

import numpy as np
import pytest

from kinetree.identify.least_squares import METHODS, fit


@pytest.mark.parametrize("forces", [1.0, np.array([3.0, 0.2])])
@pytest.mark.parametrize("method", METHODS)
def test_weighted_errors_are_orthogonal_to_the_columns(method, forces):
    rng = np.random.default_rng(7)
    W = rng.normal(size=(300, 2, 3)) * np.array([1.0, 10.0, 0.1])
    y = W @ np.array([1.0, -2.0, 0.5]) + rng.normal(size=(300, 2)) * np.array([1.0, 0.1])
    y[::20, 0] += 9
    found = fit(W, y, method, forces=forces)
    parts = np.einsum("tjk,tj,tj->tk", W, found.weights, found.residual)
    assert np.all(np.abs(parts.sum(axis=0)) < 1e-5 * np.abs(parts).sum(axis=0))
    if method == "weighted":
        np.testing.assert_allclose(found.weights * found.sigma**2, 1, rtol=1e-12)
