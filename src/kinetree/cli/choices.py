"""What a user may name: built-in robots, robot files, and the nearest word to a mistyped one."""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kinetree.errors import InputError, NameLookupError

if TYPE_CHECKING:
    from kinetree.cli.arguments import BasicReading
    from kinetree.robot import Robot

MOST_FILES = 5  # of a folder that are named in a message


def nearest(word: str, known: Iterable[str]) -> str:
    """' Did you mean ...?' where a known word is near, else nothing."""
    plain = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), plain, n=1, cutoff=0.6)
    return f" Did you mean {plain[found[0]]!r}?" if found else ""


def choose(word: str, known: Iterable[str], what: str) -> str:
    """The word if it is known; else an error with the nearest and all of them."""
    known = list(known)
    if word in known:
        return word
    raise NameLookupError(
        f"there is no {what} {word!r}; expected one of {', '.join(known)}.{nearest(word, known)}"
    )


def find_robot(name: str, reading: "BasicReading") -> "Robot":
    """The robot of a file, or the built-in one of that name, also spelt `UR5e` or `puma-560`."""
    from kinetree import robots
    from kinetree.cli.built_in import as_read
    from kinetree.cli.waiting import waiting
    from kinetree.loading import MJCF, URDF, load

    check_folders(reading)
    plain = name.lower().replace("-", "_")
    if plain in robots.__all__:
        return as_read(getattr(robots, plain)(), reading)
    path = Path(name)
    if name and path.is_dir():
        raise InputError(f"{name} is a folder; expected a robot file.{_inside(path)}")
    if path.suffix.lower() in (*URDF, *MJCF) or (name and path.exists()):
        if not path.exists():
            raise InputError(f"there is no file {name}; expected a robot.{_beside(path)}")
        with waiting(f"reading {path.name}"):
            return load(path, **reading.options())
    known = ", ".join(robots.__all__)
    raise NameLookupError(
        f"there is no robot {name!r}: neither a file of that name nor one of {known}."
        f"{nearest(plain, robots.__all__)} Files end with {', '.join((*URDF, *MJCF))}."
    )


def check_folders(reading: "BasicReading") -> None:
    """Raise InputError if --folder is not a directory."""
    for folder in reading.folders:
        if not folder.is_dir():
            raise InputError(f"--folder is {folder}, which is no folder.")


def mesh_folder(reading: "BasicReading") -> Path | None:
    """The only folder that meshes to be drawn are read from; None is that of the file."""
    return next(iter(reading.folders), None)


def _robot_files(folder: Path) -> list[str]:
    from kinetree.loading import MJCF, URDF

    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [x for x in names if Path(x).suffix.lower() in (*URDF, *MJCF)]


def _inside(folder: Path) -> str:
    files = _robot_files(folder)
    if not files:
        return " It holds none that ends with .urdf, .xacro, .xml or .mjcf."
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    return f" It holds {', '.join(files[:MOST_FILES])}{more}."


def _beside(path: Path) -> str:
    """The file that was meant, where its folder has one of a similar name."""
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {folder} either."
    return nearest(path.name, _robot_files(folder))
