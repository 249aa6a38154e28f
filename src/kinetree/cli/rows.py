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

import numpy as np

from kinetree.cli.arguments import AS_NAMED, STREAM, Recorded
from kinetree.cli.messages import notify
from kinetree.cli.output import print_csv
from kinetree.core.arrays import Array
from kinetree.errors import InputError, ParseError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import Model
from kinetree.model.inputs import coordinates
from kinetree.model.units import entry_names, factors, units
from kinetree.motion.recordings import SIGNALS, ReadRequest, Table
from kinetree.motion.recordings.read import (
    BAG,
    LONGEST_SIGNATURE,
    SIGNATURES,
    kind_of,
    read_table,
    trajectory_of,
)
from kinetree.motion.recordings.write import columns_of
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot

RECORDING = "a recording: CSV, Parquet, NPZ or a ROS bag"
RATES = ("dq", "ddq")
QUATERNION_ERROR = 1e-9  # of the length of a quaternion in a row


def request_of(
    model: Model | None,
    recorded: Recorded = AS_NAMED,
    *,
    degrees: bool = False,
    required: tuple[str, ...] = ("t", "q"),
    unnamed: tuple[str, ...] = (),
) -> ReadRequest:
    """The request of a command; `recorded.columns` are words such as `NAME=q:JOINT` and `NAME=`."""
    columns: dict[str, str | None] = {}
    for word in recorded.columns:
        name, sign, target = word.rpartition("=")
        if not sign:
            raise InputError(
                f"--columns is {word!r}; expected NAME=q:JOINT, NAME=t, or NAME= to leave a column "
                "out."
            )
        if name in columns:
            raise InputError(f"--columns maps {name!r} twice; expected every column once.")
        columns[name] = target or None
    return ReadRequest(model, columns, degrees, recorded.topic, required, unnamed)


def read_states(data: str, request: ReadRequest, wanted: Sequence[str]) -> dict[str, Array]:
    """The wanted quantities of every row, (rows, n), and "t" if the file has times.

    Rates and forces that the file lacks are zero, or derivatives if it has times.
    """
    assert request.model is not None
    with as_file(data) as path:
        table = read_table(path, request)
    lacking = tuple(x for x in RATES if x in wanted and x not in table.values)
    if "t" in table.values and lacking:
        motion = trajectory_of(table, request, path.name)
        rates = {x: getattr(motion, x) for x in lacking}
        table = replace(table, values={**table.values, **rates}, notes=motion.meta["notes"])
    missing = [x for x in wanted if x not in table.values]
    announce(path.name, table.notes, missing)
    check_quaternions(request.model, table)
    zeros = np.zeros((len(table), request.model.n))
    states = {x: table.values.get(x, zeros) for x in wanted}
    return {"t": table.values["t"], **states} if "t" in table.values else states


def announce(name: str, notes: Sequence[str], missing: Sequence[str]) -> None:
    """Print the notes of the reader, and the quantities that are taken as zero."""
    for note in notes:
        notify(f"{name}: {note}.")
    if missing:
        notify(f"{name} has no columns of {' and '.join(missing)}: taken as zero.")


def check_quaternions(model: Model, table: Table) -> None:
    """Raise ParseError for the first row whose quaternion does not have length 1."""
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            length = np.linalg.norm(table.values["q"][:, list(joint.coords[:4])], axis=1)
            for k in np.flatnonzero(abs(length - 1) > QUATERNION_ERROR)[:1].tolist():
                try:
                    coordinates(model, table.values["q"][k])
                except InputError as error:
                    raise ParseError(f"{table.row(k)}: {error}") from None


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
        with path.open("rb") as file:
            start = file.read(LONGEST_SIGNATURE)
        for signature, (_, ending) in SIGNATURES.items():
            if start.startswith(signature):
                path = path.rename(path.with_suffix(ending))
        yield path


def existing_file(data: str, expected: str) -> Path:
    """The path of a file; raise InputError if it is a folder or does not exist."""
    path = Path(data)
    if path.is_dir():
        raise InputError(f"{data} is a folder; expected {expected}.")
    if not path.exists():
        raise InputError(f"there is no file {data}; expected {expected}, or - for standard input.")
    return path


def read_trajectory(data: str, request: ReadRequest) -> Trajectory:
    """Read the trajectory of a recording; missing rates are those of the spline through it."""
    with as_file(data) as path:
        motion = trajectory_of(read_table(path, request), request, path.name)
    announce(path.name, motion.meta.get("notes", ()), ())
    return motion


def read_forces(data: str, request: ReadRequest) -> tuple[Array, Array]:
    """Read times and joint forces, (T,) and (T, n), of a recording with t and tau:JOINT."""
    with as_file(data) as path:
        table = read_table(path, request)
    announce(path.name, table.notes, ())
    return table.values["t"], table.values["tau"]


def in_users_units(motion: Trajectory, robot: Robot, degrees: bool) -> Trajectory:
    """Convert a motion from SI to the user's units."""
    if not degrees:
        return motion
    q, dq, ddq = (factors(robot.model, name, degrees) for name in ("q", "dq", "ddq"))
    return motion.replace(q=motion.q / q, dq=motion.dq / dq, ddq=motion.ddq / ddq)


def with_units(columns: Sequence[str], model: Model | None, degrees: bool) -> list[str]:
    """Names of columns, QUANTITY:JOINT; angles in degrees have their unit in the name."""
    if model is None or not degrees:
        return list(columns)
    unit_of = {
        f"{quantity}:{joint}": unit
        for quantity in SIGNALS
        for joint, unit in zip(
            entry_names(model, quantity), units(model, quantity, degrees), strict=True
        )
        if "deg" in unit
    }
    return [f"{x} [{unit_of[x]}]" if x in unit_of else x for x in columns]


def write_trajectory(motion: Trajectory, output: Path | None, degrees: bool) -> None:
    """Write a motion in the user's units as CSV, to a file or to stdout."""
    columns = columns_of(motion, "a CSV file")
    heads = with_units([name for name, _ in columns], motion.model, degrees)
    print_csv(["t", *heads], np.column_stack([motion.t, *(x for _, x in columns)]), output)
