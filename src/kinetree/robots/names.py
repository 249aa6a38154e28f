"""Robots by name: the built-in ones, and the modules of the package robot_descriptions.

A name is a word without a point and without a separator: panda, UR5e, puma-560, panda_description.
A word with an ending (panda.urdf) or a separator (./panda) is the path of a file. A name never
opens a file of the current folder.
"""

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from kinetree import robots
from kinetree.core.text import nearest
from kinetree.errors import InputError, NameLookupError, need
from kinetree.files.description.source import ArgumentValue
from kinetree.robot import Robot

PACKAGE = "robot_descriptions"
MODULE_END = "_description"  # of the names of its modules
MUJOCO = "_mj_"  # in the names of its modules for MuJoCo


@dataclass(frozen=True)
class Described:
    """The file of a module of robot_descriptions, and the options to read it with."""

    path: Path
    folders: tuple[Path, ...] = ()
    arguments: Mapping[str, ArgumentValue] = field(default_factory=dict)


def is_name(word: str) -> bool:
    """Return True if a word is a name by its form; otherwise it is the path of a file."""
    return bool(word.strip()) and not any(mark in word for mark in "./\\<")


def built_in(name: str) -> Robot | None:
    """The built-in robot of that name, also spelt `UR5e` or `puma-560`; None if there is none."""
    plain = name.lower().replace("-", "_")
    return getattr(robots, plain)() if plain in robots.__all__ else None


def described(name: str) -> Described | None:
    """The module of robot_descriptions of that name; None if there is none.

    The package downloads the repository of a robot when its module is first used.

    Raises:
        MissingPackageError: the name looks like such a module, and the package is not installed.
        InputError: the module cannot be imported, or has no file that can be read.
    """
    if not name.isidentifier() or name.startswith("_"):
        return None
    if find_spec(PACKAGE) is None:
        if name.endswith(MODULE_END):
            need("robot_descriptions", "descriptions", f"{name!r}, a module of robot_descriptions,")
        return None
    if name not in description_names():
        return None
    module = _imported(name)
    order = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")
    for key in reversed(order) if MUJOCO in name else order:
        if isinstance(path := getattr(module, key, None), str):
            arguments = getattr(module, "XACRO_ARGS", {}) if key == "XACRO_PATH" else {}
            return Described(Path(path), _folders(module), arguments)
    found = ", ".join(key for key in vars(module) if key.endswith("_PATH")) or "no path at all"
    raise InputError(
        f"{name!r} of the package robot_descriptions has {found}; expected one of "
        f"{', '.join(order)}. Load a file of the robot by its path."
    )


def description_names() -> list[str]:
    """Names of the modules of robot_descriptions; empty if the package is not installed."""
    if find_spec(PACKAGE) is None:
        return []
    names = (module.name for module in iter_modules(import_module(PACKAGE).__path__))
    return sorted(name for name in names if name.endswith(MODULE_END) and name[0] != "_")


def unknown_robot(name: str, endings: tuple[str, ...], files: list[str]) -> NameLookupError:
    """The error about a name that is not known, with the nearest one.

    endings: of robot files. files: the robot files of the current folder.
    """
    plain = name.lower().replace("-", "_")
    others = description_names()
    same = [file for file in files if Path(file).stem == name]
    hint = f" Did you mean the file {same[0]!r}?" if same else ""
    hint = hint or nearest(plain, [*robots.__all__, *others, *files])
    return NameLookupError(
        f"there is no robot {name!r}.{hint} Expected a built-in robot "
        f"({', '.join(robots.__all__)}), a module of robot_descriptions (with "
        f"kinetree[descriptions] installed), or a file that ends with {', '.join(endings)}."
    )


def _imported(name: str) -> ModuleType:
    """The module, imported; it may clone a repository, and report that on standard error only."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return import_module(f"{PACKAGE}.{name}")
    except Exception as error:  # of git, of the network, of the disk: the package lets all through
        reason = " ".join(str(error).split())[:400].rstrip(".")
        raise InputError(
            f"{name!r} of the package robot_descriptions cannot be imported "
            f"({type(error).__name__}: {reason}). It downloads the files of a robot with git when "
            "it is first used; the environment variable ROBOT_DESCRIPTIONS_CACHE names a folder "
            "that has them. Or load a file of the robot by its path."
        ) from error


def _folders(module: ModuleType) -> tuple[Path, ...]:
    """Folders of the packages that the description names."""
    others: Mapping[str, str] = getattr(module, "XACRO_PACKAGE_PATHS", {})
    own = [getattr(module, key, "") for key in ("PACKAGE_PATH", "REPOSITORY_PATH")]
    return tuple(dict.fromkeys(Path(place) for place in [*own, *others.values()] if place))
