"""`kinetree id`, `fd` and `terms`: quantities of one state, or of every row of a file.

A quantity is computed by its kernel, or by the plain algorithm where that is faster: the kernel of
forward dynamics or C grows with the cube of a chain's length and takes minutes to compile for a
hundred joints, while the algorithm takes milliseconds for a state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kinetree import dynamics
from kinetree.cli.arguments import (
    STREAM,
    USUAL,
    Acceleration,
    Data,
    Force,
    Options,
    Output,
    Position,
    Rate,
    RobotName,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import (
    compiling,
    csv_line,
    number_lines,
    print_json,
    print_text,
    waiting,
)
from kinetree.cli.states import (
    ClosureWatch,
    Words,
    closed_state,
    document,
    factors,
    print_state,
    read_state,
    refuse_both,
    rounding,
    sliding,
    units,
)
from kinetree.cli.tables import clear_rounding, column_table, console, matrix_tables, unit_column
from kinetree.core.arrays import Array
from kinetree.core.tables import number
from kinetree.model import Model
from kinetree.robot import Robot

FOR_ONE, FOR_ROWS = 30, 100  # degrees of freedom up to which one state, or rows, get a kernel
LINEAR = (
    "inverse_dynamics", "gravity_forces", "coriolis_forces", "friction_forces", "spring_forces",
)  # fmt: skip
MAX_COLUMNS = 100  # of matrices on the screen
OPEN_ROWS = 1e-6  # error of rows that is reported; files often have six digits
ROUNDING = 1e-15  # of the largest entry of a matrix: smaller entries are shown as 0
MATRICES = {"M": "mass matrix", "C": "Coriolis matrix"}
VECTORS = {"c": "C dq", "g": "gravity", "friction": "friction"}
SPRINGS = {"springs": "springs"}  # further vectors of a robot that has some

Function = Callable[..., Array]
Results = Callable[..., dict[str, Array]]  # of a state: results by name, in the user's units


def inverse_dynamics(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    ddq: Acceleration = None,
    output: Output = None,
    options: Options = USUAL,
) -> None:
    """Compute the joint forces of a motion: tau = M ddq + c + g + springs + friction.

    For one state, or for every row of a recording: then the output has rows of tau:JOINT, with t if
    the file has it.

    For example:

    ```
    kinetree id planar_2r --q 0.1 -0.3 --dq 0.5 0 --ddq 1 -1e-3
    kinetree id panda --q panda_joint4=-90 --degrees --json
    kinetree id panda --floating --q base.z=1.2 panda_joint4=-1
    echo 0.1,0.2,0,0,1,1 | kinetree id planar_2r -
    ```

    JSON has robot, coordinates, joints, units, q, dq, ddq, tau; for a file, one object a line with
    row, t and tau.
    """
    given = {"q": q, "dq": dq, "ddq": ddq}
    request = Request(find_robot(robot, options.reading), data, given, output, options)
    request.answer_vector("inverse_dynamics", "tau")


def forward_dynamics(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    tau: Force = None,
    output: Output = None,
    options: Options = USUAL,
) -> None:
    """Compute joint accelerations from joint forces: ddq = M^-1 (tau - c - g - springs - friction).

    For one state, or for every row of a recording: then the output has rows of ddq:JOINT, with t if
    the file has it.

    For example:

    ```
    kinetree fd planar_2r --q 0.1 -0.3 --tau 0 0
    kinetree fd cart_pole --q slide=0.5 hinge=10 --degrees
    echo 0.1,0.2,0,0,1,1 | kinetree fd planar_2r -
    ```

    JSON has robot, coordinates, joints, units, q, dq, tau, ddq; for a file, one object a line with
    row, t and ddq.
    """
    given = {"q": q, "dq": dq, "tau": tau}
    request = Request(find_robot(robot, options.reading), data, given, output, options)
    request.answer_vector("forward_dynamics", "ddq")


def terms(
    robot: RobotName,
    data: Data = None,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    output: Output = None,
    options: Options = USUAL,
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

    JSON has robot, coordinates, joints, units, q, dq, M, C, c, g, friction, springs; for a file,
    one object a line with row, t and the terms.
    """
    given = {"q": q, "dq": dq}
    request = Request(find_robot(robot, options.reading), data, given, output, options)
    model = request.robot.model
    screen = data is None and output is None and not options.json
    large = screen and model.n > MAX_COLUMNS
    request.answer(
        partial(terms_of, request.robot, matrices=not large),
        [] if large else term_heads(model),
        lambda shown: print_terms(model, shown, options.degrees),
    )


