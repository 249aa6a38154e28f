"""Random numbers that depend on their place alone: Philox 4x64-10 over arrays of counters.

Sample i of a study has the key (seed, i); the argument that is drawn and the place of a number in
it make the counter. A sample therefore has the same numbers wherever, whenever and beside whichever
other samples it is computed (Salmon and others 2011, "Parallel random numbers: as easy as 1, 2,
3"). The words are those of numpy.random.Philox, which has one key at a time: setting a key for
every sample would make a sweep five times slower, so that the rounds are written out here.
Integers and products by powers of two are exact, so that every machine gives the same bits.
"""

from hashlib import sha256
from statistics import NormalDist

import numpy as np

from kinetree.core.arrays import Array

MULTIPLIERS = np.array([0xD2E7470EE14C6C93, 0xCA5A826395121157], np.uint64)
WEYL = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], np.uint64)
ROUNDS = 10
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox(counter: Array, key: Array) -> Array:
    """Four words, (..., 4), for counters (..., 4) and keys (..., 2), all uint64."""
    x0, x1, x2, x3 = (counter[..., k] for k in range(4))
    k0, k1 = key[..., 0], key[..., 1]
    for _ in range(ROUNDS):
        high0, low0 = _product(MULTIPLIERS[0], x0)
        high1, low1 = _product(MULTIPLIERS[1], x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ k0, low1, high0 ^ x3 ^ k1, low0
        k0, k1 = k0 + WEYL[0], k1 + WEYL[1]
    return np.stack([x0, x1, x2, x3], axis=-1)


def _product(a: np.uint64, b: Array) -> tuple[Array, Array]:
    """High and low word of the 128-bit product a b, by 32-bit halves."""
    a0, a1, b0, b1 = a & LOW, a >> HALF, b & LOW, b >> HALF
    middle = a1 * b0 + ((a0 * b0) >> HALF)
    other = a0 * b1 + (middle & LOW)
    return a1 * b1 + (middle >> HALF) + (other >> HALF), np.asarray(a * b)


def words(seed: int, stream: str, samples: Array, count: int) -> Array:
    """Random words, (S, count), uint64, of samples (S,); each use has a stream of its own."""
    blocks = -(-count // 4)
    counter = np.zeros((len(samples), blocks, 4), np.uint64)
    counter[..., 0] = np.arange(1, blocks + 1, dtype=np.uint64)
    counter[..., 1] = int.from_bytes(sha256(stream.encode()).digest()[:8], "little")
    key = np.zeros((len(samples), 1, 2), np.uint64)
    key[..., 0] = np.uint64(seed)
    key[..., 1] = np.asarray(samples, np.uint64)[:, None]
    return philox(counter, key).reshape(len(samples), 4 * blocks)[:, :count]


def uniforms(seed: int, stream: str, samples: Array, count: int) -> Array:
    """Numbers between 0 and 1, both excluded, (S, count): odd multiples of 2^-53."""
    bits = words(seed, stream, samples, count) >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52


def normals(seed: int, stream: str, samples: Array, count: int) -> Array:
    """Standard normal numbers, (S, count), by the inverse of the distribution function.

    One number at a time, because NumPy's vector functions may round differently in some lanes.
    """
    inverse = NormalDist().inv_cdf
    u = uniforms(seed, stream, samples, count)
    return np.array([inverse(x) for x in u.ravel().tolist()]).reshape(u.shape)
