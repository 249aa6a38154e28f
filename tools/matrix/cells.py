"""Cells of the matrix: a machine, a Python and versions of the packages; one line a cell."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
CORE = ("numpy", "llvmlite", "cyclopts", "rich", "latex2mathml", "scipy")
NATIVE_LIMIT, EMULATED_LIMIT = 900, 3 * 3600  # s that the conformance suite of a cell may take


class MatrixError(Exception):
    """A step of a cell went wrong; the message names the step and the remedy."""


@dataclass(frozen=True)
class System:
    """A Debian system of its own, made with debootstrap; `architecture` is Debian's word."""

    name: str
    suite: str
    architecture: str
    packages: tuple[str, ...]

    @property
    def emulated(self) -> bool:
        """True if its programs run through QEMU on this machine."""
        import platform

        own = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
        return self.architecture != own

    @property
    def platforms(self) -> tuple[str, ...]:
        """Names of the platforms whose wheels run in it, newest first."""
        machine = {"amd64": "x86_64", "arm64": "aarch64"}[self.architecture]
        versions = ("2_39", "2_34", "2_31", "2_28", "2_27", "2_26", "2_24", "2_17")
        return (*(f"manylinux_{v}_{machine}" for v in versions), f"manylinux2014_{machine}")


TRIXIE = System("trixie-amd64", "trixie", "amd64", ("python3", "python3-venv"))
TRIXIE_ARM = System("trixie-arm64", "trixie", "arm64", ("python3", "python3-venv"))
SID = System(
    "sid-amd64", "sid", "amd64", ("python3.14", "python3.14-venv", "python3.15", "python3.15-venv")
)


@dataclass(frozen=True)
class Cell:
    """One cell.

    Args:
        name: name in the table and in the record.
        python: version of Python, such as "3.13".
        system: the Debian system that has this Python; None is this machine, where it must be
            on the path, in pyenv, or the Python that runs the tool.
        packages: "newest" allowed versions of the dependencies, or "oldest".
        without: dependencies that are left out.
        environment: variables of the environment of the suite.
    """

    name: str
    python: str
    system: System | None = None
    packages: str = "newest"
    without: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def emulated(self) -> bool:
        """True if the cell runs through QEMU."""
        return self.system is not None and self.system.emulated

    @property
    def limit(self) -> int:
        """Seconds that its conformance suite may take."""
        return EMULATED_LIMIT if self.emulated else NATIVE_LIMIT


# A processor that this machine is not, for each library that chooses code by the processor
NO_AVX512 = "AVX512F AVX512CD AVX512_SKX X86_V4 AVX512_ICL"  # names before and since NumPy 2.4
OTHER_PROCESSOR = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": NO_AVX512,
    "KINETREE_TARGET": "avx2",
}

CELLS = (
    Cell("python-3.11", "3.11"),
    Cell("python-3.12", "3.12"),
    Cell("python-3.13", "3.13", TRIXIE),
    Cell("python-3.14", "3.14", SID),
    Cell("python-3.15", "3.15", SID),
    Cell("oldest", "3.11", packages="oldest"),
    Cell("oldest-3.13", "3.13", TRIXIE, packages="oldest"),
    Cell("no-llvmlite", "3.11", without=("llvmlite",)),
    Cell("sse2", "3.11", environment={"KINETREE_TARGET": "sse2"}),
    Cell("avx2", "3.11", environment={"KINETREE_TARGET": "avx2"}),
    Cell("blas-haswell", "3.11", environment={"OPENBLAS_CORETYPE": "Haswell"}),
    Cell("blas-zen", "3.11", environment={"OPENBLAS_CORETYPE": "Zen"}),
    Cell("numpy-no-avx512", "3.11", environment={"NPY_DISABLE_CPU_FEATURES": NO_AVX512}),
    Cell("other-processor", "3.11", environment=OTHER_PROCESSOR),
    Cell("aarch64", "3.13", TRIXIE_ARM),
)
# what the matrix does not have, with the reason; the record repeats it
MISSING = (
    "musl: llvmlite has no wheels for it, and Debian has no Python that is linked with it.",
    "Free-threaded Python: Debian has no package of it. The workflow file lists it.",
    "Windows and macOS: they cannot be run here. The workflow file lists them.",
)


def chosen(pattern: str, cells: Sequence[Cell] = CELLS) -> list[Cell]:
    """Return the cells whose names match one of the patterns, separated by spaces or commas."""
    patterns = pattern.replace(",", " ").split()
    found = [cell for cell in cells if any(fnmatch(cell.name, x) for x in patterns)]
    if not found:
        names = ", ".join(cell.name for cell in cells)
        raise MatrixError(f"no cell matches {pattern!r}; the cells are: {names}.")
    return found


def bounds(project: Path = PROJECT) -> dict[str, str]:
    """Return the lowest allowed version of each dependency, from pyproject.toml."""
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for line in tomllib.loads(text)["project"]["dependencies"]:
        match = re.match(r"([a-z_-]+) *>= *([0-9.]+)", line)
        if match is None:
            raise MatrixError(f"the dependency {line!r} in pyproject.toml has no lower bound (>=).")
        found[match[1]] = match[2]
    return found


# The first release with wheels for a Python: the lowest bound that can be installed there. A
# package that is not listed has one wheel for all.
FIRST_WHEELS = {
    ("numpy", "3.12"): "1.26.0",
    ("numpy", "3.13"): "2.1.0",
    ("numpy", "3.14"): "2.3.2",
    ("llvmlite", "3.13"): "0.44.0",
    ("llvmlite", "3.14"): "0.46.0",
}


def constraints(cell: Cell, lowest: dict[str, str]) -> list[str]:
    """Return the lines of the constraints file of a cell; empty for the newest versions."""
    if cell.packages == "newest":
        return []
    lines: list[str] = []
    for name, bound in lowest.items():
        first = FIRST_WHEELS.get((name, cell.python), bound)
        version = max(bound, first, key=numbers)
        lines.append(f"{name}=={version}")
    return lines


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, so that versions can be compared; 13 equals 13.0."""
    found = [int(x) for x in re.findall(r"\d+", version)]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)
