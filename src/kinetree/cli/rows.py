"""States and motions in files and pipes: read in blocks or whole, checked, in SI units; written.

The one reader of `kinetree.motion.recordings` reads them. Text is streamed, with memory that does
not grow; other formats are read whole. Rates that a file with times lacks are differentiated, for
which it is read whole too; without times a row is a state at rest, and missing rates are zero.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kinetree.cli.arguments import AS_NAMED, STREAM, Recorded
from kinetree.cli.messages import notify, notify_of_library
from kinetree.cli.output import Rows, csv_line, number_lines
from kinetree.core.arrays import Array
from kinetree.errors import InputError, ParseError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.model import Model
from kinetree.model.inputs import coordinates
from kinetree.model.units import factors, units
from kinetree.motion.recordings import SIGNALS, OptionNames, ReadRequest, Table
from kinetree.motion.recordings.read import (
    BAG,
    LONGEST_SIGNATURE,
    SIGNATURES,
    TEXT,
    kind_of,
    open_text,
    read_table,
    trajectory_of,
    with_rates,
)
from kinetree.motion.recordings.text import TextTable
from kinetree.motion.recordings.write import columns_of
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot

RECORDING = "a recording: CSV, Parquet, NPZ or a ROS bag"
PIECE = 4096  # rows of a file that is read whole, in one block
RATES = ("dq", "ddq")


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of numbers: every quantity, (rows, n); "t" is (rows,)."""

    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def with_zeros(self, model: Model, wanted: Sequence[str]) -> list[Array]:
        """The wanted quantities in order; rates and forces that the file lacks are zero."""
        nothing = np.broadcast_to(np.zeros(model.n), (len(self), model.n))
        return [self.values.get(name, nothing) for name in wanted]


@dataclass(frozen=True)
class States:
    """Rows of a file or pipe while they are read: its name in messages, stream, size if known."""

    name: str
    blocks: Iterator[Block]
    stream: BinaryIO | None = None
    size: int | None = None


def request_of(
    model: Model | None,
    recorded: Recorded = AS_NAMED,
    *,
    degrees: bool = False,
    required: tuple[str, ...] = ("t", "q"),
    unnamed: tuple[str, ...] = (),
) -> ReadRequest:
    """The request of a command; `recorded.columns` are words such as `NAME=q:JOINT` and `NAME=`."""
    columns: dict[str, str | None] = {}
    for word in recorded.columns:
        name, sign, target = word.rpartition("=")
        if not sign:
            raise InputError(
                f"--columns is {word!r}; expected NAME=q:JOINT, NAME=t, or NAME= to leave a column "
                "out."
            )
        if name in columns:
            raise InputError(f"--columns maps {name!r} twice; expected every column once.")
        columns[name] = target or None
    return ReadRequest(
        model, columns, degrees, recorded.topic, required, unnamed,
        options=OptionNames(command=True),
    )  # fmt: skip


@contextmanager
def opened(data: str, request: ReadRequest, wanted: Sequence[str]) -> Generator[States]:
    """Open the states of a file or of standard input; `wanted` quantities are those to read.

    Notes of the reader are printed with the first block.
    """
    if data == STREAM and request.topic is None and not binary(sys.stdin.buffer):
        stream, name = sys.stdin.buffer, "standard input"
        yield States(name, text_blocks(stream, name, request, wanted), stream)
        return
    with as_file(data) as path:
        if kind_of(path) == TEXT and request.topic is None:
            with open_text(path) as stream:
                blocks = text_blocks(stream, path.name, request, wanted)
                yield States(path.name, blocks, stream, path.stat().st_size)
            return
        table = read_table(path, request)
        yield States(path.name, whole_blocks(path.name, table, request, wanted))


def text_blocks(
    stream: BinaryIO, name: str, request: ReadRequest, wanted: Sequence[str]
) -> Iterator[Block]:
    """Blocks of a text; it is read whole only if rates have to be differentiated."""
    table = TextTable(stream, name, request)
    lacking = [x for x in RATES if x in wanted and x not in table.columns.places]
    if table.columns.clock is not None and lacking:
        yield from whole_blocks(name, table.whole(), request, wanted)
        return
    for k, block in enumerate(table.blocks()):
        if k == 0:
            announce(name, table.notes, [x for x in wanted if x not in block.values])
        lines = block.lines
        _check_quaternions(
            request.model, block.values, lambda k, lines=lines: f"{name}, line {lines[k]}"
        )
        yield Block(block.values)


