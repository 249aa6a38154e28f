"""The command line: `kinetree COMMAND`."""

import os
import sys

from kinetree.errors import KinetreeError


def main() -> None:
    """Run the command line; a known fault is one paragraph on stderr and exit code 2."""
    from kinetree.cli.app import app

    try:
        if sys.argv[1:2] in ([], ["-h"], ["--help"]):
            app.resolved_commands()  # the list of commands shows what each says of itself
        app()
    except KinetreeError as error:
        print(f"kinetree: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("kinetree: interrupted", file=sys.stderr)
        sys.exit(130)
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
