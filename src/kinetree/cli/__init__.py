"""The command line: `kinetree COMMAND`."""

import os
import sys
import warnings
from typing import Any

from kinetree.errors import KinetreeError, KinetreeWarning


def main() -> None:
    """Run the command line; a known fault is one paragraph on stderr and exit code 2."""
    from cyclopts import CycloptsError

    from kinetree.cli.app import app
    from kinetree.cli.interrupt import INTERRUPTED, end_promptly
    from kinetree.cli.vectors import spread

    warnings.filterwarnings("always", category=KinetreeWarning)
    warnings.showwarning = show_warning
    end_promptly()
    try:
        if sys.argv[1:2] in ([], ["-h"], ["--help"]):
            app.resolved_commands()  # the list of commands shows what each says of itself
        app(spread(sys.argv[1:]), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"kinetree: {error} See kinetree COMMAND --help.", file=sys.stderr)
        sys.exit(2)
    except KinetreeError as error:
        print(f"kinetree: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("kinetree: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away: nothing is left to say
        drop_output()
        sys.exit(141)
    except OSError as error:  # a full disk, a folder that may not be read
        drop_output()
        print(f"kinetree: {error}", file=sys.stderr)
        sys.exit(2)


def drop_output() -> None:
    """What stdout still holds cannot be written; Python must not try once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_warning(message: Any, category: type[Warning], *rest: Any) -> None:
    """A remark about the user's robot as one line, any other as Python shows it."""
    if issubclass(category, KinetreeWarning):
        print(f"kinetree: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, *rest[:2]), end="", file=sys.stderr)
