"""The machine: its versions, its arithmetic, the installed files, and other processes on it."""

import base64
import hashlib
import math
import os
import platform
import site
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import host_target
from kinetree.errors import InputError
from kinetree.testing.record import REPORT, Finding, Options, equal, skipped, within

PACKAGES = ("llvmlite", "rich", "cyclopts", "sympy", "mpmath", "cupy", "torch", "jax")
CACHE_VARIABLES = ("KINETREE_CACHE", "KINETREE_CACHE_DIR", "KINETREE_CACHE_SIZE")
ROOT = str(Path(__file__).resolve().parents[2])  # the folder that contains the package
LONGEST_RUN_S = 120.0  # of one command on the slowest machine that was tried
LONGEST_RUN = "KINETREE_TESTING_PATIENCE"  # variable with more seconds, for emulated machines
PLAIN_TEXT = {"PYTHONIOENCODING": "utf-8:replace", "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


@dataclass(frozen=True)
class Ended:
    """A process that has ended: exit code, and the text of stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def how(self) -> str:
        """How it ended, with its last line on stderr."""
        lines = self.err.strip().splitlines()
        end = f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
        return f"{end}: {lines[-1]}" if lines else end


def starts_processes() -> bool:
    """Return True if this Python can start processes."""
    return bool(sys.executable) and sys.platform not in ("emscripten", "wasi")


def run_python(
    words: Sequence[str],
    folder: Path | str,
    changes: Mapping[str, str | None] | None = None,
    limited: bool = True,
) -> Ended:
    """Run this Python with this kinetree and wait for its end.

    Args:
        words: the arguments of Python.
        folder: the current folder of the process.
        changes: further variables of its environment; None removes one.
        limited: end it after LONGEST_RUN_S, or the seconds of the variable LONGEST_RUN.
    """
    hidden: dict[str, str | None] = dict.fromkeys(("FORCE_COLOR", "PYTHONWARNINGS", "LINES"))
    values = {**os.environ, **PLAIN_TEXT, **hidden}
    if ROOT not in [*site.getsitepackages(), site.getusersitepackages()]:
        values["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    values |= changes or {}
    text = os.environ.get(LONGEST_RUN) or str(LONGEST_RUN_S)
    try:
        seconds = float(text) if limited else None
    except ValueError:
        raise InputError(f"{LONGEST_RUN} is {text!r}; expected a number of seconds.") from None
    try:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, cwd=folder, timeout=seconds, check=False,
            env={name: x for name, x in values.items() if x is not None}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(-1, "", f"no end within {text} s")
    texts = (x.decode("utf-8", "replace") for x in (done.stdout, done.stderr))
    return Ended(done.returncode, *(x.replace("\r\n", "\n") for x in texts))


def has_llvm() -> bool:
    """Return True if llvmlite can be imported, so that kernels are compiled."""
    try:
        engine.binding()
    except (ImportError, OSError):
        return False
    return True


def facts() -> dict[str, str]:
    """Return versions and facts of this machine, by name; no names of users, machines, folders."""
    values = {
        "kinetree": str(getattr(sys.modules["kinetree"], "__version__", "unknown")),
        "Python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "NumPy": np.__version__,
        "system": f"{platform.system() or sys.platform} {platform.machine()}",
        "release of the system": platform.release(),
        "byte order": sys.byteorder,
        "cores": str(os.cpu_count() or 1),
        "threads": os.environ.get("KINETREE_THREADS", "all cores"),
        "BLAS": blas(),
        "long double": f"eps {np.finfo(np.longdouble).eps:.1e}",
        "processor": platform.processor() or platform.machine(),
        "kernels": "no llvmlite: kernels are interpreted",
    }
    if has_llvm():
        import llvmlite.binding as llvm

        target = host_target()
        release = ".".join(map(str, llvm.llvm_version_info))
        values |= {
            "processor": target.cpu or "unknown processor",
            "kernels": f"LLVM {release}, {target.name} x {target.lanes64}",
            "LLVM": release,
            "triple": target.triple,
            "vector family": target.name,
            "states at a time": f"{target.lanes64} of float64, {target.lanes32} of float32",
            "fused multiply-add": "by the processor"
            if engine.fuses(target)
            else "by the C library",
        }
    for name in PACKAGES:
        try:
            values[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            values[name] = "not installed"
    chosen = {x for x in os.environ if x.startswith("KINETREE_")} - set(CACHE_VARIABLES)
    return values | {name: os.environ[name] for name in sorted(chosen)}


def blas() -> str:
    """Return the name and version of the library with which NumPy multiplies matrices."""
    try:
        config: Any = np.show_config(mode="dicts")
        library = config["Build Dependencies"]["blas"]
        return f"{library.get('name', 'unknown')} {library.get('version', '')}".strip()
    except (TypeError, KeyError, AttributeError):
        return "unknown"


def arithmetic(_: Options) -> Iterator[Finding]:
    """Check what every result relies on: IEEE 754 in Python, in NumPy and in matrix products."""
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
    advice = f"The BLAS and LAPACK of NumPy ({blas()}) are wrong; install another build of NumPy."
    whole = np.arange(4096).reshape(64, 64) % 97 - 48
    wrong = int(np.sum(whole @ whole.T != whole.astype(float) @ whole.T.astype(float)))
    yield equal("products of whole matrices by BLAS are exact", 0, wrong, advice)
    lower, inverse = np.tril(np.ones((12, 12))), np.eye(12) - np.eye(12, k=-1)
    error = float(np.abs(np.linalg.solve(lower, np.eye(12)) - inverse).max())
    yield within("inverse of a triangle of ones", error, 1e-14, advice)


def product_cases(dtype: Any) -> Array:
    """Return a, b, c, (cases, 3), for which a b + c is wrong if it is rounded twice."""
    form = np.finfo(dtype)
    p, least, most = form.nmant + 1, form.minexp - form.nmant, form.maxexp - 1
    cases: list[tuple[float, float, float]] = []
    # sums next to the middle of two neighbours, above and below it: the product differs from the
    # middle by 2^-2j of itself, which a second rounding (after one to p or to 64 bits) loses
    for j in range(p // 2 + 1, p - 1):
        e, half = math.ldexp(1.0, -j), math.ldexp(1.0, -p)
        for scale in (1.0, math.ldexp(1.0, least // 2), math.ldexp(1.0, most // 2)):
            odd = scale * (1 + 2 * half)
            cases += [
                (1 + e, scale * half * (1 - e), odd),
                (1 + e, scale * half * (1 + e), scale),
                (1 + e, -scale * half * (1 - e), odd),
            ]
    # cancellation, where the sum is the error of the rounded product; and results below the least
    # normal number, where fewer bits are left
    for k in range(24):
        m, n = (
            2 ** (p - 1) + (x * (k + 1)) % 2 ** (p - 1) | 1
            for x in (6364136223846793, 14426950408889)
        )
        cases.append((m, n, -float(np.asarray(m * n, dtype))))
        shift = least - 2 * p + 2 + k
        low = shift // 2
        a, b = math.ldexp(m, low), math.ldexp(n, shift - low)
        cases += [(a, b, math.ldexp(c, least)) for c in (0, 1, 3, -(2**k))]
    return np.array([(s * a, b, s * c) for a, b, c in cases for s in (1, -1)], dtype)


def product_kernel() -> Kernel:
    """Return a kernel of one fused product, which calls what all kernels call."""
    graph = optimise(trace(lambda a, b, c: a * b + c, [Port(name, ()) for name in "abc"]))
    assert any(node.op == "fma" for node in graph.nodes)
    return Kernel(graph, "fused_product")


def fused(_: Options) -> Iterator[Finding]:
    """Check that a b + c has one rounding: no other number is nearer to the exact value.

    Processors without fused multiply-add take the function `fma` of the C library, and some
    libraries round its result twice.
    """
    advice = f"Results differ from those of other machines in their last bits. {REPORT}"
    if has_llvm() and not engine.fuses(host_target()):
        advice = (
            "Results differ from those of other machines in their last bits: the function fma of "
            "the C library of this system rounds wrongly, and kernels call it because the "
            "processor has no fused multiply-add or because KINETREE_TARGET excludes it. Leave "
            "KINETREE_TARGET empty or update the C library."
        )
    kernel = product_kernel()
    for dtype in (np.float64, np.float32):
        cases = product_cases(dtype)
        for way, results in (
            ("batch", kernel(*cases.T)),
            ("one state", [kernel(*x) for x in cases]),
        ):
            wrong = [case for case, x in zip(cases, results, strict=True) if not nearest(case, x)]
            shown = f", such as {[float(x).hex() for x in wrong[0]]}" if wrong else ""
            name = f"fused products in {dtype.__name__} are rounded once, {way}"
            yield equal(
                name,
                f"0 of {len(cases)} wrong",
                f"{len(wrong)} of {len(cases)} wrong{shown}",
                advice,
            )


def nearest(case: Array, x: Any) -> bool:
    """Return True if x is the number of its type that is nearest to a b + c."""
    a, b, c = (Fraction(float(y)) for y in case)
    exact = a * b + c
    neighbours = (np.nextafter(x, x.dtype.type(end)) for end in (-np.inf, np.inf))
    error = abs(Fraction(float(x)) - exact)
    return all(error <= abs(Fraction(float(y)) - exact) for y in neighbours)


def files(_: Options) -> Iterator[Finding]:
    """Check that the files of the package are those that were installed."""
    try:
        listed = metadata.distribution("kinetree").files or []
    except metadata.PackageNotFoundError:
        listed = []
    place = os.path.realpath(os.path.dirname(sys.modules["kinetree"].__file__ or ""))
    hashed = {
        item: item.hash
        for item in listed
        if item.hash is not None and os.path.realpath(item.locate()).startswith(place + os.sep)
    }
    if not hashed:
        yield skipped("installed files", "kinetree runs from a folder of sources")
        return
    wrong: list[str] = []
    for item, seal in hashed.items():
        try:
            digest = hashlib.new(seal.mode, item.read_binary()).digest()
        except OSError:
            wrong.append(f"{item} is missing")
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != seal.value:
            wrong.append(f"{item} was changed")
    advice = "Install it again: pip install --force-reinstall --no-deps kinetree."
    name = f"{len(hashed)} installed files are unchanged"
    yield equal(name, "no difference", "; ".join(wrong) or "no difference", advice)


PARTS = (arithmetic, fused, files)
