"""`kinetree report`: one HTML page with everything about a robot."""

from typing import Annotated

from kinetree.cli.arguments import (
    AS_IT_IS,
    Degrees,
    Json,
    Output,
    Reading,
    RobotName,
    whole_argument,
)
from kinetree.cli.choices import find_robot, mesh_folder
from kinetree.cli.messages import notify, notify_missing
from kinetree.cli.output import check_output, print_json, waiting
from kinetree.errors import InputError


def report(
    robot: RobotName,
    /,
    *,
    output: Output = None,
    samples: Annotated[int, whole_argument("Random positions for the torque envelopes.")] = 2000,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Write a page: the robot drawn, its tables, warnings, equations and torque envelopes.

    The page is one file that opens without a network, moves the robot by sliders, and prints.
    Meshes are read from the folder of the file, or from the first --folder, and from nowhere else.

    For example:

    ```
    kinetree report panda -o panda.html
    kinetree report cart_pole -o cart_pole.html --degrees --json
    kinetree report my_robot.urdf -o my_robot.html --folder ~/ros/src
    ```

    JSON, which needs -o, has robot, file, bytes, warnings (how many), not_drawn (visuals of the
    file that could not be drawn, and why).
    """
    from kinetree.views.page.report import page_of
    from kinetree.views.page.stage import stage_of

    if json and output is None:
        raise InputError("--json describes the written file, so it needs one: add -o robot.html.")
    if not 10 <= samples <= 1_000_000:
        raise InputError(f"--samples is {samples}; expected 10 to 1000000.")
    if output is not None:
        check_output(output, robot)
    loaded = find_robot(robot, reading)
    with waiting(f"writing the page of {loaded.name}"):
        stage = stage_of(loaded, folder=mesh_folder(reading))
        text = page_of(stage, samples=samples, degrees=degrees)
    notify_missing(stage.scene.remarks)
    if output is None:
        print(text, end="")
        return
    size = output.write_bytes(text.encode())
    if json:
        print_json(
            {
                "robot": loaded.name,
                "file": str(output),
                "bytes": size,
                "warnings": len(loaded.model.warnings),
                "not_drawn": list(stage.scene.remarks),
            }
        )
    else:
        notify(f"wrote {output}, {size / 1e6:.2f} MB")
