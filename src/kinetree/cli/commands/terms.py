"""`kinetree terms`: the terms of the equation of motion."""

from collections.abc import Iterator, Mapping

from kinetree.cli import options as opt
from kinetree.cli import robots, states, writer
from kinetree.cli.app import command
from kinetree.cli.dynamics import Request
from kinetree.core.arrays import Array
from kinetree.core.text import number, without_rounding
from kinetree.model import Model
from kinetree.present.tables import Table

MATRICES = {"M": "mass matrix", "C": "Coriolis matrix"}
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
    are in SI units also with --degrees.

    For example:

    ```
    kinetree terms planar_2r --q 0.1 -0.3 --dq 0.5 0.2
    kinetree terms ur5e --json
    ```

    JSON has robot, coordinates, joints, units, q, dq, M, C, c, g, friction, springs, each a list of
    rows for a file, and t if the file has it.
    """
    loaded = robots.find_robot(robot, options.reading)
    request = Request(loaded, data, {"q": q, "dq": dq}, output, options)
    model, names = loaded.model, loaded.model.dof_names

    def terms(q: Array, dq: Array) -> dict[str, Array]:
        values = {"c": loaded.coriolis_forces(q, dq), "g": loaded.gravity_forces(q)}
        values["friction"] = loaded.friction_forces(dq)
        if model.springs:
            values["springs"] = loaded.spring_forces(q)
        return {"M": loaded.mass_matrix(q), "C": loaded.coriolis_matrix(q, dq)} | values

    heads = [f"{letter}:{a}:{b}" for letter in MATRICES for a in names for b in names]
    vectors = [x for x in VECTORS if x != "springs" or model.springs]
    heads += [f"{letter}:{a}" for letter in vectors for a in names]
    request.answer(terms, heads, lambda values: parts(model, values))


def parts(model: Model, values: Mapping[str, Array]) -> Iterator[writer.Part]:
    """The matrices, in as many pieces as the width of the screen needs; then the vectors."""
    names = model.dof_names
    for letter, words in MATRICES.items():
        cells = [[number(x, 5) for x in row] for row in without_rounding(values[letter])]
        rows = [[f"{k + 1} {names[k]}", *row] for k, row in enumerate(cells)]
        title = f"{letter}: {words} of {model.name}, SI units"
        yield Table(title, ["", *map(str, range(1, model.n + 1))], rows)
        yield ""
    weight, shown = states.weight(model), {x: y for x, y in VECTORS.items() if x in values}
    columns = [
        states.joint_column(model, head, "tau", values[x], False, weight)
        for x, head in shown.items()
    ]
    yield Table.of("joint forces", [states.names_column(model), *columns])
