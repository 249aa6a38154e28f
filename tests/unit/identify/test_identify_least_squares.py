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
    for t in range(1, T):
        noise[t] = colour * noise[t - 1] + np.sqrt(1 - colour**2) * noise[t]
    return W, W @ beta, noise * SIGMA, beta


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_the_parameters_are_exact(method):
    W, y, _, beta = problem(0)
    assert np.abs(fit(W, y, method).beta - beta).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_standard_errors_are_those_of_repeated_experiments(method):
    """The spread of 400 estimates has a relative error of 1 / sqrt(800) = 3.5%; 4 of these."""
    found = []
    for seed in range(400):
        W, y, noise, beta = problem(seed, T=100)
        one = fit(W, y + noise, method)
        found.append((one.beta - beta, one.standard_error))
    off, told = map(np.array, zip(*found, strict=True))
    assert np.abs(off.std(axis=0) / told.mean(axis=0) - 1).max() < 0.15
    assert np.abs(off.mean(axis=0)).max() < 4 * (off.std(axis=0) / 20).max()


def test_weights_make_errors_smaller_where_noises_differ():
    W, y, noise, _ = problem(1)
    ordinary, weighted = (fit(W, y + noise, m) for m in ("ordinary", "weighted"))
    assert np.all(weighted.standard_error < 0.5 * ordinary.standard_error)
    assert np.abs(weighted.sigma / SIGMA - 1).max() < 4 / np.sqrt(600)


def test_errors_that_last_are_counted():
    """Slow noise on a slow regressor: errors of single samples would be far too small."""
    T, z = 1000, []
    slow = np.sin(np.linspace(0, 12, T))[:, None, None]
    for seed in range(100):
        noise = problem(seed, T, colour=0.9)[2]
        one = fit(np.concatenate([slow, slow], axis=1), noise, "weighted")
        z.append(one.beta[0] / one.standard_error[0])
    assert 0.7 < np.std(z) < 1.3  # sqrt((1 + 0.9) / (1 - 0.9)) = 4.4 without correlation


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
