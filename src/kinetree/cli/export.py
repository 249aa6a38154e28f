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
    language: Annotated[
        Literal["c", "cpp", "numpy", "matlab", "julia", "casadi"], Parameter(help="Language.")
    ] = "c",
    dtype: Annotated[
        Literal["double", "float"], Parameter(help="Type of numbers in C and C++.")
    ] = "double",
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
    libm: Annotated[bool, option("--libm", "Call sin, cos of the C library (C, C++).")] = False,
    driver: Annotated[bool, option("--driver", "Add a main that tests the code (C).")] = False,
    output: Output = None,
    json: Json = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Write a quantity of the robot as one self-contained function in another language.

    Angles are in radians. JSON has robot, quantity, language, code.

    For example:

    ```
    kinetree export ur5e inverse_dynamics -o ur5e.c
    kinetree export planar_2r mass_matrix --language matlab
    kinetree export four_bar constrained_forward_dynamics --driver -o four_bar.c
    kinetree export scara pose --language numpy --json
    kinetree export ur5e task_space --rows linear_x,linear_y,linear_z --expressed aligned
    ```
    """
    from kinetree.errors import InputError
    from kinetree.kernels import quantities as tables
    from kinetree.model.labelled import DIRECTIONS
    from kinetree.write.code import export as write

    known = tables.QUANTITIES | tables.DERIVED | tables.WHOLE_BODY | tables.BALANCES
    choose(quantity, known | tables.CONSTRAINED | tables.STEPS, "quantity")
    found = find_robot(robot, reading)
    if frame is not None:
        choose(frame, found.model.frames, "frame")
    directions = [choose(row, DIRECTIONS["6"], "row") for row in split(rows)]
    if len(set(directions)) < len(directions):
        raise InputError(f"--rows are {', '.join(directions)}; expected each direction once.")
    chosen = [DIRECTIONS["6"].index(row) for row in directions] or None
    if output is not None:
        check_output(output)
    with waiting(f"writing {quantity} of {found.name}"):
        code = write(
            found, quantity, language, dtype=dtype, name=name, frame=frame, expressed=expressed,
            rows=chosen, free=split(free), wrenches=wrenches, libm=libm, driver=driver,
        )  # fmt: skip
    if json:
        about = {"robot": found.name, "quantity": quantity, "language": language, "code": code}
        print_json(about, output)
    else:
        print_text(code, output)
