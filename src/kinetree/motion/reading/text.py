"""Text tables (CSV) read in blocks: checked, in SI units, in the order of the joints.

Columns are separated by commas, semicolons, tabs or blanks, whichever the first line has. The first
line names the columns, or is a row of numbers itself if the wish allows it; names on two lines, as
pandas writes columns of two levels, and a second line of units are read too. Lines that begin with
# are comments. Memory does not grow with the length of the stream.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import BinaryIO

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted, listing
from kinetree.errors import ParseError
from kinetree.motion.reading import MOST, SIGNALS, Table, Wish
from kinetree.motion.reading.clocks import Clock, check_first, seconds_note
from kinetree.motion.reading.header import named_layout
from kinetree.motion.reading.layout import unnamed_layout
from kinetree.motion.reading.names import joined_levels, unit_of

CHUNK = 1 << 18  # bytes that are read at a time; a pipe gives what it has
LONGEST = 1 << 22  # bytes of one line
MOST_LEVELS = 3  # lines of names: two levels of pandas, and the name of the index below them
COMMENT = "#"

Lines = Sequence[tuple[int, str]]  # numbers of lines, and their texts


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of numbers: their line numbers, and every quantity, (rows, n); "t" is (rows,)."""

    lines: Sequence[int]
    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class _Head:
    """The beginning of a file: names of columns (() if it has none), separator, first rows."""

    line: int
    heads: tuple[str, ...]
    separator: str
    trailing: bool  # every line ends with a separator
    rows: Lines


