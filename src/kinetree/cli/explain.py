"""`kinetree explain`: both passes of the recursion, and where every joint force comes from."""

from typing import Annotated, Literal

from cyclopts import Parameter

from kinetree.cli.arguments import (
    AS_IT_IS,
    Acceleration,
    Data,
    Degrees,
    Json,
    Output,
    Position,
    Rate,
    Reading,
    RobotName,
)


def explain(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    ddq: Acceleration = None,
    row: Annotated[int, Parameter(help="Which row of DATA, counted from 1.")] = 1,
    formulation: Annotated[
        Literal["screw", "closed", "link", "space"], Parameter(help="The book's recursion.")
    ] = "screw",
    format: Annotated[
        Literal["text", "markdown", "latex", "html"], Parameter(help="How it is written.")
    ] = "text",
    output: Output = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Every step of inverse dynamics at one state, link by link, with the parts that add up.

    Angles and angular rates inside the explanation are in radians also with --degrees. JSON has
    robot, joints, units, q, dq, ddq, formulation, links (each with its terms, their parts and
    equations), torque (the share of every cause, and tau).

    For example:

    ```
    kinetree explain planar_2r --q 20 40 --dq 10 5 --degrees
    kinetree explain planar_2r --formulation link --format markdown
    echo 0.1,0.2,0.5,0,1,0 | kinetree explain planar_2r - --json
    ```
    """
    from kinetree.cli.choices import find_robot
    from kinetree.cli.explaining import record, row_of
    from kinetree.cli.show import console, print_json, print_text
    from kinetree.cli.states import document, read_state, refuse_both
    from kinetree.cli.waiting import waiting

    given = {"q": q, "dq": dq, "ddq": ddq}
    refuse_both(data, given)
    found = find_robot(robot, reading)
    if data is None:
        state = read_state(found.model, given, degrees)
    else:
        state = row_of(found.model, data, row, tuple(given), degrees)
    with waiting(f"explaining {found.name}"):
        explanation = found.explain(*state.values(), formulation=formulation)
    if json:
        print_json(document(found.model, state, degrees) | record(explanation), output)
    elif output is None and format == "text":
        console().print(explanation)
    else:
        print_text(getattr(explanation, format)(), output)
