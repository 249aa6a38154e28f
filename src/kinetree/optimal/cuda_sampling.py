"""Samples on a GPU: a thread draws the knots of a sample, runs it and sums up its costs.

Graphs and random numbers are those of the CPU. In float64 a sample has the cost of the CPU bit by
bit, unless an angle exceeds 131,072 rad, whose sines are CUDA's. The normal numbers of the samples
that count are drawn again, for products of matrices by cuBLAS, of whole numbers as on the CPU. The
temperature is that of the first `WEIGHED` samples; up to so many, plans agree with those of the CPU
to rounding. In float32, sines and normal numbers are those of CUDA.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.cuda.body import Constants
from kinetree.engine.cuda.emit import ITEMSIZE, bounds
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.launch import load, load_with, require_device
from kinetree.engine.cuda.layout import WARP
from kinetree.engine.cuda.prelude import prelude
from kinetree.engine.kernels.memo import remembered
from kinetree.optimal.cuda import written
from kinetree.optimal.forward import Bounds, clipped
from kinetree.optimal.sampling import (
    BLOCK,
    HALVINGS,
    L_GRID,
    METHODS,
    W_GRID,
    Z_GRID,
    Drawing,
    Sampler,
    Search,
    box_muller,
    exponential,
)

NORMALS = 2 * BLOCK  # normal numbers that a thread draws at once
WEIGHED = 2048  # samples that decide the temperature
FINEST = 4  # whole weights of a sample that counts, at least, on average
THREADS = 1024  # that find the temperature

# Philox 4x64-10 as in NumPy: the first counter of a stream is one more than where it begins
PHILOX = """
KT_FUNCTION unsigned long long kt_high(unsigned long long a, unsigned long long b) {
#if defined(__CUDACC__)
    return __umul64hi(a, b);
#else
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
#endif
}

KT_FUNCTION void kt_normals(
    unsigned long long counter, unsigned long long k0, unsigned long long k1, real *numbers,
    int step) {
    unsigned long long c[4] = {counter + 1, 0, 0, 0};
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const unsigned long long a = 0xD2E7470EE14C6C93ull, b = 0xCA5A826395121157ull;
        const unsigned long long low0 = a * c[0], high0 = kt_high(a, c[0]);
        const unsigned long long low1 = b * c[2], high1 = kt_high(b, c[2]);
        c[0] = high1 ^ c[1] ^ k0, c[1] = low1, c[2] = high0 ^ c[3] ^ k1, c[3] = low0;
        k0 += 0x9E3779B97F4A7C15ull, k1 += 0xBB67AE8584CAA73Bull;
    }
#pragma unroll
    for (int word = 0; word < 4; word++) {
        const real whole[2] = {(real)(unsigned)c[word], (real)(unsigned)(c[word] >> 32)};
        real pair[2];
@PAIR@
        numbers[2 * word * step] = rint(pair[0] * (real)@Z_GRID@);
        numbers[(2 * word + 1) * step] = rint(pair[1] * (real)@Z_GRID@);
    }
}

// thread of some numbers of a sample that counts
KT_ENTRY(128, 1) kt_draw(
    long long count, const long long *samples, const double *weights, unsigned long long seed,
    unsigned long long iteration, double *numbers, double *weighted) {
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= count) return;
    const long long sample = samples[me / @BLOCKS@];
    real drawn[@NORMALS@];
    kt_normals(sample * @BLOCKS@ + me % @BLOCKS@, seed, iteration, drawn, 1);
    for (int e = 0; e < @NORMALS@; e++) {
        const double z = sample ? drawn[e] : 0;
        numbers[me * @NORMALS@ + e] = z, weighted[me * @NORMALS@ + e] = z * weights[sample];
    }
}
"""
# in float32, faster than those with the bits of the CPU, which are computed in float64
QUICK = """
KT_FUNCTION kt_pair kt_quick(real angle) {
    kt_pair pair;
    sincosf(angle, &pair.s, &pair.c);
    return pair;
}
#define kt_near kt_quick
#define kt_far(angle, pair)
#define kt_fn_exp expf
#define kt_fn_log logf
#define kt_fn_tanh tanhf
#define kt_fn_atan2 atan2f
"""
QUICK_PAIR = """
    const real r = sqrtf(-2 * logf((whole[0] + 0.5f) * 0x1p-32f));
    sincosf(whole[1] * 1.4629180792671596e-09f, &pair[1], &pair[0]);
    pair[0] *= r, pair[1] *= r;
