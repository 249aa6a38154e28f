"""Origin of a record: machine, versions, commit, date. No host names and no paths."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "kinetree", "numpy", "llvmlite", "pin", "casadi", "mujoco", "frax",
    "jax", "example-robot-data",
)  # fmt: skip
TELLING = ("sse2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "neon", "sve")


def describe() -> dict[str, Any]:
    """Machine, versions, commit, date and load, for the record."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "features": features(),
            "system": f"{platform.system()} {platform.machine()}",
            "load": load(),
        },
        "versions": versions(),
        "commit": commit(),
    }


def slug(record: dict[str, Any]) -> str:
    """A name for files: the day, the processor and its cores."""
    machine = record["machine"]
    words = re.sub(r"\(.*?\)|@.*|\d+-core|processor|cpu", " ", machine["processor"].lower())
    name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
    return f"{record['date'][:10]}-{name}-{machine['cores']}-cores"


def processor() -> str:
    """Name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1].strip() if found else platform.processor() or platform.machine()


def features() -> list[str]:
    """The vector instructions that decide the speed."""
    import llvmlite.binding as llvm

    has = llvm.get_host_cpu_features()
    return [name for name in TELLING if has.get(name)]


def load() -> float | None:
    """Processes that wanted to run during the last minute; a high load means noisy timings."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def versions() -> dict[str, str]:
    """Of Python, the compiler and every package that takes part."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    found["gcc"] = output(["gcc", "-dumpfullversion"]) or "not installed"
    return found


def commit() -> str:
    """The commit that was measured, marked if the sources differ from it."""
    here = str(Path(__file__).parent)
    head = output(["git", "-C", here, "rev-parse", "--short=12", "HEAD"])
    changed = output(["git", "-C", here, "status", "--porcelain", "--", "../src", "."])
    return f"{head or 'unknown'}{' and changes' if changed else ''}"


def output(command: list[str]) -> str:
    """Output of a command; empty if it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
