"""Random numbers by their place: those of NumPy's Philox, the same in every batch."""

import numpy as np
import pytest

from kinetree.parallel.philox import normals, philox, uniforms, words


def test_words_are_those_of_numpy():
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, (50, 2), np.uint64)
    keys[0], keys[1] = 0, 2**64 - 1
    starts = rng.integers(0, 2**63, (50, 4), np.uint64)
    starts[2] = 0
    found = philox(starts + np.array([1, 0, 0, 0], np.uint64), keys)
    for key, start, row in zip(keys, starts, found, strict=True):
        other = np.random.Philox(key=key, counter=start)  # counts up before it gives numbers
        assert np.array_equal(other.random_raw(4), row)


def test_a_sample_has_the_same_numbers_in_every_batch():
    samples = np.arange(1000)
    every = uniforms(5, "q0", samples, 7)
    assert np.array_equal(uniforms(5, "q0", samples[[17]], 7)[0], every[17])
    assert np.array_equal(uniforms(5, "q0", samples[::-1], 7)[::-1], every)
    assert np.array_equal(uniforms(5, "q0", samples, 3), every[:, :3])
    assert np.array_equal(normals(5, "q0", samples[20:30], 7), normals(5, "q0", samples, 7)[20:30])


@pytest.mark.parametrize("other", [(6, "q0"), (5, "dq0")])
def test_seeds_and_streams_differ(other):
    samples = np.arange(100)
    assert not (words(5, "q0", samples, 4) == words(*other, samples, 4)).any()


def test_numbers_are_spread_as_they_should():
    """Mean and variance of N numbers are within 5 of their own standard errors."""
    N = 200_000
    u, z = uniforms(1, "a", np.arange(N), 1), normals(1, "b", np.arange(N), 1)
    assert 0 < u.min() and u.max() < 1
    assert abs(u.mean() - 0.5) < 5 * np.sqrt(1 / 12 / N)
    assert abs(z.mean()) < 5 / np.sqrt(N) and abs(z.var() - 1) < 5 * np.sqrt(2 / N)


def test_the_ends_are_never_reached():
    """The largest and the smallest word give numbers within (0, 1), which have normals."""
    for word in (0, 2**64 - 1):
        u = (float(np.uint64(word) >> np.uint64(12)) + 0.5) * 2.0**-52
        assert 0 < u < 1
