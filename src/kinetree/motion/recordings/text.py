"""Text tables (CSV) read in blocks: checked, in SI units, in the order of the joints.

Columns are separated by commas, semicolons, tabs or blanks, whichever the first line has. The first
line names the columns, or is a row of numbers itself if the request allows it; names on two lines,
as pandas writes columns of two levels, and a second line of units are read too. Lines that begin
with # are comments; those above the first row may state units. Memory does not grow with the length
of the stream.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import BinaryIO

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.tables import counted, listing
from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError
from kinetree.motion.recordings import MAX_NAMES, SIGNALS, ReadRequest, Table
from kinetree.motion.recordings.by_hand import by_number
from kinetree.motion.recordings.clocks import LATEST, STAMP, Clock, check_first, seconds_note
from kinetree.motion.recordings.comments import check_comments, mention_note
from kinetree.motion.recordings.header import named_layout
from kinetree.motion.recordings.layout import unnamed_layout
from kinetree.motion.recordings.names import joined_levels, meanings
from kinetree.motion.recordings.sizes import check_columns, check_numbers

CHUNK = 1 << 18  # bytes that are read at a time; a pipe gives what it has
LONGEST = 1 << 22  # bytes of one line
MOST_COMMENTS, COMMENTS_PER_ROW = 20_000, 10  # lines, with blank ones
MOST_LEVELS = 3  # lines of names: two levels of pandas, and the name of the index below them
LONGEST_SHOWN = 40  # signs of a cell in a message
COMMENT = "#"
SEPARATOR_LINE = re.compile(r"(?i)\s*\"?sep=[,;|\t]\"?\s*")  # of Excel, above the names
UNITS_LINE = re.compile(r"(?i)#[#\s]*units\s*[:=]\s*(.*)")

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
    units: tuple[Unit | None, ...] = ()  # beside the names
    comments: Lines = ()  # above the rows, without that of the names


class TextTable:
    """A text table while it is read; `layout` and `notes` are known before the first block.

    The note on stamps that are counted from the first is added with the first block.
    """

    def __init__(self, stream: BinaryIO, name: str, request: ReadRequest) -> None:
        self.name, self.request = name, request
        self._lines = _lines(stream, name)
        self._late: Lines = ()  # lines below the first row that were read with the head
        self._head = self._read_head()
        where = f"{name}, line {self._head.line}"
        width = len(self._head.heads) or len(self._cells(self._head.rows[0]))
        numbered = by_number(self._head.heads, width, request, where)
        heads = self._head.heads
        if numbered is not None:
            heads, request, _ = numbered
        if heads:
            row = self._head.rows[0] if self._head.rows else None
            first = None if row is None else self._cells(row)
            units = self._head.units or (None,) * width
            self.layout = named_layout(heads, request, where, first, units)
            self._labels = [(first or [])[k].strip() for k in self.layout.labels]
        else:
            self.layout = unnamed_layout(width, request, where)
            self._labels = list[str]()
        self.where = where
        self.notes = [*self.layout.notes, *(numbered[2] if numbered else ())]
        above = self._placed(self._head.comments)
        check_comments(self.request, self.layout, above)
        self.notes += mention_note(self.request, self.layout, above)
        self._check_late(self._late)
        self._start: Decimal | None = None
        self._is_counted: bool | None = None  # whether times are counted from the first

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
        blocks, size = list[Block](), 0
        for block in self.blocks():
            size += sum(x.nbytes for x in block.values.values())
            check_numbers(size, self.name)
            blocks.append(block)
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
            self._check_late(lines)
            yield [(k, x) for k, x in lines if not x.startswith(COMMENT)]

    def _check_late(self, lines: Lines) -> None:
        """Check the comments among lines below the first row."""
        comments = [x for x in lines if x[1].startswith(COMMENT)]
        for line, text in comments:
            if UNITS_LINE.fullmatch(text):
                raise ParseError(
                    f"{self.name}, line {line}: a comment on units below the first row; expected "
                    "it above the rows."
                )
        check_comments(self.request, self.layout, self._placed(comments))

    def _placed(self, comments: Lines) -> list[tuple[str, str]]:
        return [(f"{self.name}, line {line}", text) for line, text in comments]

    # ----- the first lines

    def _read_head(self) -> _Head:
        seen: list[tuple[int, str]] = []
        for lines in self._lines:
            seen += lines
            if (head := self._decided(seen, ended=False)) is not None:
                break
        else:
            head = self._decided(seen, ended=True)
        if head is not None:
            after = head.rows[0][0] if head.rows else seen[-1][0]
            self._late = [x for x in seen if x[0] > after]
            return head
        raise ParseError(
            f"{self.name} is empty; expected rows of numbers, with a line of names or not."
            if self.request.unnamed
            else f"{self.name} is empty; expected a line of names and lines of numbers."
        )

    def _decided(self, seen: Lines, *, ended: bool) -> _Head | None:
        """The head, or None if more lines are needed to decide what the names are."""
        rows = [x for x in seen if not x[1].startswith(COMMENT)]
        if rows and SEPARATOR_LINE.fullmatch(rows[0][1]):
            rows = rows[1:]
        if not rows:
            return None
        line, text = rows[0]
        names = {x for quantity in SIGNALS for x in self.request.names(quantity)}
        mark = "," if text.strip() in names else separator(text, f"{self.name}, line {line}")
        cells = split(text, mark, f"{self.name}, line {line}")
        check_columns(len(cells), f"{self.name}, line {line}")
        trailing = len(cells) > 1 and not cells[-1]
        if all(map(_is_number, filter(None, cells))):
            comments = [x for x in seen if x[0] < line and x[1].startswith(COMMENT)]
            names = self._comment_names(comments, mark, len(cells))
            if names is None:
                units, comments = self._comment_units(comments, mark, len(cells))
                if any(units):
                    raise ParseError(
                        f"{self.name}, line {line}: units, and columns without names; expected a "
                        "line that names the columns."
                    )
                return _Head(line, (), mark, False, rows, (), comments)
            at, heads = names
            others = [x for x in comments if x[0] != at]
            units, others = self._comment_units(others, mark, len(heads))
            return _Head(at, heads, mark, False, rows, units, others)
        levels = [cells]
        for at, other in rows[1 : MOST_LEVELS + 1]:
            other_cells = split(other, mark, f"{self.name}, line {at}")
            numbers = any(map(_is_number, other_cells[:1] if _are_signals(cells) else other_cells))
            if len(other_cells) != len(cells) or numbers or other_cells == cells:
                break
            levels.append(other_cells)
        else:
            if not ended and len(rows) <= MOST_LEVELS:
                return None
        heads, used, units = _combined(levels)
        heads = heads[:-1] if trailing else heads
        end = rows[used][0] if used < len(rows) else seen[-1][0] + 1
        comments = [x for x in seen if x[0] < end and x[1].startswith(COMMENT)]
        stated, comments = self._comment_units(comments, mark, len(heads))
        both = [
            self._one_unit(f"column {x!r} is in", below, "by the line of units", comment)
            for x, below, comment in zip(heads, [*units, None], stated, strict=False)
        ]
        return _Head(line, tuple(heads), mark, trailing, rows[used:], tuple(both), comments)

    def _comment_names(
        self, comments: Lines, mark: str, width: int
    ) -> tuple[int, tuple[str, ...]] | None:
        """The last comment above rows of numbers that has as many names as these, not units."""
        for at, comment in reversed(comments):
            heads = _comment_cells(comment, mark)
            if UNITS_LINE.fullmatch(comment) or all(_is_unit(x) for x in heads):
                continue
            fits = len(heads) == width and not any(map(_is_number, heads))
            return (at, tuple(heads)) if fits and self._any_named(heads) else None
        return None

    def _any_named(self, heads: Sequence[str]) -> bool:
        """Whether a comment can name the columns of rows that need no names."""
        joints = self.request.names("q")
        by_hand = bool(self.request.columns) or not self.request.unnamed
        return by_hand or any(meanings(x, joints) for x in heads)

    def _comment_units(
        self, comments: Lines, mark: str, width: int
    ) -> tuple[tuple[Unit | None, ...], Lines]:
        """Units of the columns that comments state, in their order, and the other comments."""
        others: list[tuple[int, str]] = []
        found: tuple[Unit | None, ...] = (None,) * width
        for at, comment in comments:
            match = UNITS_LINE.fullmatch(comment)
            text = match[1] if match else comment
            for sign in dict.fromkeys((mark, ",", ";", "\t", " ")):
                cells = _comment_cells(text, sign)
                if len(cells) == width and all(map(_is_unit, cells)):
                    units = [_unit_cell(x) for x in cells]
                    found = tuple(
                        self._one_unit(f"column {k} is in", x, f"by the comment of line {at}", y)
                        for k, (y, x) in enumerate(zip(found, units, strict=True), 1)
                    )
                    break
            else:
                others.append((at, comment))
                if match and text.strip("# \t.").casefold() not in ("si", "si units"):
                    raise ParseError(
                        f"{self.name}, line {at}: {comment[:60]!r} does not state a unit for every "
                        f"column; expected {width}, in the order of the columns, with - for none."
                    )
        return found, others

    def _one_unit(
        self, subject: str, new: Unit | None, source: str, comment: Unit | None
    ) -> Unit | None:
        """The unit of a column by a source and by the comments before it."""
        if new is not None and comment is not None and not new.same(comment):
            raise ParseError(
                f"{self.name}: {subject} {new} {source} and in {comment} by a comment; expected "
                "one unit."
            )
        return new if new is not None else comment

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
                f"{listing(heads, MAX_NAMES)}."
            )
        return cells

    def _block(self, rows: Lines) -> Block:
        layout, used = self.layout, self.layout.numeric
        position = {k: x for x, k in enumerate(used)}
        exact = layout.clock is not None and self._counts_from_first(layout.clock, rows[0])
        table = None if exact or self._labels else self._fast(rows, used)
        values: dict[str, Array] = {}
        if table is None:
            cells = [self._cells(row) for row in rows]
            self._check_labels(rows, cells)
            table = np.array(
                [
                    self._numbers(row, row_cells, used)
                    for row, row_cells in zip(rows, cells, strict=True)
                ]
            )
            if layout.clock is not None and exact:
                values["t"] = self._exact_times(layout.clock, rows, cells)
        if layout.clock is not None and not exact:
            t = table[:, position[layout.clock.column]]
            values["t"] = layout.clock.in_seconds(t)
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
        where = f"{self.name}, line {row[0]}"
        return [_number(cells[k], self.layout.heads[k], where) for k in used]

    def _check_labels(self, rows: Lines, cells: Sequence[Sequence[str]]) -> None:
        """Refuse a row that names other joints than the first, or in another order."""
        for (line, _), texts in zip(rows, cells, strict=True):
            for k, label in zip(self.layout.labels, self._labels, strict=True):
                if texts[k].strip() != label:
                    raise ParseError(
                        f"{self.name}, line {line}: {self.layout.heads[k]!r} is {_shown(texts[k])} "
                        f"and was {_shown(label)} in the first row; expected the same joints in "
                        "every row."
                    )

    def _counts_from_first(self, clock: Clock, row: tuple[int, str]) -> bool:
        """Whether times are counted from the first, which is checked; note a conversion."""
        if self._is_counted is None:
            head = self.layout.heads[clock.column]
            first = _number(self._cells(row)[clock.column], head, f"{self.name}, line {row[0]}")
            check_first(clock, head, first, self.request, self.where)
            self._is_counted = clock.counts_from(first)
            self.notes += [] if clock.exact else seconds_note(clock, head)
        return self._is_counted

    def _exact_times(self, clock: Clock, rows: Lines, cells: Sequence[Sequence[str]]) -> Array:
        """Times counted from the first, from decimals that are too long for a float."""
        times: list[Decimal] = []
        for (line, _), texts in zip(rows, cells, strict=True):
            try:
                value = Decimal(texts[clock.column].strip()) * clock.seconds / clock.per_second
                if clock.nanoseconds is not None:
                    fine = Decimal(texts[clock.nanoseconds].strip())
                    if value % 1 or fine % 1 or not 0 <= fine < 10**9:
                        raise ParseError(f"{self.name}, line {line}: {STAMP}")
                    value += fine / 10**9
            except InvalidOperation:
                raise ParseError(
                    f"{self.name}, line {line}: {_shown(texts[clock.column])} is not a time."
                ) from None
            if not abs(value) < LATEST:  # true for nan; a longer text than a time takes memory
                raise ParseError(
                    f"{self.name}, line {line}: {_shown(texts[clock.column])} is not a time in "
                    f"{clock.unit}."
                )
            times.append(value)
        if self._start is None:
            self._start = times[0]
            self.notes.append(f"times are counted from the first, {times[0]:f} s")
        start = self._start
        return np.array([float(x - start) for x in times])


def separator(line: str, where: str) -> str:
    """The sign between the columns of a first line: comma, semicolon, tab, or blanks."""
    bare = re.sub(r'"[^"]*"', "", line)
    marks = [x for x in (",", ";", "\t") if x in bare]
    if len(marks) > 1:
        words = {",": "commas", ";": "semicolons", "\t": "tabs"}
        raise ParseError(
            f"{where}: {' and '.join(words[x] for x in marks)} in one line; expected one kind "
            "between the columns, names with such signs in quotes, and 0.5 for 0,5."
        )
    if marks:
        return marks[0]
    return " " if re.search(r"\S\s+\S", bare) else ","


def split(text: str, mark: str, where: str) -> list[str]:
    """The cells of a line, without blanks at their ends."""
    if "\r" in text:
        raise ParseError(f"{where}: lines end with CR alone; expected LF or CRLF.")
    if '"' in text:
        if text.count('"') % 2:
            raise ParseError(f"{where}: a quotation mark is not closed.")
        try:
            reader = csv.reader([text.strip()], delimiter=mark, skipinitialspace=True)
            return [x.strip() for x in next(reader)]
        except csv.Error as error:
            raise ParseError(f"{where} is not a line of CSV: {error}.") from None
    return text.split() if mark == " " else [x.strip() for x in text.split(mark)]


def _comment_cells(text: str, mark: str) -> list[str]:
    """The cells of a comment that may name columns or units; [] for prose that has none."""
    try:
        return split(text.strip("# \t"), mark, "")
    except ParseError:
        return []


def _combined(
    levels: Sequence[Sequence[str]],
) -> tuple[list[str], int, Sequence[Unit | None]]:
    """The names of columns from one line or several, the number of lines, and a line of units.

    Two levels of pandas are joined with a slash; a line below them that has only its first cell is
    the name of the index.
    """
    first, others, bare = list(levels[0]), levels[1:], [None] * len(levels[0])
    if others and all(map(_is_unit, others[0])) and any(map(_unit_cell, others[0])):
        return first, 2, [_unit_cell(x) for x in others[0]]
    repeated = len({x for x in first[1:] if x}) < len(first[1:]) or not first[0]
    index = next((k for k, x in enumerate(others) if x[0] and not any(x[1:])), None)
    if not others or not (repeated or index is not None or _are_signals(first)):
        return first, 1, bare
    depth = 2 if index is None else index + 1
    swapped = first[0] == "joint"
    joined = [
        joined_levels([x for x in column_levels if x], swapped)
        for column_levels in zip(*levels[:depth], strict=True)
    ]
    if index is not None:
        joined[0] = others[index][0]
        return joined, index + 2, bare
    return joined, depth, bare


def _unit_cell(text: str) -> Unit | None:
    """The unit in a cell, perhaps in brackets; None if it states none."""
    return unit_of(text.strip("[](){}"))


def _is_unit(text: str) -> bool:
    """Whether a cell of a line of units states a unit, or that there is none."""
    return text in ("", "-", "--") or _unit_cell(text) is not None


def _are_signals(cells: Sequence[str]) -> bool:
    """Whether a line of names is the upper of two levels, as kinetree's data frames have it."""
    return len(cells) > 1 and set(cells[1:]) <= set(SIGNALS) and cells[0] not in SIGNALS


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(cell: str) -> str:
    """A cell in a message, shortened."""
    return repr(cell if len(cell) <= LONGEST_SHOWN else f"{cell[:LONGEST_SHOWN]}...")


