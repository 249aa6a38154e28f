"""Trajectories from files and standard input to the library and back, in the user's units."""

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kinetree.base.arrays import Array
from kinetree.cli.arguments import STREAM
from kinetree.cli.output import Rows, csv_line, number_lines
from kinetree.cli.rows import Table, existing_file, opened
from kinetree.cli.states import factors
from kinetree.motion.files import read_csv
from kinetree.robot import Robot
from kinetree.samples.files import columns_of
from kinetree.trajectory import Trajectory


@contextmanager
def as_file(data: str) -> Generator[Path]:
    """The path of a file, or of a copy of standard input."""
    if data != STREAM:
        yield existing_file(data, "a CSV file of a trajectory")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield path


def read_trajectory(data: str, robot: Robot, degrees: bool) -> Trajectory:
    """Read the trajectory of a CSV file; missing rates are those of the spline through it."""
    with as_file(data) as path:
        return scaled(read_csv(path, robot), robot, degrees)


def read_forces(data: str, robot: Robot) -> tuple[Array, Array]:
    """Read times and joint forces, (T,) and (T, n), of a CSV file with t and tau:JOINT."""
    with opened(data) as (stream, name, _):
        table = Table(name, robot.model, ("tau",), False, required=("t", "tau"))
        blocks = [block.values for block in table.blocks(stream)]
    t, tau = (np.concatenate([values[x] for values in blocks]) for x in ("t", "tau"))
    return t, tau


def scaled(motion: Trajectory, robot: Robot, degrees: bool, out: bool = False) -> Trajectory:
    """Convert a motion from the user's units to SI, or back (`out`)."""
    if not degrees:
        return motion
    q, dq, ddq = (factors(robot.model, name, degrees) for name in ("q", "dq", "ddq"))
    if out:
        return motion.replace(q=motion.q / q, dq=motion.dq / dq, ddq=motion.ddq / ddq)
    return motion.replace(q=motion.q * q, dq=motion.dq * dq, ddq=motion.ddq * ddq)


def write_trajectory(motion: Trajectory, output: Path | None) -> None:
    """Write a CSV file as `kinetree.motion.write_csv` does, or the same rows to stdout."""
    if output is not None:
        motion.to_csv(output)
        return
    columns = columns_of(motion, "a CSV file")
    heads = ["t", *(f"{quantity}:{joint}" for (quantity, joint), _ in columns)]
    table = np.column_stack([motion.t, *(x for _, x in columns)])
    with Rows(None) as rows:
        rows.write([csv_line(heads)])
        rows.write(number_lines(table.tolist()))
