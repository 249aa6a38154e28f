"""Trajectories from files and standard input to the library and back, in the user's units."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kinetree.base.arrays import Array
from kinetree.cli.angles import factors
from kinetree.cli.batches import opened
from kinetree.cli.rows import read_rows
from kinetree.cli.words import STREAM
from kinetree.cli.writing import Rows, csv_line, number_lines
from kinetree.errors import InputError
from kinetree.motion.columns import columns_of
from kinetree.motion.csv_files import read_csv
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory


@contextmanager
def as_file(data: str) -> Iterator[Path]:
    """The file, or a copy of standard input where data is `-`."""
    if data != STREAM:
        path = Path(data)
        if path.is_dir():
            raise InputError(f"{data} is a folder; expected a CSV file of a trajectory.")
        if not path.exists():
            raise InputError(f"there is no file {data}; expected a CSV file of a trajectory.")
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield path


def read_trajectory(data: str, robot: Robot, degrees: bool) -> Trajectory:
    """The trajectory of a CSV file; rates that it lacks are those of the spline through it."""
    with as_file(data) as path:
        return scaled(read_csv(path, robot), robot, degrees)


def read_forces(data: str, robot: Robot) -> tuple[Array, Array]:
    """Times and joint forces, (T,) and (T, n), of a CSV file with t and tau:JOINT."""
    with opened(data) as (stream, name, _):
        rows = read_rows(stream, name, robot.model, ("tau",), False, required=("t", "tau"))
        blocks = [block.values for block in rows]
    t, tau = (np.concatenate([values[x] for values in blocks]) for x in ("t", "tau"))
    return t, tau


def scaled(motion: Trajectory, robot: Robot, degrees: bool, out: bool = False) -> Trajectory:
    """The motion from the user's units to SI, or back."""
    if not degrees:
        return motion
    found = {}
    for name in ("q", "dq", "ddq"):
        scale = factors(robot.model, name, degrees)
        x = getattr(motion, name)
        found[name] = x / scale if out else x * scale
    return motion.replace(**found)


def write_trajectory(motion: Trajectory, output: Path | None) -> None:
    """A CSV file as `kinetree.motion.write_csv` writes it, or rows on standard output."""
    if output is not None:
        motion.to_csv(output)
        return
    columns = columns_of(motion, "a CSV file")
    heads = ["t", *(f"{quantity}:{joint}" for (quantity, joint), _ in columns)]
    table = np.column_stack([motion.t, *(x for _, x in columns)])
    with Rows(None) as rows:
        rows.write([csv_line(heads)])
        rows.write(number_lines(table.tolist()))
