"""`kinetree info`: what a robot is made of, on one screen."""

from kinetree.cli.arguments import AS_IT_IS, Degrees, Json, Reading, RobotName


def info(
    robot: RobotName,
    /,
    *,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Links, joints, limits and drives of a robot, and what was found odd about its file.

    JSON has robot, source, base, tool, n, nq, mass, gravity, joints, links, frames, effects (what
    changes tau besides rigid bodies), notes, warnings; limits that are not there are null.

    For example:

    ```
    kinetree info panda
    kinetree info ur5e --degrees
    kinetree info scara --json
    kinetree info hand --no-mimic
    ```
    """
    from kinetree.cli.choices import find_robot
    from kinetree.cli.robot_tables import document, print_robot
    from kinetree.cli.show import print_json

    found = find_robot(robot, reading)
    if json:
        print_json(document(found, degrees))
    else:
        print_robot(found, degrees)
