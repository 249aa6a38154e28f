"""`python -m kinetree.testing`: check this installation, print a verdict, exit with 0 or 1."""

import json
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from kinetree.errors import KinetreeError
from kinetree.testing.conformance import GROUPS, Finding, run_conformance
from kinetree.testing.conformance.record import FAILED

CONFORMS, FAILS, WRONG_USAGE, NO_OUTPUT, INTERRUPTED = 0, 1, 2, 74, 130
PROGRAM = "python -m kinetree.testing"
WIDEST = 78  # columns of the line of progress


def help_text() -> str:
    """Return the text of --help."""
    groups = "\n".join(f"  {name:10}  {group.title}" for name, group in GROUPS.items())
    return f"""\
Usage: {PROGRAM} [OPTIONS]

Check that this installation of kinetree computes what it computes on other
machines. Takes about a minute and needs no other package.

Options:
  --only GROUP  run one group of checks; may be repeated
  --all         compare the whole table of bits (takes minutes)
  --cuda        also check CUDA kernels (needs CuPy and a GPU)
  --json        print everything as JSON, for bug reports; it has no user names
                and no paths
  --help, -h    show this text

Groups:
{groups}

Exit codes: 0 this installation conforms; 1 a check failed; 2 wrong usage;
74 the output cannot be written; 130 interrupted."""


class Usage(KinetreeError, ValueError):
    """Wrong words after the command; the message is one sentence."""


def parsed(words: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the switches and the chosen groups."""
    switches: set[str] = set()
    groups: list[str] = []
    left = list(words)
    while left:
        word, equals, value = left.pop(0).partition("=")
        if word == "--only":
            if not equals:
                value = left.pop(0) if left else ""
            if value not in GROUPS:
                found = repr(value) if value else "nothing"
                raise Usage(f"--only is followed by {found}; expected one of {', '.join(GROUPS)}.")
            groups.append(value)
        elif word in ("--all", "--cuda", "--json", "--help", "-h") and not equals:
            switches.add("--help" if word == "-h" else word)
        else:
            raise Usage(
                f"there is no option {word}{equals}{value}; expected --only GROUP, --all, --cuda, "
                f"--json or --help."
            )
    return switches, groups


class Progress:
    """A line on the terminal with the number of checks and the last one; nothing elsewhere."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream, self.count, self.failed = stream, 0, 0
        terminal = stream is not None and stream.isatty()
        self.shown = terminal and os.environ.get("TERM") != "dumb"

    def __call__(self, finding: Finding) -> None:
        """Show that a check is done."""
        self.count += 1
        self.failed += finding.outcome == FAILED
        if self.shown:
            failed = f", {self.failed} FAILED" if self.failed else ""
            self._write(f"{self.count} checks{failed}, {finding.group}: {finding.name}")

    def close(self) -> None:
        """Clear the line."""
        if self.shown:
            self._write("")

    def _write(self, text: str) -> None:
        if self.stream is None:
            return
        plain = text.encode("ascii", "replace").decode()[:WIDEST]
        self.stream.write(f"\r{plain:{WIDEST}}" if plain else f"\r{' ' * WIDEST}\r")
        self.stream.flush()


def opened(name: str) -> TextIO | None:
    """Return sys.stdout or sys.stderr; None if the program was started with it closed."""
    return getattr(sys, name)


def complain(text: str) -> None:
    """Write one line on stderr, if it is open."""
    if opened("stderr") is not None:
        print(f"{PROGRAM}: {text}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> int:
    """Run the suite and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # for consoles that do not show every letter
    try:
        switches, groups = parsed(sys.argv[1:] if words is None else words)
    except Usage as error:
        complain(f"{error} See {PROGRAM} --help.")
        return WRONG_USAGE
    if opened("stdout") is None:
        complain("the output is closed; send it to a terminal, a file or a program.")
        return NO_OUTPUT
    if "--help" in switches:
        print(help_text())
        return CONFORMS
    progress = Progress(opened("stderr"))
    try:
        record = run_conformance(
            groups or None, everything="--all" in switches, cuda="--cuda" in switches,
            progress=progress,
        )  # fmt: skip
    except KinetreeError as error:  # such as a wrong value of KINETREE_TARGET
        progress.close()
        complain(str(error))
        return WRONG_USAGE
    except KeyboardInterrupt:
        progress.close()
        complain("interrupted")
        return INTERRUPTED
    progress.close()
    print(json.dumps(record.document(), indent=1) if "--json" in switches else record)
    return CONFORMS if record.ok else FAILS


def program() -> int:
    """Run the suite and flush its output; an output that cannot be written is one sentence."""
    stdout = opened("stdout")
    try:
        code = main()
        if stdout is not None:
            stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the output closed it
        code = 141
    except OSError as error:  # such as a full disk
        complain(f"the output cannot be written: {error.strerror or error}.")
        code = NO_OUTPUT
    # Python flushes once more when it ends; that text goes nowhere
    if stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
    return code


if __name__ == "__main__":
    sys.exit(program())
