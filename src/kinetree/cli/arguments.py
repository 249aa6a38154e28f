"""Arguments that several commands share: their help, their completion, and how words are read."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from cyclopts import CoercionError, Group, Parameter, Token

from kinetree.errors import InputError

LAST = 9  # place of the options that commands share, after all others
STREAM = "<standard stream>"  # replaces the word `-`: standard input, or output
NUMBERS = "NUMBER..."  # stands for a joint vector in the help
NEGATIVE_LIST = re.compile(r"-[\d.][^=\s]*,[^=]*")
ROBOT_FILES = (".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world")
TABLES = (".csv", ".parquet", ".npz", ".mcap", ".bag", ".db3")


def shared(title: str) -> Group:
    """A group of options of many commands: the help of `kinetree options` alone shows it."""
    return Group(title, sort_key=LAST, show=False)


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


class Typed(Protocol):
    """The part of cyclopts' completion context that is used."""

    @property
    def incomplete(self) -> str:
        """The word typed so far."""
        ...


def complete_robot(context: Typed) -> list[str]:
    """Built-in robots and robot files."""
    from kinetree import robots

    return [*robots.__all__, *files(context.incomplete, ROBOT_FILES)]


def complete_table(context: Typed) -> list[str]:
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
        if not x.name.startswith(start) or not x.name.isprintable():
            continue
        if x.name.startswith(".") and not start:  # hidden files only where a dot was typed
            continue
        if x.is_dir():
            matches.append(f"{prefix}{x.name}/")
        elif x.name.lower().endswith(tuple(endings)):
            matches.append(prefix + x.name)
    if len(matches) == 1 and matches[0].endswith("/"):
        return files(matches[0], endings) or matches
    return matches


def table_argument(help: str) -> Parameter:
    """An argument that is a recording."""
    return Parameter(help=help, completer=complete_table, metavar="FILE")


def number_argument(help: str) -> Parameter:
    """An option whose value is a number."""
    return Parameter(metavar="NUMBER", help=help)


def whole_argument(help: str) -> Parameter:
    """An option whose value is a whole number."""
    return Parameter(metavar="NUMBER", help=help, converter=whole_numbers)


def whole_numbers(kind: Any, tokens: Sequence[Token]) -> int | list[int]:
    """Whole numbers as they are written: 2.6 and 1e3 are refused, and not rounded.

    kind: int, or list[int] for an option that takes several.
    """
    for token in tokens:
        if not re.fullmatch("[+-]?[0-9]{1,18}", token.value):
            raise CoercionError(token=token, target_type=int)
    numbers = [int(token.value) for token in tokens]
    return numbers[0] if kind is int else numbers


def file_argument(help: str) -> Parameter:
    """An option whose value is a file to write, or another file that is no table of states."""
    return Parameter(metavar="FILE", help=help)


def words_argument(help: str, words: str = "NAME...") -> Parameter:
    """An option that takes all words up to the next option; `words` stands for them in the help."""
    return Parameter(consume_multiple=1, negative=(), help=help, metavar=words)


def option(
    name: str, help: str, negative: str | tuple[str, ...] = (), value: str | None = None
) -> Parameter:
    """An option whose default is not shown; without a negative form unless one is named.

    value: stands for its value in the help; by default the name of its type.
    """
    return Parameter(name=name, negative=negative, show_default=False, help=help, metavar=value)


RobotName = Annotated[
    str,
    Parameter(
        help="URDF (.urdf, .xacro), MJCF (.xml) or SDF (.sdf) file, or a name such as panda.",
        completer=complete_robot,
    ),
]
Data = Annotated[
    str | None,
    table_argument(
        "Recording (CSV, Parquet, NPZ, ROS bag) with a state in every row, or - for standard "
        "input. CSV names its columns in the first line, q:JOINT, dq:JOINT, ...; without names "
        "they are taken in this order."
    ),
]
Position = Annotated[
    list[str] | None,
    words_argument(
        "Joint positions, rad or m: all of them in order, or some as JOINT=NUMBER. A joint left "
        "out is at zero, or in the middle of its limits if these exclude zero, which a line on "
        "stderr reports.",
        NUMBERS,
    ),
]
Rate = Annotated[
    list[str] | None, words_argument("Joint rates, rad/s or m/s; zero if left out.", NUMBERS)
]
Acceleration = Annotated[
    list[str] | None,
    words_argument("Joint accelerations, rad/s^2 or m/s^2; zero if left out.", NUMBERS),
]
Force = Annotated[
    list[str] | None, words_argument("Joint forces, N m or N; zero if left out.", NUMBERS)
]
Output = Annotated[
    Path | None,
    Parameter(
        name=["--output", "-o"], metavar="FILE", help="File to write instead of standard output."
    ),
]
Json = Annotated[bool, option("--json", "Write JSON, in full precision.")]
Degrees = Annotated[
    bool, option("--degrees", "Angles in and out in degrees; other units do not change.")
]

