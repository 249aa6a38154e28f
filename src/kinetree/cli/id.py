"""`kinetree id`: inverse dynamics of a state or of a file of states."""

from kinetree.cli.arguments import (
    AS_IT_IS,
    Acceleration,
    Data,
    Degrees,
    Json,
    Output,
    Position,
    Rate,
    Reading,
    RobotName,
)


def inverse_dynamics(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    ddq: Acceleration = None,
    output: Output = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Joint forces of a motion: tau = M(q) ddq + c(q, dq) + g(q) + friction.

    Of one state, or of every row of a CSV file: then tau:JOINT comes out in rows, with t where the
    file has it. JSON has robot, coordinates, joints, units, q, dq, ddq, tau; of a file, one object
    a line with row, t and tau.

    For example:

    ```
    kinetree id planar_2r --q 0.1 -0.3 --dq 0.5 0 --ddq 1 -1e-3
    kinetree id panda --q panda_joint4=-90 --degrees --json
    kinetree id panda --floating --q base.z=1.2 panda_joint4=-1
    echo 0.1,0.2,0,0,1,1 | kinetree id planar_2r -
    ```
    """
    from kinetree.cli.choices import find_robot
    from kinetree.cli.dynamics import Task, run

    given = {"q": q, "dq": dq, "ddq": ddq}
    task, found = Task("inverse_dynamics", tuple(given), "tau"), find_robot(robot, reading)
    run(task, found, data, given, output, json, degrees)
