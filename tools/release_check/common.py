"""Shared parts of the checks: places, the record of a release, programs that are run."""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "release"
DIST = PLACE / "dist"
CONTENTS = Path(__file__).with_name("contents.txt")
LOCK = ROOT / "requirements" / "release.txt"
SHOWN = 30  # lines of a program that failed


class Failed(Exception):
    """A check that failed; the message names what was found, what was expected and the remedy."""


@dataclass(frozen=True)
class Release:
    """The commit that a release would be made of.

    version: number that the source states.
    commit: hash of the commit.
    tag: tag of the commit that begins with v, or "".
    epoch: time of the commit in seconds, the time of every file in the archives.
    tracked: names of the files of the commit.
    write_contents: store the list of files instead of comparing it.
    """

    version: str
    commit: str
    tag: str
    epoch: int
    tracked: frozenset[str]
    write_contents: bool

    @property
    def wheel(self) -> Path:
        """The wheel among the files of the release."""
        return DIST / f"kinetree-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> Path:
        """The sdist among the files of the release."""
        return DIST / f"kinetree-{self.version}.tar.gz"


_notes: list[str] = []


def remark(text: str) -> None:
    """Keep a line that is printed below the result of the check."""
    _notes.append(text)


def notes() -> list[str]:
    """The lines that were kept since the last call."""
    found = list(_notes)
    _notes.clear()
    return found


def note(text: str) -> None:
    """Show what is being done, on a terminal alone."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}\r", end="", file=sys.stderr, flush=True)


def run(
    *command: str | Path,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    umask: int = -1,
    remedy: str = "",
) -> str:
    """Run a program and return its output; Failed has its last lines if it ends with an error."""
    found = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **(environment or {})},
        umask=umask,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if found.returncode:
        lines = (found.stdout + found.stderr).strip().splitlines()[-SHOWN:]
        raise Failed(
            f"`{' '.join(map(str, command))}` ended with {found.returncode}. {remedy}\n"
            + "\n".join(f"      {line}" for line in lines)
        )
    return found.stdout


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def environment_python(name: str, *, fresh: bool = True) -> Path:
    """The Python of an environment in build/release, made here if it is to be fresh or missing."""
    place = PLACE / name
    if fresh or not (place / "pyvenv.cfg").exists():
        venv.create(place, clear=True, with_pip=True, symlinks=os.name != "nt")
    return program(place, "python")


def program(place: Path, name: str) -> Path:
    """A program of an environment."""
    return place / "Scripts" / f"{name}.exe" if os.name == "nt" else place / "bin" / name


def tools() -> Path:
    """The Python that has the tools of requirements/release.txt, with the hashes listed there."""
    stamp = PLACE / "tools" / sha256(LOCK)
    if not stamp.exists():
        note("installing the tools of requirements/release.txt ...")
        python = environment_python("tools")
        run(
            python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", LOCK,
            remedy="Renew requirements/release.txt with `make lock` if a version has gone.",
        )  # fmt: skip
        stamp.touch()
    return program(PLACE / "tools", "python")