HOW_RECORDED = "How the recording is read"  # group of options in the help


@Parameter(name="*", group=shared(HOW_RECORDED))
@dataclass(frozen=True)
class Recorded:
    """Options of every command that reads a recording."""

    columns: Annotated[
        tuple[str, ...],
        Parameter(name="--columns", show_default=False),
        words_argument(
            "Columns mapped by hand: NAME=q:JOINT, NAME=t, NAME=t[ms]; NAME= leaves one out. A * "
            "in a name stands for any signs.",
            "NAME=COLUMN...",
        ),
    ] = ()
    topic: Annotated[
        str | None,
        option(
            "--topic",
            "Topic of a ROS bag that has several.",
            value="TOPIC",
        ),
    ] = None


AS_NAMED = Recorded()
HOW_READ = "How the robot is read"


@Parameter(name="*", group=shared(HOW_READ))
@dataclass(frozen=True)
class BasicReading:
    """Options of `kinetree.load` that every command has; they apply to built-in robots, too."""

    floating: Annotated[
        bool,
        option(
            "--floating",
            "Put the robot on a free joint 'base' instead of fixing its root, as for legs "
            "and wings: q gets base.qw=1 base.qx=0 base.qy=0 base.qz=0 base.x=0 base.y=0 base.z=0.",
        ),
    ] = False
    mimic: Annotated[
        bool,
        option(
            "--mimic",
            "Joints that mimic another follow it; --no-mimic makes them independent, with "
            "entries of their own in q (URDF).",
            negative="--no-mimic",
        ),
    ] = True
    strict: Annotated[
        bool, option("--strict", "Refuse a file with anything odd, instead of warning about it.")
    ] = False
    folders: Annotated[
        tuple[Path, ...],
        option(
            "--folder",
            "Folder to search, at any depth, for ROS packages, includes and meshes, besides "
            "the workspace of the file. Repeat it for several folders.",
            value="FOLDER",
        ),
    ] = ()
    arguments: Annotated[
        tuple[str, ...],
        option("--arg", "Argument of a xacro file. Repeat it for several.", value="NAME:=VALUE"),
        Parameter(allow_leading_hyphen=True),
    ] = ()
    environment: Annotated[
        bool,
        option(
            "--environment",
            "Let a xacro file see environment variables, which can be secrets: $(env NAME).",
        ),
    ] = False
    model: Annotated[
        str | None, option("--model", "Model of an SDF world with several.", value="NAME")
    ] = None
    constraints: Annotated[
        Literal["file", "none"],
        option(
            "--constraints",
            "file keeps closed loops and other constraints of the robot; none leaves them out, and "
            "all joints move independently.",
        ),
    ] = "file"
    contacts: Annotated[
        tuple[str, ...],
        Parameter(name="--contacts", show_default=False),
        words_argument(
            "Parts that touch the ground: file, for all collision shapes of the file; or names of "
            "links or of collision shapes; or FRAME:RADIUS, a sphere of that radius (m) about the "
            "origin of a link or frame.",
        ),
    ] = ()
    ground: Annotated[
        tuple[str, ...],
        Parameter(name="--ground", show_default=False),
        words_argument(
            "Numbers of the contacts: friction=1 restitution=0, and compliance=, m/N, for soft "
            "ones; of a plane: slope=0 (rise along x, m/m), z=0 (height, m). Those left out are of "
            "the file, or these.",
            "NAME=NUMBER...",
        ),
    ] = ()

    def options(self) -> dict[str, Any]:
        """Return the options as `kinetree.load` takes them.

        Raises:
            InputError: an argument is not NAME:=VALUE, or is given twice.
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
        contacts = "file" if split(self.contacts) == ["file"] else "none"
        options = vars(self) | {"arguments": arguments, "contacts": contacts}
        return {name: x for name, x in options.items() if name != "ground"}


@Parameter(name="*", group=shared(HOW_READ))
@dataclass(frozen=True)
class Reading(BasicReading):
    """All options of `kinetree.load`, for commands without another --friction."""

    friction: Annotated[
        Literal["file", "none"],
        option(
            "--friction",
            "file keeps the joint friction of the file, which is part of tau; none leaves it out.",
        ),
    ] = "file"


AS_IT_IS = Reading()
BASIC = BasicReading()


@Parameter(name="*")
@dataclass(frozen=True)
class Options:
    """Options of every command that takes a robot and a recording."""

    json: Json = False
    degrees: Degrees = False
    recorded: Recorded = AS_NAMED
    reading: Reading = AS_IT_IS


USUAL = Options()

ForceLimit = Annotated[float | None, number_argument("Force limit for all joints, N m or N.")]
SpeedLimit = Annotated[float | None, number_argument("Speed limit for all joints, rad/s or m/s.")]
AccelerationLimit = Annotated[
    float | None, number_argument("Acceleration limit for all joints, rad/s^2 or m/s^2.")
]
