"""Read states from the rows of a CSV file or pipe, in blocks: checked, SI units, joint order.

The first line names the columns as in every CSV file of kinetree (`t`, `q:JOINT`, `dq:JOINT`,
`ddq:JOINT`, `tau:JOINT`, a bare JOINT for its position), or is a row of numbers itself: then the
columns are q, perhaps dq, perhaps ddq or tau, in the order of the joints.
"""

import csv
import re
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.cli.arguments import STREAM
from kinetree.cli.choices import nearest
from kinetree.cli.states import factors, names
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError, ParseError
from kinetree.model import Model
from kinetree.model.inputs import coordinates

SIGNALS = ("q", "dq", "ddq", "tau")
TIME = ("t", "")
CHUNK = 1 << 18  # bytes that are read at a time; a pipe gives what it has
LONGEST = 1 << 22  # bytes of one line


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of numbers: their line numbers, and every quantity, (rows, n); "t" is (rows,)."""

    lines: Sequence[int]
    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.lines)

    def with_zeros(self, model: Model, wanted: Sequence[str]) -> list[Array]:
        """The wanted quantities in order; rates and forces that the file lacks are zero."""
        nothing = np.broadcast_to(np.zeros(model.n), (len(self), model.n))
        return [self.values.get(name, nothing) for name in wanted]


@dataclass(frozen=True)
class Layout:
    """Which column is which: the heads of all columns, and the columns of every quantity."""

    heads: tuple[str, ...]
    columns: Mapping[str, list[int]]


@dataclass(frozen=True)
class Table:
    """What to read from a table: its name in messages, the robot, and the quantities.

    wanted: quantities to read. required: those that must be there. degrees: whether angles are in
    degrees.
    """

    name: str
    model: Model
    wanted: Sequence[str]
    degrees: bool
    required: Sequence[str] = ("q",)

    def blocks(self, stream: BinaryIO) -> Iterator[Block]:
        """Read blocks of states; a block has no entry for a wanted quantity that is not there.

        Only named columns can have times.
        """
        layout, line, rows = None, 0, 0
        for texts in line_blocks(stream, self.name):
            numbered = [(line + k, x) for k, x in enumerate(texts, 1) if x and not x.isspace()]
            line += len(texts)
            if layout is None and numbered:
                first, head = numbered[0]
                layout, has_names = self._layout(head, f"{self.name}, line {first}")
                numbered = numbered[has_names:]
            if layout is not None and numbered:
                rows += len(numbered)
                yield self._block(layout, numbered)
        if layout is None:
            raise ParseError(
                f"{self.name} is empty; expected rows of numbers, with a line of names or not."
            )
        if not rows:
            raise ParseError(f"{self.name} has a line of names and no row of numbers after it.")

    def _block(self, layout: Layout, numbered: Sequence[tuple[int, str]]) -> Block:
        table = numbers(numbered, layout.heads, self.name)
        lines = [line for line, _ in numbered]
        values = {"t": table[:, layout.columns["t"][0]]} if "t" in layout.columns else {}
        for quantity in self.wanted:
            if quantity in layout.columns:
                scale = factors(self.model, quantity, self.degrees)
                values[quantity] = np.ascontiguousarray(table[:, layout.columns[quantity]] * scale)
        if "q" in values:
            self._check_quaternions(values["q"], lines)
        return Block(lines, values)

    def _check_quaternions(self, q: Array, lines: Sequence[int]) -> None:
        for joint in self.model.joints:
            if joint.type in (SPHERICAL, FREE) and joint.follows is None:
                length = np.linalg.norm(q[:, list(joint.coords[:4])], axis=1)
                bad = np.flatnonzero(abs(length - 1) > 1e-9)
                if bad.size:
                    try:
                        coordinates(self.model, q[bad[0]])
                    except InputError as error:
                        where = f"{self.name}, line {lines[bad[0]]}"
                        raise ParseError(f"{where}: {error}") from None

    def _layout(self, head: str, where: str) -> tuple[Layout, bool]:
        """The columns, and whether the first line has names (else it is the first row)."""
        cells = [x.strip() for x in next(csv.reader([head]))]
        try:
            [float(x) for x in cells]
        except ValueError:
            self._check_separator(head, where)
            return self._named_layout(cells, where), True
        if "t" in self.required:
            first = self.wanted[0]
            raise ParseError(
                f"{where}: columns without names; expected a first line that names them: t, "
                f"{first}:{names(self.model, first)[0]}, ..."
            )
        return self._bare_layout(len(cells), where), False

    def _check_separator(self, head: str, where: str) -> None:
        """Refuse other separators than commas: semicolons, tabs, or blanks between numbers."""
        if ";" in head and head.strip() not in self.model.coordinate_names:
            raise ParseError(
                f"{where}: semicolons between columns; expected commas, and 0.5 for 0,5."
            )
        blank = "," not in head and re.fullmatch(r"[-+\d.eE]+(\s+[-+\d.eE]+)+", head.strip())
        if blank or "\t" in head:
            raise ParseError(f"{where}: blanks or tabs between columns; expected commas.")

    def _bare_layout(self, width: int, where: str) -> Layout:
        heads: list[str] = []
        columns: dict[str, list[int]] = {}
        expected: list[str] = []
        for quantity in self.wanted:
            own = [f"{quantity}:{x}" for x in names(self.model, quantity)]
            columns[quantity] = list(range(len(heads), len(heads) + len(own)))
            heads += own
            expected.append(f"{len(heads)} ({', '.join(columns)})")
            if len(heads) == width:
                return Layout(tuple(heads), columns)
        raise ParseError(
            f"{where}: {counted(width, 'column')} without names; {self.model.name!r} takes "
            f"{' or '.join(expected)}. Or name them in the first line: {', '.join(heads[:2])}, ..."
        )

    def _named_layout(self, cells: Sequence[str], where: str) -> Layout:
        model, keys = self.model, [_key(text, k, where) for k, text in enumerate(cells, 1)]
        for k, (quantity, joint) in enumerate(keys):
            if keys.index((quantity, joint)) != k:
                raise ParseError(f"{where}: two columns are called {cells[k]!r}.")
            known = names(model, quantity)
            if quantity != "t" and joint not in known:
                raise ParseError(
                    f"{where}: unknown joint {joint!r} in column {cells[k]!r}; {model.name!r} has "
                    f"{', '.join(known)}.{nearest(joint, known)}"
                )
        columns = {"t": [keys.index(TIME)]} if TIME in keys else {}
        if "t" in self.required and not columns:
            raise ParseError(f"{where}: no column 't'; expected the times in s.")
        for quantity in SIGNALS:
            known = names(model, quantity)
            missing = [x for x in known if (quantity, x) not in keys]
            if missing and (len(missing) < len(known) or quantity in self.required):
                raise ParseError(
                    f"{where}: {quantity} of {', '.join(missing)} is missing; expected a column "
                    f"'{quantity}:{missing[0]}' for every joint of {model.name!r}."
                )
            if not missing:
                columns[quantity] = [keys.index((quantity, x)) for x in known]
        return Layout(tuple(cells), columns)


def _key(text: str, k: int, where: str) -> tuple[str, str]:
    """(quantity, joint) of a column's name; TIME for the times."""
    quantity, colon, joint = text.partition(":")
    if not text or (colon and not joint):
        raise ParseError(f"{where}: column {k} has no name.")
    if text == "t":
        return TIME
    return (quantity, joint) if colon and quantity in SIGNALS else ("q", text)


