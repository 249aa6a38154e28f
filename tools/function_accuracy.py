"""Measure exp, log, tanh and atan2 of compiled kernels: greatest error in ulp, and throughput.

Errors are found with mpmath in 120 bits. Arguments are random over the whole range of numbers,
random over everyday ranges, and structured: neighbours of the points where the reduction of the
argument, the sign or the exponent of the result changes, powers of two, and subnormal numbers.
Run with `python tools/function_accuracy.py [count]`, a million arguments for each function and
number type by default (needs mpmath; several minutes). `--quick` leaves the throughput out.
"""

import argparse
import ctypes
import math
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from kinetree import scalars
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel

Floats = NDArray[np.floating]
NAMES = ("exp", "log", "tanh", "atan2")
NUMPY = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "atan2": np.arctan2}
BATCH = 4096  # numbers that a throughput is measured with; they stay in the cache
ROW = 16  # functions of one state, as in a robot with several joints


def kernel(name: str, *shape: int) -> Kernel:
    """The function of every element as a compiled kernel."""
    names = ["a", "b"] if name == "atan2" else ["a"]
    graph = trace(getattr(scalars, name), [Port(x, shape) for x in names], [("y", ())])
    return Kernel(optimise(graph), name)


def neighbours(points: Floats, steps: int = 3) -> Floats:
    """The points and the numbers next to them, of both signs."""
    found = [points]
    for way in (-np.inf, np.inf):
        x = points
        for _ in range(steps):
            x = np.nextafter(x, points.dtype.type(way))
            found.append(x)
    everything = np.concatenate(found)
    return np.concatenate([everything, -everything])


def structured(dtype: str) -> Floats:
    """Points at which something changes in one of the functions."""
    kind = np.dtype(dtype).type
    info = np.finfo(dtype)
    powers = 2.0 ** np.arange(info.minexp - info.nmant, info.maxexp)
    halves = (np.arange(-1080, 1030) + 0.5) * math.log(2)
    edges = [math.sqrt(0.5), math.sqrt(2), math.tan(math.pi / 8), 1.0, 20.0, 745.2, 709.8, 88.8]
    points = np.concatenate([powers, np.abs(halves), np.abs(halves) / 2, edges])
    return neighbours(points[points < float(info.max)].astype(kind))


def random_sizes(rng: np.random.Generator, count: int, low: float, high: float) -> Floats:
    """Numbers of both signs with exponents of ten between two bounds."""
    return rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(low, high, count)


