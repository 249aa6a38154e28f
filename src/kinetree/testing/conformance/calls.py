"""One result for every way of calling: batch sizes, memory layouts, `out=`, threads, processes.

Every way must give the bits of a call with one state.
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
from kinetree.testing.conformance import processes
from kinetree.testing.conformance.machine import has_llvm
from kinetree.testing.conformance.record import Choice, Finding, compared, equal, skipped

KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy")
LARGEST_BATCH = 1000  # states
INTERPRETED_BATCH = 40  # states, where kernels are interpreted
SHARED_BATCH = 20_011  # states that several threads share; a prime, so that pieces end unevenly
THREAD_COUNTS = (1, 2, 3, 4, 7)
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
    words = np.uint64 if expected.dtype == np.float64 else np.uint32
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


def batch_sizes(_: Choice) -> Iterator[Finding]:
    """Check batches of every size, in float64 and float32."""
    most = LARGEST_BATCH if has_llvm() else INTERPRETED_BATCH
    for name in KERNELS:
        for dtype in ("float64", "float32"):
            kernel, arguments = panda(name, most, dtype)
            single = alone(kernel, arguments)
            wrong = ""
            for size in range(1, most + 1):
                # from another state at every size, so that lanes and tails change places
                part = slice(most - size, most)
                differs = differing(kernel(*(x[part] for x in arguments)), single[part])
                if differs:
                    wrong = f"with {size} states, {differs}"
                    break
            title = f"{name}, {dtype}: batches of 1 to {most} states"
            yield compared(title, not wrong, SINGLE_CALLS, wrong or SINGLE_CALLS)


def spread(x: Array) -> Array:
    """Return every second row and column of a larger array."""
    wide = np.full((2 * len(x), 2 * x.shape[1]), np.nan)
    wide[::2, ::2] = x
    return wide[::2, ::2]


def misaligned(x: Array) -> Array:
    """Return the same array at an address that is not a multiple of 8."""
    memory = np.zeros(x.nbytes + 8, np.uint8)
    moved = memory[3 : 3 + x.nbytes].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "columns first in memory": np.asfortranarray,
    "every second row and column": spread,
    "at an odd address": misaligned,
    "bytes in the opposite order": lambda x: x.astype(x.dtype.newbyteorder()),
    "two leading axes": lambda x: x.reshape(5, 12, -1),
}


def layouts(_: Choice) -> Iterator[Finding]:
    """Check arrays with other strides, orders, alignments and shapes, also of `out=`."""
    for name in KERNELS[:3]:
        kernel, arguments = panda(name, 60)
        single = alone(kernel, arguments)
        for title, change in LAYOUTS.items():
            found = np.asarray(kernel(*map(change, arguments)))
            yield same(f"{name}: {title}", found.reshape(single.shape), single)
        lists = kernel(*(x[0].tolist() for x in arguments))
        yield same(f"{name}: lists of numbers", lists, single[0])
    kernel, arguments = panda("inverse_dynamics", 60)
    single = alone(kernel, arguments)
    wide = np.full((120, 2 * single.shape[1]), np.nan)
    kernel(*arguments, out=wide[::2, ::2])
    yield same("out= with every second row and column", wide[::2, ::2], single)
    untouched = bool(np.isnan(wide[1::2]).all() and np.isnan(wide[:, 1::2]).all())
    yield equal("numbers between the rows of out= stay", True, untouched)
    both = arguments[2].copy()
    kernel(*arguments[:2], both, out=both)
    yield same("out= is an argument", both, single)


def first_answers(_: Choice) -> Iterator[Finding]:
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


def thread_counts(_: Choice) -> Iterator[Finding]:
    """Check large batches on several numbers of threads, and the pieces of a batch."""
    for name in KERNELS[:2]:
        kernel, arguments = panda(name, SHARED_BATCH if has_llvm() else INTERPRETED_BATCH)
        with threads(1):
            one = kernel(*arguments)
        some = slice(None, None, 97)
        single = alone(kernel, tuple(x[some] for x in arguments))
        yield same(f"{name}: one thread", one[some], single)
        for count in THREAD_COUNTS[1:]:
            out = np.full_like(one, np.nan)
            with threads(count):
                kernel(*arguments, out=out)
            yield same(f"{name}: {count} threads", out, one)
    for count in THREAD_COUNTS:
        wrong: list[str] = []
        for size in (1, GRAIN - 1, GRAIN, GRAIN + 1, 1000, 4096, SHARED_BATCH):
            seen = np.zeros(size, int)
            for part in cut(size, count * PIECES):
                seen[part] += 1
            at = int(np.argmax(seen != 1))
            if seen[at] != 1:
                wrong.append(f"state {at} of {size} in {seen[at]} pieces")
        once = "every state in one piece"
        yield equal(f"{count} threads: states of the pieces", once, "; ".join(wrong) or once)


def concurrent_use(_: Choice) -> Iterator[Finding]:
    """Check a kernel that eight threads call, and kernels that four threads compile, at once."""
    kernel, arguments = panda("inverse_dynamics", 8 * 50)
    single = alone(kernel, arguments)
    parts = [tuple(x[50 * k : 50 * k + 50] for x in arguments) for k in range(8)]

    def compiled(name: str) -> Array:
        robot = robots.ur5e()
        return getattr(robot, name)(*states(20, 2 if name == "bias_forces" else 1, robot.n))

    names = ("mass_matrix", "gravity_forces", "bias_forces", "body_jacobian")
    try:
        with ThreadPoolExecutor(8) as pool:
            called = np.concatenate(list(pool.map(lambda part: alone(kernel, part), parts)))
            together = list(pool.map(compiled, names))
    except RuntimeError as problem:  # a Python without threads
        if sys.platform != "emscripten":
            raise
        yield skipped("calls by several threads", str(problem))
        return
    yield same("inverse_dynamics: called by 8 threads at once", called, single)
    for name, found in zip(names, together, strict=True):
        yield same(f"ur5e, {name}: compiled by 4 threads at once", found, compiled(name))


def bits() -> str:
    """Return a hash of results of a kernel on one and on two threads."""
    kernel, arguments = panda("inverse_dynamics", 5000)
    digest = hashlib.sha256()
    for count in (1, 2):
        with threads(count):
            digest.update(np.ascontiguousarray(kernel(*arguments)).tobytes())
    return digest.hexdigest()[:16]


def print_forked() -> None:
    """Print the hash in this process, in its forked child, and in this process again."""
    warnings.simplefilter("ignore")  # Python warns of forks while there are threads
    print(bits(), flush=True)
    child = os.fork()
    if child == 0:
        try:
            print(bits(), flush=True)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    print(bits())


def other_processes(_: Choice) -> Iterator[Finding]:
    """Check that a new process, its forked child, and the process afterwards have the same bits."""
    if not processes.available():
        yield skipped("other processes", "this Python starts no processes")
        return
    expected = bits()
    fork = hasattr(os, "fork") and sys.platform != "darwin"
    call = "print_forked()" if fork else "print(bits())"
    with tempfile.TemporaryDirectory() as folder:
        ended = processes.run(["-c", f"from {__name__} import *; {call}"], folder)
    names = ("a new process", "its forked child", "a process after it forked")
    found = [*ended.out.split(), *[ended.how] * 3]
    for name, text in zip(names[: 3 if fork else 1], found, strict=False):
        yield equal(f"bits of {name}", expected, text)
    if not fork:
        yield skipped("bits of a forked process", "this system has no safe fork")


CALLS = (batch_sizes, layouts, first_answers)
THREADS = (thread_counts, concurrent_use)
PROCESSES = (other_processes,)
