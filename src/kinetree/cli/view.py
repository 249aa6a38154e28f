"""`kinetree view`: the workbench in the browser."""

from typing import Annotated

from cyclopts import Parameter

from kinetree.cli.arguments import AS_IT_IS, Degrees, Json, Reading, RobotName

Port = Annotated[int, Parameter(help="Port of 127.0.0.1; 0 takes a free one.")]
Browser = Annotated[
    bool,
    Parameter(
        name="--browser",
        negative="--no-browser",
        help="Open the page; --no-browser only prints its address.",
    ),
]


def view(
    robot: RobotName = "panda",
    /,
    *,
    port: Port = 0,
    browser: Browser = True,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Open the workbench: the robot in the browser, with its joint forces as it moves.

    Sliders, joint forces by parts, the mass matrix, pushes by hand, simulations with plots, the
    recursion step by step, equations. It needs `pip install 'kinetree[view]'`. Only this machine
    can reach it, with the address that is printed; its token is new each time. Ctrl-C ends it,
    with exit code 0. Meshes are read from the folder of the file, or from the first --folder, and
    from nowhere else. JSON has address, port, robot.

    For example:

    ```
    kinetree view
    kinetree view ur5e --degrees
    kinetree view my_robot.urdf --folder ~/ros/src --no-browser
    ```
    """
    from kinetree.cli.serving import opened, serve

    with opened(robot, reading, port, degrees) as workbench:
        serve(workbench, browser, json)
    if not json:
        print("The workbench is closed.")
