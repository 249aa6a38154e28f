"""`kinetree fd`: forward dynamics."""

from kinetree.cli import options as opt
from kinetree.cli import robots
from kinetree.cli.app import command
from kinetree.cli.dynamics import Request


@command("Compute", also="forward-dynamics forward_dynamics aba accelerations")
def run(
    robot: opt.RobotName,
    data: opt.Data = None,
    /,
    *,
    q: opt.Position = None,
    dq: opt.Rate = None,
    tau: opt.Force = None,
    output: opt.Output = None,
    options: opt.Options = opt.USUAL,
) -> None:
    """Compute joint accelerations from joint forces: ddq = M^-1 (tau - c - g - springs - friction).

    For one state, or for every row of a recording: then the output has rows of ddq:JOINT, with t if
    the file has it.

    For example:

    ```
    kinetree fd planar_2r --q 0.1 -0.3 --tau 0 0
    kinetree fd cart_pole --q slide=0.5 hinge=10 --degrees
    echo 0.1,0.2,0,0,1,1 | kinetree fd planar_2r -
    ```

    JSON has robot, coordinates, joints, units, q, dq, tau, ddq, each a list of rows for a file, and
    t if the file has it.
    """
    given = {"q": q, "dq": dq, "tau": tau}
    request = Request(robots.find_robot(robot, options.reading), data, given, output, options)
    request.answer_vector("forward_dynamics", "ddq")
