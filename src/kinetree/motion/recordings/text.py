"""Text tables (CSV), read in blocks, so that only numbers stay in memory.

Columns are separated by commas, semicolons, tabs or blanks, whichever the first line has. The first
line names the columns, or is a row of numbers itself if the request allows it; the last comment
above such rows may name their columns. Other lines that begin with # are prose.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any

import numpy as np

from kinetree.core.text import clip, counted, listing
from kinetree.errors import ParseError, argument
from kinetree.motion.recordings import MAX_NAMES
from kinetree.motion.recordings.sizes import check_columns, check_numbers

BLOCK = 1 << 12  # lines whose cells are texts at one time
LONGEST = 1 << 22  # bytes of one line
SEPARATOR_LINE = re.compile(r"(?i)\s*\"?sep=[,;|\t]\"?\s*")  # of Excel, above the names
UNITS_LINE = re.compile(r"(?i)#[#\s]*units\s*[:=].*")

Line = tuple[int, str]  # its number, and its text


class TextSource:
    """A Source of a text."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.name, self.notes = name, list[str]()
        self._lines = _lines(stream, name)
        at, self.heads = self._read_head()
        self.where = f"{name}, line {at}"
        self._numbers = np.zeros(0, int)  # of the lines of all rows

    def row(self, k: int) -> str:
        """The k-th sample as messages name it."""
        return f"{self.name}, line {self._numbers[k]}"

    def read(self, used: Sequence[int], exact: Sequence[int]) -> dict[int, Any]:
        """Numbers of columns, (T,), or texts of those in `exact`, which must be numbers too."""
        every = [*dict.fromkeys([*used, *exact])]
        blocks: dict[int, list[Any]] = {k: [] for k in every}
        numbers, count = list[int](), 0
        while lines := list(islice(self._lines, BLOCK)):
            rows = self._rows(lines)
            count += len(rows)
            check_numbers(8 * len(every) * count, self.name)
            numbers += [at for at, _ in rows]
            for k in every:
                cells = [(at, row[k]) for at, row in rows]
                x = self._floats(cells, k)
                blocks[k].append([cell for _, cell in cells] if k in exact else x)
        if not count:
            raise ParseError(f"{self.name} has a line of names and no row of numbers after it.")
        self._numbers = np.array(numbers)
        return {k: list(chain(*x)) if k in exact else np.concatenate(x) for k, x in blocks.items()}

    def _floats(self, cells: Sequence[Line], column: int) -> Any:
        """Cells of a column as numbers; ParseError for the first that is not a finite one."""
        try:
            x = np.array([float(cell) for _, cell in cells])
        except ValueError:
            x = np.full(1, np.nan)
        text = "".join(cell for _, cell in cells)
        if np.isfinite(x).all() and "_" not in text and text.isascii():
            return x
        at, cell = next(y for y in cells if not _is_number(y[1]) or not np.isfinite(float(y[1])))
        head = self.heads[column] if self.heads else f"column {column + 1}"
        raise ParseError(
            f"{self.name}, line {at}: {head!r} is {clip(cell, 40)!r}; expected a finite number, "
            "such as 0.5."
        )

    # ----- the first lines

    def _read_head(self) -> tuple[int, Sequence[str] | None]:
        """The line of the names, and the names; None for rows without names."""
        comment: Line | None = None
        for at, text in self._lines:
            if _is_comment(text, at, self.name):
                comment = at, text
            elif not SEPARATOR_LINE.fullmatch(text):
                self._mark = self._separator(text, at)
                heads = self._cells([(at, text)])[0][1]
                self.width = len(heads)
                check_columns(self.width, f"{self.name}, line {at}")
                if not all(map(_is_number, filter(None, heads))):
                    return at, heads
                self._lines = chain([(at, text)], self._lines)
                return self._comment_names(comment) or (at, None)
        raise ParseError(f"{self.name} is empty; expected a line of names and lines of numbers.")

    def _comment_names(self, comment: Line | None) -> tuple[int, Sequence[str]] | None:
        """The names of columns in the last comment above rows of numbers, as NumPy writes them."""
        if comment is None:
            return None
        try:
            heads = self._cells([(comment[0], comment[1].strip("# \t"))])[0][1]
        except ParseError:
            return None
        named = len(heads) == self.width and not any(map(_is_number, heads))
        return (comment[0], heads) if named else None

    def _separator(self, line: str, at: int) -> str:
        """The sign between the columns of a first line: comma, semicolon, tab, or blanks."""
        bare = re.sub(r'"[^"]*"', "", line)
        marks = [x for x in (",", ";", "\t") if x in bare]
        if len(marks) > 1:
            raise ParseError(
                f"{self.name}, line {at}: {' and '.join(map(repr, marks))} in one line; expected "
                "one kind between the columns, names with such signs in quotes, and 0.5 for 0,5."
            )
        return marks[0] if marks else " " if re.search(r"\S\s+\S", bare) else ","

    # ----- rows

    def _rows(self, lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
        """Rows of the table: numbers of lines and cells."""
        rows = self._cells([x for x in lines if not _is_comment(x[1], x[0], self.name)])
        for at, cells in rows:
            if len(cells) != self.width:
                raise ParseError(
                    f"{self.name}, line {at}: {counted(len(cells), 'column')}; expected "
                    f"{self.width}: {listing(self.heads or (), MAX_NAMES)}."
                )
        return rows

    def _cells(self, lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
        """Numbers of lines and cells."""
        texts = [x.strip() if self._mark != "\t" else x for _, x in lines]
        texts = [" ".join(x.split()) for x in texts] if self._mark == " " else texts
        reader = csv.reader(texts, delimiter=self._mark, skipinitialspace=True, strict=True)
        rows: list[tuple[int, list[str]]] = []
        after = 0
        try:
            for row in reader:
                rows.append((lines[after][0], [x.strip() for x in row]))
                after = reader.line_num
        except csv.Error as error:
            at = lines[min(after, len(lines) - 1)][0]
            raise ParseError(f"{self.name}, line {at} is not a line of CSV: {error}.") from None
        return rows


def _is_comment(text: str, at: int, name: str) -> bool:
    if UNITS_LINE.fullmatch(text):
        raise ParseError(
            f"{name}, line {at}: units in comments are not read; expected them in the names of "
            f"columns, as in q1 [deg], or in {argument('columns')}. Remove the line."
        )
    return text.startswith("#")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()  # which float() would take for digits


def _lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    """Numbered lines that are not blank."""
    at = 0
    while data := stream.readline(LONGEST + 1):
        at += 1
        if len(data) > LONGEST:
            raise ParseError(
                f"{name}, line {at} is longer than {LONGEST >> 20} MiB; expected rows of numbers, "
                "one a line. Is it a CSV file?"
            )
        try:
            text = data.decode("utf-8-sig" if at == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise ParseError(
                f"{name}, line {at} is not text in UTF-8; expected a CSV file. A spreadsheet saves "
                "one as 'CSV UTF-8'."
            ) from None
        if text and not text.isspace():
            yield at, text
