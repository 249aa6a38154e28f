"""Types of arguments, and the options that several commands share.

The help of an argument stands in the docstring of its command, under `Args`; that of a shared one
stands here.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import CoercionError, Group, Parameter, Token

from kinetree.errors import InputError

STREAM = "<standard stream>"  # replaces the word `-`: standard input, or output
NEGATIVE_LIST = re.compile(r"-[\d.][^=\s]*,[^=]*")
ROBOT_FILES = (".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world")
TABLES = (".csv", ".parquet", ".npz", ".mcap", ".bag", ".db3")
HOW_READ, HOW_RECORDED = "How the robot is read", "How the recording is read"


def digest(words: Iterable[str]) -> list[str]:
    """Split `-0.1,0.2` and replace `-` by STREAM: the parser would take both for options."""
    separated: list[str] = []
    for word in words:
        if word == "-" or re.fullmatch("--[a-z-]+=-", word):
            separated.append(word[:-1] + STREAM)
        else:
            separated += re.split(r"[,\s]+", word) if NEGATIVE_LIST.fullmatch(word) else [word]
    return separated


def split(words: Iterable[str] | None) -> list[str]:
    """Separate words that are joined by commas; empty ones are dropped."""
    return [x for word in words or [] for x in word.split(",") if x]


def whole_numbers(kind: Any, tokens: Sequence[Token]) -> int:
    """A whole number as it is written: 2.6 and 1e3 are refused, and not rounded."""
    if not re.fullmatch("[+-]?[0-9]{1,18}", tokens[0].value):
        raise CoercionError(token=tokens[0], target_type=int)
    return int(tokens[0].value)


# Completion


def complete_robot(context: Any) -> list[str]:
    """Built-in robots and robot files."""
    from kinetree import robots

    return [*robots.__all__, *files(context.incomplete, ROBOT_FILES)]


def complete_table(context: Any) -> list[str]:
    """Recordings."""
    return files(context.incomplete, TABLES)


def files(word: str, endings: Iterable[str]) -> list[str]:
    """Files with one of the endings whose names begin with the word, and folders, with a slash.

    A folder that is the only match is opened: a shell would take its name for a whole word and add
    a blank. Names that cannot be printed on one line are left out.
    """
    folder, _, start = word.rpartition("/")
    prefix = word[: len(word) - len(start)]
    try:
        entries = sorted(os.scandir(folder or prefix or "."), key=lambda x: x.name)
    except OSError:
        return []
    matches: list[str] = []
    for x in entries:
        hidden = x.name.startswith(".") and not start
        if hidden or not x.name.startswith(start) or not x.name.isprintable():
            continue
        if x.is_dir():
            matches.append(f"{prefix}{x.name}/")
        elif x.name.lower().endswith(tuple(endings)):
            matches.append(prefix + x.name)
    if len(matches) == 1 and matches[0].endswith("/"):
        return files(matches[0], endings) or matches
    return matches


# Types of arguments

NUMBER = Parameter(metavar="NUMBER")
Number = Annotated[float | None, NUMBER]
Real = Annotated[float, NUMBER]
Whole = Annotated[int, NUMBER, Parameter(converter=whole_numbers)]
Flag = Annotated[bool, Parameter(show_default=False)]
WholeOrNone = Annotated[int | None, NUMBER, Parameter(converter=whole_numbers)]
Name = Annotated[str | None, Parameter(metavar="NAME")]
File = Annotated[Path | None, Parameter(metavar="FILE")]
TABLE = Parameter(metavar="FILE", completer=complete_table)
Recording = Annotated[str, TABLE]
RecordingOrNone = Annotated[str | None, TABLE]
LIST = Parameter(consume_multiple=1, show_default=False)
Words = Annotated[list[str] | None, LIST, Parameter(metavar="NAME...")]
Numbers = Annotated[list[str] | None, LIST, Parameter(metavar="NUMBER...")]

RobotName = Annotated[
    str,
    Parameter(
        help="URDF (.urdf, .xacro), MJCF (.xml) or SDF (.sdf) file, or a name such as panda.",
        completer=complete_robot,
    ),
]
Data = Annotated[
    str | None,
    TABLE,
    Parameter(
        help="Recording (CSV, Parquet, NPZ, ROS bag) with a state in every row, or - for standard "
        "input. CSV names its columns in the first line, q:JOINT, dq:JOINT, ...; without names "
        "they are taken in this order."
    ),
]
Position = Annotated[
    Numbers,
    Parameter(
        help="Joint positions, rad or m: all of them in order, or some as JOINT=NUMBER. A joint "
        "left out is at zero, or in the middle of its limits if these exclude zero, which a line "
        "on stderr reports."
    ),
]
Rate = Annotated[Numbers, Parameter(help="Joint rates, rad/s or m/s; zero if left out.")]
Acceleration = Annotated[
    Numbers, Parameter(help="Joint accelerations, rad/s^2 or m/s^2; zero if left out.")
]
Force = Annotated[Numbers, Parameter(help="Joint forces, N m or N; zero if left out.")]
OUTPUT = Parameter(name=["--output", "-o"], metavar="FILE")
Output = Annotated[Path | None, OUTPUT, Parameter(help="File to write instead of standard output.")]
OutputFile = Annotated[Path, OUTPUT]
MotionFile = Annotated[
    Path | None, OUTPUT, Parameter(help="CSV file to write, - for standard output.")
]
Plot = Annotated[
    File,
    Parameter(
        help="Plots to write by matplotlib, in radians: motion.png, motion.svg or motion.pdf."
    ),
]
Page = Annotated[File, Parameter(help="File for a page with plots of all joints, .html.")]
ForceLimit = Annotated[Number, Parameter(help="Force limit for all joints, N m or N.")]
SpeedLimit = Annotated[Number, Parameter(help="Speed limit for all joints, rad/s or m/s.")]
AccelerationLimit = Annotated[
    Number, Parameter(help="Acceleration limit for all joints, rad/s^2 or m/s^2.")
]
Json = Annotated[Flag, Parameter(help="Write JSON, in full precision.")]
Degrees = Annotated[
    Flag, Parameter(help="Angles in and out in degrees; other units do not change.")
]


# Groups of options that many commands share; the help of `kinetree options` alone shows them


def shared(title: str) -> Parameter:
    """A group of options that the help of a command does not show."""
    return Parameter(name="*", group=Group(title, sort_key=9, show=False))


@shared(HOW_RECORDED)
@dataclass(frozen=True)
class Recorded:
    """Options of every command that reads a recording.

    Args:
        columns: Columns mapped by hand: NAME=q:JOINT, NAME=t, NAME=t[ms]; NAME= leaves one out. A *
            in a name stands for any signs.
        topic: Topic of a ROS bag that has several.
    """

    columns: Annotated[tuple[str, ...], LIST, Parameter(metavar="NAME=COLUMN...")] = ()
    topic: Annotated[str | None, Parameter(metavar="TOPIC")] = None


@shared(HOW_READ)
@dataclass(frozen=True)
class BasicReading:
    """Options of `kinetree.load` that every command has; they apply to built-in robots, too.

    Args:
        floating: Put the robot on a free joint 'base' instead of fixing its root, as for legs and
            wings: q gets base.qw=1 base.qx=0 base.qy=0 base.qz=0 base.x=0 base.y=0 base.z=0.
        mimic: Joints that mimic another follow it; --no-mimic makes them independent, with entries
            of their own in q (URDF).
        strict: Refuse a file with anything odd, instead of warning about it.
        folders: Folder to search, at any depth, for ROS packages, includes and meshes, besides the
            workspace of the file. Repeat it for several folders.
        arguments: Argument of a xacro file. Repeat it for several.
        environment: Let a xacro file see environment variables, which can be secrets: $(env NAME).
        model: Model of an SDF world with several.
        constraints: file keeps closed loops and other constraints of the robot; none leaves them
            out, and all joints move independently.
        contacts: Parts that touch the ground: file, for all collision shapes of the file; or names
            of links or of collision shapes; or FRAME:RADIUS, a sphere of that radius (m) about the
            origin of a link or frame.
        ground: Numbers of the contacts: friction=1 restitution=0, and compliance=, m/N, for soft
            ones; of a plane: slope=0 (rise along x, m/m), z=0 (height, m). Those left out are of
            the file, or these.
    """

    floating: Flag = False
    mimic: Annotated[Flag, Parameter(negative="--no-mimic")] = True
    strict: Flag = False
    folders: Annotated[
        tuple[Path, ...], Parameter(name="--folder", show_default=False, metavar="FOLDER")
    ] = ()
    arguments: Annotated[
        tuple[str, ...],
        Parameter(
            name="--arg", show_default=False, metavar="NAME:=VALUE", allow_leading_hyphen=True
        ),
    ] = ()
    environment: Flag = False
    model: Name = None
    constraints: Literal["file", "none"] = "file"
    contacts: Annotated[tuple[str, ...], LIST, Parameter(metavar="NAME...")] = ()
    ground: Annotated[tuple[str, ...], LIST, Parameter(metavar="NAME=NUMBER...")] = ()

    def options(self) -> dict[str, Any]:
        """Return the options as `kinetree.load` takes them.

        Raises:
            InputError: an argument is not NAME:=VALUE, or is given twice; a folder is not one.
        """
        arguments: dict[str, str] = {}
        for word in self.arguments:
            name, sign, value = word.partition(":=")
            name = name.strip()
            if not sign or not name:
                raise InputError(f"--arg is {word!r}; expected NAME:=VALUE, such as prefix:=left_.")
            if name in arguments:
                raise InputError(f"--arg gives {name!r} twice; expected each argument once.")
            arguments[name] = value
        for folder in self.folders:
            if not folder.is_dir():
                raise InputError(f"--folder is {folder}, which is not a folder.")
        names = ("floating", "mimic", "strict", "folders", "environment", "model", "constraints")
        return {"arguments": arguments} | {name: getattr(self, name) for name in names}

    @property
    def mesh_folder(self) -> Path | None:
        """The only folder that meshes are read from for drawing; None: that of the file."""
        return next(iter(self.folders), None)


@shared(HOW_READ)
@dataclass(frozen=True)
class Reading(BasicReading):
    """All options of `kinetree.load`, for commands without another --friction and --payload.

    Args:
        friction: file keeps the joint friction of the file, which is part of tau; none leaves it
            out; viscous=NUMBER coulomb=NUMBER give that of all joints, N m s/rad and N m, or N s/m
            and N.
        payload: Point mass on the tool, kg, or at the origin of the frame of that name.
    """

    friction: Annotated[tuple[str, ...], LIST, Parameter(metavar="WORD...")] = ("file",)
    payload: Annotated[tuple[str, ...], LIST, Parameter(metavar="MASS [FRAME]")] = ()

    def options(self) -> dict[str, Any]:
        """Return the options as `kinetree.load` takes them."""
        return super().options() | {"friction": "none" if self.friction == ("none",) else "file"}


@Parameter(name="*")
@dataclass(frozen=True)
class Options:
    """Options of every command that takes a robot and a recording."""

    json: Json = False
    degrees: Degrees = False
    recorded: Recorded = Recorded()
    reading: Reading = Reading()


RECORDED, BASIC, READING, USUAL = Recorded(), BasicReading(), Reading(), Options()
