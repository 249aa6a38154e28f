"""`kinetree ik`: joint positions that bring a frame to a pose, or along a path of poses."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from kinetree.cli.arguments import (
    NUMBERS,
    USUAL,
    Options,
    Position,
    RobotName,
    option,
    table_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import compiling, print_csv, print_json, waiting
from kinetree.cli.rows import with_units
from kinetree.cli.simulate import STDOUT, MotionFile
from kinetree.cli.states import document, pieces_of, read_state, typed_number
from kinetree.cli.tables import column_table, console, unit_column
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.units import factors, units
from kinetree.spatial import pose as pose_of
from kinetree.spatial.so3 import quaternion_rotation

POSE_NAMES = ("X", "Y", "Z", "QW", "QX", "QY", "QZ")
UNIT_LENGTH = 1e-3  # by which the length of a quaternion may differ from 1


def ik(
    robot: RobotName,
    /,
    *,
    pose: Annotated[
        list[str] | None,
        words_argument(
            "Pose of the frame: X Y Z in the space frame, m, and its rotation QW QX QY QZ.", NUMBERS
        ),
    ] = None,
    position: Annotated[
        list[str] | None,
        words_argument("Position alone: X Y Z, m. The rotation is free.", NUMBERS),
    ] = None,
    path: Annotated[
        str | None,
        table_argument(
            "CSV file with a pose in every row instead, columns x, y, z and perhaps qw, qx, qy, qz."
        ),
    ] = None,
    frame: Annotated[
        str | None, option("--frame", "Frame to move; the tool if left out.", value="NAME")
    ] = None,
    q: Position = None,
    output: MotionFile = None,
    options: Options = USUAL,
) -> int:
    """Find joint positions within the limits that bring a frame to a pose.

    The solution next to --q is preferred. A pose that is out of reach gets the nearest position.
    Along a path, joints do not jump from one solution to another. The exit code is 0 if every pose
    is reached, else 1.

    For example:

    ```
    kinetree ik panda --pose 0.4 0.1 0.5 0 1 0 0
    kinetree ik ur5e --position 0.4 0.3 0.5 --degrees
    kinetree ik panda --path path.csv -o joints.csv
    ```

    JSON has robot, coordinates, joints, units, q, reached, position_error, rotation_error.
    """
    from kinetree.motion.kinematics.follow import follow
    from kinetree.motion.kinematics.solve import inverse_kinematics

    loaded, degrees = find_robot(robot, options.reading), options.degrees
    model = loaded.model
    if sum(x is not None for x in (pose, position, path)) != 1:
        raise InputError("expected one of --pose, --position and --path, which give the goal.")
    start = read_state(model, {"q": q}, degrees)["q"] if q else None
    with waiting(compiling("the kinematics", model)):
        if path is not None:
            found: Any = follow(loaded, read_path(path), start, frame=frame)
        else:
            name, words = ("--pose", pose) if position is None else ("--position", position)
            goal = typed_pose(name, words or [], rotated=position is None)
            found = inverse_kinematics(loaded, goal, start, frame=frame)
    shown = found.q / factors(model, "q", degrees)
    if output is not None:
        heads = with_units([f"q:{x}" for x in model.coordinate_names], model, degrees)
        print_csv(heads, np.atleast_2d(shown), None if output == STDOUT else output)
    if options.json:
        names = ("reached", "position_error", "rotation_error")
        print_json(document(model, {"q": found.q}, degrees) | {x: getattr(found, x) for x in names})
    elif output != STDOUT:
        show(model, found, shown, degrees)
    return 0 if np.all(found.reached) else 1


def show(model: Model, found: Any, shown: Array, degrees: bool) -> None:
    """A table of the joint positions, or of their ranges along a path."""
    last = np.atleast_2d(shown)
    names, of = list(model.coordinate_names), units(model, "q", degrees)
    columns = [("joint", names)]
    ends = [("q", last[0])] if shown.ndim == 1 else [("first", last[0]), ("last", last[-1])]
    columns += [unit_column(head, [number(x, 6) for x in row], of) for head, row in ends]
    console().print(column_table(f"{model.name}: joint positions", columns))
    far, turned = float(np.max(found.position_error)), float(np.max(found.rotation_error))
    errors = f"errors up to {far:.3g} m and {turned:.3g} rad"
    if np.all(found.reached):
        console().print(f"reached, {errors}")
    elif shown.ndim == 1:
        console().print(f"not reached: the nearest position is shown, {errors}")
    else:
        console().print(f"not followed from row {found.fails_at + 1} on, {errors}")


def typed_pose(name: str, words: list[str], *, rotated: bool) -> Array:
    """The pose (4, 4) or the position (3,) of typed numbers X Y Z and QW QX QY QZ."""
    pieces = pieces_of(words)
    count = 7 if rotated else 3
    if len(pieces) != count:
        raise InputError(
            f"{name} has {counted(len(pieces), 'number')}; expected {' '.join(POSE_NAMES[:count])}."
        )
    typed = zip(POSE_NAMES, pieces, strict=False)
    x = np.array([typed_number(name, part, text) for part, text in typed])
    return _poses(x[None], name)[0] if rotated else x


def read_path(path: str) -> Array:
    """Poses (T, 4, 4) or positions (T, 3) of a CSV file with named columns."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}; expected a CSV file with columns x, y, z.")
    with Path(path).open(encoding="utf-8") as file:
        heads = [x.strip().lower() for x in file.readline().split(",")]
        try:
            table = np.loadtxt(file, delimiter=",", ndmin=2)
        except ValueError as error:
            raise InputError(f"{path} is not a table of numbers: {error}.") from None
    names = [x.lower() for x in POSE_NAMES]
    wanted = names if "qw" in heads else names[:3]
    if missing := [x for x in wanted if x not in heads]:
        raise InputError(f"{path} has no column {missing[0]!r}; expected {', '.join(wanted)}.")
    if not len(table) or table.shape[1] != len(heads):
        raise InputError(f"{path} has {counted(len(heads), 'name')} and rows {table.shape}.")
    x = table[:, [heads.index(name) for name in wanted]]
    return _poses(x, path) if len(wanted) == 7 else x


def _poses(x: Array, name: str) -> Array:
    """Poses, (T, 4, 4), of rows X Y Z QW QX QY QZ."""
    lengths = np.linalg.norm(x[:, 3:], axis=1)
    for k in np.flatnonzero(~(np.abs(lengths - 1) <= UNIT_LENGTH))[:1].tolist():
        raise InputError(f"QW QX QY QZ of {name} has length {lengths[k]:.6g}; expected 1.")
    turned = x[:, 3:] / lengths[:, None]
    return np.array(
        [pose_of(quaternion_rotation(turn), row[:3]) for turn, row in zip(turned, x, strict=True)]
    )
