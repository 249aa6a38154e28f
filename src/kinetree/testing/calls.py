"""Ways of calling a kernel: batch sizes, addresses, threads, processes, and code from the cache.

Every way must give the bits of calls with one state. These are the ways in which the processor, the
operating system or the disk takes part; the tests of the repository try the others.
"""

import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from kinetree import robots
from kinetree.core.arrays import Array
from kinetree.engine.cache import entries, folder
from kinetree.engine.call.threads import threads
from kinetree.robot import Robot
from kinetree.testing.machine import has_llvm, run_python, starts_processes
from kinetree.testing.record import Finding, Options, equal, skipped

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy")
LARGEST_BATCH = 1000  # states
INTERPRETED_BATCH = 40  # states, where kernels are interpreted
SHARED_BATCH = 20_011  # states that several threads share; a prime, so that pieces end unevenly
THREAD_COUNTS = (1, 2, 3, 7)
COMPILED = {"emit", "parse", "code generation"}  # stages of a kernel that is compiled
SINGLE_CALLS = "the bits of single calls"
Arrays = tuple[Array, ...]


def states(size: int, inputs: int, n: int) -> Arrays:
    """Return arguments of a kernel: multiples of 1/1024 that no generator decides."""
    k = np.arange(size * n, dtype=np.int64).reshape(size, n)
    return tuple(((k * (7919 + 104 * m) + 1231 * m) % 4001 - 2000) / 1024 for m in range(inputs))


def panda(name: str, size: int, dtype: str = "float64") -> tuple[Any, Arrays]:
    """Return a compiled kernel of the Panda, and its arguments for some states."""
    robot = robots.panda()
    kernel: Any = robot.compile(name)
    arguments = states(size, len(kernel.graph.inputs), robot.n)
    return kernel, tuple(x.astype(dtype) for x in arguments)