class TextTable:
    """A text table while it is read; `layout` and `notes` are known before the first block.

    The note on stamps that are counted from the first is added with the first block.
    """

    def __init__(self, stream: BinaryIO, name: str, wish: Wish) -> None:
        self.name, self.wish = name, wish
        self._lines = _lines(stream, name)
        self._head = self._read_head()
        where = f"{name}, line {self._head.line}"
        if self._head.heads:
            row = self._head.rows[0] if self._head.rows else None
            first = None if row is None else self._cells(row)
            self.layout = named_layout(self._head.heads, wish, where, first)
            self._labels = [(first or [])[k].strip() for k in self.layout.labels]
        else:
            width = len(self._cells(self._head.rows[0]))
            self.layout = unnamed_layout(width, wish, where)
            self._labels = list[str]()
        self.where = where
        self.notes = list(self.layout.notes)
        self._start: Decimal | None = None

    def blocks(self) -> Iterator[Block]:
        """Blocks of rows; each has an entry for every quantity of the file."""
        count = 0
        for lines in self._rest():
            if lines:
                count += len(lines)
                yield self._block(lines)
        if not count:
            raise ParseError(f"{self.name} has a line of names and no row of numbers after it.")

    def whole(self) -> Table:
        """The whole file."""
        blocks = list(self.blocks())
        values = {
            key: np.concatenate([block.values[key] for block in blocks]) for key in blocks[0].values
        }
        lines = np.concatenate([block.lines for block in blocks])
        return Table(
            values,
            self.layout.joints,
            lambda k: f"{self.name}, line {lines[k]}",
            self.where,
            tuple(self.notes),
            self.layout.clock_name,
        )

    def _rest(self) -> Iterator[Lines]:
        yield self._head.rows
        for lines in self._lines:
            yield [(k, x) for k, x in lines if not x.startswith(COMMENT)]

    # ----- the first lines

    def _read_head(self) -> _Head:
        seen: list[tuple[int, str]] = []
        for lines in self._lines:
            seen += lines
            if (found := self._decided(seen, ended=False)) is not None:
                return found
        if (found := self._decided(seen, ended=True)) is not None:
            return found
        raise ParseError(
            f"{self.name} is empty; expected rows of numbers, with a line of names or not."
            if self.wish.unnamed
            else f"{self.name} is empty; expected a line of names and lines of numbers."
        )

    def _decided(self, seen: Lines, *, ended: bool) -> _Head | None:
        """The head, or None if more lines are needed to decide what the names are."""
        rows = [x for x in seen if not x[1].startswith(COMMENT)]
        if not rows:
            return None
        line, text = rows[0]
        names = {x for quantity in SIGNALS for x in self.wish.names(quantity)}
        mark = "," if text.strip() in names else separator(text, f"{self.name}, line {line}")
        cells = split(text, mark, f"{self.name}, line {line}")
        trailing = len(cells) > 1 and not cells[-1]
        if all(map(_is_number, filter(None, cells))):
            comments = [x for x in seen if x[0] < line and x[1].startswith(COMMENT)]
            if comments:
                at, comment = comments[-1]
                heads = split(comment[1:].strip(), mark, f"{self.name}, line {at}")
                if len(heads) == len(cells) and not any(map(_is_number, heads)):
                    return _Head(at, tuple(heads), mark, False, rows)
            return _Head(line, (), mark, False, rows)
        levels = [cells]
        for at, other in rows[1 : MOST_LEVELS + 1]:
            own = split(other, mark, f"{self.name}, line {at}")
            numbers = any(map(_is_number, own[:1] if _are_signals(cells) else own))
            if len(own) != len(cells) or numbers or own == cells:
                break
            levels.append(own)
        else:
            if not ended and len(rows) <= MOST_LEVELS:
                return None
        heads, used = _combined(levels)
        return _Head(line, tuple(heads[:-1] if trailing else heads), mark, trailing, rows[used:])

    # ----- rows

    def _cells(self, row: tuple[int, str]) -> list[str]:
        """The cells of a row, as many as the names."""
        line, text = row
        where = f"{self.name}, line {line}"
        cells = split(text, self._head.separator, where)
        heads = self._head.heads or (self.layout.heads if hasattr(self, "layout") else ())
        if self._head.trailing and len(cells) == len(heads) + 1 and not cells[-1]:
            cells.pop()
        if heads and len(cells) != len(heads):
            raise ParseError(
                f"{where}: {counted(len(cells), 'column')}; expected {len(heads)}: "
                f"{listing(heads, MOST)}."
            )
        return cells

    def _block(self, rows: Lines) -> Block:
        layout, used = self.layout, self.layout.numeric
        position = {k: x for x, k in enumerate(used)}
        exact = layout.clock is not None and layout.clock.exact
        table = None if exact or self._labels else self._fast(rows, used)
        values: dict[str, Array] = {}
        if table is None:
            cells = [self._cells(row) for row in rows]
            self._check_labels(rows, cells)
            table = np.array(
                [self._numbers(row, own, used) for row, own in zip(rows, cells, strict=True)]
            )
            if layout.clock is not None and exact:
                values["t"] = self._exact_times(layout.clock, rows, cells)
        if layout.clock is not None and not exact:
            t = table[:, position[layout.clock.column]]
            self._check_unit(layout.clock, t)
            values["t"] = t / layout.clock.per_second if layout.clock.per_second != 1 else t
        for quantity in layout.columns:
            values[quantity] = layout.in_si(quantity, table, position)
        return Block([line for line, _ in rows], values)

    def _fast(self, rows: Lines, used: Sequence[int]) -> Array | None:
        """Convert all cells at once; None if anything is odd, for `_numbers` to find it."""
        width, mark = len(self.layout.heads), self._head.separator
        texts = [text for _, text in rows]
        if mark == " " or len(used) != width or self._head.trailing:
            return None
        if not all(text.count(mark) == width - 1 for text in texts):
            return None
        joined = mark.join(texts)
        if "_" in joined or not joined.isascii():  # which float() would take for digits
            return None
        try:
            flat = np.fromiter(map(float, joined.split(mark)), float, len(texts) * width)
        except ValueError:
            return None
        return flat.reshape(-1, width) if np.isfinite(flat).all() else None

    def _numbers(
        self, row: tuple[int, str], cells: Sequence[str], used: Sequence[int]
    ) -> list[float]:
        return [
            _number(
                cells[k], self.layout.heads[k], f"{self.name}, line {row[0]}", self._head.separator
            )
            for k in used
        ]

    def _check_labels(self, rows: Lines, cells: Sequence[Sequence[str]]) -> None:
        """Refuse a row that names other joints than the first, or in another order."""
        for (line, _), own in zip(rows, cells, strict=True):
            for k, label in zip(self.layout.labels, self._labels, strict=True):
                if own[k].strip() != label:
                    raise ParseError(
                        f"{self.name}, line {line}: {self.layout.heads[k]!r} is {own[k]!r} and was "
                        f"{label!r} in the first row; expected the same joints in every row."
                    )

    def _check_unit(self, clock: Clock, t: Array) -> None:
        """Check the first time, and note a conversion."""
        if self._start is None:
            self._start, head = Decimal(0), self.layout.heads[clock.column]
            check_first(clock, head, float(t[0]), self.wish, self.where)
            self.notes += seconds_note(clock, head)

    def _exact_times(self, clock: Clock, rows: Lines, cells: Sequence[Sequence[str]]) -> Array:
        """Times counted from the first, from whole numbers that are too long for a float."""
        found: list[Decimal] = []
        for (line, _), own in zip(rows, cells, strict=True):
            try:
                value = Decimal(own[clock.column].strip()) / clock.per_second
                if clock.nanoseconds is not None:
                    value += Decimal(own[clock.nanoseconds].strip()) / 10**9
            except InvalidOperation:
                raise ParseError(
                    f"{self.name}, line {line}: {own[clock.column]!r} is not a time."
                ) from None
            found.append(value)
        if self._start is None:
            self._start = found[0]
            self.notes.append(f"times are counted from the first, {found[0]:f} s")
        start = self._start
        return np.array([float(x - start) for x in found])


