"""Motions in and out: CSV files that are opened, and the files that are handed out."""

from pathlib import Path

from kinetree.errors import InputError
from kinetree.motion.csv_files import read_csv, write_csv
from kinetree.robot import Robot
from kinetree.simulate.trajectory import Trajectory
from kinetree.views.session_page import session_page
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.files import private_file

MOST_SAMPLES = 100_000


def read_motion_file(robot: Robot, name: str, content: bytes, folder: Path) -> Trajectory:
    """A trajectory of this robot from an uploaded CSV file; `name` only tells its ending."""
    if not name.lower().endswith(".csv"):
        raise InputError("A trajectory is a CSV file: t, q:JOINT, ...; its name ends with .csv.")
    with private_file(folder, "trajectory.csv", content) as path:
        trajectory = read_csv(path, robot)
    if len(trajectory) > MOST_SAMPLES:
        raise InputError(
            f"The file has {len(trajectory)} samples; at most {MOST_SAMPLES} are shown. "
            "Thin it out, e.g. with trajectory.resample(0.01)."
        )
    return trajectory


def as_csv(bench: Bench, trajectory: Trajectory) -> bytes:
    """The motion as a CSV file, every number in full."""
    with private_file(bench.folder, "motion.csv", b"") as path:
        write_csv(trajectory, path)
        return path.read_bytes()


def as_page(bench: Bench, trajectory: Trajectory) -> bytes:
    """The robot and its motion in one page that needs nothing else."""
    return session_page(bench.state.robot, trajectory, folder=bench.meshes).encode()
