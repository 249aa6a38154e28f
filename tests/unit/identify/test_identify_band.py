"""One low-pass for both sides: its gain, its blocks, and rows at ends and gaps."""

import numpy as np
import pytest

from kinetree.identify import Recording
from kinetree.identify.band import Band, bands_of, blocks_of, filtered, in_band, rows_of


def recording(t, cutoff=None):
    zeros = np.zeros((len(t), 1))
    return Recording(t, zeros, zeros, zeros, zeros, cutoff=cutoff)


def test_rows_are_weighted_means_of_samples():
    band, x = Band(0, 500, 40, 5, 0.05), np.random.default_rng(0).normal(size=(500, 3))
    W = band.weights(0, band.rows)
    np.testing.assert_allclose(W.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(rows_of((band,), x), W @ x, atol=1e-13)
    np.testing.assert_allclose(rows_of((band,), np.ones((500, 2))), 1, rtol=1e-12)


@pytest.mark.parametrize("f, least, most", [(0.1, 0.99, 1.0), (0.5, 0.9, 1.0), (1.6, 0.0, 1e-3)])
def test_the_gain_falls_from_one_to_zero_around_the_cutoff(f, least, most):
    t = np.arange(4000) * 0.001
    data = recording(t)
    inner = in_band(data, np.sin(2 * np.pi * 8 * f * t)[:, None], 8.0)[20:-20, 0]
    assert least <= np.abs(inner).max() <= most + 1e-4  # ripple of the kernel


def test_no_phase_is_shifted():
    t = np.arange(3000) * 0.001
    band = bands_of(recording(t), 10.0)[0]
    at = t[band.start :: band.step]
    x = rows_of((band,), np.cos(2 * np.pi * 3 * t + 0.4)[:, None])[15:-15, 0]
    waves = np.stack([f(2 * np.pi * 3 * at + 0.4)[15:-15] for f in (np.cos, np.sin)], axis=1)
    gain, shift = np.linalg.lstsq(waves, x, rcond=None)[0]
    assert abs(shift) < 1e-4 and 0.95 < gain < 1


@pytest.mark.parametrize("size", [100, 137, 10_000])
def test_blocks_give_the_rows_of_the_whole(size):
    x = np.random.default_rng(1).normal(size=(900, 2))
    bands = Band(0, 400, 30, 4, 0.06), Band(400, 500, 20, 3, 0.1)
    parts = [filtered(b, i, j, x[slice(*b.window(i, j))]) for b, i, j in blocks_of(bands, size)]
    np.testing.assert_allclose(np.concatenate(parts), rows_of(bands, x), atol=1e-13)


def test_gaps_separate_stretches_and_rows_do_not_see_across():
    t = np.concatenate([np.arange(300), 1000 + np.arange(400)]) * 0.01
    bands = bands_of(recording(t), 2.0)
    assert [(b.first, b.count) for b in bands] == [(0, 300), (300, 400)]
    x = np.where(np.arange(700) < 300, 1.0, -1.0)[:, None]
    rows = rows_of(bands, x)
    np.testing.assert_allclose(np.abs(rows), 1, rtol=1e-12)


def test_the_band_of_forces_is_wider_than_that_of_the_motion():
    t = np.arange(3000) * 0.001
    assert bands_of(recording(t, 2.0))[0].cutoff == pytest.approx(5 * 2.0 * 0.001)
    assert bands_of(recording(t, 2.0), 3.0)[0].cutoff == pytest.approx(0.003)
    for motion, forces in ((20.0, 50.0), (60.0, 60.0)):  # fast motion at a high rate: fewer rows
        assert bands_of(recording(t, motion))[0].cutoff == pytest.approx(forces * 0.001)
    for cutoff in (None, 300.0):  # measured rates; a band as wide as the sampling
        assert bands_of(recording(t, cutoff)) == (Band(0, 3000),)
