"""Ways of calling a kernel: batch sizes, memory layouts, `out=`, threads and processes.

Every way must give the bits of calls with one state.
"""

import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kinetree import robots
from kinetree.base.arrays import Array
from kinetree.engine.call.threads import GRAIN, PIECES, cut, threads
from kinetree.testing.machine import has_llvm, run_python, starts_processes
from kinetree.testing.record import Finding, Options, equal, skipped

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy")
LARGEST_BATCH = 1000  # states
INTERPRETED_BATCH = 40  # states, where kernels are interpreted
SHARED_BATCH = 20_011  # states that several threads share; a prime, so that pieces end unevenly
THREAD_COUNTS = (1, 2, 3, 7)
SINGLE_CALLS = "the bits of single calls"
Arrays = tuple[Array, ...]


def states(size: int, inputs: int, n: int) -> Arrays:
    """Return arguments of a kernel: multiples of 1/1024 that no generator decides."""
    k = np.arange(size * n, dtype=np.int64).reshape(size, n)
    return tuple(((k * (7919 + 104 * m) + 1231 * m) % 4001 - 2000) / 1024 for m in range(inputs))


def panda(name: str, size: int, dtype: str = "float64") -> tuple[Any, Arrays]:
    """Return a compiled kernel of the Panda, and its arguments for some states."""
    robot = robots.panda()
    kernel: Any = robot.compile(name).wait()
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


def spread(x: Array) -> Array:
    """Return every second row and column of a larger array."""
    wide = np.full((2 * len(x), 2 * x.shape[1]), np.nan)
    wide[::2, ::2] = x
    return wide[::2, ::2]


def misaligned(x: Array) -> Array:
    """Return the same array at an address that is not a multiple of 8."""
    moved = np.zeros(x.nbytes + 8, np.uint8)[3 : 3 + x.nbytes].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "columns first in memory": np.asfortranarray,
    "every second row and column": spread,
    "at an odd address": misaligned,
    "bytes in the opposite order": lambda x: x.astype(x.dtype.newbyteorder()),
    "two leading axes": lambda x: x.reshape(5, 12, -1),
    "lists of numbers": lambda x: x.tolist(),
}


def layouts(_: Options) -> Iterator[Finding]:
    """Check arrays with other strides, orders, alignments and shapes, also of `out=`."""
    for name in QUANTITIES[:3]:
        kernel, arguments = panda(name, 60)
        single = alone(kernel, arguments)
        for title, change in LAYOUTS.items():
            result = np.asarray(kernel(*map(change, arguments)))
            yield same(f"{name}: {title}", result.reshape(single.shape), single)
    kernel, arguments = panda("inverse_dynamics", 60)
    single = alone(kernel, arguments)
    wide = np.full((120, 2 * single.shape[1]), np.nan)
    expected = wide.copy()
    expected[::2, ::2] = single
    kernel(*arguments, out=wide[::2, ::2])
    yield same("out= with every second row and column", wide, expected)
    both = arguments[2].copy()
    kernel(*arguments[:2], both, out=both)
    yield same("out= is an argument", both, single)


def first_answers(_: Options) -> Iterator[Finding]:
    """Check that a large kernel gives the same bits before and after it is compiled."""
    if not has_llvm():
        yield skipped("answers before a kernel is compiled", "kernels are interpreted")
        return
    robot = robots.quadruped()
    kernel = robot.compile("forward_dynamics")
    q = np.eye(1, robot.model.nq)[0]  # a unit quaternion, and zeros
    dq, tau = (x[0] for x in states(1, 2, robot.n))
    before = np.array(kernel(q, dq, tau))
    after = np.array(kernel.wait()(q, dq, tau))
    yield same("quadruped, forward_dynamics: before and after it is compiled", before, after)


def thread_counts(_: Options) -> Iterator[Finding]:
    """Check large batches on several numbers of threads, calls at once, and pieces of a batch."""
    kernel, arguments = panda("inverse_dynamics", SHARED_BATCH if has_llvm() else INTERPRETED_BATCH)
    single = alone(kernel, arguments)
    for count in THREAD_COUNTS:
        out = np.full_like(single, np.nan)
        with threads(count):
            kernel(*arguments, out=out)
        yield same(f"inverse_dynamics: {count} threads", out, single)
        wrong = [
            size
            for size in (1, GRAIN - 1, GRAIN, GRAIN + 1, 1000, 4096, SHARED_BATCH)
            if [k for part in cut(size, count * PIECES) for k in range(size)[part]]
            != list(range(size))
        ]
        title = f"{count} threads: sizes of batches with a state in no piece or in two"
        yield equal(title, [], wrong)
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


def bits() -> str:
    """Return a hash of results of a kernel on one and on two threads."""
    kernel, arguments = panda("inverse_dynamics", 5000)
    digest = hashlib.sha256()
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
    with tempfile.TemporaryDirectory() as folder:
        ended = run_python(words, folder)
    count = 3 if fork else 1
    title = "bits of a new process, its forked child, and itself afterwards"
    yield equal(title, [bits()] * count, ended.out.split() or ended.how)


PARTS = (batch_sizes, layouts, first_answers, thread_counts, other_processes)
