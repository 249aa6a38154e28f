"""`kinetree export`: a quantity of a robot as source code."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kinetree.cli.arguments import (
    AS_IT_IS,
    Argument,
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

if TYPE_CHECKING:
    from kinetree.robot import Robot

TargetName = Literal["cortex-m4f", "cortex-m7", "aarch64", "x86-64-v3", "c99"]


def export(
    robot: RobotName,
    quantity: Annotated[
        str, Argument(help="Quantity, such as mass_matrix or pose.")
    ] = "inverse_dynamics",
    /,
    *,
    language: Annotated[
        Literal["c", "cpp", "numpy", "matlab", "julia", "casadi"], Argument(help="Language.")
    ] = "c",
    target: Annotated[
        TargetName | None,
        Argument(help="Firmware in C: a source file, a header and a self-test."),
    ] = None,
    dtype: Annotated[
        Literal["double", "float"] | None,
        Argument(help="Type of numbers in C and C++; double, or the target's, if left out."),
    ] = None,
    name: Annotated[
        str | None,
        Argument(metavar="NAME", help="Name of the function; made from the robot's if left out."),
    ] = None,
    frame: Annotated[
        str | None,
        Argument(metavar="NAME", help="Frame of a pose, twist or task; the tool if left out."),
    ] = None,
    expressed: Annotated[
        Literal["body", "space", "aligned"] | None,
        Argument(help="Axes of a twist or task; body if left out."),
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

    Angles are in radians. With --target, -o names the first of three files; their names and figures
    are printed.

    For example:

    ```
    kinetree export ur5e inverse_dynamics -o ur5e.c
    kinetree export panda --target cortex-m4f -o panda_id.c
    kinetree export planar_2r mass_matrix --language matlab
    kinetree export four_bar constrained_forward_dynamics --driver -o four_bar.c
    kinetree export scara pose --language numpy --json
    kinetree export ur5e task_space --rows linear_x,linear_y,linear_z --expressed aligned
    ```

    JSON has robot, quantity, language, code; with --target files and about, and the texts of the
    files if -o is left out.
    """
    from kinetree.engine.export import export as write
    from kinetree.engine.kernels.quantities import DECLARED, STEPS
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
    options: dict[str, Any] = {
        "dtype": dtype, "name": name, "frame": frame, "expressed": expressed, "rows": chosen,
        "free": split(free), "wrenches": wrenches,
    }  # fmt: skip
    if target is not None:
        if language != "c" or libm or driver:
            unfit = "--libm" if libm else "--driver" if driver else f"--language {language}"
            raise InputError(
                f"{unfit} does not go with --target {target}, which is C with functions and a "
                f"self-test of its own; leave out one of them."
            )
        export_target(loaded, quantity, target, options, output, json=json)
        return
    with waiting(f"writing {quantity} of {loaded.name}"):
        code = write(loaded, quantity, language, libm=libm, driver=driver, **options)
    if json:
        about = {"robot": loaded.name, "quantity": quantity, "language": language, "code": code}
        print_json(about, output)
    else:
        print_text(code, output)


def export_target(
    robot: "Robot",
    quantity: str,
    target: TargetName,
    options: dict[str, Any],
    output: Path | None,
    *,
    json: bool,
) -> None:
    """Write the three files of a target and print their names and figures."""
    from kinetree.engine.export import export as write
    from kinetree.engine.export.firmware import as_mapping
    from kinetree.errors import InputError

    if output is None and not json:
        raise InputError(
            f"--target {target} makes three files; give the name of the first one, such as "
            f"-o {quantity}.c, or --json to print their texts."
        )
    if output is not None and output.suffix != ".c":
        raise InputError(f"-o is {output}; expected a name that ends in .c for --target {target}.")
    with waiting(f"writing {quantity} of {robot.name} for {target}"):
        code = write(robot, quantity, target=target, **options)
    if output is None:
        files = code.files()
    else:
        files = [str(path) for path in code.save(output)]
    if json:
        print_json(
            {"robot": robot.name, "quantity": quantity, "language": "c", "target": target,
             "function": code.name, "about": as_mapping(code), "files": files}
        )  # fmt: skip
    else:
        print_text("\n".join([str(code), *(f"  wrote {name}" for name in files)]))
