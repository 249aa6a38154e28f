"""Recordings in and out: `read` makes trajectories of files, `write` makes files of trajectories.

One reader serves Python and the command line. `text` reads CSV in blocks, `arrays` NPZ and Parquet,
`bags` ROS bags; `names` is the grammar of the names of columns, `columns` finds which column of a
table is which and makes SI units; `sizes` limits what a file may take. A ReadRequest says what to
read and for which robot, and a Table is what a file has.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kinetree.core.arrays import Array
from kinetree.model import Model
from kinetree.model.units import entry_names
from kinetree.motion.record import FRICTION_STATE as FRICTION_STATE
from kinetree.motion.record import SIGNALS as SIGNALS  # the readers take both from here

MAX_NAMES = 12  # names in one message


@dataclass(frozen=True)
class OptionNames:
    """The options as a message names them: keywords of Python, or options of the command line."""

    command: bool = False

    def column(self, head: str, target: str) -> str:
        """The option that maps a column by hand; an empty target leaves it out."""
        if self.command:
            return f"--columns {shlex.quote(f'{head}={target}')}"
        return f"columns={{{head!r}: {target or None!r}}}"

    def topic(self, name: str) -> str:
        """The option that chooses a topic of a bag."""
        return f"--topic {shlex.quote(name)}" if self.command else f"topic={name!r}"

    @property
    def degrees(self) -> str:
        """The option for angles in degrees."""
        return "--degrees" if self.command else "degrees=True"


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
        options: how messages name the options.
    """

    model: Model | None = None
    columns: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    degrees: bool = False
    topic: str | None = None
    required: tuple[str, ...] = ("t", "q")
    unnamed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    options: OptionNames = OptionNames()
    rate: float | None = None

    @property
    def owner(self) -> str:
        """The robot in messages."""
        return "the file" if self.model is None else repr(self.model.name)

    @property
    def plain(self) -> bool:
        """Whether every joint has one degree of freedom, so that a number can state it."""
        return self.model is None or self.model.coordinate_names == self.model.dof_names

    def names(self, quantity: str) -> tuple[str, ...]:
        """Names of the entries of a quantity; () without a robot."""
        return () if self.model is None else entry_names(self.model, quantity)


@dataclass(frozen=True, eq=False)
class Table:
    """A whole file: "t", (T,), s, and q, dq, ddq, tau, (T, n), SI units, in the joints' order.

    joints: names of the entries of q. row: the k-th sample as messages name it. where: beginning of
    messages about the file. notes: on choices that the reader made. clock: name of the column of
    the times.
    """

    values: Mapping[str, Array]
    joints: tuple[str, ...]
    row: Callable[[int], str]
    where: str
    notes: tuple[str, ...] = ()
    clock: str = "t"

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))
