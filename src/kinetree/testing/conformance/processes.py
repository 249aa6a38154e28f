"""Other processes: this Python again, with an environment of its own, and what it printed."""

import json
import os
import site
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinetree.errors import InputError

ROOT = str(Path(__file__).resolve().parents[3])  # the folder that contains the package
PATIENCE = 120.0  # s that a program may take
SLOWER = "KINETREE_TESTING_PATIENCE"  # variable with more seconds, for emulated machines
BEGINNING = "finding "  # of a line that a process prints for this one


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


def environment(**changes: str | None) -> dict[str, str]:
    """Return the environment of a process: it finds this kinetree and prints plain UTF-8.

    Args:
        changes: further variables; None removes one.
    """
    found = {**os.environ, "PYTHONIOENCODING": "utf-8:replace", "PYTHONUNBUFFERED": "1"}
    found |= {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    for name in ("FORCE_COLOR", "PYTHONWARNINGS", "PYTHONSTARTUP", "LINES"):
        found.pop(name, None)
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    if ROOT not in installed:
        given = found.get("PYTHONPATH")
        found["PYTHONPATH"] = ROOT if not given else f"{ROOT}{os.pathsep}{given}"
    for name, value in changes.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def allowed() -> float:
    """Return the seconds that a program may take."""
    text = os.environ.get(SLOWER, "")
    try:
        return float(text) if text else PATIENCE
    except ValueError:
        raise InputError(f"{SLOWER} is {text!r}; expected a number of seconds.") from None


def run(
    words: Sequence[str],
    folder: Path | str,
    changes: Mapping[str, str | None] | None = None,
    patience: float | None = None,
) -> Ended:
    """Run this Python with the words after its name, in a folder, and wait for its end."""
    if patience is None:
        patience = allowed()
    try:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, cwd=folder, timeout=patience,
            env=environment(**(changes or {})), stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(-1, "", f"no end within {patience:.0f} s")
    texts = (x.decode("utf-8", "replace").replace("\r\n", "\n") for x in (done.stdout, done.stderr))
    return Ended(done.returncode, *texts)


def answers(code: str, folder: Path | str, **changes: str | None) -> dict[str, Any] | Ended:
    """Run Python code that prints a JSON object as its last line; return it, or how it failed."""
    ended = run(["-c", code], folder, changes)
    lines = ended.out.strip().splitlines()
    if ended.code or not lines:
        return ended
    try:
        return json.loads(lines[-1])
    except ValueError:
        return ended


class Lines:
    """A process whose lines are read while it runs."""

    def __init__(self, words: Sequence[str], folder: Path | str, env: Mapping[str, str]) -> None:
        self._errors = open(Path(folder) / f"errors-{id(self)}.txt", "w+b")
        self._process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=dict(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the objects that the process prints, until it ends."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for data in stream:
                text = data.decode("utf-8", "replace").strip()
                if text.startswith(BEGINNING):
                    yield json.loads(text.removeprefix(BEGINNING))

    def stop(self) -> None:
        """End the process now."""
        if self._process.poll() is None:
            self._process.kill()

    def end(self) -> Ended:
        """Wait for the end of the process and return how it ended."""
        code = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        self._errors.close()
        return Ended(code, "", text)


def send(values: Mapping[str, object]) -> None:
    """Print an object as a line for the process that started this one."""
    sys.stdout.write(f"{BEGINNING}{json.dumps(dict(values))}\n")
    sys.stdout.flush()