"""
SAMPLE = """ kt_sample(
    long long count, int steps, const real *__restrict__ begin, const real *__restrict__ params,
    const real *__restrict__ L, const real *__restrict__ table, const real *__restrict__ times,
    const real *__restrict__ last, unsigned long long seed, unsigned long long iteration,
    double *costs) {
    KT_SHARED(memory);
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= count) return;
    real *y = (real *)memory + threadIdx.x / KT_WARP * (@BLOCKS@ * @NORMALS@ * KT_WARP)
        + threadIdx.x % KT_WARP;
#pragma unroll 1
    for (int b = 0; b < @BLOCKS@; b++)
        kt_normals(me * @BLOCKS@ + b, seed, iteration, y + b * (@NORMALS@ * KT_WARP), KT_WARP);
    {
        real z[@SIZE@];
#pragma unroll
        for (int j = 0; j < @SIZE@; j++) z[j] = me ? y[j * KT_WARP] : 0;
#pragma unroll 1
        for (int i = 0; i < @SIZE@; i++) {
            real sum = 0;
#pragma unroll
            for (int j = 0; j < @SIZE@; j++) sum = kt_fma(L[i * @WIDTH@ + j], z[j], sum);
            y[i * KT_WARP] = sum * L[i * @WIDTH@ + @SIZE@ + 1] + L[i * @WIDTH@ + @SIZE@];
        }
    }
    real x[@STATE@];
#pragma unroll
    for (int j = 0; j < @STATE@; j++) x[j] = j < @NX@ ? begin[j] : 0;
#pragma unroll 1
    for (int e = 0; e < steps; e++) {
        const real *row = table + e * @ROW@, *knot = y + (int)row[0] * (@M@ * KT_WARP);
        const real now = times[e], *moving = row + 3 + @M@;
        real u[@M@], next[@STATE@];
#pragma unroll
        for (int j = 0; j < @M@; j++)
            u[j] = row[3 + j]
                + kt_fma(row[2], knot[(@M@ + j) * KT_WARP], row[1] * knot[j * KT_WARP]);
@STEP@
#pragma unroll
        for (int j = 0; j < @STATE@; j++) x[j] = next[j];
    }
    real ends[@KINDS@], total = 0;
