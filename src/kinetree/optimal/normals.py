"""Independent normal numbers that depend on seed, iteration, sample and place alone.

Philox 4x64-10 makes whole numbers (Salmon et al. 2011), which a kernel turns into normal ones by
Box and Muller. NumPy has Philox for the CPU; the text below is the same for a GPU, so that both
draw the same bits.
"""

from functools import cache
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.cuda.body import Constants
from kinetree.engine.cuda.launch import load, require_device
from kinetree.engine.cuda.prelude import prelude
from kinetree.engine.kernel import Kernel
from kinetree.optimal.cuda import APART, graph_function
from kinetree.optimal.transcription import compiled
from kinetree.scalars import cos, log, sin, sqrt

BLOCK = 4  # words of 64 bits that Philox makes at once, each for two normal numbers


@cache
def box_muller() -> Kernel:
    """Two normal numbers from two whole ones below 2^32."""

    def pair(i: Array) -> Array:
        r, angle = sqrt(-2 * log((i[0] + 0.5) * 2.0**-32)), i[1] * (2.0**-31 * np.pi)
        return np.array([r * cos(angle), r * sin(angle)])

    return compiled(pair, [Port("i", (2,))], "normal numbers")


def normals(seed: int, iteration: int, samples: int, size: int) -> Array:
    """Normal numbers, (samples, size); those of a sample do not depend on the number of samples."""
    blocks = -(-size // (2 * BLOCK))
    source = np.random.Philox(key=np.array([seed, iteration], np.uint64))
    words = source.random_raw(samples * blocks * BLOCK)
    halves = words.astype("<u8", copy=False).view("<u4").astype(float)
    return box_muller()(halves.reshape(-1, 2)).reshape(samples, -1)[:, :size]


# the first counter of a stream of NumPy is one more than where it begins
PHILOX = """
KT_FUNCTION unsigned long long kt_high(unsigned long long a, unsigned long long b) {
#if defined(__CUDACC__)
    return __umul64hi(a, b);
#else
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
#endif
}

KT_FUNCTION void kt_block(
    unsigned long long counter, unsigned long long k0, unsigned long long k1, real *numbers) {
    unsigned long long c[4] = {counter + 1, 0, 0, 0};
    for (int round = 0; round < 10; round++) {
        const unsigned long long a = 0xD2E7470EE14C6C93ull, b = 0xCA5A826395121157ull;
        const unsigned long long low0 = a * c[0], high0 = kt_high(a, c[0]);
        const unsigned long long low1 = b * c[2], high1 = kt_high(b, c[2]);
        c[0] = high1 ^ c[1] ^ k0, c[1] = low1, c[2] = high0 ^ c[3] ^ k1, c[3] = low0;
        k0 += 0x9E3779B97F4A7C15ull, k1 += 0xBB67AE8584CAA73Bull;
    }
    for (int word = 0; word < 4; word++) {
        const real whole[2] = {(real)(unsigned)c[word], (real)(unsigned)(c[word] >> 32)};
        kt_normal_pair(whole, numbers + 2 * word);
    }
}
"""
ENTRY = """
KT_ENTRY(128, 1) kt_normals(
    long long count, unsigned long long seed, unsigned long long iteration, real *numbers) {
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (me < count) kt_block(me, seed, iteration, numbers + 8 * me);
}
"""


def philox_text() -> str:
    """CUDA C++ of `kt_block`, which writes the eight normal numbers of a counter."""
    graph, constants = box_muller().graph, Constants("kt_constants", "float64")
    pair = graph_function("normal_pair", graph, constants)
    return "\n".join([prelude("float64", graph), APART, constants.text(), pair, PHILOX])


@cache
def normals_launch(device: int) -> Any:
    """The kernel of normal numbers on a GPU."""
    return load(philox_text() + ENTRY, "kt_normals", 0)


def cuda_normals(seed: int, iteration: int, samples: int, size: int) -> Any:
    """The same as `normals` on the current GPU."""
    cp, blocks = require_device(), -(-size // (2 * BLOCK))
    numbers = cp.empty((samples, blocks * 2 * BLOCK))
    launch = normals_launch(cp.cuda.Device().id)
    launch(samples * blocks, [np.uint64(seed), np.uint64(iteration), numbers])
    return numbers[:, :size]
