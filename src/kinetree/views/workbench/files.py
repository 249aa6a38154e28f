"""Files of the workbench: uploads are read in a private folder, motions and pages are saved.

The names of these files are chosen here and never taken from the browser.
"""

import contextlib
import tempfile
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

from kinetree.errors import InputError, KinetreeWarning
from kinetree.loading import load
from kinetree.motion.files import TEXT, kind_of, read
from kinetree.robot import Robot
from kinetree.samples.files import write_csv
from kinetree.trajectory import Trajectory
from kinetree.views.page.session import session_page
from kinetree.views.scene import scene
from kinetree.views.shapes import Scene
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.guard import UPLOAD_BYTES

# .xacro is left out: it is a program, and the page may be open to others than its author
ROBOTS = (".urdf", ".xml", ".mjcf")
MOST_SAMPLES = 100_000


@contextlib.contextmanager
def private_file(folder: Path, name: str, content: bytes) -> Generator[Path]:
    """A file with that content in a folder of its own; both are removed afterwards.

    Two pages may upload at the same time, hence a folder each.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / name
        path.write_bytes(content)
        yield path


def read_robot_file(name: str, content: bytes, folder: Path) -> tuple[Robot, Scene, list[str]]:
    """The robot of an uploaded file, its shapes, and the warnings of its reader.

    Nothing outside the private folder is opened, so meshes and included files are missing.
    """
    ending = Path(name.replace("\\", "/")).suffix.lower()
    if ending not in ROBOTS:
        raise InputError(
            f"The file ends with {ending[:20]!r}; expected a robot in a file that ends with "
            f"{', '.join(ROBOTS)}. Expand xacro files first."
        )
    if not content or len(content) > UPLOAD_BYTES:
        raise InputError(f"The file has {len(content)} bytes; expected 1 to {UPLOAD_BYTES}.")
    with private_file(folder, f"robot{ending}", content) as path:
        robot, drawn, notes = read_robot(path, path.parent)
    return Robot(robot.model), drawn, notes  # without the report, whose file is removed


def read_robot(
    path: Path, folder: Path | None = None, **options: Any
) -> tuple[Robot, Scene, list[str]]:
    """The robot of a file, its shapes, and the warnings of its reader as text.

    folder: the only folder that meshes are read from; None means the folder of the file.
    options: options of `kinetree.load`.
    """
    options.setdefault("folders", () if folder is None else (folder,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinetreeWarning)
        robot = load(path, **options)
    notes = [str(x.message) for x in caught if issubclass(x.category, KinetreeWarning)]
    drawn = scene(robot, path, folder)
    return robot, drawn, [*notes, *drawn.remarks]


def read_motion_file(robot: Robot, name: str, content: bytes, folder: Path) -> Trajectory:
    """A trajectory of this robot from an uploaded CSV file; of `name` only the ending is used."""
    if not name.lower().endswith(".csv"):
        raise InputError(
            "A trajectory is a CSV file with the columns t, q:JOINT, ...; its name ends with .csv."
        )
    with private_file(folder, "trajectory.csv", content) as path:
        if kind_of(path) != TEXT:  # binary formats are not read from a page
            raise InputError("The file is not a text; expected a CSV file.")
        trajectory = read(path, robot)
    if len(trajectory) > MOST_SAMPLES:
        raise InputError(
            f"The file has {len(trajectory)} samples; the workbench shows at most {MOST_SAMPLES}. "
            "Reduce it, e.g. with trajectory.resample(0.01)."
        )
    return trajectory


def as_csv(bench: Bench, trajectory: Trajectory) -> bytes:
    """The motion as a CSV file with all digits."""
    with private_file(bench.folder, "motion.csv", b"") as path:
        write_csv(trajectory, path)
        return path.read_bytes()


def as_page(bench: Bench, trajectory: Trajectory) -> bytes:
    """The robot and its motion on one self-contained HTML page."""
    return session_page(bench.state.robot, trajectory, folder=bench.meshes).encode()
