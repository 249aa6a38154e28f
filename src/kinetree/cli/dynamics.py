"""Quantities of one state, or of every row of a file: what `id`, `fd` and `terms` share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinetree import dynamics
from kinetree.cli import recordings, states, writer
from kinetree.cli.options import STREAM, Options
from kinetree.core.arrays import Array
from kinetree.model import Model
from kinetree.model.units import factors
from kinetree.present.tables import Table
from kinetree.robot import Robot

OPEN_ROWS = 1e-6  # error of rows that is reported; files often have six digits
Results = dict[str, Array]  # by letter, (n,) or (n, n) of one state, or with rows before that


@dataclass(frozen=True)
class Request:
    """A robot, the rows of a file or a typed state to compute for, and the form of the output."""

    robot: Robot
    data: str | None
    given: Mapping[str, states.Words]
    output: Path | None
    options: Options

    def answer_vector(self, quantity: str, letter: str) -> None:
        """Compute a quantity with an entry for every joint; `letter` names it: tau or ddq."""
        model, degrees = self.robot.model, self.options.degrees

        def run(*vectors: Array) -> Results:
            return {letter: getattr(self.robot, quantity)(*vectors)}

        heads = recordings.with_units([f"{letter}:{x}" for x in model.dof_names], model, degrees)
        self.answer(run, heads, lambda shown: state_tables(model, shown, degrees, letter), letter)

    def answer(
        self,
        run: Callable[..., Results],
        heads: Sequence[str],
        parts: Callable[[Mapping[str, Array]], Iterable[writer.Part]],
        *letters: str,
    ) -> None:
        """Compute and write: JSON, CSV for a file or -o, or tables on the screen.

        Args:
            run: the results of one state, or of rows of states.
            heads: names of the columns of its results.
            parts: tables of the state and the results.
            letters: results that have units like joint vectors.
        """
        states.refuse_both(self.data, self.given)
        writer.check_output(self.output, self.data)
        model, degrees = self.robot.model, self.options.degrees
        if self.data is None:
            vectors, times = states.state(self.robot, self.given, degrees), {}
        else:
            wanted = tuple(self.given)
            request = recordings.request_of(model, self.options.recorded, degrees, ("q",), wanted)
            vectors = recordings.read_states(self.data, request, wanted)
            times = {x: vectors.pop(x) for x in ("t",) if x in vectors}
        with writer.waiting(f"compiling the dynamics of {model.name}"):
            values = run(*vectors.values())
        self._report(vectors, values)
        if self.data is None and self.output is None and not self.options.json:
            writer.show(parts(vectors | values))
            return
        written = {
            x: y / factors(model, x, degrees) if x in letters else y for x, y in values.items()
        }
        if self.options.json:
            writer.print_json(
                states.document(model, vectors, degrees, *letters) | times | written, self.output
            )
        else:
            count = len(np.atleast_2d(next(iter(vectors.values()))))
            columns = [np.reshape(x, (count, -1)) for x in (*times.values(), *written.values())]
            writer.print_csv([*times, *heads], np.concatenate(columns, axis=1), self.output)

    def _report(self, vectors: Mapping[str, Array], values: Results) -> None:
        """Report rows that the constraints forbid, and motions that motors cannot make."""
        if self.robot.model.constraints is None:
            return
        if self.data is not None:
            source = "standard input" if self.data == STREAM else Path(self.data).name
            states.report_open(self.robot, vectors, OPEN_ROWS, f"{source}: {{}}")
        if "tau" in values and np.isnan(values["tau"]).any():
            if self.data is None:  # raises, with the names of the motors
                dynamics.constrained_inverse_dynamics(self.robot.model, *vectors.values())
            row = int(np.isnan(values["tau"]).any(axis=-1).argmax()) + 1
            writer.notify(f"the motors cannot make the motion of row {row}, at a dead centre")


def state_tables(
    model: Model, shown: Mapping[str, Array], degrees: bool, result: str
) -> Iterable[writer.Part]:
    """A row for every joint; q in a table of its own if it has more entries than dq."""
    gravity = float(np.linalg.norm(np.asarray(model.gravity[3:], float)))
    weight = gravity if result == "ddq" else states.weight(model)
    columns = {
        name: states.joint_column(model, name, name, x, degrees, weight if name == result else 0.0)
        for name, x in shown.items()
    }
    title = model.name
    if model.nq != model.n:
        yield Table.of(title, [states.names_column(model, "joint", "q"), columns.pop("q")])
        yield ""
        title = ""
    yield Table.of(title, [states.names_column(model), *columns.values()])
