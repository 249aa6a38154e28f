"""`kinetree check`: a trajectory against the limits of a robot."""

from typing import Annotated

from cyclopts import Parameter

from kinetree.cli.arguments import AS_IT_IS, Degrees, Json, Reading, RobotName
from kinetree.cli.completing import complete_table


def check(
    robot: RobotName,
    trajectory: Annotated[
        str,
        Parameter(
            help="CSV file with columns t, q:JOINT, perhaps dq:JOINT, ddq:JOINT, tau:JOINT; or - "
            "for standard input.",
            completer=complete_table,
        ),
    ],
    /,
    *,
    effort: Annotated[float | None, Parameter(help="One force limit for all, N m or N.")] = None,
    velocity: Annotated[
        float | None, Parameter(help="One speed limit for all, rad/s or m/s.")
    ] = None,
    tolerance: Annotated[float, Parameter(help="Share of a limit that is forgiven.")] = 1e-6,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> int:
    """Positions, speeds and joint forces of a trajectory against the robot's limits.

    The worst of every joint and when; peaks between the samples count. Rates that the file lacks
    are those of the spline through it, forces those of inverse dynamics. Exit code 0 where all
    is within its limits, 1 where not. JSON has robot, trajectory, ok, duration, samples, slower
    (factor on the duration that makes it fit, or null), margins, violations, joints, advice.

    For example:

    ```
    kinetree simulate panda --duration 0.2 -o fall.csv
    kinetree check panda fall.csv
    kinetree simulate panda --duration 0.2 -o - | kinetree check panda - --json
    ```
    """
    from kinetree.cli.angles import factors
    from kinetree.cli.choices import find_robot
    from kinetree.cli.margins import document, margins, print_verdict
    from kinetree.cli.show import print_json
    from kinetree.cli.trajectories import read_trajectory
    from kinetree.cli.waiting import compiling, waiting

    found = find_robot(robot, reading)
    motion = read_trajectory(trajectory, found, degrees)
    speed = None if velocity is None else velocity * factors(found.model, "dq", degrees)
    limits = {"effort": effort, "velocity": speed}
    with waiting(compiling("the dynamics", found.model)):
        report = found.check(motion, tolerance=tolerance, **limits)
        rows = margins(found, motion, report, degrees, **limits)
    if json:
        print_json(document(report, rows, degrees))
    else:
        print_verdict(report, rows, degrees)
    return 0 if report.ok else 1
