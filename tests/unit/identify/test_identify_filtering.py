"""The low-pass shifts no phase, passes slow signals, stops fast ones, and differentiates."""

import numpy as np
import pytest

from kinetree.errors import InputError
from kinetree.identify import constants
from kinetree.identify.filtering import blocks, low_pass, margin, smooth
from kinetree.identify.spectrum import choose_cutoff

T = np.linspace(0, 10, 2001)
DT = float(T[1])


def wave(f, phase=0.3):
    w = 2 * np.pi * f
    x = w * T + phase
    return np.sin(x), w * np.cos(x), -w * w * np.sin(x)


def test_slow_motion_passes_with_its_derivatives():
    x, dx, ddx = wave(0.5)
    inner = slice(margin(DT, 10), -margin(DT, 10))
    found = smooth(x, DT, 10.0)
    for a, b, size in zip(found, (x, dx, ddx), (1, 3.2, 10), strict=True):
        assert np.abs(a - b)[inner].max() < 1e-3 * size


def test_polynomials_of_degree_three_pass_exactly():
    x = 1 + 2 * T - 0.3 * T**2 + 0.01 * T**3
    found = smooth(x, DT, 5.0)
    assert np.abs(found[0] - x).max() < 1e-9
    assert np.abs(found[1] - (2 - 0.6 * T + 0.03 * T**2)).max() < 1e-8
    assert np.abs(found[2] - (-0.6 + 0.06 * T)).max() < 1e-6


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_the_gain_is_that_of_a_butterworth_filter_run_twice(ratio):
    x = wave(4.0 * ratio, 0.0)[0]  # whole periods: a single term of the series
    gain = 1 / (1 + ratio**8)
    found = low_pass(x, DT, 4.0)
    inner = slice(400, -400)
    assert np.abs(found - gain * x)[inner].max() < 2e-3


def test_noise_is_told_from_motion():
    rng = np.random.default_rng(0)
    x, _, ddx = wave(0.7)
    y = x + 1e-4 * rng.normal(size=x.shape)
    cutoff = choose_cutoff(y[:, None], DT)
    assert 0.7 < cutoff < 10
    inner = slice(margin(DT, cutoff), -margin(DT, cutoff))
    found = smooth(y, DT, cutoff)[2]
    plain = np.gradient(np.gradient(y, DT), DT)
    assert np.std((found - ddx)[inner]) < 0.05 < 1 < np.std((plain - ddx)[inner])


def test_columns_are_filtered_one_by_one():
    x = np.stack([wave(0.5)[0], wave(1.5)[0]], axis=1)
    together = smooth(x, DT, 6.0)
    for k in range(2):
        for a, b in zip(together, smooth(x[:, k], DT, 6.0), strict=True):
            assert np.allclose(a[:, k], b, atol=1e-9)


def test_impossible_cutoffs_and_short_records_are_refused():
    with pytest.raises(InputError, match="half the sampling frequency"):
        low_pass(T, DT, 150.0)
    with pytest.raises(InputError, match="too few to filter"):
        low_pass(T[:10], DT, 5.0)


@pytest.mark.parametrize("count", [17, 65_536, 65_537, 100_003, 400_000])
@pytest.mark.parametrize("memory", [3.0, 4000.0, 50_000.0, 1e7])
def test_blocks_keep_every_sample_once_and_away_from_inner_ends(count, memory):
    kept = 0
    parts = blocks(count, memory)
    for start, length, a, b in parts:
        assert a == kept and 0 <= start <= a < b <= start + length <= count
        far = min(memory, (length - (b - a)) / 4)  # short records have less to spare
        assert start == 0 or a - start >= far
        assert start + length == count or start + length - b >= far
        if 16 * memory < 65_536 and len(parts) > 2:
            assert length <= 65_537 and (start == 0 or a - start >= memory)
        kept = b
    assert kept == count


def test_blocks_give_the_series_of_the_whole_record(monkeypatch):
    rng = np.random.default_rng(0)
    t = 0.002 * np.arange(80_000)
    x = np.sin(1.3 * t)[:, None] + 0.01 * rng.normal(size=(len(t), 2))
    parts = smooth(x, 0.002, 4.0)
    monkeypatch.setattr(constants, "FILTER_BLOCK", 1 << 20)
    for a, b in zip(parts, smooth(x, 0.002, 4.0), strict=True):
        assert np.abs(a - b).max() < 1e-8 * np.abs(b).max()


@pytest.mark.parametrize("seed", range(4))
def test_accelerations_near_the_ends_are_nearly_as_good_as_inside(seed):
    rng = np.random.default_rng(seed)
    dt = float(10 ** rng.uniform(-3, -2))
    t = dt * np.arange(2000)
    top = 4 / t[-1] * 10
    x, ddx = np.zeros((2, len(t), 12))
    for k in range(12):
        for f in rng.uniform(0.1 * top, 0.6 * top, 4):
            phase = rng.uniform(0, 6.3)
            x[:, k] += np.sin(2 * np.pi * f * t + phase)
            ddx[:, k] -= (2 * np.pi * f) ** 2 * np.sin(2 * np.pi * f * t + phase)
    y = x + 1e-4 * rng.normal(size=x.shape)
    cutoff = choose_cutoff(y, dt)
    off = smooth(y, dt, cutoff)[2] - ddx
    cut, far = margin(dt, cutoff), round(4 / (cutoff * dt))
    inner = off[far:-far].std()
    for end in (off[cut:far], off[-far:-cut]):
        assert np.sqrt((end**2).mean()) < 1.5 * inner
    assert np.abs(off[: cut // 4]).max() > 5 * inner  # and what is left out deserves it
