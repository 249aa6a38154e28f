"""Coloured errors: autoregressions, their memory, and covariances that count all correlation."""

import numpy as np
import pytest
from scipy.signal import lfilter

from kinetree.identify.least_squares import fit


def autoregressive(rng, T, rho, n=1):
    e = rng.normal(size=(T + 300, n))
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], e, axis=0)[300:]


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
