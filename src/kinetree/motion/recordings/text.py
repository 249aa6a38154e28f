"""Text tables (CSV) read in blocks: checked, in SI units, in the order of the joints.

Columns are separated by commas, semicolons, tabs or blanks, whichever the first line has. The first
line names the columns, or is a row of numbers itself if the request allows it; the last comment
above such rows may name their columns. Other lines that begin with # are prose. Memory does not
grow with the length of the stream.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing
from kinetree.errors import ParseError, argument
from kinetree.motion.recordings import MAX_NAMES, ReadRequest, Table
from kinetree.motion.recordings.columns import (
    LATEST,
    PLACES,
    named_columns,
    unnamed_columns,
)
from kinetree.motion.recordings.sizes import check_columns, check_numbers

CHUNK = 1 << 18  # bytes that are read at a time; a pipe gives what it has
LONGEST = 1 << 22  # bytes of one line
LONGEST_SHOWN = 40  # signs of a cell in a message
COMMENT = "#"
SEPARATOR_LINE = re.compile(r"(?i)\s*\"?sep=[,;|\t]\"?\s*")  # of Excel, above the names
UNITS_LINE = re.compile(r"(?i)#[#\s]*units\s*[:=].*")

Lines = Sequence[tuple[int, str]]  # numbers of lines, and their texts


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of numbers: their line numbers, and every quantity, (rows, n); "t" is (rows,)."""

    lines: Sequence[int]
    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.lines)


class TextTable:
    """A text table while it is read; `columns` and `notes` are known before the first block.

    The note on times that are counted from the first is added with the first block.
    """

    def __init__(self, stream: BinaryIO, name: str, request: ReadRequest) -> None:
        self.name, self.request = name, request
        self._lines = _lines(stream, name)
        at, heads = self._read_head()
        self.where = f"{name}, line {at}"
        if not heads and not all(map(PLACES.fullmatch, request.columns or "-")):
            self.columns = unnamed_columns(self._width, request, self.where)
        else:
            heads = heads or [str(k + 1) for k in range(self._width)]
            self.columns = named_columns(heads, request, self.where)
        self.notes = list(self.columns.notes)
        self._counted: bool | None = None  # whether times are counted from the first
        self._start: list[Any] = []

    def blocks(self) -> Iterator[Block]:
        """Blocks of rows; each has an entry for every quantity of the file."""
        count = 0
        for lines in chain([self._first], self._lines):
            if lines := [x for x in lines if not self._is_comment(x)]:
                count += len(lines)
                yield self._block(lines)
        if not count:
            raise ParseError(f"{self.name} has a line of names and no row of numbers after it.")

    def whole(self) -> Table:
        """The whole file."""
        blocks, size = list[Block](), 0
        for block in self.blocks():
            size += sum(x.nbytes for x in block.values.values())
            check_numbers(size, self.name)
            blocks.append(block)
        values = {x: np.concatenate([y.values[x] for y in blocks]) for x in blocks[0].values}
        lines = np.concatenate([block.lines for block in blocks])
        joints, clock = self.columns.joints, self.columns.clock_name
        notes = tuple(self.notes)
        return Table(
            values, joints, lambda k: f"{self.name}, line {lines[k]}", self.where, notes, clock
        )

    # ----- the first lines

    def _read_head(self) -> tuple[int, Sequence[str]]:
        """The line of the names, and the names; [] for rows without names."""
        comment: tuple[int, str] | None = None
        for lines in self._lines:
            for k, (at, text) in enumerate(lines):
                if self._is_comment((at, text)):
                    comment = at, text
                elif not SEPARATOR_LINE.fullmatch(text):
                    self._first = lines[k + 1 :]
                    self._mark = self._separator(text, at)
                    heads = self._rows([(at, text)])[1][0]
                    check_columns(len(heads), f"{self.name}, line {at}")
                    self._width = len(heads)
                    if not all(map(_is_number, filter(None, heads))):
                        return at, heads
                    self._first = lines[k:]
                    return self._comment_names(comment) or (at, [])
        raise ParseError(f"{self.name} is empty; expected a line of names and lines of numbers.")

    def _is_comment(self, line: tuple[int, str]) -> bool:
        at, text = line
        if text.startswith(COMMENT) and UNITS_LINE.fullmatch(text):
            raise ParseError(
                f"{self.name}, line {at}: units in comments are not read; expected them in the "
                "names of columns, as in q1 [deg], or in "
                f"{argument('columns')}. Remove the line."
            )
        return text.startswith(COMMENT)

    def _comment_names(self, comment: tuple[int, str] | None) -> tuple[int, Sequence[str]] | None:
        """The names of columns in the last comment above rows of numbers, as NumPy writes them."""
        if comment is None:
            return None
        try:
            heads = self._rows([(comment[0], comment[1].strip("# \t"))])[1][0]
        except ParseError:
            return None
        named = len(heads) == self._width and not any(map(_is_number, heads))
        return (comment[0], heads) if named else None

    def _separator(self, line: str, at: int) -> str:
        """The sign between the columns of a first line: comma, semicolon, tab, or blanks."""
        bare = re.sub(r'"[^"]*"', "", line)
        marks = [x for x in (",", ";", "\t") if x in bare]
        if len(marks) > 1:
            words = {",": "commas", ";": "semicolons", "\t": "tabs"}
            raise ParseError(
                f"{self.name}, line {at}: {' and '.join(words[x] for x in marks)} in one line; "
                "expected one kind between the columns, names with such signs in quotes, and 0.5 "
                "for 0,5."
            )
        return marks[0] if marks else " " if re.search(r"\S\s+\S", bare) else ","

    # ----- rows

    def _rows(self, lines: Lines) -> tuple[list[int], list[list[str]]]:
        """Line numbers and cells of rows."""
        texts = [x.strip() if self._mark != "\t" else x for _, x in lines]
        texts = [" ".join(x.split()) for x in texts] if self._mark == " " else texts
        reader = csv.reader(texts, delimiter=self._mark, skipinitialspace=True, strict=True)
        numbers, rows, after = list[int](), list[list[str]](), 0
        try:
            for row in reader:
                numbers.append(lines[after][0])
                rows.append([x.strip() for x in row])
                after = reader.line_num
        except csv.Error as error:
            at = lines[min(after, len(lines) - 1)][0]
            raise ParseError(f"{self.name}, line {at} is not a line of CSV: {error}.") from None
        return numbers, rows

    def _block(self, lines: Lines) -> Block:
        numbers, rows = self._rows(lines)
        heads, columns = self.columns.heads, self.columns

        def row(k: int) -> str:
            return f"{self.name}, line {numbers[k]}"

        for k, cells in enumerate(rows):
            if len(cells) != self._width:
                raise ParseError(
                    f"{row(k)}: {counted(len(cells), 'column')}; expected {self._width}: "
                    f"{listing(heads, MAX_NAMES)}."
                )

        def column(k: int) -> Array:
            return _numbers([cells[k] for cells in rows], heads[k] or f"column {k + 1}", row)

        values = columns.values(column)
        if columns.clock is not None:
            values["t"] = self._times([[x[k] for x in rows] for k in columns.clock.columns], row)
        return Block(numbers, values)

    def _times(self, cells: Sequence[Sequence[str]], row: Callable[[int], str]) -> Array:
        """Times in s; if they are too long for a float, exact decimals less the first."""
        clock, head = self.columns.clock, self.columns.clock_name
        assert clock is not None
        x = [_numbers(own, head, row) for own in cells]
        late = np.flatnonzero(np.abs(clock.seconds(x[0])) > LATEST)
        if late.size:
            k = int(late[0])
            raise ParseError(
                f"{row(k)}: {head!r} is {_shown(cells[0][k])}, which is not a time in {clock.unit}."
                f" State its unit: {self.request.options.column(head, 't[ns]')}, or us, or ms."
            )
        if self._counted is None:
            self._counted = clock.is_counted(float(x[0][0]))
        if not self._counted:
            return clock.seconds(x[0])
        exact = [np.array([Decimal(y) for y in own], object) for own in cells]
        clock.check_fine(exact, row)
        if not self._start:
            self._start = [own[0] for own in exact]
            self.notes.append(clock.note(self._start))
        return clock.elapsed(exact, self._start)


