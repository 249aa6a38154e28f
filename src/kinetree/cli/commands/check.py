"""`kinetree check`: the loads of a trajectory against the limits of the robot."""

from collections.abc import Iterator

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, writer
from kinetree.cli.app import command
from kinetree.model.units import factors
from kinetree.motion.limits.check import check_limits
from kinetree.motion.limits.report import MOVING, LimitReport


@command("Simulate and check", also="limits feasible")
def run(
    robot: opt.RobotName,
    trajectory: opt.Recording,
    /,
    *,
    effort: opt.ForceLimit = None,
    velocity: opt.SpeedLimit = None,
    tolerance: opt.Real = 1e-6,
    options: opt.Options = opt.USUAL,
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

    Args:
        trajectory: Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, optionally dq:JOINT,
            ddq:JOINT, tau:JOINT; or - for standard input.
        tolerance: Share of a limit by which it may be exceeded.
    """
    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    motion = recordings.read_motion(trajectory, loaded.model, options)
    speed = None if velocity is None else velocity * factors(loaded.model, "dq", degrees)
    with writer.waiting(f"compiling the dynamics of {loaded.name}"):
        report = check_limits(loaded, motion, tolerance=tolerance, effort=effort, velocity=speed)
    writer.give(options.json, lambda: report.to_dict(degrees), lambda: parts(report, degrees))
    return 0 if report.ok else 1


def parts(report: LimitReport, degrees: bool) -> Iterator[writer.Part]:
    """The verdict, the table of loads, the violations, and advice."""
    yield report.headline(), "good" if report.ok else "bad"
    yield ""
    yield report.table(MOVING, degrees=degrees)
    yield ""
    yield from (f"- {x}" for x in report.verdict(degrees))