@contextmanager
def opened(data: str) -> Generator[tuple[BinaryIO, str, int | None]]:
    """Open a file or standard input: its stream, its name in messages, its size if known."""
    if data == STREAM:
        yield sys.stdin.buffer, "standard input", None
        return
    path = existing_file(data, "a CSV file, or - for standard input")
    with path.open("rb") as stream:
        yield stream, path.name, path.stat().st_size


def existing_file(data: str, expected: str) -> Path:
    """The path of a file; raise InputError if it is a folder or does not exist."""
    path = Path(data)
    if path.is_dir():
        raise InputError(f"{data} is a folder; expected {expected}.")
    if not path.exists():
        raise InputError(f"there is no file {data}; expected {expected}.")
    return path


def line_blocks(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lists of lines without their ends; a block ends where the stream paused or a chunk ended.

    Memory does not grow with the length of the stream.
    """
    rest, first, count = b"", True, 0
    read = getattr(stream, "read1", stream.read)
    while data := read(CHUNK):
        rest += data
        cut = rest.rfind(b"\n") + 1
        if cut:
            lines = _decode(rest[:cut], name, count, first).split("\n")[:-1]
            rest, first, count = rest[cut:], False, count + len(lines)
            yield lines
        if len(rest) > LONGEST:
            raise ParseError(
                f"{name}, line {count + 1} is longer than {LONGEST >> 20} MiB; expected rows of "
                "numbers, one a line. Is it a CSV file?"
            )
    if rest:
        yield [_decode(rest, name, count, first)]


def _decode(data: bytes, name: str, before: int, first: bool) -> str:
    try:
        text = data.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        line = before + data[: error.start].count(b"\n") + 1
        raise ParseError(
            f"{name}, line {line} is not text in UTF-8; expected a CSV file. A spreadsheet saves "
            "one as 'CSV UTF-8'."
        ) from None
    return text.replace("\r\n", "\n")


def numbers(numbered: Sequence[tuple[int, str]], heads: Sequence[str], name: str) -> Array:
    """The table of numbers, (rows, columns), all finite; errors name the line and the column."""
    # the fast way converts all cells of a block at once
    width = len(heads)
    texts = [text for _, text in numbered]
    if all(text.count(",") == width - 1 for text in texts):
        try:
            flat = np.fromiter(map(float, ",".join(texts).split(",")), float, len(texts) * width)
        except ValueError:
            flat = np.array([np.nan])
        if np.isfinite(flat).all():
            return flat.reshape(-1, width)
    # something is wrong, or cells are quoted: read cell by cell, so that an error can say where
    return np.array(
        [_cells(next(csv.reader([x])), heads, f"{name}, line {k}") for k, x in numbered]
    )


def _cells(row: Sequence[str], heads: Sequence[str], where: str) -> list[float]:
    if len(row) != len(heads):
        raise ParseError(
            f"{where}: {counted(len(row), 'column')}; expected {len(heads)}: {', '.join(heads)}."
        )
    found: list[float] = []
    for text, head in zip(row, heads, strict=True):
        try:
            value = float(text)
        except ValueError:
            raise ParseError(f"{where}: {head!r} is {text!r}; expected a number.") from None
        if not np.isfinite(value):
            raise ParseError(f"{where}: {head!r} is {text.strip()}; expected a finite number.")
        found.append(value)
    return found
