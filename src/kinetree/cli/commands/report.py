"""`kinetree report`: one HTML page with everything about a robot."""

from kinetree.cli import options as opt
from kinetree.cli import robots, writer
from kinetree.cli.app import command
from kinetree.errors import InputError


@command("Look at a robot")
def run(
    robot: opt.RobotName,
    /,
    *,
    output: opt.Output = None,
    samples: opt.Whole = 2000,
    json: opt.Json = False,
    degrees: opt.Degrees = False,
    reading: opt.Reading = opt.READING,
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

    Args:
        samples: Random positions for the torque envelopes.
    """
    from kinetree.views.page.report import page_of
    from kinetree.views.page.stage import stage_of

    if json and output is None:
        raise InputError("--json describes the written file, so it needs one: add -o robot.html.")
    writer.check_output(output, robot)
    loaded = robots.find_robot(robot, reading)
    with writer.waiting(f"writing the page of {loaded.name}"):
        stage = stage_of(loaded, folder=reading.mesh_folder)
        text = page_of(stage, samples=samples, degrees=degrees)
    writer.notify_missing(stage.scene.remarks)
    if output is None:
        print(text, end="")
        return
    size, warnings = output.write_bytes(text.encode()), len(loaded.model.warnings)
    about = {"robot": loaded.name, "file": str(output), "bytes": size, "warnings": warnings}
    if json:
        writer.print_json(about | {"not_drawn": list(stage.scene.remarks)})
    else:
        writer.notify(f"wrote {output}, {size / 1e6:.2f} MB")