@END@
#pragma unroll
    for (int j = 0; j < @KINDS@; j++) total += x[@NX@ + j] + ends[j];
    costs[me] = kt_is_finite(total) ? (double)total : (double)kt_bits(0x7ffull << 52);
}
"""
TEMPERATURE = """
KT_ENTRY(1024, 1) kt_temperature(
    long long count, int samples, const double *costs, const double *least,
    unsigned long long share, double *temperature) {
    KT_SHARED(memory);
    double *sums = (double *)memory, lower = 1e-30, upper = 1e30, middle = 1, over[@EACH@];
    const int me = threadIdx.x, warps = blockDim.x / KT_WARP;
    int finite = 0;
    for (int s = 0; s < samples; s += blockDim.x)
        finite += __syncthreads_count(s + me < samples && kt_is_finite(costs[s + me]));
    const double few = kt_bits(share) * finite, counting = few < 1 ? 1 : few;
#pragma unroll
    for (int e = 0; e < @EACH@; e++) {
        const int s = e * blockDim.x + me;
        over[e] = s < samples ? costs[s] - *least : kt_bits(0x7ffull << 52);
    }
#pragma unroll 1
    for (int k = 0; k < @HALVINGS@; k++) {
        double once = 0, twice = 0;
        middle = kt_sqrt(lower * upper);
#pragma unroll
        for (int e = 0; e < @EACH@; e++) {
            const double i = -over[e] / middle;
            double w[1];
@EXP@
            once += w[0], twice += w[0] * w[0];
        }
        for (int far = KT_WARP / 2; far; far /= 2) {
            once += __shfl_sync(0xffffffffu, once, me % KT_WARP ^ far);
            twice += __shfl_sync(0xffffffffu, twice, me % KT_WARP ^ far);
        }
        if (me % KT_WARP == 0) sums[me / KT_WARP * 2] = once, sums[me / KT_WARP * 2 + 1] = twice;
        __syncthreads();
        once = twice = 0;
        for (int j = 0; j < warps; j++) once += sums[2 * j], twice += sums[2 * j + 1];
        __syncthreads();
        (once * once < counting * twice ? lower : upper) = middle;
    }
    if (me == 0) *temperature = middle;
}
"""


class CudaSampler:
    """Draws samples on the current GPU by the graphs of a sampler. It can be made without one."""

    def __init__(self, runs: Sampler, dtype: str = "float64") -> None:
        self.runs, self.dtype, self.size = runs, dtype, runs.knots * runs.m
        self.blocks = -(-self.size // NORMALS)
        self._known: dict[int, dict[str, Any]] = {}
        self.exponential = CudaKernel(exponential().graph, "exp")

    def source(self) -> str:
        """The kernels `kt_sample` and `kt_draw` as CUDA C++."""
        runs, noise, quick = self.runs, box_muller().graph, self.dtype == "float32"
        step, end, constants = self._step(), runs.end.graph, Constants("kt_constants", self.dtype)
        names = {"t": "now", "x": "x", "u": "u", "p": "params", "s": "moving"}
        pair = written(noise, constants, {"i": "whole"}, ["pair"])
        parts: dict[str, Any] = {
            "PAIR": QUICK_PAIR if quick else "\n".join(pair),
            "STEP": "\n".join(written(step, constants, names, ["next"])),
            "END": "\n".join(written(end, constants, {"x": "x", "p": "last"}, ["ends"])),
            "M": runs.m, "NX": runs.nx, "KINDS": runs.kinds, "STATE": runs.nx + runs.kinds,
            "SIZE": self.size, "WIDTH": self.size + 2, "BLOCKS": self.blocks, "NORMALS": NORMALS,
            "ROW": 3 + runs.m + len(runs.varying), "Z_GRID": Z_GRID,
        }  # fmt: skip
        text = f"{QUICK if quick else ''}{PHILOX}\n{bounds()}{SAMPLE}"
        for name, value in parts.items():
            text = text.replace(f"@{name}@", str(value))
        return f"{prelude(self.dtype, step, end, noise)}\n{constants.text()}{text}"

    def temperature_source(self) -> str:
        """The kernel `kt_temperature`."""
        graph, constants = exponential().graph, Constants("kt_constants", "float64")
        lines = "\n".join(written(graph, constants, {"x": "i"}, ["w"]))
        text = TEMPERATURE.replace("@EXP@", lines).replace("@HALVINGS@", str(HALVINGS))
        text = text.replace("@EACH@", str(WEIGHED // THREADS))
        return f"{prelude('float64', graph)}\n{constants.text()}{text}"

    def _step(self) -> Graph:
        """The graph of a step: the next state and the sums of costs."""
        runs, this = self.runs, self.runs.this

        def step(t: Any, x: Array, u: Array, p: Array, *moving: Array) -> Array:
            low, high, constant = np.split(p, [runs.m, 2 * runs.m])
            here = np.empty(this.layout.size, object)
            here[0], here[runs.constant] = t, constant
            here[runs.varying] = moving[0] if moving else 0
            u = np.array([clipped(*each) for each in zip(u, low, high, strict=True)])
            costs = x[runs.nx :] + this.costs_of(x[: runs.nx], u, here)
            return np.concatenate([this.next_state(x[: runs.nx], u, here), costs])

        sizes = {"x": runs.nx + runs.kinds, "u": runs.m, "p": 2 * runs.m + len(runs.constant)}
        sizes |= {"s": len(runs.varying)} if runs.varying else {}
        ports = [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]
        return optimise(trace(step, ports))

    def draw(self, x0: Array, table: Array, p: Array, bounds: Bounds, search: Search) -> Drawing:
        """The same as `Sampler.draw`."""
        runs, cp, launches = self.runs, require_device(), self.launches
        S, size, knots = search.samples, self.size, self.runs.knots
        hats, others = np.split(table, [knots], axis=1)
        first, all_steps = np.minimum((hats > 0).argmax(1), knots - 2), np.arange(len(table))
        ends = [hats[all_steps, first], hats[all_steps, first + 1]]
        rows = np.concatenate([np.stack([first, *ends], axis=1), others], axis=1)
        params = np.concatenate([bounds.low, bounds.high, p[0, runs.constant]])
        arrays = [x0, params, None, rows, p[:-1, 0], p[-1]]
        arrays = [x if x is None else self._moved(x) for x in arrays]
        seed, share = np.uint64(search.seed), np.float64(search.share).view("uint64")
        grid = max(W_GRID, FINEST * search.share * S)

        def weighed(mean: Array, L: Array, number: int) -> tuple[float, Array, Array]:
            unit = np.abs(L).max() / L_GRID
            scale = np.full(size, unit / Z_GRID)
            arrays[2] = self._moved(np.column_stack([np.rint(L / unit), mean, scale]))
            costs, turn = cp.empty(S, "float64"), np.uint64(number)
            launches["kt_sample"](S, [np.int32(len(table)), *arrays, seed, turn, costs])
            least = costs.min(keepdims=True)
            if search.method == METHODS[0]:
                T, few = cp.empty(1), np.int32(min(S, WEIGHED))
                launches["kt_temperature"](THREADS, [few, costs, least, share, T])
                w = self.exponential((least - costs) / T)
            else:
                count = max(1, int(search.share * int(cp.isfinite(costs).sum())))
                w = cp.zeros(S)
                w[cp.argsort(costs)[:count]] = 1.0
            w = cp.rint(w * (grid / w.sum()))
            counted = cp.flatnonzero(w)
            z, weighted = cp.empty((2, len(counted), self.blocks * NORMALS))
            arguments = [counted, w, seed, turn, z, weighted]
            launches["kt_draw"](len(counted) * self.blocks, arguments)
            step = w[counted] @ z / (grid * Z_GRID)
            spread = weighted.T @ z / (grid * Z_GRID**2)
            return float(least[0]), cp.asnumpy(step)[:size], cp.asnumpy(spread)[:size, :size]

        return weighed

    def _moved(self, x: Array) -> Any:
        cp = require_device()
        return cp.ascontiguousarray(cp.asarray(x, self.dtype))

    @property
    def launches(self) -> dict[str, Any]:
        """The kernels on the current GPU, compiled at the first request."""
        device = require_device().cuda.Device().id
        if device not in self._known:
            source, waiting = self.source(), self.blocks * NORMALS * WARP * ITEMSIZE[self.dtype]
            # a block of `load_with` has at most four warps
            temperature = load_with(self.temperature_source(), "kt_temperature", THREADS // 8, 0)
            self._known[device] = {
                "kt_sample": load(source, "kt_sample", waiting),
                "kt_draw": load(source, "kt_draw", 0),
                "kt_temperature": replace(temperature, threads=THREADS, shared=16),
            }
        return self._known[device]


def cuda_sampler(runs: Sampler, dtype: str) -> CudaSampler:
    """The kernels of a sampler, which are kept with its robot."""
    return remembered(
        runs.this.model, ("cuda sampling", runs, dtype), lambda: CudaSampler(runs, dtype)
    )
