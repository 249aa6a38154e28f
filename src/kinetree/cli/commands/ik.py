"""`kinetree ik`: joint positions that bring a frame to a pose, or along a path of poses."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.cli import options as opt
from kinetree.cli import poses, recordings, robots, states, writer
from kinetree.cli.app import command
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.units import factors


@command("Simulate and check", also="inverse-kinematics inverse_kinematics ikine")
def run(
    robot: opt.RobotName,
    /,
    *,
    pose: opt.Numbers = None,
    position: opt.Numbers = None,
    path: opt.RecordingOrNone = None,
    frame: opt.Name = None,
    q: opt.Position = None,
    output: opt.MotionFile = None,
    options: opt.Options = opt.USUAL,
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

    Args:
        pose: Pose of the frame: X Y Z in the space frame, m, and its rotation QW QX QY QZ.
        position: Position alone: X Y Z, m. The rotation is free.
        path: CSV file with a pose in every row instead, columns x, y, z and perhaps qw, qx, qy, qz.
        frame: Frame to move; the tool if left out.
    """
    from kinetree.motion.kinematics.follow import follow
    from kinetree.motion.kinematics.solve import inverse_kinematics

    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    model = loaded.model
    if sum(x is not None for x in (pose, position, path)) != 1:
        raise InputError("expected one of --pose, --position and --path, which give the goal.")
    start = states.position(loaded, q, degrees) if q else None
    with writer.waiting(f"compiling the kinematics of {loaded.name}"):
        if path is not None:
            found: Any = follow(loaded, poses.read_path(path), start, frame=frame)
        else:
            name, words = ("--pose", pose) if position is None else ("--position", position)
            goal = poses.typed_pose(name, words, rotated=position is None)
            found = inverse_kinematics(loaded, goal, start, frame=frame)
    if output is not None:
        heads = recordings.with_units([f"q:{x}" for x in model.coordinate_names], model, degrees)
        writer.print_csv(heads, np.atleast_2d(found.q / factors(model, "q", degrees)), output)
    if options.json:
        names = ("reached", "position_error", "rotation_error")
        writer.print_json(
            states.document(model, {"q": found.q}, degrees) | {x: getattr(found, x) for x in names}
        )
    elif output != writer.STDOUT:
        writer.show(parts(model, found, degrees))
    return 0 if np.all(found.reached) else 1


def parts(model: Model, found: Any, degrees: bool) -> Iterator[writer.Part]:
    """A table of the joint positions, or of the first and last ones along a path."""
    rows, single = np.atleast_2d(found.q), found.q.ndim == 1
    ends = {"position": rows[0]} if single else {"first": rows[0], "last": rows[-1]}
    yield states.table(model, f"{model.name}: joint positions", "q", ends, degrees)
    far, turned = float(np.max(found.position_error)), float(np.max(found.rotation_error))
    errors = f"errors up to {far:.3g} m and {turned:.3g} rad"
    if np.all(found.reached):
        yield f"reached, {errors}"
    elif single:
        yield f"not reached: the nearest position is shown, {errors}"
    else:
        yield f"not followed from row {found.fails_at + 1} on, {errors}"
