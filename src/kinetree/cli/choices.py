"""Find what the user names: a robot by its file or built-in name, one word of a list."""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from kinetree.cli.arguments import BasicReading
from kinetree.core.text import nearest
from kinetree.errors import InputError, NameLookupError
from kinetree.robot import Robot

Word = TypeVar("Word", bound=str)
LONG = 200_000  # bytes of a robot's file from which reading it is announced


def choose(word: str, known: Iterable[Word], what: str) -> Word:
    """Return the known word; raise an error with the nearest one if it is not known."""
    known = list(known)
    for x in known:
        if x == word:
            return x
    raise NameLookupError(
        f"there is no {what} {word!r}; expected one of {', '.join(known)}.{nearest(word, known)}"
    )


def find_robot(name: str, reading: BasicReading) -> Robot:
    """Load a robot by its name or file, as `kinetree.load` does, with the options of a command."""
    from kinetree.cli.output import waiting
    from kinetree.files.loading import load

    check_folders(reading)
    path = Path(name)
    long = path.is_file() and path.stat().st_size > LONG
    with waiting(f"reading {path.name}") if long else nullcontext():
        robot = load(name, **reading.options())
    if not (reading.contacts or reading.ground):
        return robot
    from kinetree.cli.contacts import with_typed_contacts

    return with_typed_contacts(robot, reading)


def check_folders(reading: BasicReading) -> None:
    """Raise InputError if a --folder is not a directory."""
    for folder in reading.folders:
        if not folder.is_dir():
            raise InputError(f"--folder is {folder}, which is not a folder.")


def mesh_folder(reading: BasicReading) -> Path | None:
    """Return the only folder that meshes are read from for drawing; None: that of the file."""
    return next(iter(reading.folders), None)
