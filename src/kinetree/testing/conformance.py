"""The conformance suite: checks that this installation computes what others compute.

`python -m kinetree.testing` runs it from a terminal. It needs nothing but the package itself. It
checks what a machine can change: arithmetic, laws of mechanics, kernels against stored bits, ways
of calling, and CUDA on request.
"""

import os
import platform
import sys
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from itertools import product
from typing import Any

import numpy as np

from kinetree import robots
from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.engine.call.threads import threads
from kinetree.engine.kernel import llvm_problem
from kinetree.engine.llvm.target import host_target
from kinetree.testing.bits import check_bits, quick_sample, whole_table
from kinetree.testing.check import check_robot
from kinetree.testing.report import FAILED, PASSED, SKIPPED, Checks

PACKAGES = ("llvmlite", "rich", "cyclopts", "sympy", "mpmath", "cupy", "torch", "jax")
ROBOTS = ("planar_2r", "spatial_3r", "cart_pole", "puma_560", "panda")
BATCH_SIZES = (*range(1, 40), 64, 127, 1000)  # states
SHARED_BATCH = 20_011  # states that several threads share; a prime, so that pieces end unevenly
THREAD_COUNTS = (1, 2, 3, 7)
INTERPRETED_BATCH = 40  # states, where kernels are interpreted
MOST_SHOWN = 8  # failures in the text; JSON has all
REPORT = "Please report it and attach the output of `python -m kinetree.testing --json`."
OTHER_BITS = (
    "Results of this machine differ from those of others. If you set KINETREE_ variables or use "
    "a new version of llvmlite, try without; then report it with the output of --json."
)


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Args:
        name: the element that was checked.
        status: "pass", "FAIL" or "skip".
        expected: the expected result, as text.
        found: the result that was found, or the reason why the check was skipped.
        advice: what to do about a failure.
        group: name of the group.
    """

    name: str
    status: str
    expected: str = ""
    found: str = ""
    advice: str = ""
    group: str = ""


Findings = Iterator[Finding]


def equal(name: str, expected: object, found: object, advice: str = REPORT) -> Finding:
    """A check that passes if both values are equal."""
    status = PASSED if expected == found else FAILED
    return Finding(name, status, str(expected), textwrap.shorten(str(found), 600), advice)


def within(name: str, error: float, limit: float, advice: str = REPORT) -> Finding:
    """A check that passes if an error is at most a limit."""
    text = f"error <= {limit:.1e}"
    return equal(name, text, text if error <= limit else f"error {error:.1e}", advice)


def skipped(name: str, reason: str) -> Finding:
    """A check that does not apply here."""
    return Finding(name, SKIPPED, found=reason)


# The checks


def arithmetic() -> Findings:
    """IEEE 754 in NumPy."""
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


def laws() -> Findings:
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


def hashes(pairs: Iterable[tuple[str, str]], way: str = "", **options: Any) -> Findings:
    """Hashes of results against the table, see `check_bits`; `way` ends the names."""
    for x in check_bits(pairs, **options):
        yield equal(f"{x.robot}, {x.quantity}{way}", x.expected, x.found, OTHER_BITS)


def bits(everything: bool = False) -> Findings:
    """Hashes of results against the table: a sample, or all of it."""
    if llvm_problem() is not None:
        yield skipped("bits", "kernels are interpreted, which does not guarantee bits")
        return
    yield from hashes(whole_table() if everything else quick_sample())
    few = product(("panda", "cart_pole"), ("inverse_dynamics", "pose"))
    yield from hashes(whole_table("float32") if everything else few, " in float32", dtype="float32")


def differing(found: Array, expected: Array) -> str:
    """How many numbers of two arrays differ in a bit, "" if none does."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype} of shape {found.shape}"
    words = f"u{expected.dtype.itemsize}"
    different = int(np.sum(found.view(words) != expected.view(words)))
    return f"{counted(different, 'number')} differ" if different else ""


def calls() -> Findings:
    """Batches of every size and on several threads have the bits of single calls."""
    rng = np.random.default_rng(0)
    largest = SHARED_BATCH if llvm_problem() is None else INTERPRETED_BATCH
    for dtype in ("float64", "float32"):
        kernel: Any = robots.panda().compile("inverse_dynamics")
        arguments = tuple(rng.normal(size=(3, largest, 7)).astype(dtype))
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


def cuda(everything: bool = False) -> Findings:
    """Bits of CUDA kernels."""
    try:
        import cupy  # pyright: ignore[reportMissingImports]

        if not int(cupy.cuda.runtime.getDeviceCount()):
            raise OSError("CuPy counts 0")
    except Exception as problem:  # CuPy raises classes of its own for a missing driver
        yield skipped("CUDA", f"no CuPy or no device: {problem}")
        return
    names = ("planar_2r", "cart_pole", "scara", "puma_560", "ur5e", "panda")
    few = product(names, ("inverse_dynamics", "forward_dynamics", "mass_matrix"))
    yield from hashes(whole_table() if everything else few, " by CUDA", target="cuda")