def arguments(name: str, dtype: str, count: int, seed: int = 0) -> tuple[Floats, ...]:
    """Arguments of one function, about `count` of them."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    low, high = math.log10(float(info.smallest_subnormal)), math.log10(float(info.max)) - 0.01
    edges = structured(dtype)
    if len(edges) > count // 4:
        edges = rng.choice(edges, count // 4, replace=False)
    part = (count - len(edges)) // 4
    if name == "atan2":
        y = np.concatenate([rng.normal(size=2 * part), random_sizes(rng, part, low, high)])
        x = np.concatenate([rng.normal(size=2 * part), random_sizes(rng, part, low, high)])
        size = random_sizes(rng, part, -30, 30)
        y, x = np.concatenate([y, size]), np.concatenate([x, size * rng.uniform(-3, 3, part)])
        y, x = np.concatenate([y, edges]), np.concatenate([x, rng.permutation(edges)])
        return y.astype(dtype) + 0, x.astype(dtype) + 0  # mpmath has no negative zero
    ranges = {
        "exp": (math.log(float(info.max)) * 1.06, 1.0),
        "log": (3.0, 1.1),
        "tanh": (22.0, 1.0),
    }
    wide, near = ranges[name]
    x = np.concatenate(
        [
            rng.uniform(-wide, wide, part),
            rng.uniform(-near, near, part) if name != "log" else 1 + rng.normal(size=part) * 0.1,
            random_sizes(rng, part, low, high),
            1 + random_sizes(rng, part, -16, -1) if name == "log" else rng.normal(size=part) * 8,
            edges,
        ]
    )
    return ((abs(x) if name == "log" else x).astype(dtype),)


def errors(name: str, found: Floats, args: tuple[Floats, ...]) -> Floats:
    """Error of each result in units of the last place of the correct one; finite results only."""
    high, low = np.empty(len(found)), np.zeros(len(found))
    lift = 300
    function: Callable[..., mp.mpf] = getattr(mp, name)
    with mp.workprec(120):
        for k, row in enumerate(zip(*(x.tolist() for x in args), strict=True)):
            exact = function(*(mp.mpf(x) for x in row))
            high[k] = float(exact)
            if math.isfinite(high[k]):  # the rest of a subnormal number is below the range
                low[k] = float(mp.ldexp(exact - high[k], lift if abs(high[k]) < 1e-200 else 0))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(high.astype(found.dtype))).astype(float)
        rest = low / np.where(abs(high) < 1e-200, np.ldexp(unit, lift), unit)
        wrong = np.abs((found.astype(float) - high) / unit - rest)
        same = found == high.astype(found.dtype)  # infinities
    return np.where(np.isfinite(wrong), wrong, np.where(same, 0.0, np.inf))


def worst(name: str, dtype: str, count: int) -> tuple[float, tuple[float, ...], int]:
    """The greatest error, where it is, and how many arguments were tried."""
    args = arguments(name, dtype, count)
    wrong = errors(name, np.asarray(kernel(name)(*args)), args)
    k = int(np.argmax(wrong))
    return float(wrong[k]), tuple(float(x[k]) for x in args), len(wrong)


def seconds(call: Callable[[], object]) -> float:
    """The time of one call, the best of several runs."""
    best = math.inf
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(50):
            call()
        best = min(best, (time.perf_counter() - start) / 50)
    return best


def library(name: str, dtype: str) -> Callable[..., object] | None:
    """A loop over the function of the C library; None without a compiler."""
    if shutil.which("gcc") is None:
        return None
    word, call = ("double", name) if dtype == "float64" else ("float", f"{name}f")
    arguments = "a[i], b[i]" if name == "atan2" else "a[i]"
    text = (
        f"#include <math.h>\nvoid f(const {word} *a, const {word} *b, {word} *y, long n)\n"
        f"{{ for (long i = 0; i < n; i++) y[i] = {call}({arguments}); }}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcc", "-O2", "-shared", "-fPIC", "-xc", "-", "-o", f"{folder}/f.so", "-lm"]
        subprocess.run(command, input=text, text=True, check=True)
        return ctypes.CDLL(f"{folder}/f.so").f


def throughput(name: str, dtype: str) -> Iterator[float]:
    """Nanoseconds for one number: of the kernel, of NumPy, and of the C library."""
    rng = np.random.default_rng(1)
    args = [rng.uniform(0.1, 5, (BATCH // ROW, ROW)).astype(dtype) for _ in range(2)]
    own, out, loop = kernel(name, ROW), np.empty_like(args[0]), library(name, dtype)
    used = args[: 2 if name == "atan2" else 1]
    yield seconds(lambda: own(*used, out=out)) / BATCH * 1e9
    yield seconds(lambda: NUMPY[name](*used, out=out)) / BATCH * 1e9
    if loop is not None:
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*args, out)]
        yield seconds(lambda: loop(*pointers, ctypes.c_long(BATCH))) / BATCH * 1e9


def lines(names: Sequence[str], count: int, timed: bool) -> Iterator[str]:
    """The table of results."""
    yield "| function | type | arguments | greatest error, ulp | at | ns | NumPy, ns | libm, ns |"
    yield "|---|---|--:|--:|---|--:|--:|--:|"
    for name in names:
        for dtype in ("float64", "float32"):
            error, at, tried = worst(name, dtype, count)
            times = [f"{x:.2f}" for x in throughput(name, dtype)] if timed else []
            times += ["-"] * (3 - len(times))
            place = ", ".join(f"{x:.17g}" for x in at)
            yield f"| {name} | {dtype} | {tried:,} | {error:.3f} | {place} | {' | '.join(times)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", nargs="?", type=int, default=1_050_000)
    parser.add_argument("--function", choices=NAMES, action="append", help="only this one")
    parser.add_argument("--quick", action="store_true", help="without the throughput")
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}\n")
    for line in lines(given.function or NAMES, given.count, not given.quick):
        print(line, flush=True)


if __name__ == "__main__":
    main()
