"""Coloured errors: autoregressions, their memory, and covariances that count all correlation."""

import numpy as np
import pytest
from scipy.signal import lfilter

from kinetree.identify.least_squares import fit
from kinetree.identify.noise import fit_noise


def autoregressive(rng, T, rho, n=1):
    e = rng.normal(size=(T + 300, n))
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], e, axis=0)[300:]


def test_an_autoregression_is_found():
    u = autoregressive(np.random.default_rng(0), 20_000, 0.9)
    noise = fit_noise(u, [len(u)], 0.0)
    f = np.array([0.0, 0.01, 0.05, 0.2, 0.5])
    truth = (1 - 0.9**2) / np.abs(1 - 0.9 * np.exp(-2j * np.pi * f)) ** 2
    np.testing.assert_allclose(noise.density(f)[0], truth, rtol=0.2)
    assert 20 < noise.memory() < 45  # 0.9^28 = 0.05
    white = noise.whitened(u)[:, 0]
    assert abs((white[1:] * white[:-1]).mean() / white.var()) < 0.03


def test_white_errors_have_no_memory():
    u = np.random.default_rng(1).normal(size=(5000, 2))
    noise = fit_noise(u, [5000], 0.0)
    assert noise.innovations == pytest.approx(np.eye(2), abs=0.05)
    assert noise.memory() < 6


@pytest.mark.parametrize(
    ("rho", "method"), [(0.0, "weighted"), (0.9, "robust"), (0.98, "weighted")]
)
def test_intervals_cover_for_slow_errors_and_many_parameters(rho, method, experiments):
    """20 parameters take away much of the slow errors of 600 rows."""
    T, n, r = 600, 3, 20
    t, inside = np.arange(T) / 30, []
    for seed in range(experiments(30, 60)):
        rng = np.random.default_rng(seed)
        f, phase = rng.uniform(0.1, 2, size=(n, r)), rng.uniform(0, 6, (n, r))
        W = np.sin(2 * np.pi * f * t[:, None, None] + phase)
        beta = rng.normal(size=r)
        e = autoregressive(rng, T, rho, n) * np.array([0.1, 1, 0.3])
        found = fit(W, W @ beta + e, method)
        inside.append(np.abs(found.beta - beta) < 1.96 * found.standard_error)
    assert 0.90 <= np.mean(inside) <= 0.99


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_recording_of_short_stretches_has_a_noise_model(length):
    u = np.random.default_rng(4).normal(size=(50 * length, 2))
    noise = fit_noise(u, [length] * 50, 0.0)
    assert max(map(len, noise.coefficients)) < max(length, 1)
    assert noise.innovations == pytest.approx(np.eye(2), abs=0.5)
