"""Coloured errors: autoregressions, their memory, and covariances that count all correlation."""

import numpy as np
import pytest
from scipy.signal import lfilter

from kinetree.identify.least_squares import fit, fit_blocks
from kinetree.identify.noise import Noise, fit_noise, pieces, summed_covariance


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


def test_the_covariance_of_a_sum_is_that_of_the_toeplitz_matrix():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 2, 3))
    S = np.array([[1.0, 0.3], [0.3, 2.0]])
    noise = Noise((np.array([0.7]), np.array([0.2, -0.4])), S)
    long = 4000  # impulse responses, summed until they vanish
    gains = []
    for a in noise.coefficients:
        h = np.zeros(long)
        h[0] = 1
        for k in range(1, long):
            h[k] = sum(c * h[k - 1 - j] for j, c in enumerate(a) if k - 1 - j >= 0)
        gains.append(h)
    B = np.zeros((3, 3))
    for i in range(2):
        for j in range(2):
            full = np.correlate(gains[i], gains[j], "full") * S[i, j]
            t = np.arange(120)
            B += X[:, i].T @ full[long - 1 + t[:, None] - t] @ X[:, j]
    np.testing.assert_allclose(summed_covariance([X], noise, 4096), B, rtol=1e-6)


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


def test_blocks_of_rows_give_the_fit_of_all_rows():
    rng = np.random.default_rng(3)
    W = rng.normal(size=(3000, 2, 4))
    y = W @ np.arange(1.0, 5) + 0.1 * rng.standard_t(3, size=(3000, 2))
    for method in ("ordinary", "weighted", "robust"):
        whole = fit(W, y, method)
        cut = fit_blocks([(W[k : k + 500], y[k : k + 500]) for k in range(0, 3000, 500)], method)
        np.testing.assert_allclose(cut.beta, whole.beta, rtol=1e-9)
        np.testing.assert_allclose(cut.standard_error, whole.standard_error, rtol=0.02)
        assert cut.breaks == (500,) * 6 and sum(whole.breaks) == 3000


def test_pieces_are_short_and_keep_the_breaks():
    x = np.arange(6000)
    found = pieces(x, [5000, 1000])
    assert np.array_equal(np.concatenate(found), x)
    assert max(map(len, found)) <= 2048 and {5000, 6000} <= set(np.cumsum([len(a) for a in found]))


def test_stretches_shorter_than_the_order_are_left_out():
    u = autoregressive(np.random.default_rng(3), 2000, 0.9)
    noise = fit_noise(u, [900, 2, 1098], 0.0)
    order = len(noise.coefficients[0])
    assert [len(noise.whitened(x)) for x in pieces(u, [900, 2, 1098])][1] == max(0, 2 - order)
    assert noise.density(np.array([0.0]))[0] == pytest.approx(19, rel=0.3)  # (1 + 0.9) / (1 - 0.9)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_recording_of_short_stretches_has_a_noise_model(length):
    u = np.random.default_rng(4).normal(size=(50 * length, 2))
    noise = fit_noise(u, [length] * 50, 0.0)
    assert max(map(len, noise.coefficients)) < max(length, 1)
    assert noise.innovations == pytest.approx(np.eye(2), abs=0.5)
