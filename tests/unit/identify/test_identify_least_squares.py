"""Least squares: exact without noise, honest errors with it, unmoved by outliers when robust."""

import numpy as np
import pytest

from kinetree.errors import InputError, SingularityError
from kinetree.identify.least_squares import METHODS, fit

SIGMA = np.array([1.0, 0.1])


def problem(seed, T=300, colour=0.0):
    rng = np.random.default_rng(seed)
    beta = np.array([1.0, -2.0, 0.5])
    W = np.random.default_rng(99).normal(size=(T, 2, 3)) * np.array([1.0, 10.0, 0.1])
    noise = rng.normal(size=(T, 2))
    for t in range(1, T if colour else 0):
        noise[t] = colour * noise[t - 1] + np.sqrt(1 - colour**2) * noise[t]
    return W, W @ beta, noise * SIGMA, beta


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_the_parameters_are_exact(method):
    W, y, _, beta = problem(0)
    assert np.abs(fit(W, y, method).beta - beta).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_standard_errors_are_those_of_white_noise(method):
    """Covariances of least squares in closed form; Huber's loss is 95 % as efficient."""
    W, y, noise, beta = problem(3, T=6000)
    result = fit(W, y + noise, method)
    X = (W / SIGMA[:, None]).reshape(-1, 3)
    expected = np.linalg.inv(X.T @ X) / (0.95 if method == "robust" else 1)
    if method == "ordinary":
        rows = W.reshape(-1, 3)
        bread = np.linalg.inv(rows.T @ rows)
        scaled = (W * SIGMA[:, None]).reshape(-1, 3)
        expected = bread @ (scaled.T @ scaled) @ bread
    np.testing.assert_allclose(result.standard_error, np.sqrt(np.diag(expected)), rtol=0.06)
    assert np.abs((result.beta - beta) / result.standard_error).max() < 4
    np.testing.assert_allclose(result.sigma, SIGMA, rtol=0.05)


@pytest.mark.parametrize("forces", [1.0, np.array([3.0, 0.2])])
@pytest.mark.parametrize("method", METHODS)
def test_weighted_errors_are_orthogonal_to_the_columns(method, forces):
    W, y, noise, _ = problem(7)
    wild = y + noise
    wild[::20, 0] += 9
    result = fit(W, wild, method, forces=forces)
    parts = np.einsum("tjk,tj,tj->tk", W, result.weights, result.residual)
    assert np.all(np.abs(parts.sum(axis=0)) < 1e-5 * np.abs(parts).sum(axis=0))
    if method == "weighted":
        np.testing.assert_allclose(result.weights * result.sigma**2, 1, rtol=1e-12)


def test_weights_make_errors_smaller_where_noises_differ():
    W, y, noise, _ = problem(1)
    ordinary, weighted = (fit(W, y + noise, m) for m in ("ordinary", "weighted"))
    assert np.all(weighted.standard_error < 0.5 * ordinary.standard_error)
    assert np.abs(weighted.sigma / SIGMA - 1).max() < 4 / np.sqrt(600)


def test_errors_that_last_are_counted():
    """Slow noise on a slow regressor: errors of single samples would be far too small."""
    T, z = 1000, []
    slow = np.sin(np.linspace(0, 12, T))[:, None, None]
    for seed in range(40):
        noise = problem(seed, T, colour=0.9)[2]
        one = fit(np.concatenate([slow, slow], axis=1), noise, "weighted")
        z.append(one.beta[0] / one.standard_error[0])
    assert 0.6 < np.std(z) < 1.4  # sqrt((1 + 0.9) / (1 - 0.9)) = 4.4 without correlation


def test_outliers_do_not_move_a_robust_fit():
    W, y, noise, beta = problem(2)
    wild = y + noise
    wild[::10] += 50
    plain, robust = fit(W, wild, "weighted"), fit(W, wild, "robust")
    assert np.abs((robust.beta - beta) / robust.standard_error).max() < 5
    assert np.linalg.norm(robust.beta - beta) < 0.2 * np.linalg.norm(plain.beta - beta)
    assert np.abs(robust.sigma / SIGMA - 1).max() < 0.4


def test_what_cannot_be_told_apart_is_refused():
    W, y, _, _ = problem(0)
    twice = np.concatenate([W, W[..., :1]], axis=-1)
    with pytest.raises(SingularityError, match="does not separate the 4 parameters"):
        fit(twice, y)
    with pytest.raises(SingularityError, match="column 1 of the regressor is zero"):
        fit(W * np.array([1, 0, 1]), y)
    with pytest.raises(InputError, match="more equations than unknowns"):
        fit(W[:1], y[:1])
    with pytest.raises(InputError, match="ordinary, weighted, robust"):
        fit(W, y, "best")
