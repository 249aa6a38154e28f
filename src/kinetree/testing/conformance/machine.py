"""The machine: versions, processor and libraries, and checks of its arithmetic and of the files."""

import base64
import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.testing.conformance.record import Finding, compared, equal, skipped

REINSTALL = "Install it again: pip install --force-reinstall --no-deps kinetree."
OPTIONAL = ("sympy", "mpmath", "cupy", "torch", "jax")
CACHE = ("KINETREE_CACHE", "KINETREE_CACHE_DIR", "KINETREE_CACHE_SIZE")


def has_llvm() -> bool:
    """Return True if llvmlite can be imported, so that kernels are compiled."""
    from kinetree.backends.llvm import engine

    try:
        engine.binding()
    except (ImportError, OSError):
        return False
    return True


def facts() -> dict[str, str]:
    """Return versions and facts of this machine, by name; no names of users, machines, folders."""
    found = {
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
        **(llvm_facts() if has_llvm() else no_llvm()),
    }
    for name in ("rich", "cyclopts", *OPTIONAL):
        found[name] = version(name) or "not installed"
    for name, value in sorted(os.environ.items()):
        if name.startswith("KINETREE_") and name not in CACHE:
            found[name] = value
    return found


def llvm_facts() -> dict[str, str]:
    """Return versions of LLVM, and the processor as LLVM sees it."""
    import llvmlite
    import llvmlite.binding as llvm

    from kinetree.backends.llvm import engine
    from kinetree.backends.llvm.target import host_target

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


def no_llvm() -> dict[str, str]:
    """Return the same facts where llvmlite is missing."""
    return {
        "processor": platform.processor() or platform.machine(),
        "kernels": "no llvmlite: kernels are interpreted",
        "llvmlite": "not installed",
    }


def blas() -> str:
    """Return the name and version of the library with which NumPy multiplies matrices."""
    try:
        config: Any = np.show_config(mode="dicts")
        found = config["Build Dependencies"]["blas"]
        return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()
    except (TypeError, KeyError, AttributeError):
        return "unknown"


def version(package: str) -> str:
    """Return the version of an installed package, "" if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def arithmetic() -> Iterator[Finding]:
    """Check what every result relies on: IEEE 754 in Python, in NumPy and in matrix products."""
    one = np.ones(1)
    yield equal("float64 has 53 bits", 52, int(np.finfo(float).nmant))
    yield equal("float32 has 24 bits", 23, int(np.finfo(np.float32).nmant))
    advice = (
        "Another package in this process, or a setting of the system, changed the rounding mode "
        "of the processor. Start Python without it."
    )
    ties = [float(x) for x in np.array([2.0**-53, 3 * 2.0**-53]) + 1]
    yield equal("sums are rounded to nearest, ties to even", [1.0, 1.0 + 2.0**-51], ties, advice)
    yield equal("0.1 + 0.2", "0x1.3333333333334p-2", (0.1 + 0.2).hex(), advice)
    small = float((one * 2.0**-1022 / 4)[0])
    yield equal("numbers below 2^-1022 are not set to zero", 2.0**-1024, small, advice)
    yield equal("sqrt(2)", "0x1.6a09e667f3bcdp+0", float(np.sqrt(2 * one)[0]).hex())
    a = np.arange(4096).reshape(64, 64) % 97 - 48
    exact = [int(x) for x in (a @ a.T).ravel()]
    found = [int(x) for x in (a.astype(float) @ a.T.astype(float)).ravel()]
    wrong = sum(x != y for x, y in zip(exact, found, strict=True))
    yield equal(
        "products of whole matrices by BLAS are exact", "0 wrong of 4096", f"{wrong} wrong of 4096",
        f"The BLAS of NumPy ({blas()}) computes wrong products; install another build of NumPy.",
    )  # fmt: skip


def solving() -> Iterator[Finding]:
    """Check that LAPACK inverts a matrix whose inverse is known."""
    n = 12
    lower: Array = np.tril(np.ones((n, n)))
    inverse: Array = np.eye(n) - np.eye(n, k=-1)
    error = float(np.abs(np.linalg.solve(lower, np.eye(n)) - inverse).max())
    advice = f"The LAPACK of NumPy ({blas()}) is wrong; install another build of NumPy."
    yield compared("inverse of a triangle of ones", error <= 1e-14, "error <= 1e-14", error, advice)


def requirements() -> Iterator[Finding]:
    """Check that the versions of the packages are those that kinetree declares."""
    minimum = (3, 11)
    now = sys.version_info[:2]
    text = ".".join(map(str, now))
    yield compared("version of Python", now >= minimum, "3.11 or newer", text, "Update Python.")
    try:
        needed = metadata.requires("kinetree") or []
    except metadata.PackageNotFoundError:
        yield skipped("versions of packages", "kinetree runs without being installed")
        return
    for line in needed:
        line, _, marker = line.partition(";")
        match = re.match(r"([A-Za-z0-9_.-]+)\s*>=\s*([0-9.]+)\s*$", line)
        if match is None or re.search(r"\bextra\b", marker) or not_here(marker):
            continue
        name, least = match.groups()
        found = version(name)
        if not found and name == "llvmlite":
            yield skipped(f"version of {name}", "not installed; kernels are interpreted")
        else:
            fine = bool(found) and numbers(found) >= numbers(least)
            advice = f"Install a newer one: pip install --upgrade {name}."
            yield compared(f"version of {name}", fine, f"{least} or newer", found or "none", advice)


def not_here(marker: str) -> bool:
    """Return True if the marker of a dependency excludes this system."""
    excluded = re.findall(r"sys_platform\s*!=\s*['\"]([^'\"]+)['\"]", marker)
    return sys.platform in excluded


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, to compare it with another."""
    return tuple(int(x) for x in re.findall(r"\d+", version.partition("+")[0])[:3])


def files() -> Iterator[Finding]:
    """Check that the files of the package are those that were installed."""
    try:
        listed = metadata.distribution("kinetree").files or []
    except metadata.PackageNotFoundError:
        listed = []
    place = os.path.realpath(os.path.dirname(sys.modules["kinetree"].__file__ or ""))
    own = [x for x in listed if x.hash is not None and x.parts[0] == "kinetree"]
    own = [x for x in own if os.path.realpath(str(x.locate())).startswith(place + os.sep)]
    if not own:
        yield skipped("installed files", "kinetree runs from a folder of sources")
        return
    wrong: list[str] = []
    for item in own:
        assert item.hash is not None
        try:
            data = item.read_binary()
        except OSError:
            wrong.append(f"{item} is missing")
            continue
        found = base64.urlsafe_b64encode(hashlib.new(item.hash.mode, data).digest())
        if found.rstrip(b"=").decode() != item.hash.value:
            wrong.append(f"{item} was changed")
    name = f"{len(own)} installed files are unchanged"
    yield equal(name, "no difference", "; ".join(wrong) or "no difference", REINSTALL)


PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    "arithmetic": arithmetic,
    "solving": solving,
    "versions": requirements,
    "files": files,
}
