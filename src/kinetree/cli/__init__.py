"""The command line: `kinetree COMMAND`."""

import sys

from kinetree.errors import KinetreeError


def main() -> None:
    """Run the command line; a known fault is one paragraph on stderr and exit code 2."""
    from kinetree.cli.app import app

    try:
        app()
    except KinetreeError as error:
        print(f"kinetree: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("kinetree: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # the reader of our output went away: nothing is left to say, not even at exit
        sys.stderr.close()
        sys.exit(141)