def _number(text: str, head: str, where: str) -> float:
    try:
        value = float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        hint = ""
        if "," in text:
            hint = " Decimal commas and thousands separators are not read: write 0.5 for 0,5."
        thing = _shown(text) if text else "empty"
        raise ParseError(f"{where}: {head!r} is {thing}; expected a number.{hint}")
    if not np.isfinite(value):
        raise ParseError(
            f"{where}: {head!r} is {text.strip()[:LONGEST_SHOWN]}; expected a finite number."
        )
    return value


def _lines(stream: BinaryIO, name: str) -> Iterator[Lines]:
    """Numbered lines that are not blank; a block ends where the stream paused or a chunk ended."""
    line, rows = 0, 0
    for texts in line_blocks(stream, name):
        numbered = [(line + k, x) for k, x in enumerate(texts, 1) if x and not x.isspace()]
        line += len(texts)
        rows += sum(1 for _, x in numbered if not x.startswith(COMMENT))
        if line - rows > MOST_COMMENTS + COMMENTS_PER_ROW * rows:
            raise ParseError(
                f"{name}, line {line}: {line - rows:,} lines of comments and blank lines, and "
                f"{counted(rows, 'other line')}; at most {MOST_COMMENTS:,} and {COMMENTS_PER_ROW} "
                "for every row are read. Remove them."
            )
        yield numbered


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
