"""Files that were uploaded: kept in a private folder while they are read, under names of ours."""

# TODO merge docstring of kinetree.views.workbench.files:
# Motions in and out: CSV files that are opened, and the files that are handed out.

import contextlib
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinetree.errors import InputError, KinetreeWarning
from kinetree.loading import load
from kinetree.motion.csv_files import read_csv, write_csv
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory
from kinetree.views.page.session import session_page
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.guard import UPLOAD_BYTES

# .xacro is left out: it is a program, and this page may be open to more than its author
ROBOTS = (".urdf", ".xml", ".mjcf")


@contextlib.contextmanager
def private_file(folder: Path, name: str, content: bytes) -> Iterator[Path]:
    """A file with that content, alone in a folder of its own, both gone afterwards.

    `name` is ours, never the browser's. Two pages may upload at the same time.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / name
        path.write_bytes(content)
        yield path


def read_robot_file(name: str, content: bytes, folder: Path) -> tuple[Robot, Scene, list[str]]:
    """The robot of an uploaded file, its shapes, and what the reader had to say.

    It is read by the same reader as any other file. It came alone, so meshes and includes are not
    there; nothing outside the private folder is opened for it.
    """
    ending = Path(name.replace("\\", "/")).suffix.lower()
    if ending not in ROBOTS:
        raise InputError(
            f"A robot is a file that ends with {', '.join(ROBOTS)}; this one ends with "
            f"{ending[:20]!r}. Expand xacro files first."
        )
    if not content or len(content) > UPLOAD_BYTES:
        raise InputError(f"The file has {len(content)} bytes; expected 1 to {UPLOAD_BYTES}.")
    with private_file(folder, f"robot{ending}", content) as path:
        robot, drawn, notes = read_robot(path, path.parent)
    return Robot(robot.model), drawn, notes  # without a report, whose file is gone


def read_robot(
    path: Path, folder: Path | None = None, **options: Any
) -> tuple[Robot, Scene, list[str]]:
    """The robot of a file, its shapes, and the warnings of its reader as text.

    folder: the only one that meshes are read from; that of the file when None.
    options: of `kinetree.load`.
    """
    options.setdefault("folders", () if folder is None else (folder,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinetreeWarning)
        robot = load(path, **options)
    notes = [str(x.message) for x in caught if issubclass(x.category, KinetreeWarning)]
    drawn = scene(robot, path, folder)
    return robot, drawn, [*notes, *drawn.remarks]


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
