"""States and motions in files and pipes: read whole, checked, in SI units; written as CSV.

The reader of `kinetree.motion.recordings` reads them. Rates that a file with times lacks are those
of the spline through its samples; without times a row is a state at rest, and missing rates are
zero.
"""

import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.cli.options import STREAM, Options, Recorded
from kinetree.cli.robots import words_by_name
from kinetree.cli.writer import STDOUT, check_output, notify, print_csv
from kinetree.core.arrays import Array
from kinetree.core.text import nearest
from kinetree.errors import InputError, ParseError
from kinetree.model import Model
from kinetree.model.inputs import coordinates
from kinetree.model.units import entry_names, factors, units
from kinetree.motion.recordings import SIGNALS, ReadRequest, Table
from kinetree.motion.recordings.read import BAG, kind_of, read_table, trajectory_of
from kinetree.motion.recordings.write import columns_of
from kinetree.motion.trajectory import Trajectory

RECORDING = "a recording: CSV, Parquet, NPZ or a ROS bag"
RATES = ("dq", "ddq")


def request_of(
    model: Model | None,
    recorded: Recorded,
    degrees: bool,
    required: tuple[str, ...] = ("t", "q"),
    unnamed: tuple[str, ...] = (),
) -> ReadRequest:
    """The request of a command; `recorded.columns` are words such as `NAME=q:JOINT` and `NAME=`."""
    words = words_by_name("--columns", recorded.columns)
    if "" in words:
        raise InputError(
            f"--columns has {words['']!r}; expected NAME=q:JOINT, NAME=t, or NAME= to leave a "
            "column out."
        )
    columns = {name: target or None for name, target in words.items()}
    return ReadRequest(model, columns, degrees, recorded.topic, required, unnamed)


@contextmanager
def as_file(data: str) -> Generator[Path]:
    """The path of a recording, or of a copy of standard input."""
    if data != STREAM:
        path = Path(data)
        folder = path.is_dir() and kind_of(path) == BAG
        yield path if folder else existing_file(data, RECORDING)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield path


def existing_file(data: str, expected: str) -> Path:
    """The path of a file; raise InputError if it is a folder or does not exist."""
    path = Path(data)
    if path.is_dir():
        raise InputError(f"{data} is a folder; expected {expected}.")
    if not path.exists():
        others = [str(x) for x in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(
            f"there is no file {data}; expected {expected}, or - for standard input."
            f"{nearest(data, others)}"
        )
    return path


def announced(data: str, request: ReadRequest) -> tuple[Table, str]:
    """The table of a recording and the name of its file; its notes are printed on stderr."""
    with as_file(data) as path:
        table = read_table(path, request)
    for note in table.notes:
        notify(f"{path.name}: {note}.")
    return table, path.name


def read_states(data: str, request: ReadRequest, wanted: Sequence[str]) -> dict[str, Array]:
    """The wanted quantities of every row, (rows, n), and "t" if the file has times.

    Rates and forces that the file lacks are zero, or derivatives if it has times.
    """
    assert request.model is not None
    table, name = announced(data, request)
    lacking = [x for x in RATES if x in wanted and x not in table.values]
    if "t" in table.values and lacking:
        motion = trajectory_of(table, request, name)
        rates = {x: getattr(motion, x) for x in lacking}
        table = replace(table, values={**table.values, **rates})
    if missing := [x for x in wanted if x not in table.values]:
        notify(f"{name} has no columns of {' and '.join(missing)}: taken as zero.")
    check_quaternions(request.model, table)
    zeros = np.zeros((len(table), request.model.n))
    times = {"t": table.values["t"]} if "t" in table.values else {}
    return times | {x: table.values.get(x, zeros) for x in wanted}


def check_quaternions(model: Model, table: Table) -> None:
    """Raise ParseError for the first row whose quaternions do not have length 1."""
    for k, q in enumerate(table.values["q"] if model.nq != model.n else ()):
        try:
            coordinates(model, q)
        except InputError as error:
            raise ParseError(f"{table.row(k)}: {error}") from None


def read_motion(data: str, model: Model, options: Options) -> Trajectory:
    """The trajectory of a recording; missing rates are those of the spline through it."""
    request = request_of(model, options.recorded, options.degrees)
    with as_file(data) as path:
        motion = trajectory_of(read_table(path, request), request, path.name)
    for note in motion.meta.get("notes", ()):
        notify(f"{path.name}: {note}.")
    return motion


def in_users_units(motion: Trajectory, model: Model, degrees: bool) -> dict[str, Array]:
    """t, q, dq, ddq, and tau if there is one, in the user's units."""
    values: dict[str, Any] = {name: getattr(motion, name) for name in SIGNALS}
    shown = {name: x / factors(model, name, degrees) for name, x in values.items() if x is not None}
    return {"t": motion.t} | shown


def with_units(columns: Sequence[str], model: Model, degrees: bool) -> list[str]:
    """Names of columns, QUANTITY:JOINT; angles in degrees have their unit in the name."""
    unit_of = {
        f"{quantity}:{joint}": unit
        for quantity in SIGNALS
        for joint, unit in zip(
            entry_names(model, quantity), units(model, quantity, degrees), strict=True
        )
        if "deg" in unit
    }
    return [f"{x} [{unit_of[x]}]" if x in unit_of else x for x in columns]


def write_motion(motion: Trajectory, model: Model, output: Path | None, degrees: bool) -> None:
    """Write a motion in the user's units as CSV, to a file or to stdout."""
    if output is None:
        return
    if output != STDOUT:
        check_output(output)
    shown: dict[str, Any] = in_users_units(motion, model, degrees)
    turned = motion.replace(**{x: shown[x] for x in ("q", "dq", "ddq")}) if degrees else motion
    columns = columns_of(turned, "a CSV file")
    heads = with_units([name for name, _ in columns], model, degrees)
    print_csv(["t", *heads], np.column_stack([motion.t, *(x for _, x in columns)]), output)