@dataclass(frozen=True)
class Request:
    """A robot, the rows of a file or a typed state to compute for, and the form of the output."""

    robot: Robot
    data: str | None
    given: Mapping[str, Words]
    output: Path | None
    options: Options

    def answer_vector(self, quantity: str, letter: str) -> None:
        """Compute a quantity with an entry for every joint; `letter` names it: tau or ddq."""
        model, degrees = self.robot.model, self.options.degrees
        scale = factors(model, letter, degrees)

        def make(rows: bool) -> Results:
            function = function_of(self.robot, quantity, rows)
            return lambda *state: {letter: function(*state) / scale}

        def show(shown: Mapping[str, Array]) -> None:
            print_state(model, {x: shown[x] for x in (*self.given, letter)}, degrees, letter)

        units_of = units(model, letter, degrees)
        heads = [
            f"{letter}:{x} [{unit}]" if "deg" in unit else f"{letter}:{x}"
            for x, unit in zip(model.dof_names, units_of, strict=True)
        ]
        self.answer(make, heads, show, letter)

    def answer(
        self,
        make: Callable[[bool], Results],
        heads: Sequence[str],
        show: Callable[[Mapping[str, Array]], None],
        *letters: str,
    ) -> None:
        """Compute and write: rows for a file; else JSON, one row of CSV, or tables on the screen.

        Args:
            make: makes the function of the state, for rows (True) or for one state.
            heads: names of the columns of its results.
            show: prints the state and the results.
            letters: results that have units like joint vectors.
        """
        refuse_both(self.data, self.given)
        model, options = self.robot.model, self.options
        if self.data is not None:
            from kinetree.cli.batches import Job, run_batch
            from kinetree.cli.rows import request_of

            run, watch = self._watched(make(True))
            job = Job(tuple(self.given), run, heads)
            request = request_of(
                model,
                options.recorded,
                degrees=options.degrees,
                required=("q",),
                unnamed=job.inputs,
            )
            run_batch(request, self.data, job, output=self.output, json=options.json)
            if watch is not None:
                source = "standard input" if self.data == STREAM else Path(self.data).name
                watch.report({name: f"{source}: {name}" for name in self.given}, rows=True)
            return
        state = read_state(model, self.given, options.degrees)
        state = closed_state(self.robot, state, self.given, options.degrees)
        run = make(False)
        with waiting(f"computing {', '.join(letters) or 'the terms'} of {model.name}"):
            values = run(*state.values())
        if model.constraints is not None and "ddq" in state and np.isnan(values["tau"]).any():
            dynamics.constrained_inverse_dynamics(model, *state.values())  # raises, with names
        shown = document(model, state, options.degrees, *letters) | values
        if options.json:
            print_json(shown, self.output)
        elif self.output is not None:
            row = [x for value in values.values() for x in value.ravel().tolist()]
            print_text(csv_line(heads) + "".join(number_lines([row])), self.output)
        else:
            show(shown)

    def _watched(self, run: Results) -> tuple[Results, ClosureWatch | None]:
        """A function of rows that also compares them with the constraints, if there are any."""
        if self.robot.model.constraints is None:
            return run, None
        watch = ClosureWatch(self.robot, OPEN_ROWS)

        def watched(*state: Array) -> dict[str, Array]:
            watch.look(dict(zip(self.given, state, strict=True)))
            results = run(*state)
            if "tau" in results:
                watch.look_at_forces(state, results["tau"])
            return results

        return watched, watch


