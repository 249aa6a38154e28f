"""Other processes: this Python again, with an environment of its own, and what it printed."""

import json
import os
import site
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kinetree.errors import InputError

ROOT = str(Path(__file__).resolve().parents[3])  # the folder that contains the package
LONGEST_RUN_S = 120.0  # of one command on the slowest machine that was tried
LONGEST_RUN = "KINETREE_TESTING_PATIENCE"  # variable with more seconds, for emulated machines
LINE_START = "finding "  # of a line that a process prints for this one


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


def available() -> bool:
    """Return True if this Python can start processes."""
    return bool(sys.executable) and sys.platform not in ("emscripten", "wasi")


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Return the environment of a process: it finds this kinetree and prints plain UTF-8.

    Args:
        changes: further variables; None removes one.
    """
    values = {**os.environ, "PYTHONIOENCODING": "utf-8:replace", "PYTHONUNBUFFERED": "1"}
    values |= {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    for name in ("FORCE_COLOR", "PYTHONWARNINGS", "PYTHONSTARTUP", "LINES"):
        values.pop(name, None)
    if ROOT not in [*site.getsitepackages(), site.getusersitepackages()]:
        path = values.get("PYTHONPATH")
        values["PYTHONPATH"] = f"{ROOT}{os.pathsep}{path}" if path else ROOT
    for name, value in (changes or {}).items():
        values.pop(name, None)
        if value is not None:
            values[name] = value
    return values


def run(words: Sequence[str], folder: Path | str) -> Ended:
    """Run this Python with the words after its name, in a folder, and wait for its end."""
    text = os.environ.get(LONGEST_RUN, "")
    try:
        seconds = float(text) if text else LONGEST_RUN_S
    except ValueError:
        raise InputError(f"{LONGEST_RUN} is {text!r}; expected a number of seconds.") from None
    try:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, cwd=folder, timeout=seconds,
            env=environment(), stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(-1, "", f"no end within {seconds:.0f} s")
    out, err = (
        x.decode("utf-8", "replace").replace("\r\n", "\n") for x in (done.stdout, done.stderr)
    )
    return Ended(done.returncode, out, err)


def send(values: object) -> None:
    """Print an object as a line for the process that started this one."""
    sys.stdout.write(f"{LINE_START}{json.dumps(values)}\n")
    sys.stdout.flush()
