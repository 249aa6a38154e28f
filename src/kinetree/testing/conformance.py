"""The conformance suite: checks that this installation computes what others compute.

`python -m kinetree.testing` runs it from a terminal. It needs nothing but the package itself. It
checks what a machine can change: arithmetic, laws of mechanics, kernels against stored bits, ways
of calling, and CUDA on request.
"""

import math
import os
import platform
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import metadata
from typing import Any

import numpy as np

from kinetree import robots
from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.engine.call.threads import threads
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel, llvm_problem
from kinetree.engine.llvm.target import host_target
from kinetree.errors import KinetreeError, NameLookupError
from kinetree.testing.bits import check_bits, quick_sample
from kinetree.testing.check import check_robot
from kinetree.testing.report import FAILED, PASSED, SKIPPED

PACKAGES = ("llvmlite", "rich", "cyclopts", "sympy", "mpmath", "cupy", "torch", "jax")
ROBOTS = ("planar_2r", "spatial_3r", "cart_pole", "puma_560", "panda")
BATCH_SIZES = (*range(1, 40), 64, 127, 1000)  # states
SHARED_BATCH = 20_011  # states that several threads share; a prime, so that pieces end unevenly
THREAD_COUNTS = (1, 2, 3, 7)
INTERPRETED_BATCH = 40  # states, where kernels are interpreted
MAX_SHOWN = 8  # failures that the text shows; JSON has all
MAX_TEXT = 600  # characters of an expected or found text that are kept
WIDTH = 79
UNRELIABLE = "Do not rely on results of this installation before the cause is known."
REPORT = "Please report it and attach the output of `python -m kinetree.testing --json`."
OTHER_BITS = (
    "Results of this machine differ from those of others. If you set KINETREE_ variables or use "
    "a new version of llvmlite, try without; then report it with the output of --json."
)


class ConformanceFailure(KinetreeError, AssertionError):
    """Checks of this installation failed; the message is the record."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Args:
        group: name of the group.
        name: the element that was checked.
        outcome: "pass", "FAIL" or "skip".
        expected: the expected result, as text.
        found: the result that was found, or the reason why the check was skipped.
        advice: what to do about a failure.
    """

    group: str
    name: str
    outcome: str
    expected: str = ""
    found: str = ""
    advice: str = ""


Outcome = tuple[str, object, object, str]  # name, expected, found, advice
SKIP = "a check that does not apply here"  # expected result of such a check


def equal(name: str, expected: object, found: object, advice: str = REPORT) -> Outcome:
    """A check that passes if both values are equal."""
    return name, expected, found, advice


def within(name: str, error: float, limit: float, advice: str = REPORT) -> Outcome:
    """A check that passes if an error is at most a limit."""
    text = f"error <= {limit:.1e}"
    return name, text, text if error <= limit else f"error {error:.1e}", advice


def skipped(name: str, reason: str) -> Outcome:
    """A check that does not apply here."""
    return name, SKIP, reason, ""


# The checks


def arithmetic() -> Iterator[Outcome]:
    """IEEE 754 in Python, in NumPy and in matrix products."""
    advice = (
        "Another package in this process, or a setting of the system, changed the rounding mode "
        "of the processor. Start Python without it."
    )
    ties = [float(x) for x in np.array([2.0**-53, 3 * 2.0**-53]) + 1]
    yield equal("sums are rounded to nearest, ties to even", [1.0, 1.0 + 2.0**-51], ties, advice)
    small = float((np.ones(1) * 2.0**-1022 / 4)[0])
    yield equal("numbers below 2^-1022 are not set to zero", 2.0**-1024, small, advice)
    root = float(np.sqrt(np.full(1, 2.0))[0])
    yield equal("sqrt(2)", "0x1.6a09e667f3bcdp+0", root.hex())
    advice = "The BLAS and LAPACK of NumPy are wrong; install another build of NumPy."
    integers = np.arange(4096).reshape(64, 64) % 97 - 48
    wrong = int(np.sum(integers @ integers.T != integers.astype(float) @ integers.T.astype(float)))
    yield equal("products of integer matrices by BLAS are exact", 0, wrong, advice)
    lower, inverse = np.tril(np.ones((12, 12))), np.eye(12) - np.eye(12, k=-1)
    error = float(np.abs(np.linalg.solve(lower, np.eye(12)) - inverse).max())
    yield within("inverse of a triangle of ones", error, 1e-14, advice)


