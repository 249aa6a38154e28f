"""The command line: `kinetree COMMAND`."""

from kinetree.cli.program import main

__all__ = ["main"]
