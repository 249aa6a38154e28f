"""Find what the user names: a robot by its file or built-in name, one word of a list."""

import difflib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from kinetree.cli.arguments import ROBOT_FILES, BasicReading
from kinetree.errors import InputError, NameLookupError
from kinetree.robot import Robot

Word = TypeVar("Word", bound=str)

MOST_FILES = 5  # of a folder that are named in a message


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ' Did you mean ...?' if a known word is similar, else an empty text."""
    plain = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), plain, n=1, cutoff=0.6)
    return f" Did you mean {plain[found[0]]!r}?" if found else ""


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
    """Return the built-in robot of that name, also spelt `UR5e` or `puma-560`, or load the file."""
    from kinetree import robots
    from kinetree.cli.output import waiting

    check_folders(reading)
    plain = name.lower().replace("-", "_")
    if plain in robots.__all__:
        return as_read(getattr(robots, plain)(), reading)
    path = Path(name)
    if name and path.is_dir():
        raise InputError(f"{name} is a folder; expected a robot file.{_inside(path)}")
    if path.suffix.lower() in ROBOT_FILES or (name and path.exists()):
        if not path.exists():
            raise InputError(f"there is no file {name}; expected a robot.{_beside(path)}")
        from kinetree.loading import load

        with waiting(f"reading {path.name}"):
            return load(path, **reading.options())
    raise NameLookupError(
        f"there is no robot {name!r}: neither a file of that name nor one of "
        f"{', '.join(robots.__all__)}.{nearest(plain, robots.__all__)} "
        f"Files end with {', '.join(ROBOT_FILES)}."
    )


def as_read(robot: Robot, reading: BasicReading) -> Robot:
    """Apply the options to a built-in robot, as `kinetree.load` applies them to a file."""
    if reading.arguments:
        raise InputError(
            f"{robot.name} is a built-in robot and has no arguments, found --arg "
            f"{reading.arguments[0]}; expected them for .xacro files. Leave --arg out."
        )
    friction = getattr(reading, "friction", "file")
    if reading.mimic and not reading.floating and friction == "file":
        return robot
    from kinetree.loading import float_base, without_friction
    from kinetree.model import build_model
    from kinetree.model.describe import describe_model

    description = describe_model(robot.model)
    if friction == "none":
        description = without_friction(description)
    if not reading.mimic:
        joints = tuple(replace(x, mimic=None) for x in description.joints)
        description = replace(description, joints=joints)
    if reading.floating:
        description = float_base(description)
    return Robot(build_model(description, unphysical="allow"))


def check_folders(reading: BasicReading) -> None:
    """Raise InputError if a --folder is not a directory."""
    for folder in reading.folders:
        if not folder.is_dir():
            raise InputError(f"--folder is {folder}, which is not a folder.")


def mesh_folder(reading: BasicReading) -> Path | None:
    """Return the only folder that meshes are read from for drawing; None: that of the file."""
    return next(iter(reading.folders), None)


def _robot_files(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [x for x in names if Path(x).suffix.lower() in ROBOT_FILES]


def _inside(folder: Path) -> str:
    """Name the robot files of a folder."""
    files = _robot_files(folder)
    if not files:
        return f" It has no file that ends with {', '.join(ROBOT_FILES)}."
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    return f" It has {', '.join(files[:MOST_FILES])}{more}."


def _beside(path: Path) -> str:
    """Name a file with a similar name in the same folder."""
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {folder} either."
    return nearest(path.name, _robot_files(folder))
