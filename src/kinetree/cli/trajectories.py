"""Trajectories from recordings to the library and back, in the user's units."""

from pathlib import Path

import numpy as np

from kinetree.base.arrays import Array
from kinetree.cli.output import Rows, csv_line, number_lines
from kinetree.cli.rows import announce, as_file
from kinetree.model.units import factors, units
from kinetree.motion.recordings import ReadRequest
from kinetree.motion.recordings.read import read_table, trajectory_of, with_rates
from kinetree.motion.recordings.write import columns_of
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot


def read_trajectory(data: str, request: ReadRequest) -> Trajectory:
    """Read the trajectory of a recording; missing rates are those of the spline through it.

    Notes of the reader are printed.
    """
    with as_file(data) as path:
        table = with_rates(read_table(path, request), request)
    announce(path.name, table.notes, ())
    return trajectory_of(table, request, path.name)


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


def heads_of(motion: Trajectory, degrees: bool) -> list[str]:
    """Names of the columns of a motion; angles in degrees have their unit in the name."""
    heads = ["t"]
    for quantity, joint in (key for key, _ in columns_of(motion, "a CSV file")):
        names = motion.coordinate_names if quantity == "q" else motion.dof_names
        unit = ""
        if degrees and motion.model is not None:
            unit = units(motion.model, quantity, degrees)[names.index(joint)]
        heads.append(f"{quantity}:{joint} [{unit}]" if "deg" in unit else f"{quantity}:{joint}")
    return heads


def write_trajectory(motion: Trajectory, output: Path | None, degrees: bool) -> None:
    """Write a motion in the user's units as CSV, to a file or to stdout."""
    columns = columns_of(motion, "a CSV file")
    table = np.column_stack([motion.t, *(x for _, x in columns)])
    with Rows(output) as rows:
        rows.write([csv_line(heads_of(motion, degrees))])
        rows.write(number_lines(table.tolist()))
