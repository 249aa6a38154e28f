"""`python -m kinetree.testing`: check this installation, print a verdict, exit with 0 or 1."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, TextIO

from kinetree.errors import KinetreeError
from kinetree.testing.conformance import GROUPS, Finding, run_conformance
from kinetree.testing.conformance.record import FAILED

CONFORMS, FAILS, WRONG_USAGE, NO_OUTPUT, INTERRUPTED, NO_READER = 0, 1, 2, 74, 130, 141
PROGRAM = "python -m kinetree.testing"
PROGRESS_WIDTH = 78  # columns of the line of progress


class OneSentenceParser(argparse.ArgumentParser):
    """A parser whose errors are one sentence on stderr."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        complain(f"{message}. See {PROGRAM} --help.")
        sys.exit(WRONG_USAGE)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    groups = "\n".join(f"  {name:10}  {group.title}" for name, group in GROUPS.items())
    options = OneSentenceParser(
        PROGRAM,
        usage=f"{PROGRAM} [OPTIONS]",
        description="Check that this installation of kinetree computes what it computes on other\n"
        "machines. Takes about a minute and needs no other package.",
        epilog=f"groups:\n{groups}\n\nexit codes: 0 this installation conforms; 1 a check failed; "
        "2 wrong usage;\n74 the output cannot be written; 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,  # which hides that the output cannot be written
    )
    options.add_argument(
        "--only", action="append", choices=list(GROUPS), metavar="GROUP",
        help="run one group of checks; may be repeated",
    )  # fmt: skip
    for name, effect in {
        "--all": "compare the whole table of bits (takes minutes)",
        "--cuda": "also check CUDA kernels (needs CuPy and a GPU)",
        "--json": "print everything as JSON, for bug reports; it has no user names and no paths",
    }.items():
        options.add_argument(name, action="store_true", help=effect)
    options.add_argument("--help", "-h", action="store_true", help="show this text")
    return options


class Progress:
    """A line on the terminal with the number of checks and the last one; nothing elsewhere."""

    def __init__(self, stream: TextIO | None) -> None:
        self.count, self.failed = 0, 0
        shown = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        self.stream = stream if shown else None

    def __call__(self, finding: Finding) -> None:
        """Show that a check is done."""
        self.count += 1
        self.failed += finding.outcome == FAILED
        failed = f", {self.failed} FAILED" if self.failed else ""
        self.show(f"{self.count} checks{failed}, {finding.group}: {finding.name}")

    def show(self, text: str) -> None:
        """Write the line; "" clears it."""
        if self.stream is not None:
            plain = text.encode("ascii", "replace").decode()[:PROGRESS_WIDTH]
            self.stream.write(f"\r{plain:{PROGRESS_WIDTH}}" + "\r" * (not plain))
            self.stream.flush()


def complain(text: str) -> None:
    """Write one line on stderr, if it is open."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
        print(f"{PROGRAM}: {text}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> int:
    """Run the suite and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # for consoles that do not show every letter
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        complain("the output is closed; send it to a terminal, a file or a program.")
        return NO_OUTPUT
    try:
        options = parser().parse_args(words)
    except SystemExit:  # after wrong options
        return WRONG_USAGE
    if options.help:
        print(parser().format_help())
        return CONFORMS
    progress = Progress(sys.stderr)
    try:
        record = run_conformance(
            options.only, everything=options.all, cuda=options.cuda, progress=progress
        )
    except KinetreeError as error:  # such as a wrong value of KINETREE_TARGET
        progress.show("")
        complain(str(error))
        return WRONG_USAGE
    except KeyboardInterrupt:
        progress.show("")
        complain("interrupted")
        return INTERRUPTED
    progress.show("")
    print(json.dumps(record.document(), indent=1) if options.json else record)
    return CONFORMS if record.ok else FAILS


def program() -> int:
    """Run the suite and flush its output; an output that cannot be written is one sentence."""
    try:
        code = main()
        if code != NO_OUTPUT:
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the output closed it
        code = NO_READER
    except OSError as error:  # such as a full disk
        complain(f"the output cannot be written: {error.strerror or error}.")
        code = NO_OUTPUT
    # Python flushes once more when it ends; that text goes nowhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


if __name__ == "__main__":
    sys.exit(program())
