"""The command line: `kinetree COMMAND`."""

import os
import sys
import warnings
from typing import Any

from kinetree.errors import KinetreeError, KinetreeWarning

FAULT, INTERRUPTED, NO_READER = 2, 130, 141  # exit codes; the signals' are 128 and their number


def main() -> None:
    """Run the command line; a known fault is one paragraph on stderr and exit code 2."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a terminal that knows no Greek gets a question mark
    try:
        try:
            run(sys.argv[1:])
        finally:
            sys.stdout.flush()  # what cannot be written is a fault of here and now
    except KinetreeError as error:
        end(FAULT, str(error))
    except KeyboardInterrupt:
        end(INTERRUPTED, "interrupted")
    except BrokenPipeError:  # the reader of our output went away: nothing is left to say
        drop_output()
        sys.exit(NO_READER)
    except SystemExit as error:  # rich exits by itself, and its code 1 is a verdict here
        sys.exit(NO_READER if isinstance(error.__context__, BrokenPipeError) else error.code)
    except OSError as error:  # a full disk, a folder that may not be read
        drop_output()
        end(FAULT, str(error))


def run(words: list[str]) -> None:
    """The command that the words say; what they say wrongly is an error like any other."""
    from cyclopts import CycloptsError, MissingArgumentError, UnknownCommandError

    from kinetree.cli.app import app
    from kinetree.cli.interrupt import end_promptly
    from kinetree.cli.words import digest

    warnings.filterwarnings("always", category=KinetreeWarning)
    warnings.showwarning = show_warning
    end_promptly()
    if words[:1] in ([], ["-h"], ["--help"]):
        app.resolved_commands()  # the list of commands shows what each says of itself
    try:
        app(digest(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        known = not (words[0].startswith("-") or isinstance(error, UnknownCommandError))
        page = f"kinetree {words[0]} --help" if known else "kinetree --help"
        missing = isinstance(error, MissingArgumentError) and "parameter --" not in str(error)
        if missing and any(x.startswith("--") for x in words):
            page += "; --q and other lists take all words up to the next option"
        end(FAULT, f"{error} See {page}.")


def end(code: int, words: str) -> None:
    """Last words on stderr, in one paragraph."""
    print(f"kinetree: {' '.join(words.split())}", file=sys.stderr)
    sys.exit(code)


def drop_output() -> None:
    """What stdout still holds cannot be written; Python must not try once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_warning(message: Any, category: type[Warning], *rest: Any) -> None:
    """A remark about the user's robot as one line, any other as Python shows it."""
    if issubclass(category, KinetreeWarning):
        print(f"kinetree: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, *rest[:2]), end="", file=sys.stderr)