def whole_blocks(
    name: str, table: Table, request: ReadRequest, wanted: Sequence[str]
) -> Iterator[Block]:
    """Blocks of a table that was read whole, with rates if it has times."""
    lacking = [x for x in RATES if x in wanted and x not in table.values]
    if "t" in table.values and lacking:
        table = with_rates(table, request, wanted=tuple(lacking), zero=True)
    announce(name, table.notes, [x for x in wanted if x not in table.values])
    _check_quaternions(request.model, table.values, table.row)
    for start in range(0, len(table), PIECE):
        part = slice(start, start + PIECE)
        yield Block({key: x[part] for key, x in table.values.items()})


def announce(name: str, notes: Sequence[str], missing: Sequence[str]) -> None:
    """Print the notes of the reader, and the quantities that are taken as zero."""
    for note in notes:
        notify_of_library(f"{name}: {note}.")
    if missing:
        notify(f"{name} has no columns of {' and '.join(missing)}: taken as zero.")


def _check_quaternions(
    model: Model | None, values: Mapping[str, Array], row: Callable[[int], str]
) -> None:
    for joint in model.joints if model is not None and "q" in values else ():
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            length = np.linalg.norm(values["q"][:, list(joint.coords[:4])], axis=1)
            bad = np.flatnonzero(abs(length - 1) > 1e-9)
            if bad.size and model is not None:
                try:
                    coordinates(model, values["q"][bad[0]])
                except InputError as error:
                    raise ParseError(f"{row(int(bad[0]))}: {error}") from None


def binary(stream: BinaryIO) -> bool:
    """Whether a stream begins as one of the formats that are not text."""
    peek = getattr(stream, "peek", None)
    start = b"" if peek is None else peek(LONGEST_SIGNATURE)
    return any(start.startswith(x) for x in SIGNATURES)


@contextmanager
def as_file(data: str) -> Generator[Path]:
    """The path of a recording, or of a copy of standard input."""
    if data != STREAM:
        path = Path(data)
        if path.is_dir() and kind_of(path) == BAG:
            yield path
            return
        yield existing_file(data, RECORDING)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with path.open("rb") as file:
            start = file.read(LONGEST_SIGNATURE)
        for signature, (_, endings) in SIGNATURES.items():
            if start.startswith(signature):
                path = path.rename(path.with_suffix(endings[0]))
        yield path


def existing_file(data: str, expected: str) -> Path:
    """The path of a file; raise InputError if it is a folder or does not exist."""
    path = Path(data)
    if path.is_dir():
        raise InputError(f"{data} is a folder; expected {expected}.")
    if not path.exists():
        raise InputError(f"there is no file {data}; expected {expected}, or - for standard input.")
    return path


def read_trajectory(data: str, request: ReadRequest) -> Trajectory:
    """Read the trajectory of a recording; missing rates are those of the spline through it.

    Notes of the reader are printed.
    """
    with as_file(data) as path:
        table = with_rates(read_table(path, request), request)
    announce(path.name, table.notes, ())
    return trajectory_of(table, request, path.name)


def read_forces(data: str, request: ReadRequest) -> tuple[Array, Array]:
    """Read times and joint forces, (T,) and (T, n), of a recording with t and tau:JOINT."""
    with as_file(data) as path:
        table = read_table(path, request)
    announce(path.name, table.notes, ())
    return table.values["t"], table.values["tau"]


def in_users_units(motion: Trajectory, robot: Robot, degrees: bool) -> Trajectory:
    """Convert a motion from SI to the user's units."""
    if not degrees:
        return motion
    q, dq, ddq = (factors(robot.model, name, degrees) for name in ("q", "dq", "ddq"))
    return motion.replace(q=motion.q / q, dq=motion.dq / dq, ddq=motion.ddq / ddq)


def heads_of(motion: Trajectory, degrees: bool) -> list[str]:
    """Names of the columns of a motion; angles in degrees have their unit in the name."""
    heads = ["t"]
    for column, _ in columns_of(motion, "a CSV file"):
        quantity, _, joint = column.partition(":")
        names = motion.coordinate_names if quantity == "q" else motion.dof_names
        unit = ""
        if degrees and motion.model is not None and quantity in SIGNALS:
            unit = units(motion.model, quantity, degrees)[names.index(joint)]
        heads.append(f"{column} [{unit}]" if "deg" in unit else column)
    return heads


def write_trajectory(motion: Trajectory, output: Path | None, degrees: bool) -> None:
    """Write a motion in the user's units as CSV, to a file or to stdout."""
    columns = columns_of(motion, "a CSV file")
    table = np.column_stack([motion.t, *(x for _, x in columns)])
    with Rows(output) as rows:
        rows.write([csv_line(heads_of(motion, degrees))])
        rows.write(number_lines(table.tolist()))
