"""Recordings in and out: `read` makes trajectories of files, `write` makes files of trajectories.

`text` (CSV), `arrays` (NPZ and Parquet) and `bags` (ROS) give the columns of a file with their
names, a Source. `names` is the grammar of the names, and `columns` makes a Table of a Source: SI
units, in the order of the joints. `sizes` limits what a file may take.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

from kinetree.core.arrays import Array
from kinetree.errors import InputError, options
from kinetree.model import Model
from kinetree.model.units import entry_names
from kinetree.motion.record import SIGNALS as SIGNALS  # the readers take both from here

MAX_NAMES = 12  # names in one message
TIME = "t"


def by_hand(head: str, target: str) -> str:
    """The option that maps a column, as the user passes it; an empty target leaves it out."""
    if "--columns" in options:
        return f"--columns {shlex.quote(f'{head}={target}')}"
    return f"columns={{{head!r}: {target or None!r}}}"


@dataclass(frozen=True)
class ReadRequest:
    """What to read.

    Args:
        model: the robot, whose joints give names and order; None takes the names of the file.
        columns: columns mapped by hand: {header: "q:JOINT", "q:JOINT [deg]", "t", "t[ms]", or None
            to leave it out}; stars stand for any signs on both sides.
        degrees: angles are in degrees.
        topic: of a ROS bag; None takes the only one of a suitable type.
        required: quantities that must be there, among t, q, dq, ddq, tau.
        unnamed: quantities of a table without names, in their order; () refuses such a table.
        optional: entries of joints without motors, whose columns may be missing together.
        rate: samples per second of a file without times, Hz; None: the file has times.
    """

    model: Model | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    degrees: bool = False
    topic: str | None = None
    required: tuple[str, ...] = (TIME, "q")
    unnamed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    rate: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate < inf:
            raise InputError(f"the rate is {self.rate:g} Hz; expected one above 0, finite.")

    @property
    def owner(self) -> str:
        """The robot in messages."""
        return "the file" if self.model is None else repr(self.model.name)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the entries of q and dq; () without a robot."""
        return tuple(dict.fromkeys([*self.names("q"), *self.names("dq")]))

    @property
    def plain(self) -> bool:
        """Whether every joint has one degree of freedom, so that a number can state it."""
        return self.model is None or self.model.coordinate_names == self.model.dof_names

    def names(self, quantity: str) -> tuple[str, ...]:
        """Names of the entries of a quantity; () without a robot."""
        return () if self.model is None else entry_names(self.model, quantity)


class Source(Protocol):
    """The columns of a file, which are read when it is known which of them are used.

    width: number of columns. where: beginning of messages about the file.
    """

    where: str
    width: int
    notes: list[str]

    @property
    def heads(self) -> Sequence[str] | None:
        """Names of the columns; None if the file has none."""
        ...

    def read(self, used: Sequence[int], exact: Sequence[int]) -> dict[int, Any]:
        """Cells of columns: numbers, or those of `exact` as they are written."""
        ...

    def row(self, k: int) -> str:
        """The k-th sample as messages name it."""
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """A whole file: "t", (T,), s, and q, dq, ddq, tau, (T, n), SI units, in the joints' order.

    joints: names of the entries of q. row: the k-th sample as messages name it. where: beginning of
    messages about the file. notes: on choices that the reader made.
    """

    values: Mapping[str, Array]
    joints: tuple[str, ...]
    row: Callable[[int], str]
    where: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))
