"""Plans by sampling on a GPU: a thread runs a sample, draws its noise and sums up its costs.

The graphs are those of the CPU, and so are the random numbers: in float64 every sample has the cost
of the CPU, bit by bit. Noise is not stored: the second kernel draws that of the samples that count
again, and adds them up in groups of `GROUP` samples. CuPy adds the groups. This order differs from
that of the CPU, so plans agree to rounding; one GPU repeats its bits.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.cuda.body import Constants, statements
from kinetree.engine.cuda.emit import ITEMSIZE, bounds
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.launch import load, require_device
from kinetree.engine.cuda.layout import WARP
from kinetree.engine.cuda.prelude import prelude
from kinetree.engine.kernels.memo import remembered
from kinetree.optimal.forward import Bounds
from kinetree.optimal.ilqr import ITERATIONS, Plans
from kinetree.optimal.sampling import (
    BLOCK,
    ELITES,
    LOST,
    METHODS,
    SMALLEST_WEIGHT,
    Sampler,
    Search,
    box_muller,
    exponential,
    filtered,
    unfiltered,
)

NORMALS = 2 * BLOCK  # normal numbers that a thread draws at once
GROUP = 256  # neighbouring samples that one thread adds up

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
        numbers[2 * word * step] = pair[0], numbers[(2 * word + 1) * step] = pair[1];
    }
}
"""
# thread of a block of numbers of a group of samples; centre: squares of the distance from it
MEAN = """
KT_ENTRY(128, 1) kt_mean(
    long long count, long long samples, int size, const double *weights, const real *mean,
    const real *spread, const double *centre, unsigned long long seed,
    unsigned long long iteration, double *sums) {
    const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (me >= count) return;
    const int blocks = (size + @NORMALS@ - 1) / @NORMALS@, first = me % blocks * @NORMALS@;
    const long long begin = me / blocks * @GROUP@;
    const long long end = begin + @GROUP@ < samples ? begin + @GROUP@ : samples;
    double sum[@NORMALS@] = {};
    for (long long s = begin; s < end; s++) {
        const double weight = weights[s];
        if (!(weight > @SMALLEST@)) continue;
        real drawn[@NORMALS@];
        kt_normals(s * blocks + me % blocks, seed, iteration, drawn, 1);
#pragma unroll
        for (int e = 0; e < @NORMALS@; e++) {
            if (first + e >= size) continue;
            const real noise = s ? drawn[e] * spread[first + e] : 0;
            const double v = noise + mean[first + e];
            const double away = centre ? v - centre[first + e] : 0;
            sum[e] += weight * (centre ? away * away : v);
        }
    }
    for (int e = 0; e < @NORMALS@; e++)
        if (first + e < size) sums[me / blocks * size + first + e] = sum[e];
}
"""
ARGUMENTS = """
    long long count, int steps, const real *__restrict__ begin, const real *__restrict__ params,
    const real *__restrict__ table, const real *__restrict__ spread,
    const real *__restrict__ times, const real *__restrict__ last, unsigned long long seed,
    unsigned long long iteration, double *costs"""


