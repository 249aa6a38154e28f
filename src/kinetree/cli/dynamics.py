"""`kinetree id`, `fd` and `terms`: quantities of one state, or of every row of a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from kinetree.cli.messages import notify
from kinetree.cli.output import check_output, compiling, print_csv, print_json, waiting
from kinetree.cli.states import (
    Words,
    closed_state,
    document,
    factors,
    print_state,
    read_state,
    refuse_both,
    report_open,
    rounding,
    sliding,
    units,
)
from kinetree.cli.tables import clear_rounding, column_table, console, matrix_tables, unit_column
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number, without_rounding
from kinetree.model import Model
from kinetree.robot import Robot

MAX_COLUMNS = 100  # of matrices on the screen
OPEN_ROWS = 1e-6  # error of rows that is reported; files often have six digits
ROUNDING = 1e-15  # of the largest entry of a matrix: smaller entries are shown as 0
MATRICES = {"M": "mass matrix", "C": "Coriolis matrix"}
VECTORS = {"c": "C dq", "g": "gravity", "friction": "friction"}
SPRINGS = {"springs": "springs"}  # further vectors of a robot that has some

Results = Callable[..., dict[str, Array]]  # of states: results by name, in the user's units


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

    JSON has robot, coordinates, joints, units, q, dq, ddq, tau, each a list of rows for a file, and
    t if the file has it.
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

    JSON has robot, coordinates, joints, units, q, dq, tau, ddq, each a list of rows for a file, and
    t if the file has it.
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

    JSON has robot, coordinates, joints, units, q, dq, M, C, c, g, friction, springs, each a list of
    rows for a file, and t if the file has it.
    """
    given = {"q": q, "dq": dq}
    request = Request(find_robot(robot, options.reading), data, given, output, options)
    model = request.robot.model
    screen = data is None and output is None and not options.json
    large = screen and model.n > MAX_COLUMNS
    with waiting(compiling("the terms", model)):
        run = terms_of(request.robot, matrices=not large)
    heads = [] if large else term_heads(model)
    request.answer(run, heads, lambda shown: print_terms(model, shown, options.degrees))


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
        from kinetree.cli.rows import with_units

        model, degrees = self.robot.model, self.options.degrees
        scale = factors(model, letter, degrees)

        def run(*state: Array) -> dict[str, Array]:
            return {letter: getattr(self.robot, quantity)(*state) / scale}

        def show(shown: Mapping[str, Array]) -> None:
            print_state(model, {x: shown[x] for x in (*self.given, letter)}, degrees, letter)

        heads = with_units([f"{letter}:{x}" for x in model.dof_names], model, degrees)
        self.answer(run, heads, show, letter)

    def answer(
        self,
        run: Results,
        heads: Sequence[str],
        show: Callable[[Mapping[str, Array]], None],
        *letters: str,
    ) -> None:
        """Compute and write: JSON, CSV for a file or -o, or tables on the screen.

        Args:
            run: the results of one state, or of rows of states.
            heads: names of the columns of its results.
            show: prints the state and the results.
            letters: results that have units like joint vectors.
        """
        refuse_both(self.data, self.given)
        if self.output is not None:
            check_output(self.output, self.data)
        model, options = self.robot.model, self.options
        times, state = self._state()
        with waiting(compiling(", ".join(letters) or "the terms", model)):
            values = run(*state.values())
        self._report(state, values)
        if options.json:
            shown = document(model, state, options.degrees, *letters)
            print_json(shown | times | values, self.output)
        elif self.data is not None or self.output is not None:
            count = len(np.atleast_2d(next(iter(state.values()))))
            parts = [np.reshape(x, (count, -1)) for x in (*times.values(), *values.values())]
            print_csv([*times, *heads], np.concatenate(parts, axis=1), self.output)
        else:
            show(document(model, state, options.degrees) | values)

    def _state(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Times, if there are any, and the state: as typed, or rows of a file."""
        model, options = self.robot.model, self.options
        if self.data is None:
            typed = read_state(model, self.given, options.degrees)
            return {}, closed_state(self.robot, typed, self.given, options.degrees)
        from kinetree.cli.rows import read_states, request_of

        wanted = tuple(self.given)
        request = request_of(
            model, options.recorded, degrees=options.degrees, required=("q",), unnamed=wanted
        )
        values = read_states(self.data, request, wanted)
        return {"t": values.pop("t")} if "t" in values else {}, values

    def _report(self, state: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        """Report states that the constraints forbid, and motions that motors cannot make."""
        if self.robot.model.constraints is None:
            return
        if self.data is not None:
            source = "standard input" if self.data == STREAM else Path(self.data).name
            report_open(self.robot, state, OPEN_ROWS, f"{source}: {{}}")
        if "ddq" not in state or not np.isnan(values["tau"]).any():
            return
        if self.data is None:  # raises, with the names of the motors
            dynamics.constrained_inverse_dynamics(self.robot.model, *state.values())
        unmade = np.flatnonzero(np.isnan(values["tau"]).any(axis=-1))
        notify(
            f"the motors of {self.robot.name!r} cannot make the motion of "
            f"{counted(len(unmade), 'row')}, the first is row {unmade[0] + 1}: the mechanism is at "
            "a dead centre, and tau is not a number there."
        )


def terms_of(robot: Robot, matrices: bool = True) -> Results:
    """M, C, c, g, friction and springs as a function of q and dq, (..., n, n) and (..., n).

    matrices: False leaves M and C out.
    """

    def terms(q: Array, dq: Array) -> dict[str, Array]:
        values: dict[str, Array] = {}
        if matrices:
            values |= {"M": robot.mass_matrix(q), "C": robot.coriolis_matrix(q, dq)}
        values |= {
            "c": robot.coriolis_forces(q, dq),
            "g": robot.gravity_forces(q),
            "friction": robot.friction_forces(dq),
        }
        return values | {"springs": robot.spring_forces(q)} if robot.model.springs else values

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
        matrix = without_rounding(matrix)
        for part in matrix_tables(letter, title, model.dof_names, slides, matrix):
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