def function_of(robot: Robot, quantity: str, rows: bool) -> Function:
    """The quantity as a function of (..., n) arrays, for many states (`rows`) or for one."""
    model = robot.model
    if model.n > (FOR_ROWS if rows else FOR_ONE) and not (rows and quantity in LINEAR):
        return partial(_each, _algorithm(model, quantity))
    with waiting(compiling(quantity.replace("_", " "), model)):
        return getattr(robot, quantity)


def _algorithm(model: Model, quantity: str) -> Function:
    """The quantity of one state in plain NumPy, in the form whose work grows least."""
    following = any(joint.follows is not None for joint in model.joints)
    if quantity == "forward_dynamics" and not following:
        quantity = "forward_dynamics_by_articulated_bodies"
    if quantity == "coriolis_forces":  # without the matrix C
        from kinetree.dynamics.book import book_tree
        from kinetree.dynamics.inverse_dynamics import bias_forces
        from kinetree.dynamics.tree import weightless

        return lambda q, dq: bias_forces(weightless(book_tree(model, q)), dq)
    return partial(getattr(dynamics, quantity), model)


def _each(function: Function, *state: Array) -> Array:
    """Apply a function of one state to one state or to rows of states."""
    if np.ndim(state[0]) == 1:
        return np.asarray(function(*state), float)
    return np.array([function(*x) for x in zip(*state, strict=True)], float)


def terms_of(robot: Robot, rows: bool, matrices: bool = True) -> Results:
    """M, C, c, g, friction and springs as a function of q and dq, (..., n, n) and (..., n).

    matrices: False leaves M and C out.
    """
    names = ("coriolis_forces", "gravity_forces", "friction_forces")
    c, g, friction = (function_of(robot, x, rows) for x in names)
    springs = function_of(robot, "spring_forces", rows) if robot.model.springs else None
    M = function_of(robot, "mass_matrix", rows) if matrices else None
    C = function_of(robot, "coriolis_matrix", rows) if matrices else None

    def terms(q: Array, dq: Array) -> dict[str, Array]:
        values = {} if M is None or C is None else {"M": M(q), "C": C(q, dq)}
        values |= {"c": c(q, dq), "g": g(q), "friction": friction(dq)}
        return values if springs is None else values | {"springs": springs(q)}

    return terms


def vectors_of(model: Model) -> dict[str, str]:
    """The vectors among the terms of a robot, by letter."""
    return VECTORS | SPRINGS if model.springs else VECTORS


def term_heads(model: Model) -> list[str]:
    """Names of the columns in a file of terms."""
    names = model.dof_names
    matrices = [f"{letter}:{a}:{b}" for letter in MATRICES for a in names for b in names]
    return matrices + [f"{letter}:{a}" for letter in vectors_of(model) for a in names]


def print_terms(model: Model, values: Mapping[str, Array], degrees: bool) -> None:
    """Print the matrices, in as many pieces as the width of the screen needs; then the vectors.

    values: q and dq in the user's units, the terms in SI units.
    """
    screen, slides = console(), sliding(model)
    state = {x: values[x] * factors(model, x, degrees) for x in ("q", "dq")}
    if "M" not in values:
        screen.print(
            f"M and C of {model.name} have {model.n} rows and columns and are not shown. --json "
            "has them, and a file with -o."
        )
        screen.print()
    for letter, words in MATRICES.items() if "M" in values else ():
        title = f"{letter}: {words}, of {model.name}" if letter == "M" else f"{letter}: {words}"
        matrix = values[letter]
        matrix = clear_rounding(matrix, ROUNDING * np.abs(matrix).max(initial=0))
        for part in matrix_tables(letter, title, model.dof_names, slides, matrix, screen.width):
            screen.print(part)
            screen.print()
    unit = units(model, "tau")
    exact = {"friction", "springs"}  # laws of a joint's motion, not sums of parts
    columns = [("joint", list(model.dof_names))]
    for letter, word in vectors_of(model).items():
        x = values[letter]
        size = 0.0 if letter in exact else rounding(model, "tau", state, x)
        texts = [number(y, 6) for y in clear_rounding(x, size).tolist()]
        head = f"{letter}\n{word}" if letter != word else f"\n{word}"
        columns.append(unit_column(head, texts, unit))
    screen.print(column_table("joint forces", columns))