def product_cases(dtype: Any) -> Array:
    """Rows a, b, c for which a b + c is wrong if it is rounded twice.

    The sums are next to the middle of two neighbours: the product differs from the middle by 2^-2j
    of itself, which a second rounding (after one to p or to 64 bits) loses.
    """
    form = np.finfo(dtype)
    p, least, most = form.nmant + 1, form.minexp - form.nmant, form.maxexp - 1
    cases: list[tuple[float, float, float]] = []
    for j in range(p // 2 + 1, p - 1):
        e, half = math.ldexp(1.0, -j), math.ldexp(1.0, -p)
        for scale in (1.0, math.ldexp(1.0, least // 2), math.ldexp(1.0, most // 2)):
            odd = scale * (1 + 2 * half)
            cases += [
                (1 + e, scale * half * (1 - e), odd),
                (1 + e, scale * half * (1 + e), scale),
                (1 + e, -scale * half * (1 - e), odd),
            ]
    return np.array([(s * a, b, s * c) for a, b, c in cases for s in (1, -1)], dtype)


def product_kernel() -> Kernel:
    """A kernel of one fused product, which calls what all kernels call."""
    graph = optimise(trace(lambda a, b, c: a * b + c, [Port(name, ()) for name in "abc"]))
    return Kernel(graph, "fused_product")


def fused() -> Iterator[Outcome]:
    """a b + c has one rounding: no other number is nearer to the exact value.

    Processors without fused multiply-add take the function `fma` of the C library, and some
    libraries round its result twice.
    """
    advice = (
        "Results differ from those of other machines in their last bits. If the processor has no "
        "fused multiply-add, or KINETREE_TARGET excludes it, the function fma of the C library "
        "rounds wrongly: leave KINETREE_TARGET empty or update the C library."
    )
    kernel = product_kernel()
    for dtype in (np.float64, np.float32):
        cases = product_cases(dtype)
        batch, single = kernel(*cases.T), np.array([kernel(*x) for x in cases])
        for way, results in (("batch", batch), ("one state", single)):
            wrong = [case for case, x in zip(cases, results, strict=True) if not nearest(case, x)]
            title = f"fused products in {dtype.__name__} are rounded once, {way}"
            found = f", such as {[float(x).hex() for x in wrong[0]]}" if wrong else ""
            yield equal(title, "0 wrong", f"{len(wrong)} wrong{found}", advice)


def nearest(case: Array, x: Any) -> bool:
    """Whether x is the number of its type that is nearest to a b + c."""
    a, b, c = (Fraction(float(y)) for y in case)
    neighbours = (np.nextafter(x, x.dtype.type(end)) for end in (-np.inf, np.inf))
    error = abs(Fraction(float(x)) - a * b - c)
    return all(error <= abs(Fraction(float(y)) - a * b - c) for y in neighbours)


def laws() -> Iterator[Outcome]:
    """Laws of mechanics, agreement of the algorithms, and kernels, on random states."""
    for name in ROBOTS:
        for line in check_robot(getattr(robots, name)(), states=2).lines:
            title = f"{name}: {line.law}"
            if line.status == SKIPPED:
                yield skipped(title, line.reason)
            elif line.error is None or line.limit is None:
                yield equal(title, "no error", line.reason)
            else:
                yield within(title, line.error, line.limit)


def hashes(way: str, **options: Any) -> Iterator[Outcome]:
    """Hashes of results against the table, see `check_bits`; `way` ends the names."""
    for x in check_bits(**options):
        yield equal(f"{x.robot}, {x.quantity}{way}", x.expected, x.found, OTHER_BITS)


def bits(everything: bool = False) -> Iterator[Outcome]:
    """Hashes of results against the table: a sample, or all of it."""
    if llvm_problem() is not None:
        yield skipped("bits", "kernels are interpreted, which does not guarantee bits")
        return
    yield from hashes("", pairs=None if everything else quick_sample())
    few = {"names": ("panda", "cart_pole"), "quantities": ("inverse_dynamics", "pose")}
    yield from hashes(" in float32", dtype="float32", **({} if everything else few))


def states(size: int, inputs: int, n: int) -> tuple[Array, ...]:
    """Arguments of a kernel: multiples of 1/1024 that no generator decides."""
    k = np.arange(size * n, dtype=np.int64).reshape(size, n)
    return tuple(((k * (7919 + 104 * m) + 1231 * m) % 4001 - 2000) / 1024 for m in range(inputs))


def differing(found: Array, expected: Array) -> str:
    """The first entry at which two arrays differ in a bit, "" if they are equal."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype} of shape {found.shape}"
    words = f"u{expected.dtype.itemsize}"
    a, b = (np.ascontiguousarray(x).view(words) for x in (found, expected))
    places = np.argwhere(np.atleast_1d(a != b))
    if not len(places):
        return ""
    at = tuple(int(x) for x in places[0])
    return f"{len(places)} numbers differ; the first is entry {at}"


def calls() -> Iterator[Outcome]:
    """Batches of every size and on several threads have the bits of single calls."""
    largest = SHARED_BATCH if llvm_problem() is None else INTERPRETED_BATCH
    for dtype in ("float64", "float32"):
        kernel: Any = robots.panda().compile("inverse_dynamics")
        arguments = tuple(x.astype(dtype) for x in states(largest, 3, 7))
        single = np.array([kernel(*(x[k] for x in arguments)) for k in range(largest)])
        # from another state at every size, so that lanes and tails change places
        sizes = [size for size in BATCH_SIZES if size <= largest]
        wrong = [
            f"{size} states: {text}"
            for size in sizes
            if (text := differing(kernel(*(x[-size:] for x in arguments)), single[-size:]))
        ]
        yield equal(f"inverse_dynamics, {dtype}: batches of 1 to {sizes[-1]} states", [], wrong)
        for count in THREAD_COUNTS:
            with threads(count):
                found = differing(kernel(*arguments), single)
            yield equal(f"inverse_dynamics, {dtype}: {counted(count, 'thread')}", "", found)


def cuda(everything: bool = False, asked: bool = False) -> Iterator[Outcome]:
    """Bits of CUDA kernels, if asked for and possible."""
    if not asked:
        yield skipped("CUDA", "only with --cuda")
        return
    try:
        import cupy  # pyright: ignore[reportMissingImports]

        if not int(cupy.cuda.runtime.getDeviceCount()):
            raise OSError("CuPy counts 0")
    except Exception as problem:  # CuPy raises classes of its own for a missing driver
        yield skipped("CUDA", f"no CuPy or no device: {problem}")
        return
    few = {
        "names": ("planar_2r", "cart_pole", "scara", "puma_560", "ur5e", "panda"),
        "quantities": ("inverse_dynamics", "forward_dynamics", "mass_matrix"),
    }
    yield from hashes(" by CUDA", target="cuda", **({} if everything else few))


# The run

GROUPS = {
    "machine": "arithmetic of this machine",
    "kernels": "laws, and kernels against the direct form",
    "bits": "bits of results against the stored table",
    "calls": "batch sizes and threads",
    "cuda": "CUDA kernels",
}


def run_conformance(
    only: Sequence[str] | None = None,
    *,
    everything: bool = False,
    cuda: bool = False,
) -> "Conformance":
    """Check this installation of kinetree; failures are reported, not raised.

        record = kinetree.testing.run_conformance()
        print(record)
        record.raise_if_failed()

    Args:
        only: names of groups, some of `kinetree.testing.conformance.GROUPS`; all if None.
        everything: compare all of the table of bits, which takes minutes, instead of a sample.
        cuda: also check CUDA kernels.

    Returns:
        The record, which prints as one screen of text.

    Raises:
        InputError: KINETREE_TARGET names a vector width that this processor does not have.
    """
    for name in only or ():
        if name not in GROUPS:
            raise NameLookupError(
                f"there is no group {name!r} of checks; expected some of {', '.join(GROUPS)}."
            )
    start, machine = time.perf_counter(), facts()
    findings = tuple(_finding(*x) for x in _outcomes(only, everything, cuda))
    return Conformance(machine, findings, time.perf_counter() - start, only is None)


def _outcomes(
    only: Sequence[str] | None, everything: bool, asked: bool
) -> Iterator[tuple[str, Outcome]]:
    """The outcomes of all checks; one that raises an error has failed, and the others run."""
    parts: dict[str, list[Callable[[], Iterator[Outcome]]]] = {
        "machine": [arithmetic, fused],
        "kernels": [laws],
        "bits": [lambda: bits(everything)],
        "calls": [calls],
        "cuda": [lambda: cuda(everything, asked)],
    }
    for group in GROUPS if only is None else only:
        for part in parts[group]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as that kernels are interpreted
                try:
                    yield from ((group, outcome) for outcome in part())
                except Exception as error:  # a check that cannot be carried out has failed
                    yield group, equal(group, "no error", f"{type(error).__name__}: {error}")


def _finding(group: str, outcome: Outcome) -> Finding:
    name, expected, found, advice = outcome
    if expected == SKIP:
        return Finding(group, name, SKIPPED, found=str(found))
    shown, read = textwrap.shorten(str(expected), MAX_TEXT), textwrap.shorten(str(found), MAX_TEXT)
    if expected == found:
        return Finding(group, name, PASSED, shown, read)
    return Finding(group, name, FAILED, shown, read, advice)


def facts() -> dict[str, str]:
    """Versions and facts of this machine, by name; no names of users, machines, folders."""
    values = {
        "kinetree": str(getattr(sys.modules["kinetree"], "__version__", "unknown")),
        "Python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "NumPy": np.__version__,
        "system": f"{platform.system() or sys.platform} {platform.machine()}",
        "release of the system": platform.release(),
        "cores": str(os.cpu_count() or 1),
        "processor": platform.processor() or platform.machine(),
        "kernels": "no llvmlite: kernels are interpreted",
    }
    if llvm_problem() is None:
        import llvmlite.binding as llvm

        target = host_target()
        release = ".".join(map(str, llvm.llvm_version_info))
        values |= {
            "processor": target.cpu or "unknown processor",
            "kernels": f"LLVM {release}, {target.name} x {target.lanes64}",
            "LLVM": release,
            "triple": target.triple,
            "vector family": target.name,
        }
    for name in PACKAGES:
        try:
            values[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            values[name] = "not installed"
    chosen = {x for x in os.environ if x.startswith("KINETREE_")} - {"KINETREE_CACHE_DIR"}
    return values | {name: os.environ[name] for name in sorted(chosen)}


@dataclass(frozen=True)
class Conformance:
    """A run of the conformance suite; `print(record)` shows the verdict.

    Args:
        machine: versions and facts of this machine, by name.
        findings: all checks.
        seconds: duration of the run, s.
        complete: True if all groups ran.
    """

    machine: Mapping[str, str]
    findings: tuple[Finding, ...]
    seconds: float
    complete: bool = True

    @property
    def ok(self) -> bool:
        """True if no check failed and at least one ran."""
        return not self.failures and self.checks > 0

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(x for x in self.findings if x.outcome == FAILED)

    @property
    def skipped(self) -> tuple[Finding, ...]:
        """The checks that do not apply here, each with its reason."""
        return tuple(x for x in self.findings if x.outcome == SKIPPED)

    @property
    def checks(self) -> int:
        """Number of checks that ran; skipped ones do not count."""
        return len(self.findings) - len(self.skipped)

    def raise_if_failed(self) -> None:
        """Raise ConformanceFailure, with the record as its message, if the run was not fine."""
        if not self.ok:
            raise ConformanceFailure(str(self))

    def groups(self) -> list[dict[str, Any]]:
        """The numbers of each group that ran: name, title, checks, failed, skipped."""
        rows: list[dict[str, Any]] = []
        for name in dict.fromkeys(x.group for x in self.findings):
            outcomes = [x.outcome for x in self.findings if x.group == name]
            numbers = {"failed": outcomes.count(FAILED), "skipped": outcomes.count(SKIPPED)}
            checks = len(outcomes) - numbers["skipped"]
            rows.append({"name": name, "title": GROUPS[name], "checks": checks, **numbers})
        return rows

    def document(self) -> dict[str, Any]:
        """Everything as plain values for a JSON file."""
        return {
            "conforms": self.ok,
            "complete": self.complete,
            "checks": self.checks,
            "failed": len(self.failures),
            "skipped": len(self.skipped),
            "seconds": round(self.seconds, 3),
            "machine": dict(self.machine),
            "groups": self.groups(),
            "findings": [asdict(x) for x in self.findings],
        }

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> Iterator[str]:
        machine = self.machine
        yield f"kinetree {machine['kinetree']} on {machine['system']}, {machine['processor']}"
        yield f"Python {machine['Python']}, NumPy {machine['NumPy']}, {machine['kernels']}"
        yield ""
        for x in self.groups():
            verdict = f"{x['failed']} FAILED" if x["failed"] else "fine" if x["checks"] else "-"
            yield f"  {x['name']:10}{x['checks']:6}  {verdict}"
        yield ""
        for finding in self.failures[:MAX_SHOWN]:
            yield f"FAILED  {finding.group}: {finding.name}"
            for text in (f"expected  {finding.expected}", f"found     {finding.found}"):
                yield textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent=" " * 12)
            yield textwrap.fill(finding.advice, WIDTH, initial_indent="  ", subsequent_indent="  ")
        if len(self.failures) > MAX_SHOWN:
            more = counted(len(self.failures) - MAX_SHOWN, "more failure")
            yield f"and {more}: --json lists all"
        skips = f", {len(self.skipped)} skipped" if self.skipped else ""
        yield f"{counted(self.checks, 'check')} in {self.seconds:.0f} s{skips}: {self._verdict()}"

    def _verdict(self) -> str:
        if self.ok:
            return f"this installation conforms{'' if self.complete else ' in the chosen groups'}."
        if not self.checks:
            return "nothing was checked."
        return f"{counted(len(self.failures), 'check')} FAILED. {UNRELIABLE}"
