"""The machine: versions, processor and libraries, and checks of its arithmetic and of the files."""

import base64
import hashlib
import math
import os
import platform
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib import metadata
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import host_target
from kinetree.testing.conformance.record import REPORT, Choice, Finding, compared, equal, skipped

REINSTALL = "Install it again: pip install --force-reinstall --no-deps kinetree."
PACKAGES = ("rich", "cyclopts", "sympy", "mpmath", "cupy", "torch", "jax")
CACHE_VARIABLES = ("KINETREE_CACHE", "KINETREE_CACHE_DIR", "KINETREE_CACHE_SIZE")


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
        **llvm_facts(),
    }
    values |= {name: version(name) or "not installed" for name in PACKAGES}
    for name, value in sorted(os.environ.items()):
        if name.startswith("KINETREE_") and name not in CACHE_VARIABLES:
            values[name] = value
    return values


def llvm_facts() -> dict[str, str]:
    """Return versions of LLVM, and the processor as LLVM sees it."""
    if not has_llvm():
        return {
            "processor": platform.processor() or platform.machine(),
            "kernels": "no llvmlite: kernels are interpreted",
            "llvmlite": "not installed",
        }
    import llvmlite
    import llvmlite.binding as llvm

    target = host_target()
    release = ".".join(map(str, llvm.llvm_version_info))
    return {
        "processor": target.cpu or "unknown processor",
        "kernels": f"LLVM {release}, {target.name} x {target.lanes64}",
        "llvmlite": llvmlite.__version__,
        "LLVM": release,
        "triple": target.triple,
        "vector family": target.name,
        "states at a time": f"{target.lanes64} of float64, {target.lanes32} of float32",
        "fused multiply-add": "by the processor" if engine.fuses(target) else "by the C library",
    }


def blas() -> str:
    """Return the name and version of the library with which NumPy multiplies matrices."""
    try:
        config: Any = np.show_config(mode="dicts")
        library = config["Build Dependencies"]["blas"]
        return f"{library.get('name', 'unknown')} {library.get('version', '')}".strip()
    except (TypeError, KeyError, AttributeError):
        return "unknown"


def version(package: str) -> str:
    """Return the version of an installed package, "" if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def arithmetic(_: Choice) -> Iterator[Finding]:
    """Check what every result relies on: IEEE 754 in Python, in NumPy and in matrix products."""
    advice = (
        "Another package in this process, or a setting of the system, changed the rounding mode "
        "of the processor. Start Python without it."
    )
    ties = [float(x) for x in np.array([2.0**-53, 3 * 2.0**-53]) + 1]
    yield equal("sums are rounded to nearest, ties to even", [1.0, 1.0 + 2.0**-51], ties, advice)
    yield equal("0.1 + 0.2", "0x1.3333333333334p-2", (0.1 + 0.2).hex(), advice)
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
    yield compared("inverse of a triangle of ones", error <= 1e-14, "error <= 1e-14", error, advice)


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


def fused(_: Choice) -> Iterator[Finding]:
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
        ways = {"batch": kernel(*cases.T), "one state": [kernel(*case) for case in cases]}
        for way, results in ways.items():
            wrong = [case for case, x in zip(cases, results, strict=True) if not nearest(case, x)]
            shown = f", such as {[float(x).hex() for x in wrong[0]]}" if wrong else ""
            name = f"fused products in {dtype.__name__} are rounded once, {way}"
            yield compared(
                name, not wrong, f"0 of {len(cases)} wrong", f"{len(wrong)} wrong{shown}", advice
            )


def nearest(case: Array, x: Any) -> bool:
    """Return True if x is the number of its type that is nearest to a b + c."""
    a, b, c = (Fraction(float(y)) for y in case)
    exact = a * b + c
    neighbours = (np.nextafter(x, x.dtype.type(end)) for end in (-np.inf, np.inf))
    error = abs(Fraction(float(x)) - exact)
    return all(error <= abs(Fraction(float(y)) - exact) for y in neighbours)


def requirements(_: Choice) -> Iterator[Finding]:
    """Check that the versions of the packages are those that kinetree declares."""
    text = ".".join(map(str, sys.version_info[:2]))
    new = sys.version_info >= (3, 11)
    yield compared("version of Python", new, "3.11 or newer", text, "Update Python.")
    try:
        needed = metadata.requires("kinetree") or []
    except metadata.PackageNotFoundError:
        yield skipped("versions of packages", "kinetree runs without being installed")
        return
    for line in needed:
        line, marker = line.partition(";")[::2]
        match = re.match(r"([A-Za-z0-9_.-]+)\s*>=\s*([0-9.]+)\s*$", line)
        excluded = re.findall(r"sys_platform\s*!=\s*['\"]([^'\"]+)['\"]", marker)
        if match is None or re.search(r"\bextra\b", marker) or sys.platform in excluded:
            continue
        name, least = match.groups()
        installed = version(name)
        if not installed and name == "llvmlite":
            yield skipped(f"version of {name}", "not installed; kernels are interpreted")
        else:
            fine = bool(installed) and release(installed) >= release(least)
            advice = f"Install a newer one: pip install --upgrade {name}."
            yield compared(
                f"version of {name}", fine, f"{least} or newer", installed or "none", advice
            )


def release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, to compare it with another."""
    return tuple(int(x) for x in re.findall(r"\d+", version.partition("+")[0])[:3])


def files(_: Choice) -> Iterator[Finding]:
    """Check that the files of the package are those that were installed."""
    try:
        listed = metadata.distribution("kinetree").files or []
    except metadata.PackageNotFoundError:
        listed = []
    place = os.path.realpath(os.path.dirname(sys.modules["kinetree"].__file__ or ""))
    hashed = [x for x in listed if x.hash is not None and x.parts[0] == "kinetree"]
    hashed = [x for x in hashed if os.path.realpath(str(x.locate())).startswith(place + os.sep)]
    if not hashed:
        yield skipped("installed files", "kinetree runs from a folder of sources")
        return
    wrong: list[str] = []
    for item in hashed:
        assert item.hash is not None
        try:
            digest = hashlib.new(item.hash.mode, item.read_binary()).digest()
        except OSError:
            wrong.append(f"{item} is missing")
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != item.hash.value:
            wrong.append(f"{item} was changed")
    name = f"{len(hashed)} installed files are unchanged"
    yield equal(name, "no difference", "; ".join(wrong) or "no difference", REINSTALL)


PARTS = (arithmetic, fused, requirements, files)
