"""Controls of actuators as typed, or from the rows of a CSV file.

Typed controls are `0.1 0.2` in the order of the robot, or `elbow=0.1` by name; those left out are
0. A file has a column t (or time) and one for each actuator, called as the actuator or u:ACTUATOR;
a value is kept until the time of the next row.

With --degrees the goals of position and velocity servos are read in degrees where the goal is an
angle of one joint. A servo whose goal is a multiple or sum of angles is refused, and the controls
of motors and other actuators, which have their own units, are taken as they are.
"""

import csv
import io
import re
import sys
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from kinetree.cli.arguments import STREAM
from kinetree.cli.choices import nearest
from kinetree.cli.messages import notify
from kinetree.cli.rows import existing_file
from kinetree.cli.states import Words, named_numbers, typed_number
from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing
from kinetree.errors import InputError, ParseError, ShapeError
from kinetree.model import Model
from kinetree.model.elements import actuator_kind
from kinetree.model.units import RAD, control_factors, goal_kind, kinds

if TYPE_CHECKING:
    from kinetree.simulate.inputs import Signal

MAX_NAMES = 8  # in one message
PREFIX = "u:"
TIMES = ("t", "time", "t [s]", "time [s]")  # names of the column of times, in any case


def read_controls(
    model: Model, words: Words, data: str | None, degrees: bool
) -> "Array | Signal | None":
    """The controls of --controls (constant) or of the file --control-file; None if not given.

    In SI units; `degrees`: goals of servos are angles in degrees.
    """
    if not words and data is None:
        return None
    option = "--controls" if words else "--control-file"
    if words and data is not None:
        raise InputError("--controls and --control-file both give controls; expected one of them.")
    if not model.actuators:
        raise InputError(
            f"{option} gives controls, but {model.name!r} has no actuators; expected an MJCF file "
            "with <actuator>, or joint forces with --tau."
        )
    if data is None:
        return in_si_units(model, typed_controls(model, words or ()), degrees, option)
    return recorded_controls(model, data, degrees)


def in_si_units(model: Model, controls: Array, degrees: bool, option: str) -> Array:
    """Controls, (..., actuators), with goals in degrees converted to radians."""
    if not degrees:
        return controls
    plain: list[str] = []
    for k, x in enumerate(model.actuators):
        if not controls[..., k].any():  # 0 in any unit
            continue
        if goal_kind(model, x) is None:
            ends = zip(x.coords, x.arms, strict=True)
            goal = " + ".join(f"{gear:g} {model.coordinate_names[j]}" for j, gear in ends)
            raise InputError(
                f"{option} with --degrees: the control of servo {x.name!r} is a goal for {goal}, "
                "which need not be an angle; expected a servo on one joint with a gear of 1. Leave "
                "out --degrees, and give angles in rad."
            )
        turns = any(kinds(model, "q")[j] == RAD for j in x.coords)
        if actuator_kind(x) == "general" and turns:
            plain.append(x.name)
    if plain:
        notify(
            f"--degrees does not change the control of {listing(plain, MAX_NAMES)}: a general "
            "actuator, whose control need not be an angle."
        )
    return controls * control_factors(model, degrees)


def typed_controls(model: Model, words: Sequence[str]) -> Array:
    """Controls in the order of the actuators; those that are not named are 0."""
    pieces = [x for word in words for x in re.split(r"[,\s]+", word.strip("[]() ")) if x]
    known = model.actuator_names
    if any("=" in piece for piece in pieces):
        numbers = named_numbers(model, "--controls", known, pieces)
        return np.array([numbers.get(name, 0.0) for name in known])
    if len(pieces) != len(known):
        raise ShapeError(
            f"--controls has {counted(len(pieces), 'number')}; the actuators of {model.name!r} "
            f"need {len(known)}: {listing(known, MAX_NAMES)}. Or name some of them: --controls "
            f"{known[0]}=0.1."
        )
    pairs = zip(known, pieces, strict=True)
    return np.array([typed_number("--controls", name, piece) for name, piece in pairs])


def recorded_controls(model: Model, data: str, degrees: bool) -> "Signal":
    """Controls over time from a CSV file, each kept until the next row, in SI units."""
    from kinetree.simulate.inputs import signal

    where, text = _text(data)
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise ParseError(
            f"{where} has {counted(len(rows), 'line')}; expected names in the first line, t and "
            f"the actuators of {model.name!r}, and numbers below."
        )
    columns = _columns(model, where, [cell.strip() for cell in rows[0]])
    values: list[list[float]] = []
    for k, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise ParseError(
                f"{where}, line {k}: {counted(len(row), 'entry')}; expected {len(rows[0])}, as "
                "many as names in the first line."
            )
        values.append([_number(where, k, name, row[at]) for name, at in columns.items()])
    table = np.array(values)
    return signal(table[:, 0], in_si_units(model, table[:, 1:], degrees, "--control-file"))


def _text(data: str) -> tuple[str, str]:
    """Name in messages and content of a file or of standard input."""
    try:
        if data == STREAM:
            return "standard input", sys.stdin.buffer.read().decode("utf-8-sig")
        path = existing_file(data, "a CSV file with t and the actuators")
        return path.name, path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParseError(
            f"{data} is not text; expected a CSV file with t and the actuators."
        ) from None


def _columns(model: Model, where: str, heads: Sequence[str]) -> dict[str, int]:
    """Places of t and of the actuators in their order."""
    known = ("t", *model.actuator_names)
    places: dict[str, int] = {}
    for at, head in enumerate(heads):
        name = head if head in known else head.removeprefix(PREFIX)
        name = "t" if name not in known and head.lower() in TIMES else name
        if name not in known:
            raise ParseError(
                f"{where}: column {head!r} is not an actuator of {model.name!r}; expected t and "
                f"{listing(model.actuator_names, MAX_NAMES)}.{nearest(head, known)}"
            )
        if name in places:
            raise ParseError(f"{where}: column {head!r} is there twice; expected {name} once.")
        places[name] = at
    missing = [name for name in known if name not in places]
    if missing:
        raise ParseError(
            f"{where} has no column for {listing(missing, MAX_NAMES)}; expected t and every "
            f"actuator of {model.name!r}."
        )
    return {name: places[name] for name in known}


def _number(where: str, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ParseError(
            f"{where}, line {line}: {text.strip()!r:.40} for {name!r} is not a number."
        ) from None
    if not isfinite(value):
        raise ParseError(f"{where}, line {line}: {name!r} is {text}; expected a finite number.")
    return value
