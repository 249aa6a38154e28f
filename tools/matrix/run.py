"""Carry out a cell: a fresh environment, the wheel in it, and the conformance suite."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matrix.cells import PROJECT, Cell, MatrixError, bounds, constraints
from matrix.roots import PLACE, inside, make, missing, native, root_of

Say = Callable[[str], None]
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input")
PATIENCE = 3600  # s that the emulated suite waits for a program of its own


@dataclass(frozen=True)
class Outcome:
    """The end of a cell: "passed", "failed" or "skipped", with the reason and the suite's report.

    report: the JSON document of `python -m kinetree.testing --json`; empty if it did not run.
    seconds: duration of the suite.
    """

    cell: Cell
    verdict: str
    reason: str = ""
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0


def command(
    words: Sequence[str], step: str, *, folder: Path | None = None, limit: float = 1800
) -> str:
    """Run a program and return its output; raise MatrixError, which names the step, if it fails."""
    try:
        done = subprocess.run(
            [str(x) for x in words], cwd=folder, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        raise MatrixError(f"{step} did not end within {limit:.0f} s.") from None
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise MatrixError(f"{step} ended with code {done.returncode}:\n{last}")
    return done.stdout


def build_wheel() -> Path:
    """Build the wheel of the working tree, once for all cells."""
    place = PLACE / "wheel"
    shutil.rmtree(place, ignore_errors=True)
    words = [sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", place, PROJECT]
    command([str(x) for x in words], "building the wheel")
    return next(place.glob("kinetree-*.whl"))


def interpreter(version: str) -> str:
    """Return the Python of this machine with a version such as "3.12"; "" if there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return os.path.realpath(sys.executable)
    candidates = [shutil.which(f"python{version}")]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += sorted(map(str, versions.glob(f"{version}.*/bin/python")), reverse=True)
    for path in candidates:
        if path is None:
            continue
        words = [path, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.stdout.strip() == version:
            return path
    return ""


def obstacle(cell: Cell) -> str:
    """Return why a cell cannot run on this machine; "" if it can."""
    if cell.system is not None:
        return missing(cell.system) or missing(native(cell.system))
    if not interpreter(cell.python):
        return f"there is no Python {cell.python} on the path or in pyenv"
    return ""


def carry_out(cell: Cell, wheel: Path, say: Say) -> Outcome:
    """Install the wheel in a fresh environment of the cell and run the suite there."""
    reason = obstacle(cell)
    if reason:
        return Outcome(cell, "skipped", reason)
    with tempfile.TemporaryDirectory(prefix="kinetree-matrix-") as folder:
        try:
            install = _install_here if cell.system is None else _install_in_system
            python = install(cell, wheel, Path(folder), say)
            say("running the conformance suite")
            return _suite(cell, python, Path(folder))
        except MatrixError as error:
            return Outcome(cell, "failed", str(error))


def _download(cell: Cell, wheel: Path, folder: Path) -> None:
    """Download the wheels of a cell, for its Python and its system, into a folder.

    The pip of this machine does it, with its settings, so that the systems need no network.
    """
    limits = folder / "constraints.txt"
    limits.write_text("\n".join(constraints(cell, bounds())), encoding="utf-8")
    words = [sys.executable, *PIP, "download", "--only-binary=:all:", "--dest", folder]
    words += ["--constraint", limits, "--python-version", cell.python]
    for platform in cell.system.platforms if cell.system is not None else ():
        words += ["--platform", platform]
    command([str(x) for x in (*words, wheel)], "downloading the dependencies")
    for name in cell.without:
        for archive in folder.glob(f"{name}-*.whl"):
            archive.unlink()
    for own in folder.glob(f"{wheel.name}"):
        own.unlink()
    shutil.copy(wheel, folder)


def _wheels(folder: Path) -> list[str]:
    return sorted(str(x) for x in folder.glob("*.whl"))


def _install_here(cell: Cell, wheel: Path, folder: Path, say: Say) -> str:
    """Install in an environment of this machine; return the path of its Python."""
    say("downloading the wheels")
    _download(cell, wheel, folder)
    say("installing")
    place = folder / "environment"
    command([interpreter(cell.python), "-m", "venv", str(place)], "making the environment")
    python = str(place / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    words = [python, *PIP, "install", "--no-index", "--no-deps", *_wheels(folder)]
    command(words, "installing the wheels")
    return python


def _install_in_system(cell: Cell, wheel: Path, folder: Path, say: Say) -> str:
    """Install in a Debian system; return the path of the environment's Python there.

    The environment of an emulated cell is made by the system of this machine's kind that has the
    same Python: nothing but links and files of Python is in it, and the wheels are those of the
    emulated machine.
    """
    assert cell.system is not None
    builder = native(cell.system)
    for system in {builder.name: builder, cell.system.name: cell.system}.values():
        if not root_of(system).exists():
            say(f"making the system {system.name}")
        make(system)
    say("downloading the wheels")
    _download(cell, wheel, folder)
    say("installing")
    place = f"/opt/matrix/{cell.name}"
    root = root_of(builder)
    own = root / place[1:]
    shutil.rmtree(own, ignore_errors=True)
    (own / "wheels").mkdir(parents=True)
    for path in _wheels(folder):
        shutil.copy(path, own / "wheels")
    python = f"/usr/bin/python{cell.python}"
    words = [python, "-m", "venv", f"{place}/environment"]
    command(inside(root, words), "making the environment")
    names = [f"{place}/wheels/{Path(x).name}" for x in _wheels(folder)]
    words = [f"{place}/environment/bin/python", *PIP, "install", "--no-index", "--no-deps"]
    if cell.emulated:
        target = f"{place}/environment/lib/python{cell.python}/site-packages"
        words += ["--only-binary=:all:", "--target", target]
        for platform in cell.system.platforms:
            words += ["--platform", platform]
    command(inside(root, [*words, *names]), "installing the wheels")
    if cell.emulated:
        other = root_of(cell.system) / place[1:]
        shutil.rmtree(other, ignore_errors=True)
        other.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(own, other)
    return f"{place}/environment/bin/python"


def _suite(cell: Cell, python: str, folder: Path) -> Outcome:
    """Run the conformance suite with the Python of a cell."""
    variables = {"OPENBLAS_NUM_THREADS": "1", **cell.environment}
    if cell.emulated:
        variables["KINETREE_TESTING_PATIENCE"] = str(PATIENCE)
    words = [python, "-m", "kinetree.testing", "--json"]
    if cell.system is not None:
        words = inside(root_of(cell.system), words, variables)
    keep = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in keep if name in os.environ} | variables
    begin = time.monotonic()
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, timeout=cell.limit
        )
    except subprocess.TimeoutExpired:
        return Outcome(cell, "failed", f"the suite did not end within {cell.limit} s")
    seconds = time.monotonic() - begin
    try:
        report = json.loads(done.stdout)
    except ValueError:
        last = " / ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
        if "KINETREE_TARGET" in cell.environment and "which this processor" in last:
            return Outcome(cell, "skipped", last)  # it has no such vector width
        reason = f"the suite printed no report (exit code {done.returncode}): {last}"
        return Outcome(cell, "failed", reason, seconds=seconds)
    fine = done.returncode == 0 and report["conforms"]
    reason = "" if fine else _failures(report)
    return Outcome(cell, "passed" if fine else "failed", reason, report, seconds)


def _failures(report: dict[str, Any]) -> str:
    failed = [x for x in report["findings"] if x["status"] == "FAIL"]
    names = "; ".join(f"{x['group']}: {x['name']} (found {x['found'][:80]})" for x in failed[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return f"{names}{more}"