def _numbers(cells: Sequence[str], head: str, row: Callable[[int], str]) -> Array:
    """Cells as numbers; ParseError for the first that is not a finite one."""
    try:
        x = np.array(list(map(float, cells)))
    except ValueError:
        x = np.full(1, np.nan)
    text = "".join(cells)
    if not np.isfinite(x).all() or "_" in text or not text.isascii():
        for k, cell in enumerate(cells):
            if not _is_number(cell) or not np.isfinite(float(cell)):
                finite = "finite " if _is_number(cell) else ""
                raise ParseError(
                    f"{row(k)}: {head!r} is {_shown(cell)}; expected a {finite}number, such as 0.5."
                )
    return x


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()  # which float() would take for digits


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= LONGEST_SHOWN else f"{cell[:LONGEST_SHOWN]}...")


def _lines(stream: BinaryIO, name: str) -> Iterator[Lines]:
    """Numbered lines that are not blank; a block ends where the stream paused or a chunk ended."""
    line = 0
    for texts in line_blocks(stream, name):
        yield [(line + k, x) for k, x in enumerate(texts, 1) if x and not x.isspace()]
        line += len(texts)


def line_blocks(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lists of lines without their ends; a block ends where the stream paused or a chunk ended.

    Memory does not grow with the length of the stream.
    """
    unfinished, first, count = b"", True, 0
    read = getattr(stream, "read1", stream.read)
    while data := read(CHUNK):
        unfinished += data
        cut = unfinished.rfind(b"\n") + 1
        if cut:
            lines = _decode(unfinished[:cut], name, count, first).split("\n")[:-1]
            unfinished, first, count = unfinished[cut:], False, count + len(lines)
            yield lines
        if len(unfinished) > LONGEST:
            raise ParseError(
                f"{name}, line {count + 1} is longer than {LONGEST >> 20} MiB; expected rows of "
                "numbers, one a line. Is it a CSV file?"
            )
    if unfinished:
        yield [_decode(unfinished, name, count, first)]


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