# The run


def run_conformance(*, everything: bool = False, cuda: bool = False) -> "Conformance":
    """Check this installation of kinetree; failures are reported, not raised.

        record = kinetree.testing.run_conformance()
        print(record)
        record.raise_if_failed()

    Args:
        everything: compare all of the table of bits, which takes minutes, instead of a sample.
        cuda: also check CUDA kernels.

    Returns:
        The record, which prints as one screen of text.

    Raises:
        InputError: KINETREE_TARGET names a vector width that this processor does not have.
    """
    start, machine = time.perf_counter(), facts()
    findings = tuple(_findings(everything, cuda))
    return Conformance(machine, findings, time.perf_counter() - start)


def _findings(everything: bool, with_cuda: bool) -> Findings:
    """All checks; one that raises an error has failed, and the others run."""
    parts: list[tuple[str, Callable[[], Findings]]] = [
        ("machine", arithmetic),
        ("kernels", laws),
        ("bits", partial(bits, everything)),
        ("calls", calls),
    ]
    if with_cuda:
        parts.append(("cuda", partial(cuda, everything)))
    for group, part in parts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that kernels are interpreted
            try:
                yield from (replace(finding, group=group) for finding in part())
            except Exception as error:  # a check that cannot be carried out has failed
                problem = f"{type(error).__name__}: {error}"
                yield replace(equal(group, "no error", problem), group=group)


def facts() -> dict[str, str]:
    """Versions and facts of this machine, by name; no names of users, machines, folders."""
    values = {
        "kinetree": str(getattr(sys.modules["kinetree"], "__version__", "unknown")),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "system": f"{platform.system() or sys.platform} {platform.machine()}",
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
            "vector family": target.name,
        }
    installed = {package.name: package.version for package in metadata.distributions()}
    values |= {name: installed.get(name, "not installed") for name in PACKAGES}
    chosen = {x for x in os.environ if x.startswith("KINETREE_")} - {"KINETREE_CACHE_DIR"}
    return values | {name: os.environ[name] for name in sorted(chosen)}


@dataclass(frozen=True)
class Conformance(Checks):
    """A run of the conformance suite; `print(record)` shows the verdict.

    Args:
        machine: versions and facts of this machine, by name.
        lines: all checks.
        seconds: duration of the run, s.
    """

    machine: Mapping[str, str]
    lines: tuple[Finding, ...]
    seconds: float

    @property
    def checks(self) -> int:
        """Number of checks that ran; skipped ones do not count."""
        return len(self.lines) - len(self.skipped)

    def groups(self) -> list[dict[str, Any]]:
        """The numbers of each group: name, checks, failed, skipped."""
        count = Counter((x.group, x.status) for x in self.lines)
        return [
            {
                "name": name,
                "checks": count[name, PASSED] + count[name, FAILED],
                "failed": count[name, FAILED],
                "skipped": count[name, SKIPPED],
            }
            for name in dict.fromkeys(x.group for x in self.lines)
        ]

    def document(self) -> dict[str, Any]:
        """Everything as plain values for a JSON file."""
        return {
            "conforms": self.ok,
            "checks": self.checks,
            "failed": len(self.failures),
            "seconds": round(self.seconds, 3),
            "machine": dict(self.machine),
            "groups": self.groups(),
            "findings": [asdict(x) for x in self.lines],
        }

    def __str__(self) -> str:
        machine = self.machine
        lines = [
            f"kinetree {machine['kinetree']} on {machine['system']}, {machine['processor']}",
            f"Python {machine['Python']}, NumPy {machine['NumPy']}, {machine['kernels']}",
            "",
            *(f"  {x['name']:10}{x['checks']:6}  {_verdict(x)}" for x in self.groups()),
            "",
        ]
        lines += map(_shown, self.failures[:MOST_SHOWN])
        if self.ok:
            verdict = "this installation conforms."
        else:
            verdict = (
                f"{counted(len(self.failures), 'check')} FAILED. Do not rely on results of this "
                "installation before the cause is known; --json lists all checks."
            )
        return "\n".join(
            [*lines, f"{counted(self.checks, 'check')} in {self.seconds:.0f} s: {verdict}"]
        )


def _verdict(group: Mapping[str, Any]) -> str:
    return f"{group['failed']} FAILED" if group["failed"] else "fine"


def _shown(finding: Finding) -> str:
    """A failure in four lines."""
    head = f"FAILED  {finding.group}: {finding.name}"
    return (
        f"{head}\n  expected  {finding.expected}\n  found     {finding.found}\n  {finding.advice}"
    )
