"""Arguments that several commands share, with their help."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from kinetree.cli.completing import complete_robot, complete_table
from kinetree.errors import InputError

RobotName = Annotated[
    str,
    Parameter(
        help="URDF (.urdf, .xacro) or MJCF (.xml) file, or a built-in robot such as panda.",
        completer=complete_robot,
    ),
]
Data = Annotated[
    str | None,
    Parameter(
        help="CSV file with a state in every row, or - for standard input. Columns are named "
        "q:JOINT, dq:JOINT, ... in the first line, or have no names and stand in this order.",
        completer=complete_table,
    ),
]
Position = Annotated[
    list[str] | None,
    Parameter(
        consume_multiple=1,
        negative=(),
        help="Joint positions, rad or m: all of them in order, or some as JOINT=NUMBER. Zero "
        "where left out.",
    ),
]
Rate = Annotated[
    list[str] | None,
    Parameter(consume_multiple=1, negative=(), help="Joint rates, rad/s or m/s."),
]
Acceleration = Annotated[
    list[str] | None,
    Parameter(consume_multiple=1, negative=(), help="Joint accelerations, rad/s^2 or m/s^2."),
]
Force = Annotated[
    list[str] | None,
    Parameter(consume_multiple=1, negative=(), help="Joint forces, N m or N."),
]
Words = Annotated[list[str], Parameter(consume_multiple=1, negative=())]
Output = Annotated[
    Path | None,
    Parameter(name=["--output", "-o"], help="File to write instead of standard output."),
]
Json = Annotated[
    bool,
    Parameter(
        name="--json", negative=(), show_default=False, help="Write JSON, in full precision."
    ),
]
Degrees = Annotated[
    bool,
    Parameter(
        name="--degrees",
        negative=(),
        show_default=False,
        help="Angles in and out in degrees; lengths, quaternions and forces as ever.",
    ),
]


HOW_READ = Group("How the robot is read", sort_key=9)


@Parameter(name="*", group=HOW_READ)
@dataclass(frozen=True)
class BasicReading:
    """Options of `kinetree.load` that every command has; they apply to built-in robots, too."""

    floating: Annotated[
        bool,
        Parameter(
            name="--floating",
            negative=(),
            show_default=False,
            help="Hang the robot on a free joint 'base' instead of fixing its root, as for legs "
            "and wings: q gets base.qw=1 base.qx=0 base.qy=0 base.qz=0 base.x=0 base.y=0 base.z=0.",
        ),
    ] = False
    mimic: Annotated[
        bool,
        Parameter(
            name="--mimic",
            negative="--no-mimic",
            show_default=False,
            help="Joints that mimic another follow it; --no-mimic makes them independent, with "
            "entries of their own in q (URDF).",
        ),
    ] = True
    strict: Annotated[
        bool,
        Parameter(
            name="--strict",
            negative=(),
            show_default=False,
            help="Refuse a file with anything odd, instead of warning about it.",
        ),
    ] = False
    folders: Annotated[
        tuple[Path, ...],
        Parameter(
            name="--folder",
            negative=(),
            show_default=False,
            help="Where ROS packages, includes and meshes may lie, at any depth, besides the "
            "workspace of the file. Once for every such folder.",
        ),
    ] = ()
    arguments: Annotated[
        tuple[str, ...],
        Parameter(
            name="--arg",
            negative=(),
            show_default=False,
            allow_leading_hyphen=True,
            help="An argument of a xacro file, as NAME:=VALUE. Once for every argument.",
        ),
    ] = ()

    def options(self) -> dict[str, Any]:
        """The options as `kinetree.load` takes them.

        Raises:
            InputError: an argument is not NAME:=VALUE, or is given twice.
        """
        return asdict(self) | {"arguments": named_values(self.arguments)}


@Parameter(name="*", group=HOW_READ)
@dataclass(frozen=True)
class Reading(BasicReading):
    """All options of `kinetree.load`; for commands without a --friction of their own."""

    friction: Annotated[
        Literal["file", "none"],
        Parameter(
            name="--friction",
            show_default=False,
            help="file keeps the joint friction of the file, which is part of tau; none leaves it "
            "out.",
        ),
    ] = "file"


def named_values(words: Iterable[str]) -> dict[str, str]:
    """Values by name of words such as NAME:=VALUE."""
    found: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition(":=")
        if not sign or not name.strip():
            raise InputError(f"--arg is {word!r}; expected NAME:=VALUE, such as prefix:=left_.")
        if name.strip() in found:
            raise InputError(f"--arg gives {name.strip()!r} twice; expected each argument once.")
        found[name.strip()] = value
    return found


AS_IT_IS = Reading()
BASIC = BasicReading()
