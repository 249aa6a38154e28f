"""`kinetree fd`: forward dynamics of a state or of a file of states."""

from kinetree.cli.arguments import (
    AS_IT_IS,
    Data,
    Degrees,
    Force,
    Json,
    Output,
    Position,
    Rate,
    Reading,
    RobotName,
)


def forward_dynamics(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    tau: Force = None,
    output: Output = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Joint accelerations from joint forces: ddq = M^-1 (tau - c - g - friction).

    Of one state, or of every row of a CSV file: then ddq:JOINT comes out in rows, with t where the
    file has it. JSON has robot, coordinates, joints, units, q, dq, tau, ddq; of a file, one object
    a line with row, t and ddq.

    For example:

    ```
    kinetree fd planar_2r --q 0.1 -0.3 --tau 0 0
    kinetree fd cart_pole --q slide=0.5 hinge=10 --degrees
    echo 0.1,0.2,0,0,1,1 | kinetree fd planar_2r -
    ```
    """
    from kinetree.cli.choices import find_robot
    from kinetree.cli.dynamics import Task, run

    given = {"q": q, "dq": dq, "tau": tau}
    task, found = Task("forward_dynamics", tuple(given), "ddq"), find_robot(robot, reading)
    run(task, found, data, given, output, json, degrees)
