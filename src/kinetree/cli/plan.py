"""`kinetree plan`: a motion to a goal or through waypoints, within the limits of the robot."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kinetree.cli.arguments import (
    NUMBERS,
    USUAL,
    AccelerationLimit,
    ForceLimit,
    Options,
    Position,
    Recorded,
    RobotName,
    SpeedLimit,
    number_argument,
    option,
    table_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.loads import load_documents, load_table
from kinetree.cli.output import compiling, print_json, waiting
from kinetree.cli.simulate import STDOUT, MotionFile, Plot, check_files
from kinetree.cli.states import document, factors, vector
from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.limits.check import check_limits
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.motion.limits.report import LimitReport
    from kinetree.motion.trajectory import Trajectory

NEXT = "/"  # between the waypoints of --to


def plan(
    robot: RobotName,
    /,
    *,
    q: Position = None,
    to: Annotated[
        list[str] | None,
        words_argument(
            f"Goal, a position as --q; several waypoints have a {NEXT} between them. Joints that "
            "are not named stay where they are: in --q, or in the waypoint before.",
            NUMBERS,
        ),
    ] = None,
    through: Annotated[
        str | None,
        table_argument("Recording with a waypoint q:JOINT in every row, instead of --q and --to."),
    ] = None,
    time_optimal: Annotated[
        bool,
        option(
            "--time-optimal",
            "Use the limits everywhere on the path, not only at its hardest point.",
        ),
    ] = False,
    speed: Annotated[
        float | None,
        number_argument(
            "Share of the fastest speed on this path, above 0 and at most 1; 0.9 if left out. With "
            "1, a time-optimal motion may exceed a limit between the samples of its file."
        ),
    ] = None,
    duration: Annotated[
        float | None, number_argument("Duration instead, s; refused if it is too short.")
    ] = None,
    dt: Annotated[float, number_argument("Largest step between samples, s.")] = 0.01,
    effort: ForceLimit = None,
    velocity: SpeedLimit = None,
    acceleration: AccelerationLimit = None,
    output: MotionFile = None,
    plot: Plot = None,
    options: Options = USUAL,
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
    """
    from kinetree.motion.limits.scaling import scale_time
    from kinetree.motion.plan.time_optimal import time_optimal as fastest
    from kinetree.motion.plan.within_limits import SAMPLES, SPEED, path_through, within_limits

    if duration is not None and (time_optimal or speed is not None):
        other = "--time-optimal" if time_optimal else "--speed"
        raise InputError(f"--duration and {other} both decide the time; expected one of them.")
    check_files(output, plot)
    loaded, degrees = find_robot(robot, options.reading), options.degrees
    model, share = loaded.model, SPEED if speed is None else speed
    points = waypoints(model, q, to, through, options)
    rates: dict[str, Any] = {
        key: x if x is None else x * factors(model, quantity, degrees)
        for key, x, quantity in (
            ("velocity", velocity, "dq"),
            ("acceleration", acceleration, "ddq"),
        )
    }
    with waiting(compiling("the dynamics", model)):
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
    speed_words = "" if duration is not None else f", {share:.0%} of the fastest"
    shown = Planned(
        loaded, motion, report, degrees, f"{kind}{speed_words}",
        {"path": kind, "speed": None if duration is not None else share},
    )  # fmt: skip
    shown.write(output, options.json, plot)


@dataclass(frozen=True, eq=False)
class Planned:
    """A motion that a command made, its loads, words for the screen and entries for JSON."""

    robot: Robot
    motion: "Trajectory"
    report: "LimitReport"
    degrees: bool
    words: str
    about: dict[str, Any]

    def write(self, output: Path | None, json: bool, plot: Path | None) -> None:
        """Write the motion to the output, and a table of loads or JSON to standard output."""
        from kinetree.cli.rows import in_users_units, write_trajectory

        shown = in_users_units(self.motion, self.robot, self.degrees)
        if plot is not None:
            self.motion.plot(plot, robot=self.robot)
        if json:
            letters = ("q", "dq", "ddq") + (() if shown.tau is None else ("tau",))
            print_json(
                document(self.robot.model, {}, self.degrees, *letters)
                | self.about
                | {"duration": shown.duration, "loads": load_documents(self.report, self.degrees)}
                | {x: getattr(shown, x) for x in ("t", *letters)}
            )
        elif output == STDOUT:
            write_trajectory(shown, None, self.degrees)
        else:
            samples = counted(len(shown), "sample")
            title = f"{self.robot.name}: {shown.duration:.4g} s, {samples}, {self.words}"
            load_table(title, self.report, self.degrees)
        if output is not None and output != STDOUT:
            write_trajectory(shown, output, self.degrees)


def waypoints(
    model: Model, q: list[str] | None, to: list[str] | None, through: str | None, options: Options
) -> Array:
    """Positions to pass, (K, nq), in SI units, from the start to the goal."""
    if through is not None:
        if q or to:
            raise InputError("--through has start and goal; leave out --q and --to.")
        return read_waypoints(model, through, options.recorded, options.degrees)
    if not to:
        raise InputError(
            "there is no goal; expected --to with a position, such as --to "
            f"{model.coordinate_names[0] if model.nq else 'joint'}=0.5, or --through FILE."
        )
    points = [vector(model, "q", q, options.degrees)]
    for words in _parts(to):
        points.append(vector(model, "q", words, options.degrees, "--to", points[-1]))
    for k, (a, b) in enumerate(pairwise(points), 1):
        if np.array_equal(a, b):
            where = "the start" if k == 1 else f"waypoint {k - 1}"
            raise InputError(f"waypoint {k} of --to is {where} itself; expected a way to go.")
    return np.array(points)


def _parts(words: list[str]) -> Iterator[list[str]]:
    """The words of every waypoint."""
    pieces = [x for word in words for x in word.replace(NEXT, f" {NEXT} ").split()]
    for apart, part in groupby(pieces, lambda x: x == NEXT):
        if not apart:
            yield list(part)


def read_waypoints(model: Model, data: str, recorded: Recorded, degrees: bool) -> Array:
    """Read the positions of a recording; its times are not used."""
    from kinetree.cli.rows import announce, as_file, request_of
    from kinetree.motion.recordings.read import read_table

    with as_file(data) as path:
        table = read_table(path, request_of(model, recorded, degrees=degrees, required=("q",)))
    unused = ["the times of waypoints are not used"] if "t" in table.values else []
    announce(path.name, [*table.notes, *unused], ())
    return table.values["q"]