class CudaSampler:
    """Searches on the current GPU, with the graphs of a sampler. It can be made without one."""

    def __init__(self, runs: Sampler, dtype: str = "float64") -> None:
        self.runs, self.dtype = runs, dtype
        self.waiting = 1 << (runs.m + NORMALS - 1).bit_length()  # normal numbers of a thread
        self._known: dict[int, dict[str, Any]] = {}
        self.exponential = CudaKernel(exponential().graph, "exp")

    def source(self) -> str:
        """The kernels `kt_sample` and `kt_mean` as CUDA C++."""
        rate, end, noise = self.runs.loop.stepping.rate, self.runs.end.graph, box_muller().graph
        constants = Constants("kt_constants", self.dtype)
        pair = written(noise, constants, {"i": "whole"}, ["pair"], 8)
        body = "\n".join(f"    {line}" for line in self._sample(rate, end, constants))
        drawing = (PHILOX + MEAN).replace("@PAIR@", "\n".join(pair))
        for name, value in (("NORMALS", NORMALS), ("GROUP", GROUP), ("SMALLEST", SMALLEST_WEIGHT)):
            drawing = drawing.replace(f"@{name}@", repr(value))
        return (
            f"{prelude(self.dtype, rate, end, noise)}\n{constants.text()}{drawing}\n"
            f"{bounds()} kt_sample({ARGUMENTS}) {{\n{body}\n}}\n"
        )

    def _sample(self, rate: Graph, end: Graph, constants: Constants) -> Iterator[str]:
        """The body of `kt_sample`: costs of one sample; the first one is the plan itself."""
        m, nx, kinds = self.runs.m, self.runs.nx, self.runs.kinds
        x, width, mask = nx + kinds + m, m + len(self.runs.varying), self.waiting - 1
        yield "KT_SHARED(memory);"
        yield "const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;"
        yield "if (me >= count) return;"
        yield f"real *ring = (real *)memory + threadIdx.x / KT_WARP * {self.waiting * WARP}"
        yield "    + threadIdx.x % KT_WARP;"
        yield f"unsigned long long counter = me * ((steps * {m} + {NORMALS - 1}) / {NORMALS});"
        yield f"real x[{x}];"
        yield from (f"x[{j}] = {f'begin[{j}]' if j < nx else '0'};" for j in range(x))
        yield "int drawn = 0, used = 0;"
        yield "#pragma unroll 1"
        yield "for (int e = 0; e < steps; e++) {"
        yield f"while (drawn < used + {m}) {{"
        yield f"    kt_normals(counter++, seed, iteration, ring + (drawn & {mask}) * KT_WARP,"
        yield "        KT_WARP);"
        yield f"    drawn += {NORMALS};"
        yield "}"
        yield f"const real *row = table + (long long)e * {width};"
        yield "[[maybe_unused]] const real now = times[e];"
        yield f"real signals[{width}], next[{x}];"
        yield f"[[maybe_unused]] real y[{m}];"
        for j in range(m):
            noise = f"ring[((used + {j}) & {mask}) * KT_WARP] * spread[e * {m} + {j}]"
            yield f"signals[{j}] = (me ? {noise} : 0) + row[{j}];"
        yield from (f"signals[{j}] = row[{j}];" for j in range(m, width))
        yield f"used += {m};"
        names = {"x": "x", "p": "params", "s": "signals", "t": "now"}
        yield from written(rate, constants, names, ["next", "y"])
        yield from (f"x[{j}] = next[{j}];" for j in range(x))
        yield "}"
        yield f"real ends[{kinds}], total = 0;"
        yield from written(end, constants, {"x": "x", "p": "last"}, ["ends"])
        yield from (f"total += x[{nx + j}] + ends[{j}];" for j in range(kinds))
        yield "costs[me] = kt_is_finite(total) ? (double)total : (double)kt_bits(0x7ffull << 52);"

    def search(
        self, x0: Array, u: Array, noise: Array, p: Array, bounds: Bounds, search: Search,
        each: Callable[[], None],
    ) -> Plans:  # fmt: skip
        """The same as `Sampler.search`; plans themselves run on the CPU."""
        runs, history = self.runs, list[dict[str, Array]]()
        a = float(exponential()(-runs.this.h / search.smooth)) if search.smooth else 0.0
        spread = np.tile(noise, (len(u), 1))
        spread[1:] *= np.sqrt(1 - a * a)
        best, begin = runs.plan(x0, u, p, bounds), self.prepared(x0, p, bounds, a)
        for number in range(search.iterations):
            around = unfiltered(u, a), spread
            costs = self.costs(begin, around, search, number)
            least = float(costs.min())
            if np.isfinite(least):
                mean, spread = self.moved(costs, around, search, number)
                u = np.clip(filtered(mean, a), bounds.low, bounds.high)
            plan = runs.plan(x0, u, p, bounds)
            if plan.cost < best.cost or not np.isfinite(best.cost):
                best = plan
            row = {"iteration": [number + 1], "cost": plan.cost, "least": [least]}
            history.append({key: np.array(x) for key, x in row.items()})
            each()
        reason = ITERATIONS if np.isfinite(best.cost) else LOST
        return replace(best, reasons=[reason], history=history)

    def prepared(self, x0: Array, p: Array, bounds: Bounds, a: float) -> dict[str, Any]:
        """The arrays of a search that stay, on the GPU."""
        runs, cp = self.runs, require_device()
        params = np.concatenate([[a], bounds.low, bounds.high, p[0, runs.constant]])
        arrays = {"begin": x0, "params": params, "times": p[:-1, 0], "last": p[-1]}
        arrays["paths"] = p[:-1, runs.varying]
        return {name: cp.ascontiguousarray(cp.asarray(x, self.dtype)) for name, x in arrays.items()}

    def costs(
        self, begin: dict[str, Any], around: tuple[Array, Array], search: Search, number: int
    ) -> Any:
        """Costs of all samples around a mean with a spread, (N, m) each; infinite where not finite.

        The result, (S,), is on the GPU and in float64.
        """
        cp, (mean, spread) = require_device(), around
        table = cp.concatenate([cp.asarray(mean, self.dtype), begin["paths"]], axis=1)
        costs = cp.empty(search.samples, "float64")
        arrays = [
            np.int32(len(mean)), begin["begin"], begin["params"], cp.ascontiguousarray(table),
            cp.asarray(spread, self.dtype), begin["times"], begin["last"],
            np.uint64(search.seed), np.uint64(number), costs,
        ]  # fmt: skip
        self.launches["kt_sample"](search.samples, arrays)
        return costs

    def moved(
        self, costs: Any, around: tuple[Array, Array], search: Search, number: int
    ) -> tuple[Array, Array]:
        """Mean and spread of v, (N, m), for the next samples."""
        cp = require_device()
        order = costs.view("int64")  # costs are not negative: their bits have the same order
        if search.method == METHODS[0]:
            costs_in_order = cp.sort(order).view("float64")
            finite, least = cp.isfinite(costs).sum(), costs_in_order[0]
            middle = costs_in_order.take(cp.stack([(finite - 1) // 2, finite // 2])).sum() / 2
            scale = search.temperature * (middle - least)
            weights = self.exponential((least - costs) / cp.where(scale == 0, 1.0, scale))
            counted = cp.where(weights > SMALLEST_WEIGHT, weights, 0.0)
            mean = cp.asnumpy(self.sums(counted, around, search, number) / counted.sum())
            return mean, around[1]
        elites = search.elites or max(2, search.samples // ELITES)
        elites = min(elites, int(cp.isfinite(costs).sum()))
        weights = cp.zeros(len(costs))
        weights[cp.argsort(order)[:elites]] = 1.0
        mean = self.sums(weights, around, search, number) / elites
        if elites == 1:
            return cp.asnumpy(mean), around[1]
        squares = self.sums(weights, around, search, number, mean)
        return cp.asnumpy(mean), cp.asnumpy(cp.sqrt(squares / elites))

    def sums(
        self, weights: Any, around: tuple[Array, Array], search: Search, number: int,
        centre: Any = None,
    ) -> Any:  # fmt: skip
        """Weighted sums of v, (N, m), on the GPU; with a centre those of (v - centre)^2."""
        cp, shape = require_device(), around[0].shape
        size, groups = around[0].size, -(-search.samples // GROUP)
        made = cp.empty((groups, size), "float64")
        arrays = [
            np.int64(search.samples), np.int32(size), weights,
            *(cp.asarray(x, self.dtype) for x in around),
            np.uint64(0) if centre is None else centre,
            np.uint64(search.seed), np.uint64(number), made,
        ]  # fmt: skip
        self.launches["kt_mean"](groups * -(-size // NORMALS), arrays)
        return made.sum(0).reshape(shape)

    @property
    def launches(self) -> dict[str, Any]:
        """The kernels on the current GPU, compiled at the first request."""
        device = require_device().cuda.Device().id
        if device not in self._known:
            source, waiting = self.source(), self.waiting * WARP * ITEMSIZE[self.dtype]
            shared = {"kt_sample": waiting, "kt_mean": 0}
            self._known[device] = {name: load(source, name, x) for name, x in shared.items()}
        return self._known[device]


def written(
    graph: Graph, constants: Constants, inputs: dict[str, str], outputs: list[str], indent: int = 0
) -> Iterator[str]:
    """Lines of a graph in brackets, with arrays by the names of its inputs and in order of outputs.

    An input of shape () is a number and no array.
    """
    ports = graph.inputs

    def read(port: int, element: int) -> str:
        name = inputs[ports[port].name]
        return name if ports[port].shape == () else f"{name}[{element}]"

    yield " " * indent + "{"
    for line in statements(graph, constants, read, lambda k, e: f"{outputs[k]}[{e}]"):
        yield " " * indent + f"    {line}"
    yield " " * indent + "}"


def cuda_sampler(runs: Sampler, dtype: str) -> CudaSampler:
    """The kernels of a sampler, which are kept with its robot."""
    return remembered(
        runs.this.model, ("cuda sampling", runs, dtype), lambda: CudaSampler(runs, dtype)
    )
