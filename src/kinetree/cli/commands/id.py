"""`kinetree id`: inverse dynamics."""

from kinetree.cli import options as opt
from kinetree.cli import robots
from kinetree.cli.app import command
from kinetree.cli.dynamics import Request


@command("Compute", also="dynamics inverse-dynamics inverse_dynamics rnea torques torque forces")
def run(
    robot: opt.RobotName,
    data: opt.Data = None,
    /,
    *,
    q: opt.Position = None,
    dq: opt.Rate = None,
    ddq: opt.Acceleration = None,
    output: opt.Output = None,
    options: opt.Options = opt.USUAL,
) -> None:
    """Compute the joint forces of a motion: tau = M ddq + c + g + springs + friction.

    For one state, or for every row of a recording: then the output has rows of tau:JOINT, with t if
    the file has it.

    For example:

    ```
    kinetree id planar_2r --q 0.1 -0.3 --dq 0.5 0 --ddq 1 -1e-3
    kinetree id panda --q panda_joint4=-90 --degrees --json
    kinetree id panda --floating --q base.z=1.2 panda_joint4=-1
    echo 0.1,0.2,0,0,1,1 | kinetree id planar_2r -
    ```

    JSON has robot, coordinates, joints, units, q, dq, ddq, tau, each a list of rows for a file, and
    t if the file has it.
    """
    given = {"q": q, "dq": dq, "ddq": ddq}
    request = Request(robots.find_robot(robot, options.reading), data, given, output, options)
    request.answer_vector("inverse_dynamics", "tau")
