"""Controls of actuators as typed, or from the rows of a CSV file.

Typed controls are `0.1 0.2` in the order of the robot, or `elbow=0.1` by name; those left out are
0. A file has a column t and one for each actuator; a value is kept until the time of the next row.

With --degrees the goals of position and velocity servos are read in degrees where the goal is an
angle of one joint. A servo whose goal is a multiple or sum of angles is refused, and the controls
of motors and other actuators, which have their own units, are taken as they are.
"""

import csv
import sys
from typing import TYPE_CHECKING

import numpy as np

from kinetree.cli.options import STREAM
from kinetree.cli.output import notify
from kinetree.cli.recordings import existing_file
from kinetree.cli.robots import choose, numbers_by_name, typed_number
from kinetree.cli.state import Words, pieces_of, typed_vector
from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.errors import InputError, ParseError
from kinetree.model import Model
from kinetree.model.elements import actuator_kind
from kinetree.model.units import RAD, control_factors, goal_kind, kinds

if TYPE_CHECKING:
    from kinetree.simulate.inputs import Signal

MAX_NAMES = 8  # in one message
EXPECTED = "a CSV file with a line of names, t and the actuators, and numbers below"


def read_controls(
    model: Model, words: Words, data: str | None, degrees: bool
) -> "Array | Signal | None":
    """The controls of --controls (constant) or of --control-file, in SI units; None without."""
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
    if data is not None:
        return _recorded(model, data, degrees)
    if any("=" in piece for piece in pieces_of(words)):
        typed = numbers_by_name(option, pieces_of(words), model.actuator_names, repr(model.name))
    else:
        typed = typed_vector(option, model.name, model.actuator_names, words)
    controls = np.array([typed.get(name, 0.0) for name in model.actuator_names])
    return _in_si_units(model, controls, degrees, option)


def _recorded(model: Model, data: str, degrees: bool) -> "Signal":
    """Controls over time from a CSV file, each kept until the next row, in SI units."""
    from kinetree.simulate.inputs import signal

    name = "standard input" if data == STREAM else data
    try:
        if data == STREAM:
            text = sys.stdin.buffer.read().decode("utf-8-sig")
        else:
            text = existing_file(data, EXPECTED).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParseError(f"{name} is not text; expected {EXPECTED}.") from None
    heads, *rows = [row for row in csv.reader(text.splitlines()) if any(row)] or [[]]
    known = ("t", *model.actuator_names)
    heads = [choose(x.strip(), known, f"actuator of {model.name!r} called") for x in heads]
    if sorted(heads) != sorted(known) or not rows:
        raise ParseError(
            f"{name} has {listing(heads, MAX_NAMES) or 'no line'} and {len(rows)} rows; expected "
            f"{EXPECTED}: {listing(known, MAX_NAMES)}."
        )
    for k, row in enumerate(rows, 2):
        if len(row) != len(heads):
            raise ParseError(f"{name}, line {k} has {len(row)} entries; expected {len(heads)}.")
    values: list[list[float]] = []
    for k, row in enumerate(rows, 2):
        pairs = zip(heads, row, strict=True)
        values.append([typed_number(f"{name}, line {k}", head, x.strip()) for head, x in pairs])
    table = np.array(values)
    times, *columns = (table[:, heads.index(x)] for x in known)
    return signal(times, _in_si_units(model, np.stack(columns, -1), degrees, "--control-file"))


def _in_si_units(model: Model, controls: Array, degrees: bool, option: str) -> Array:
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
        if actuator_kind(x) == "general" and any(kinds(model, "q")[j] == RAD for j in x.coords):
            plain.append(x.name)
    if plain:
        notify(
            f"--degrees does not change the control of {listing(plain, MAX_NAMES)}: a general "
            "actuator, whose control need not be an angle."
        )
    return controls * control_factors(model, degrees)
