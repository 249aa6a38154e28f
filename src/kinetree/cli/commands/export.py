"""`kinetree export`: a quantity of a robot as source code."""

from typing import Literal

from kinetree.cli import options as opt
from kinetree.cli import robots, writer
from kinetree.cli.app import command


@command("Write files, equations and code", also="codegen generate compile code")
def run(
    robot: opt.RobotName,
    quantity: str = "inverse_dynamics",
    /,
    *,
    language: Literal["c", "casadi", "matlab"] = "c",
    dtype: Literal["double", "float"] = "double",
    name: opt.Name = None,
    frame: opt.Name = None,
    expressed: Literal["body", "space", "aligned"] | None = None,
    rows: opt.Words = None,
    free: opt.Words = None,
    wrenches: opt.Flag = False,
    output: opt.Output = None,
    json: opt.Json = False,
    reading: opt.Reading = opt.READING,
) -> None:
    """Write a quantity of the robot as one self-contained function in another language.

    Angles are in radians. With -o, C becomes three files: the source, a header for C and C++, and a
    self-test; their names are printed. Without it the source is printed.

    For example:

    ```
    kinetree export ur5e inverse_dynamics -o ur5e.c
    kinetree export panda --dtype float --name panda_id -o panda_id.c
    kinetree export planar_2r mass_matrix --language matlab
    kinetree export scara pose --language casadi --json
    kinetree export ur5e task_space --rows linear_x,linear_y,linear_z --expressed aligned
    ```

    JSON has robot, quantity, language, function and files: their texts, or with -o their names.

    Args:
        quantity: Quantity, such as mass_matrix or pose.
        language: Language.
        dtype: Type of the numbers.
        name: Name of the function; made from the robot's if left out.
        frame: Frame of a pose, twist or task; the tool if left out.
        expressed: Axes of a twist or task; body if left out.
        rows: Directions of a task: angular_x, ..., linear_z; all if left out.
        free: Data that become arguments: mass, com, ...
        wrenches: Add external wrenches F_ext.
    """
    from kinetree.dynamics.quantities import DECLARED
    from kinetree.engine.export import export
    from kinetree.engine.kernels.step import STEPS
    from kinetree.model.labelled import DIRECTIONS

    robots.choose(quantity, [*DECLARED, *STEPS], "the quantity")
    directions = [robots.choose(row, DIRECTIONS["6"], "a row") for row in opt.split(rows)]
    writer.check_output(output)
    loaded = robots.find_robot(robot, reading)
    with writer.waiting(f"writing {quantity} of {loaded.name}"):
        code = export(
            loaded, quantity, language, dtype=dtype, name=name, frame=frame, expressed=expressed,
            rows=[DIRECTIONS["6"].index(row) for row in directions] or None, free=opt.split(free),
            wrenches=wrenches,
        )  # fmt: skip
    saved = None if output is None else [str(path) for path in code.save(output)]
    if json:
        about = {"robot": loaded.name, "quantity": quantity, "language": language}
        writer.print_json(about | {"function": code.name, "files": saved or code.files()})
    else:
        writer.print_text(code.source if saved is None else "\n".join(f"wrote {x}" for x in saved))
