"""Trajectories as CSV: a line of names, then a line for every time.

t,q:shoulder,q:elbow,dq:shoulder,dq:elbow,ddq:shoulder,ddq:elbow,tau:shoulder,tau:elbow
"""

import csv
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.errors import ParseError
from kinetree.motion.columns import QUANTITIES, columns_of, from_columns
from kinetree.trajectory import Trajectory


def write_csv(trajectory: Trajectory, path: Any) -> None:
    """Write the trajectory; every number reads back to the same bits.

    A CSV file has samples alone: the pieces of a plan are left out, and the motion between the
    samples is found from them when it is read (see `kinetree.motion.resample`). NPZ keeps pieces.
    """
    columns = columns_of(trajectory, "a CSV file")
    header = ["t", *(f"{quantity}:{joint}" for (quantity, joint), _ in columns)]
    table = np.column_stack([trajectory.t, *(x for _, x in columns)])
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([[repr(x) for x in row] for row in table.tolist()])


def read_csv(path: Any, robot: Any = None) -> Trajectory:
    """The trajectory of a CSV file.

    Its first line names the columns: t, and "q:joint", "dq:joint", "ddq:joint", "tau:joint" in any
    order; a bare "joint" is its position. Without dq or ddq the spline through the samples is
    differentiated. With a robot, columns are put into its order and names must be its own.

    Raises:
        ParseError: with the line: no number, NaN, too few or many columns, times that do not
            increase, unknown or repeated names.
    """
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if any(x.strip() for x in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParseError(f"{path.name}: not a CSV file in UTF-8: {error}.") from None
    if not rows:
        raise ParseError(f"{path.name} is empty; expected a line of names and lines of numbers.")
    (line, header), body = rows[0], rows[1:]
    keys = _keys(header, path.name, line)
    if not body:
        raise ParseError(f"{path.name}: line {line} names columns and no line of numbers follows.")
    table = np.array([_numbers(row, header, path.name, at) for at, row in body])
    t = table[:, keys.index(("t", ""))]
    _check_times(t, [at for at, _ in body], path.name)
    columns = {key: table[:, k] for k, key in enumerate(keys) if key[0] != "t"}
    return from_columns(t, columns, robot, path.stem, f"{path.name}, line {line}")


def _keys(header: Sequence[str], file: str, line: int) -> list[tuple[str, str]]:
    """(quantity, joint) of every column."""
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        found = "semicolons" if ";" in header[0] else "tabs"
        raise ParseError(
            f"{file}, line {line}: {found} between columns; expected commas, and 0.5 for 0,5."
        )
    keys: list[tuple[str, str]] = []
    for text in (x.strip() for x in header):
        quantity, colon, joint = text.partition(":")
        if text == "t":
            key = ("t", "")
        elif colon and quantity in QUANTITIES:
            key = (quantity, joint)
        else:
            key = ("q", text)
        if not text or (colon and not joint):
            raise ParseError(f"{file}, line {line}: column {len(keys) + 1} has no name.")
        if key in keys:
            raise ParseError(f"{file}, line {line}: two columns are called {text!r}.")
        keys.append(key)
    if ("t", "") not in keys:
        raise ParseError(
            f"{file}, line {line}: no column 't' among {', '.join(header)}; expected the times "
            "in s, and the names of the columns in the first line."
        )
    return keys


def _numbers(row: Sequence[str], header: Sequence[str], file: str, line: int) -> list[float]:
    if len(row) != len(header):
        raise ParseError(
            f"{file}, line {line}: {counted(len(row), 'column')}; expected {len(header)}, as the "
            f"first line names: {', '.join(header)}."
        )
    numbers = []
    for text, name in zip(row, header, strict=True):
        try:
            number = float(text)
        except ValueError:
            raise ParseError(
                f"{file}, line {line}: {name.strip()!r} is {text!r}; expected a number."
            ) from None
        if not isfinite(number):
            raise ParseError(
                f"{file}, line {line}: {name.strip()!r} is {text.strip()}; expected a finite "
                "number."
            )
        numbers.append(number)
    return numbers


def _check_times(t: Array, lines: Sequence[int], file: str) -> None:
    late = np.flatnonzero(np.diff(t) <= 0)
    if late.size:
        k = int(late[0])
        raise ParseError(
            f"{file}, line {lines[k + 1]}: t = {t[k + 1]:.9g} s comes after t = {t[k]:.9g} s of "
            f"line {lines[k]}; times must increase."
        )
