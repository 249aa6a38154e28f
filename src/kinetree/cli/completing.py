"""What the shell may complete a word to: built-in robots, and files of the right kind."""

import os
from collections.abc import Iterable
from typing import Any

ROBOTS, TABLES = (".urdf", ".xacro", ".xml", ".mjcf"), (".csv",)


def complete_robot(context: Any) -> list[str]:
    """Built-in robots, and files of robots."""
    from kinetree import robots

    return [*robots.__all__, *files(context.incomplete, ROBOTS)]


def complete_table(context: Any) -> list[str]:
    """CSV files."""
    return files(context.incomplete, TABLES)


def files(word: str, endings: Iterable[str]) -> list[str]:
    """Files with one of the endings whose names begin with the word, and folders, with a slash.

    A folder that is the only one is opened: a shell would take its name for a whole word and put a
    blank after it.
    """
    folder, _, start = word.rpartition("/")
    prefix = word[: len(word) - len(start)]
    try:
        entries = sorted(os.scandir(folder or prefix or "."), key=lambda x: x.name)
    except OSError:
        return []
    found = []
    for x in entries:
        if x.name.startswith(start) and (start or not x.name.startswith(".")) and _printable(x):
            if x.is_dir():
                found.append(f"{prefix}{x.name}/")
            elif x.name.lower().endswith(tuple(endings)):
                found.append(prefix + x.name)
    if len(found) == 1 and found[0].endswith("/"):
        return files(found[0], endings) or found
    return found


def _printable(entry: os.DirEntry[str]) -> bool:
    """Whether a shell can be told the name on a line."""
    return entry.name.isprintable()