def differing(found: Array, expected: Array) -> str:
    """Return the first entry at which two arrays differ in a bit, "" if they are equal."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype} of shape {found.shape}"
    words = f"u{expected.dtype.itemsize}"
    a, b = (np.ascontiguousarray(x).view(words) for x in (found, expected))
    places = np.argwhere(np.atleast_1d(a != b))
    if not len(places):
        return ""
    at = tuple(int(x) for x in places[0])
    x, y = (float(np.atleast_1d(z)[at]).hex() for z in (found, expected))
    return f"{len(places)} numbers differ; entry {at} is {x} instead of {y}"


def same(name: str, found: Array, expected: Array) -> Finding:
    """Return the finding of a comparison of all bits."""
    return equal(name, SINGLE_CALLS, differing(np.asarray(found), expected) or SINGLE_CALLS)


def alone(kernel: Any, arguments: Arrays) -> Array:
    """Return the results of one call for each state."""
    return np.array([kernel(*(x[k] for x in arguments)) for k in range(len(arguments[0]))])


def batch_sizes(_: Options) -> Iterator[Finding]:
    """Check batches of every size, in float64 and float32."""
    most = LARGEST_BATCH if has_llvm() else INTERPRETED_BATCH
    for name in QUANTITIES:
        for dtype in ("float64", "float32"):
            kernel, arguments = panda(name, most, dtype)
            single = alone(kernel, arguments)
            # from another state at every size, so that lanes and tails change places
            parts = (slice(most - size, most) for size in range(1, most + 1))
            wrong = (
                differing(kernel(*(x[part] for x in arguments)), single[part]) for part in parts
            )
            first = next(
                (f"with {k} states, {text}" for k, text in enumerate(wrong, 1) if text), ""
            )
            title = f"{name}, {dtype}: batches of 1 to {most} states"
            yield equal(title, SINGLE_CALLS, first or SINGLE_CALLS)


def misaligned(x: Array) -> Array:
    """Return the same array at an address that is not a multiple of 8."""
    moved = np.zeros(x.nbytes + 8, np.uint8)[3 : 3 + x.nbytes].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


def addresses(_: Options) -> Iterator[Finding]:
    """Check arguments and a result at addresses that are not multiples of their size."""
    kernel, arguments = panda("inverse_dynamics", 60)
    single = alone(kernel, arguments)
    out = misaligned(np.full_like(single, np.nan))
    kernel(*map(misaligned, arguments), out=out)
    yield same("inverse_dynamics: arrays at odd addresses", out, single)


def thread_counts(_: Options) -> Iterator[Finding]:
    """Check large batches on several numbers of threads, and calls at once."""
    kernel, arguments = panda("inverse_dynamics", SHARED_BATCH if has_llvm() else INTERPRETED_BATCH)
    single = alone(kernel, arguments)
    for count in THREAD_COUNTS:
        out = np.full_like(single, np.nan)
        with threads(count):
            kernel(*arguments, out=out)
        yield same(f"inverse_dynamics: {count} threads", out, single)
    parts = [tuple(x[k : k + 5] for x in arguments) for k in range(0, 40, 5)]
    try:
        with ThreadPoolExecutor(len(parts)) as pool:
            called = np.concatenate(list(pool.map(lambda part: alone(kernel, part), parts)))
    except RuntimeError as problem:  # a Python without threads
        if sys.platform != "emscripten":
            raise
        yield skipped("calls by several threads", str(problem))
        return
    yield same("inverse_dynamics: called by 8 threads at once", called, single[:40])


def bits(robot: Robot | None = None) -> str:
    """Return a hash of results of a new kernel, on one and on two threads."""
    robot = robot or robots.panda()
    kernel = robot.compile("inverse_dynamics")
    arguments, digest = states(5000, 3, robot.n), hashlib.sha256()
    for count in (1, 2):
        with threads(count):
            digest.update(np.ascontiguousarray(kernel(*arguments)).tobytes())
    return digest.hexdigest()[:16]


def print_bits(fork: bool) -> None:
    """Print the hash in this process, in its forked child, and in this process again."""
    warnings.simplefilter("ignore")  # Python warns of forks while there are threads
    print(bits(), flush=True)
    if fork:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        print(bits(), flush=True)
        if not child:
            os._exit(0)


def other_processes(_: Options) -> Iterator[Finding]:
    """Check that a new process, its forked child, and the process afterwards have the same bits."""
    if not starts_processes():
        yield skipped("other processes", "this Python starts no processes")
        return
    fork = hasattr(os, "fork") and sys.platform != "darwin"  # where a fork is safe
    words = ["-c", f"from {__name__} import print_bits; print_bits({fork})"]
    with tempfile.TemporaryDirectory() as place:
        ended = run_python(words, place)
    count = 3 if fork else 1
    title = "bits of a new process, its forked child, and itself afterwards"
    yield equal(title, [bits()] * count, ended.out.split() or ended.how)


@contextmanager
def environment(values: Mapping[str, str | None]) -> Generator[None]:
    """Set variables of the environment for the block; None removes one."""
    before = dict(os.environ)
    try:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update({name: x for name, x in values.items() if x is not None})
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def damaged_entries() -> int:
    """Return how many entries of the cache in use do not have the content of their seal."""
    count = 0
    for path in folder.folder().glob(f"*{entries.SUFFIX}"):
        with suppress(OSError):  # an entry that another process removed
            count += entries.unseal(path.stem, path.read_bytes()) is None
    return count


def stored_code(_: Options) -> Iterator[Finding]:
    """Check that code is stored, and that code from the disk has the bits of new code."""
    with environment({"KINETREE_CACHE": "0"}):
        expected = bits(robots.spatial_3r())
    for title in ("stored", "read"):
        yield equal(f"bits of a kernel that is {title}", expected, bits(robots.spatial_3r()))
    yield equal("damaged entries after that", 0, damaged_entries())
    if not has_llvm():
        yield skipped("code that is read", "without llvmlite no machine code is stored")
        return
    stages = {stage.name for stage in robots.spatial_3r().compile("inverse_dynamics").notes.stages}
    yield equal("stages of a kernel that is read", [], sorted(stages & COMPILED))


def own_cache(options: Options) -> Iterator[Finding]:
    """Check the user's own cache: every entry is whole, and kernels from it have the same bits."""
    with environment({"KINETREE_CACHE": "0"}):
        expected = bits()
    with environment(options.own_cache):
        if not folder.enabled():
            yield skipped("your own cache", "KINETREE_CACHE=0 switches it off")
            return
        advice = "Run: kinetree cache clear. Damaged entries are compiled again, never used."
        try:
            yield equal("damaged entries of your own cache", 0, damaged_entries(), advice)
        except OSError as problem:
            yield skipped("your own cache", str(problem))
            return
        yield equal("your own cache: bits of a kernel", expected, bits(), advice)


PARTS = (batch_sizes, addresses, thread_counts, other_processes)
CACHE = (stored_code, own_cache)
