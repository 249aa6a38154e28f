"""`kinetree export`: a quantity of a robot as source code."""

from typing import Annotated, Literal

from cyclopts import Parameter

from kinetree.cli.arguments import (
    AS_IT_IS,
    Json,
    Output,
    Reading,
    RobotName,
    option,
    split,
    words_argument,
)
from kinetree.cli.choices import choose, find_robot
from kinetree.cli.output import check_output, print_json, print_text, waiting


def export(
    robot: RobotName,
    quantity: Annotated[
        str, Parameter(help="Quantity, such as mass_matrix or pose.")
    ] = "inverse_dynamics",
    /,
    *,
    language: Annotated[Literal["c", "casadi", "matlab"], Parameter(help="Language.")] = "c",
    dtype: Annotated[Literal["double", "float"], Parameter(help="Type of the numbers.")] = "double",
    name: Annotated[
        str | None,
        Parameter(metavar="NAME", help="Name of the function; made from the robot's if left out."),
    ] = None,
    frame: Annotated[
        str | None,
        Parameter(metavar="NAME", help="Frame of a pose, twist or task; the tool if left out."),
    ] = None,
    expressed: Annotated[
        Literal["body", "space", "aligned"] | None,
        Parameter(help="Axes of a twist or task; body if left out."),
    ] = None,
    rows: Annotated[
        list[str] | None,
        words_argument("Directions of a task: angular_x, ..., linear_z; all if left out."),
    ] = None,
    free: Annotated[
        list[str] | None, words_argument("Data that become arguments: mass, com, ...")
    ] = None,
    wrenches: Annotated[bool, option("--wrenches", "Add external wrenches F_ext.")] = False,
    output: Output = None,
    json: Json = False,
    reading: Reading = AS_IT_IS,
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
    """
    from kinetree.dynamics.quantities import DECLARED
    from kinetree.engine.export import export as write
    from kinetree.engine.kernels.step import STEPS
    from kinetree.errors import InputError
    from kinetree.model.labelled import DIRECTIONS

    choose(quantity, [*DECLARED, *STEPS], "quantity")
    loaded = find_robot(robot, reading)
    if frame is not None:
        choose(frame, loaded.model.frames, "frame")
    directions = [choose(row, DIRECTIONS["6"], "row") for row in split(rows)]
    if len(set(directions)) < len(directions):
        raise InputError(f"--rows are {', '.join(directions)}; expected each direction once.")
    chosen = [DIRECTIONS["6"].index(row) for row in directions] or None
    if output is not None:
        check_output(output)
    with waiting(f"writing {quantity} of {loaded.name}"):
        code = write(
            loaded,
            quantity,
            language,
            dtype=dtype,
            name=name,
            frame=frame,
            expressed=expressed,
            rows=chosen,
            free=split(free),
            wrenches=wrenches,
        )
    saved = None if output is None else [str(path) for path in code.save(output)]
    if json:
        about = {"robot": loaded.name, "quantity": quantity, "language": language}
        print_json(about | {"function": code.name, "files": saved or code.files()})
    else:
        print_text(code.source if saved is None else "\n".join(f"wrote {x}" for x in saved))