def separator(line: str, where: str) -> str:
    """The sign between the columns of a first line: comma, semicolon, tab, or blanks."""
    bare = re.sub(r'"[^"]*"', "", line)
    found = [x for x in (",", ";", "\t") if x in bare]
    if len(found) > 1:
        words = {",": "commas", ";": "semicolons", "\t": "tabs"}
        raise ParseError(
            f"{where}: {' and '.join(words[x] for x in found)} in one line; expected one kind "
            "between the columns, names with such signs in quotes, and 0.5 for 0,5."
        )
    if found:
        return found[0]
    return " " if re.search(r"\S\s+\S", bare) else ","


def split(text: str, mark: str, where: str) -> list[str]:
    """The cells of a line, without blanks at their ends."""
    if "\r" in text:
        raise ParseError(f"{where}: lines end with CR alone; expected LF or CRLF.")
    if '"' in text:
        if text.count('"') % 2:
            raise ParseError(f"{where}: a quotation mark is not closed.")
        try:
            own = csv.reader([text.strip()], delimiter=mark, skipinitialspace=True)
            return [x.strip() for x in next(own)]
        except csv.Error as error:
            raise ParseError(f"{where} is not a line of CSV: {error}.") from None
    return text.split() if mark == " " else [x.strip() for x in text.split(mark)]


def _combined(levels: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """The names of columns from one line or several, and the number of lines that they take.

    Two levels of pandas are joined with a slash; a line below them that has only its first cell is
    the name of the index. A second line of units is put in brackets behind the names.
    """
    first, rest = list(levels[0]), levels[1:]
    if rest and all(unit_of(x.strip("[]()")) or x in ("", "-") for x in rest[0]) and any(rest[0]):
        units = [x.strip("[]()") if x != "-" else "" for x in rest[0]]
        return [f"{x} [{u}]" if u else x for x, u in zip(first, units, strict=True)], 2
    repeated = len({x for x in first[1:] if x}) < len(first[1:]) or not first[0]
    index = next((k for k, x in enumerate(rest) if x[0] and not any(x[1:])), None)
    if not rest or not (repeated or index is not None or _are_signals(first)):
        return first, 1
    depth = 2 if index is None else index + 1
    swapped = first[0] == "joint"
    joined = [
        joined_levels([x for x in own if x], swapped) for own in zip(*levels[:depth], strict=True)
    ]
    if index is not None:
        joined[0] = rest[index][0]
        return joined, index + 2
    return joined, depth


def _are_signals(cells: Sequence[str]) -> bool:
    """Whether a line of names is the upper of two levels, as kinetree's data frames have it."""
    return len(cells) > 1 and set(cells[1:]) <= set(SIGNALS) and cells[0] not in SIGNALS


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, head: str, where: str, mark: str) -> float:
    try:
        value = float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        hint = ""
        if "," in text:
            hint = " Decimal commas and thousands separators are not read: write 0.5 for 0,5."
        thing = repr(text) if text else "empty"
        raise ParseError(f"{where}: {head!r} is {thing}; expected a number.{hint}")
    if not np.isfinite(value):
        raise ParseError(f"{where}: {head!r} is {text.strip()}; expected a finite number.")
    return value


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
