"""`kinetree terms`: the terms of the equation of motion."""

from collections.abc import Iterator, Mapping

import numpy as np

from kinetree.cli import options as opt
from kinetree.cli.app import command
from kinetree.cli.dynamics import Request
from kinetree.cli.output import Part
from kinetree.cli.robots import find_robot
from kinetree.cli.state import joint_column, names_column
from kinetree.core.arrays import Array
from kinetree.core.text import number, without_rounding
from kinetree.model import Model
from kinetree.model.units import METRE, kinds
from kinetree.present.tables import Table

MAX_COLUMNS = 100  # of matrices on the screen
MATRICES = {"M": "mass matrix", "C": "Coriolis matrix"}
# units of entries, where two joints turn, where one of them slides, and where both do
UNITS = {"M": ("kg m^2", "kg m", "kg"), "C": ("kg m^2/s", "kg m/s", "kg/s")}
VECTORS = {"c": "c\nC dq", "g": "g\ngravity", "friction": "\nfriction", "springs": "\nsprings"}


@command("Compute", also="mass-matrix mass_matrix gravity coriolis crba matrices")
def run(
    robot: opt.RobotName,
    data: opt.Data = None,
    /,
    *,
    q: opt.Position = None,
    dq: opt.Rate = None,
    output: opt.Output = None,
    options: opt.Options = opt.USUAL,
) -> None:
    """Show the terms of M(q) ddq + C(q, dq) dq + g(q) + springs + friction = tau as tables.

    For one state, or for every row of a recording: then the output has rows of M:ROW:COLUMN,
    C:ROW:COLUMN, c:JOINT, g:JOINT and friction:JOINT. A robot with springs also has springs. Terms
    are in SI units also with --degrees. Matrices of more than 100 columns are not shown on the
    screen.

    For example:

    ```
    kinetree terms planar_2r --q 0.1 -0.3 --dq 0.5 0.2
    kinetree terms ur5e --json
    ```

    JSON has robot, coordinates, joints, units, q, dq, M, C, c, g, friction, springs, each a list of
    rows for a file, and t if the file has it.
    """
    loaded = find_robot(robot, options.reading)
    request = Request(loaded, data, {"q": q, "dq": dq}, output, options)
    model, names = loaded.model, loaded.model.dof_names
    large = request.on_screen and model.n > MAX_COLUMNS

    def terms(q: Array, dq: Array) -> dict[str, Array]:
        values = {"c": loaded.coriolis_forces(q, dq), "g": loaded.gravity_forces(q)}
        values["friction"] = loaded.friction_forces(dq)
        if model.springs:
            values["springs"] = loaded.spring_forces(q)
        if large:
            return values
        return {"M": loaded.mass_matrix(q), "C": loaded.coriolis_matrix(q, dq)} | values

    heads = [f"{letter}:{a}:{b}" for letter in MATRICES for a in names for b in names]
    vectors = [x for x in VECTORS if x != "springs" or model.springs]
    heads += [f"{letter}:{a}" for letter in vectors for a in names]
    request.answer(terms, heads, lambda values: parts(model, values))


def parts(model: Model, values: Mapping[str, Array]) -> Iterator[Part]:
    """The matrices, in as many pieces as the width of the screen needs; then the vectors."""
    names = model.dof_names
    if "M" not in values:
        yield (
            f"M and C of {model.name} have {model.n} rows and columns and are not shown. --json "
            "has them, and a file with -o."
        )
        yield ""
    slides = [k for k, kind in enumerate(kinds(model, "dq"), 1) if kind == METRE]
    for letter, words in MATRICES.items() if "M" in values else ():
        turn, mixed, slide = UNITS[letter]
        title = f"{letter}: {words}" + (f", of {model.name}" if letter == "M" else "")
        legend: list[str] = []
        if 0 < len(slides) < model.n:
            which = ", ".join(map(str, slides))
            legend = [
                f"{turn}; rows and columns of sliding joints ({which}): {mixed}; where both slide: "
                f"{slide}"
            ]
        else:
            title = f"{title}, {slide if slides else turn}"
        matrix = without_rounding(values[letter])
        rows = [
            [f"{k} {name}", *(number(x, 5) for x in row)]
            for k, (name, row) in enumerate(zip(names, matrix, strict=True), 1)
        ]
        yield Table(title, ["", *map(str, range(1, model.n + 1))], rows, notes=legend)
        yield ""
    weight = float(np.sum(model.m)) * float(np.linalg.norm(np.asarray(model.gravity[3:], float)))
    exact = {"friction", "springs"}  # laws of a joint's motion, not sums of parts
    columns = [
        joint_column(model, head, "tau", values[x], False, 0.0 if x in exact else weight)
        for x, head in VECTORS.items()
        if x in values
    ]
    yield Table.of("joint forces", [names_column(model), *columns])
