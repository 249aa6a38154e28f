"""The layout of a table: which of its columns is which, and how their numbers become SI units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.tables import counted
from kinetree.core.units import Unit
from kinetree.errors import ParseError
from kinetree.motion.recordings import SIGNALS, ReadRequest
from kinetree.motion.recordings.clocks import Clock
from kinetree.motion.recordings.units import Stated, scales


@dataclass(frozen=True, eq=False)
class Layout:
    """Which column is which.

    heads: names of all columns. joints: names of the entries of q. columns: those of every
    quantity, in the order of the joints. scales: numerator and denominator that make SI units.
    labels: columns whose cells are names of joints, which must not change. stated: units of the
    columns of every quantity, None for those without one.
    """

    heads: tuple[str, ...]
    joints: tuple[str, ...]
    columns: Mapping[str, list[int]]
    scales: Mapping[str, tuple[Array, Array]]
    clock: Clock | None = None
    labels: Sequence[int] = ()
    notes: tuple[str, ...] = ()
    stated: Stated = field(default_factory=dict[str, Sequence[Unit | None]])

    @property
    def clock_name(self) -> str:
        """Name of the column of the times."""
        return "t" if self.clock is None else self.heads[self.clock.column]

    @property
    def numeric(self) -> list[int]:
        """Columns that are read as numbers, in ascending order; the others are left out."""
        columns = {k for places in self.columns.values() for k in places}
        if self.clock is not None:
            columns.update(self.clock.columns)
        return sorted(columns)

    def in_si(self, quantity: str, table: Array, position: Mapping[int, int]) -> Array:
        """The entries of a quantity, (rows, n), from the table of numeric columns."""
        numerator, denominator = self.scales[quantity]
        x = table[:, [position[k] for k in self.columns[quantity]]]
        return np.ascontiguousarray(x * numerator / denominator)


def unnamed_layout(width: int, request: ReadRequest, where: str) -> Layout:
    """The layout of a table without names: the quantities of the request, in their order."""
    model = request.model
    if model is None or not request.unnamed:
        first = (request.names("q") or ("JOINT",))[0]
        wanted = next((x for x in SIGNALS if x in request.required), "q")
        raise ParseError(
            f"{where}: columns without names; expected a first line that names them: t, "
            f"{wanted}:{first}, ..."
        )
    heads: list[str] = []
    columns: dict[str, list[int]] = {}
    expected: list[str] = []
    for quantity in request.unnamed:
        names = [f"{quantity}:{x}" for x in request.names(quantity)]
        columns[quantity] = list(range(len(heads), len(heads) + len(names)))
        heads += names
        expected.append(f"{len(heads)} ({', '.join(columns)})")
        if len(heads) == width:
            if request.columns:
                raise ParseError(
                    f"{where}: the columns have no names, and {next(iter(request.columns))!r} is "
                    "to be mapped; expected a first line that names them."
                )
            stated: Stated = {x: [None] * len(names) for x, names in columns.items()}
            return Layout(
                tuple(heads), model.coordinate_names, columns, scales(request, stated, where),
                stated=stated,
            )  # fmt: skip
    raise ParseError(
        f"{where}: {counted(width, 'column')} without names; {model.name!r} takes "
        f"{' or '.join(expected)}. Or name them in the first line: {', '.join(heads[:2])}, ..."
    )
