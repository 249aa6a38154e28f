"""`python -m kinetree.testing`: check this installation, print a verdict, exit with 0 or 1."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from kinetree.errors import KinetreeError
from kinetree.testing.conformance import GROUPS, Finding, run_conformance

CONFORMS, FAILS, WRONG_USAGE, NO_OUTPUT, INTERRUPTED, NO_READER = 0, 1, 2, 74, 130, 141
PROGRAM = "python -m kinetree.testing"
OPTIONS = {
    "--all": "compare the whole table of bits (takes minutes)",
    "--cuda": "also check CUDA kernels (needs CuPy and a GPU)",
    "--json": "print everything as JSON, for bug reports; it has no user names and no paths",
    "--help": "show this text",
}


class OneSentenceParser(argparse.ArgumentParser):
    """A parser whose errors are one sentence on stderr."""

    def error(self, message: str) -> NoReturn:
        """Raise an error that names the way to the help."""
        raise KinetreeError(f"{message}. See {PROGRAM} --help.")


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
    effect = "run one group of checks; may be repeated"
    options.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=effect)
    for name, effect in OPTIONS.items():
        options.add_argument(name, action="store_true", help=effect)
    return options


def show_progress(finding: Finding) -> None:
    """Show the last check on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        plain = f"{finding.group}: {finding.name}".encode("ascii", "replace").decode()
        sys.stderr.write(f"\r{plain[:78]:78}\r")


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
        if options.help:
            print(parser().format_help())
            return CONFORMS
        progress = None if sys.stderr is None else show_progress  # pyright: ignore[reportUnnecessaryComparison]
        record = run_conformance(
            options.only, everything=options.all, cuda=options.cuda, progress=progress
        )
    except KinetreeError as error:  # such as a wrong value of KINETREE_TARGET
        complain(str(error))
        return WRONG_USAGE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
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
