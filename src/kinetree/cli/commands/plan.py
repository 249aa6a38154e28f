"""`kinetree plan`: a motion to a goal or through waypoints, within the limits of the robot."""

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from kinetree.cli import options as opt
from kinetree.cli import robots, states, writer
from kinetree.cli.app import command
from kinetree.cli.planned import Planned
from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.units import factors
from kinetree.motion.limits.check import check_limits
from kinetree.motion.limits.scaling import scale_time
from kinetree.motion.plan.time_optimal import time_optimal as fastest
from kinetree.motion.plan.within_limits import SAMPLES, SPEED, path_through, within_limits

NEXT = "/"  # between the waypoints of --to


@command("Simulate and check", also="trajectory move")
def run(
    robot: opt.RobotName,
    /,
    *,
    q: opt.Position = None,
    to: opt.Numbers = None,
    time_optimal: opt.Flag = False,
    speed: opt.Number = None,
    duration: opt.Number = None,
    dt: opt.Real = 0.01,
    effort: opt.ForceLimit = None,
    velocity: opt.SpeedLimit = None,
    acceleration: opt.AccelerationLimit = None,
    output: opt.MotionFile = None,
    plot: opt.Plot = None,
    options: opt.Options = opt.USUAL,
) -> None:
    """Plan a motion from rest to rest within the limits of position, speed and force.

    One goal is reached on a straight line of the joints, waypoints on a spline. The motion takes
    1 / speed of the least time in which speeds and joint forces fit; what is left over is for the
    controller. Collisions are not looked at. `kinetree check`, `simulate --reference`, `size` and
    `view` read the file.

    For example:

    ```
    kinetree plan ur5e --to 1 -1 1 0 0.5 0 -o plan.csv
    kinetree check ur5e plan.csv
    kinetree plan ur5e --to 0.5 -1 1 0 0 0 / 1 -0.5 0.5 0 0 0 --time-optimal -o fast.csv
    kinetree plan panda --to panda_joint1=0.8 --speed 0.5 --json
    ```

    JSON has robot, coordinates, joints, units, path, speed, duration, loads, t, q, dq, ddq.

    Args:
        to: Goal, a position as --q; several waypoints have a / between them. Joints that are not
            named stay where they are: in --q, or in the waypoint before.
        time_optimal: Use the limits everywhere on the path, not only at its hardest point.
        speed: Share of the fastest speed on this path, above 0 and at most 1; 0.9 if left out. With
            1, a time-optimal motion may exceed a limit between the samples of its file.
        duration: Duration instead, s; refused if it is too short.
        dt: Largest step between samples, s.
    """
    if duration is not None and (time_optimal or speed is not None):
        other = "--time-optimal" if time_optimal else "--speed"
        raise InputError(f"--duration and {other} both decide the time; expected one of them.")
    writer.check_motion(output, plot)
    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    model, share = loaded.model, SPEED if speed is None else speed
    points = waypoints(model, q, to, degrees)
    rates: dict[str, Any] = {
        "velocity": velocity and velocity * factors(model, "dq", degrees),
        "acceleration": acceleration and acceleration * factors(model, "ddq", degrees),
    }
    with writer.waiting(f"compiling the dynamics of {loaded.name}"):
        if time_optimal:
            path = path_through(loaded, points, 1.0, 1 / SAMPLES)
            made = fastest(loaded, path, dt=dt * share, effort=effort, **rates)
            motion = scale_time(made.trajectory, 1 / share)
        else:
            motion = within_limits(
                loaded, points, dt, speed=share, duration=duration, effort=effort, **rates
            )
        report = check_limits(loaded, motion, effort=effort, velocity=rates["velocity"])
    kind = "straight line" if len(points) == 2 else f"spline through {len(points)} points"
    kind = f"{kind}, time-optimal" if time_optimal else kind
    words = kind if duration is not None else f"{kind}, {share:.0%} of the fastest"
    about = {"path": kind, "speed": None if duration is not None else share}
    Planned(loaded, motion, report, words, about).write(output, plot, options)


def waypoints(model: Model, q: list[str] | None, to: list[str] | None, degrees: bool) -> Array:
    """Positions to pass, (K, nq), in SI units, from the start to the goal."""
    if not to:
        raise InputError(
            "there is no goal; expected --to with a position, such as --to "
            f"{model.coordinate_names[0] if model.nq else 'joint'}=0.5."
        )
    points = [states.vector(model, "q", q, degrees)]
    for words in parted(to):
        points.append(states.vector(model, "q", words, degrees, "--to", points[-1]))
    for k, (a, b) in enumerate(pairwise(points), 1):
        if np.array_equal(a, b):
            raise InputError(f"waypoint {k} of --to is where the robot is; expected a way to go.")
    return np.array(points)


def parted(words: list[str]) -> Iterator[list[str]]:
    """The words of every waypoint."""
    pieces = [x for word in words for x in word.replace(NEXT, f" {NEXT} ").split()]
    for apart, part in groupby(pieces, lambda x: x == NEXT):
        if not apart:
            yield list(part)
