"""`kinetree check`: the loads of a trajectory against the limits of the robot."""

from typing import Annotated, Any

from kinetree.cli.arguments import (
    USUAL,
    ForceLimit,
    Options,
    RobotName,
    SpeedLimit,
    number_argument,
    table_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.loads import load_documents, load_table, print_remarks, violation_documents
from kinetree.cli.output import compiling, print_json, waiting
from kinetree.cli.states import factors
from kinetree.cli.tables import console
from kinetree.motion.limits.check import check_limits
from kinetree.motion.limits.report import MOST_VIOLATIONS, LimitReport


def check(
    robot: RobotName,
    trajectory: Annotated[
        str,
        table_argument(
            "Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, optionally dq:JOINT, "
            "ddq:JOINT, tau:JOINT; or - for standard input."
        ),
    ],
    /,
    *,
    effort: ForceLimit = None,
    velocity: SpeedLimit = None,
    tolerance: Annotated[
        float, number_argument("Share of a limit by which it may be exceeded.")
    ] = 1e-6,
    options: Options = USUAL,
) -> int:
    """Check positions, speeds and joint forces of a trajectory against the robot's limits.

    Shows the range and the peaks of every joint, and every violation with its time; peaks between
    the samples count. Rates that the file lacks are those of the spline through it, forces those of
    inverse dynamics. The exit code is 0 if all is within the limits, else 1.

    For example:

    ```
    kinetree simulate panda --limits record --duration 0.2 -o fall.csv
    kinetree check panda fall.csv
    kinetree simulate ur5e --limits record -o - | kinetree check ur5e - --json
    ```

    JSON has robot, trajectory, ok, duration, samples, slower (factor on the duration that makes it
    fit, or null), violations, joints, advice.
    """
    from kinetree.cli.rows import read_trajectory, request_of

    loaded, degrees = find_robot(robot, options.reading), options.degrees
    motion = read_trajectory(
        trajectory, request_of(loaded.model, options.recorded, degrees=degrees)
    )
    speed = None if velocity is None else velocity * factors(loaded.model, "dq", degrees)
    with waiting(compiling("the dynamics", loaded.model)):
        report = check_limits(loaded, motion, tolerance=tolerance, effort=effort, velocity=speed)
    if options.json:
        print_json(document(report, degrees))
    else:
        print_verdict(report, degrees)
    return 0 if report.ok else 1


def print_verdict(report: LimitReport, degrees: bool) -> None:
    """Print the table of loads, the violations, and advice."""
    screen = console()
    screen.print(report.headline(), style="bold green" if report.ok else "bold red")
    screen.print()
    load_table("", report, degrees)
    screen.print()
    count = len(report.violations)
    said = [x.text(degrees) for x in report.violations[:MOST_VIOLATIONS]]
    more = f"... and {count - MOST_VIOLATIONS} more (--json has all)"
    print_remarks([*said, *([more] if count > MOST_VIOLATIONS else []), *report.advice()])


def document(report: LimitReport, degrees: bool) -> dict[str, Any]:
    """The verdict as JSON; missing limits are null."""
    return {
        "robot": report.robot,
        "trajectory": report.trajectory,
        "ok": report.ok,
        "duration": report.duration,
        "samples": report.samples,
        "slower": report.slower,
        "violations": violation_documents(report, degrees),
        "joints": load_documents(report, degrees),
        "advice": list(report.advice()),
    }
