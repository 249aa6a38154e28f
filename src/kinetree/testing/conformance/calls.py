"""One result for every way of calling: batch sizes, memory layouts, `out=`, threads, processes.

Every way must give the bits of a call with one state.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kinetree import robots
from kinetree.backends.call.threads import GRAIN, PIECES, cut, threads
from kinetree.base.arrays import Array
from kinetree.testing.conformance.machine import has_llvm
from kinetree.testing.conformance.record import Finding, compared, equal, skipped

ROBOT = "panda"
KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy")
MOST = 1000  # states of the largest batch; fewer where kernels are interpreted
FEW = 40
MANY = 20_011  # states that several threads share; a prime, so that pieces end unevenly
COUNTS = (1, 2, 3, 4, 7)  # of threads
Arrays = tuple[Array, ...]


def states(size: int, inputs: int, n: int) -> Arrays:
    """Return arguments of a kernel: multiples of 1/1024 that no generator decides."""
    k = np.arange(size * n, dtype=np.int64).reshape(size, n)
    return tuple(((k * (7919 + 104 * m) + 1231 * m) % 4001 - 2000) / 1024 for m in range(inputs))


def kernel_of(name: str) -> tuple[Any, int]:
    """Return a compiled kernel of the robot, and its number of joints."""
    robot = getattr(robots, ROBOT)()
    return robot.compile(name).wait(), robot.n


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
    return equal(name, "the bits of single calls", differing(found, expected) or
                 "the bits of single calls")  # fmt: skip


def alone(kernel: Any, given: Arrays) -> Array:
    """Return the results of one call for each state."""
    return np.array([kernel(*(x[k] for x in given)) for k in range(len(given[0]))])


def batches() -> Iterator[Finding]:
    """Check batches of every size, in float64 and float32."""
    most = MOST if has_llvm() else FEW
    for name in KERNELS:
        kernel, n = kernel_of(name)
        for dtype in ("float64", "float32"):
            given = tuple(x.astype(dtype) for x in states(most, len(kernel.graph.inputs), n))
            single = alone(kernel, given)
            wrong = ""
            for size in range(1, most + 1):
                # from another state at every size, so that lanes and tails change places
                part = slice(most - size, most)
                differs = differing(kernel(*(x[part] for x in given)), single[part])
                if differs:
                    wrong = f"with {size} states, {differs}"
                    break
            fine = "the bits of single calls"
            title = f"{name}, {dtype}: batches of 1 to {most} states"
            yield compared(title, not wrong, fine, wrong or fine)


def layouts() -> Iterator[Finding]:
    """Check arrays with other strides, orders, alignments and shapes."""
    size = 60
    for name in KERNELS[:3]:
        kernel, n = kernel_of(name)
        given = states(size, len(kernel.graph.inputs), n)
        single = alone(kernel, given)
        for title, change in LAYOUTS.items():
            yield same(f"{name}: {title}", kernel(*map(change, given)), single)
        backwards = kernel(*(x[::-1] for x in given))
        yield same(f"{name}: in the opposite order", backwards, single[::-1])
        grid = kernel(*(x.reshape(5, 12, n) for x in given))
        yield same(f"{name}: two leading axes", grid.reshape(single.shape), single)
        lists = kernel(*(x[0].tolist() for x in given))
        yield same(f"{name}: lists of numbers", np.asarray(lists), single[0])
        if len(given) > 1:
            first = kernel(given[0][:1], *given[1:])
            expected = alone(kernel, (np.repeat(given[0][:1], size, axis=0), *given[1:]))
            yield same(f"{name}: one position for all states", first, expected)


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


def locked(x: Array) -> Array:
    """Return a copy that may not be written."""
    copy = x.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "columns first in memory": np.asfortranarray,
    "every second row and column": spread,
    "at an odd address": misaligned,
    "arrays that may not be written": locked,
    "bytes in the opposite order": lambda x: x.astype(x.dtype.newbyteorder()),
}


def outputs() -> Iterator[Finding]:
    """Check `out=`: other layouts, and an array that is also an argument."""
    kernel, n = kernel_of("inverse_dynamics")
    given = states(60, 3, n)
    single = alone(kernel, given)
    wide = np.full((120, 2 * n), np.nan)
    for title, out in (
        ("an array", np.empty_like(single)),
        ("columns first in memory", np.empty_like(single, order="F")),
        ("every second row and column", wide[::2, ::2]),
    ):
        result = kernel(*given, out=out)
        yield same(f"out= with {title}", np.array(result), single)
        returned = "the given array" if result is out else "another array"
        yield equal(f"out= with {title} is returned", "the given array", returned)
    untouched = bool(np.isnan(wide[1::2]).all() and np.isnan(wide[:, 1::2]).all())
    state = "as before" if untouched else "changed"
    yield equal("numbers between the rows of out=", "as before", state)
    both = given[2].copy()
    yield same("out= is an argument", np.array(kernel(given[0], given[1], both, out=both)), single)


def first_answers() -> Iterator[Finding]:
    """Check that a large kernel gives the same bits before and after it is compiled."""
    if not has_llvm():
        yield skipped("answers before a kernel is compiled", "kernels are interpreted")
        return
    robot = robots.quadruped()
    kernel = robot.compile("forward_dynamics")
    q = np.zeros(robot.model.nq)
    q[0] = 1.0  # a unit quaternion
    (dq, tau) = states(1, 2, robot.n)
    before = np.array(kernel(q, dq[0], tau[0]))
    after = np.array(kernel.wait()(q, dq[0], tau[0]))
    yield same("quadruped, forward_dynamics: before and after it is compiled", before, after)


def thread_counts() -> Iterator[Finding]:
    """Check large batches on several numbers of threads."""
    for name in KERNELS[:2]:
        kernel, n = kernel_of(name)
        given = states(MANY if has_llvm() else FEW, len(kernel.graph.inputs), n)
        with threads(1):
            one = kernel(*given)
        some = slice(None, None, 97)
        yield same(f"{name}: one thread", one[some], alone(kernel, tuple(x[some] for x in given)))
        for count in COUNTS[1:]:
            with threads(count):
                yield same(f"{name}: {count} threads", kernel(*given), one)
            out = np.full_like(one, np.nan)
            with threads(count):
                kernel(*given, out=out)
            yield same(f"{name}: {count} threads with out=", out, one)


def pieces() -> Iterator[Finding]:
    """Check that the pieces of a batch have every state once."""
    for count in COUNTS:
        wrong = ""
        for size in (1, GRAIN - 1, GRAIN, GRAIN + 1, 1000, 4096, MANY):
            seen = np.zeros(size, int)
            for part in cut(size, count * PIECES):
                seen[part] += 1
            if (seen != 1).any() and not wrong:
                at = int(np.argmax(seen != 1))
                wrong = f"state {at} of {size} in {seen[at]} pieces"
        title = f"{count} threads: states of the pieces"
        yield compared(title, not wrong, "every state in one piece", wrong or "every state once")


def concurrent_calls() -> Iterator[Finding]:
    """Check one kernel that eight threads call at the same time."""
    try:
        with ThreadPoolExecutor(8) as pool:
            for name in KERNELS[:2]:
                kernel, n = kernel_of(name)
                given = states(8 * 50, len(kernel.graph.inputs), n)
                single = alone(kernel, given)

                def work(k: int, kernel: Any = kernel, given: Arrays = given) -> Array:
                    return alone(kernel, tuple(x[50 * k : 50 * k + 50] for x in given))

                found = np.concatenate(list(pool.map(work, range(8))))
                yield same(f"{name}: called by 8 threads at once", found, single)
    except RuntimeError as problem:  # a Python without threads
        if sys.platform != "emscripten":
            raise
        yield skipped("calls by several threads", str(problem))


def concurrent_compilations() -> Iterator[Finding]:
    """Check kernels that four threads compile at the same time, each for itself."""
    names = ("mass_matrix", "gravity_forces", "bias_forces", "body_jacobian")

    def work(name: str) -> Array:
        robot = robots.ur5e()
        given = states(20, 2 if name == "bias_forces" else 1, robot.n)
        return getattr(robot, name)(*given)

    try:
        with ThreadPoolExecutor(len(names)) as pool:
            together = list(pool.map(work, names))
    except RuntimeError as problem:
        if sys.platform != "emscripten":
            raise
        yield skipped("kernels compiled by several threads", str(problem))
        return
    for name, found in zip(names, together, strict=True):
        yield same(f"ur5e, {name}: compiled by 4 threads at once", found, work(name))


CALL_PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    "batch sizes": batches,
    "layouts": layouts,
    "out=": outputs,
    "first answers": first_answers,
}
THREAD_PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    "thread counts": thread_counts,
    "pieces": pieces,
    "concurrent calls": concurrent_calls,
    "concurrent compilations": concurrent_compilations,
}
