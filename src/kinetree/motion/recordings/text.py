"""Text tables (CSV), read in blocks, so that only numbers stay in memory.

Columns are separated by commas, semicolons, tabs or blanks, whichever the first line has. The first
line names the columns, or is a row of numbers itself; the last comment above such rows may name
their columns. Other lines that begin with # are prose.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any

import numpy as np

from kinetree.core.text import clip, counted
from kinetree.errors import ParseError, argument
from kinetree.motion.recordings.sizes import check_columns, check_numbers

BLOCK = 1 << 12  # rows whose cells are texts at one time
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
        self._at = list[int]()  # numbers of the lines of all rows

    def row(self, k: int) -> str:
        """The k-th sample as messages name it."""
        return f"{self.name}, line {self._at[k]}"

    def read(self, used: Sequence[int], exact: Sequence[int]) -> dict[int, Any]:
        """Numbers of columns, (T,), or texts of those in `exact`, which must be numbers too."""
        every = [*dict.fromkeys([*used, *exact])]
        blocks: dict[int, list[Any]] = {k: [] for k in every}
        rows = (
            (at, self._cells(at, text)) for at, text in self._lines if not self._prose(at, text)
        )
        while block := list(islice(rows, BLOCK)):
            self._at += [at for at, _ in block]
            check_numbers(8 * len(every) * len(self._at), self.name)
            for k in every:
                cells = [row[k] for _, row in block]
                x = self._floats(cells, k, len(self._at) - len(block))
                blocks[k].append(cells if k in exact else x)
        if not self._at:
            raise ParseError(f"{self.name} has no row of numbers after its names.")
        return {k: list(chain(*x)) if k in exact else np.concatenate(x) for k, x in blocks.items()}

    def _floats(self, cells: Sequence[str], column: int, first: int) -> Any:
        """Cells of a column as numbers; ParseError for the first that is not a finite one."""
        text = "".join(cells)
        if "_" not in text and text.isascii():  # which float() would take for digits
            try:
                x = np.array([float(cell) for cell in cells])
            except ValueError:
                x = np.full(1, np.nan)
            if np.isfinite(x).all():
                return x
        k = next(k for k, x in enumerate(cells) if not (_is_number(x) and np.isfinite(float(x))))
        head = self.heads[column] if self.heads else f"column {column + 1}"
        raise ParseError(
            f"{self.row(first + k)}: {head!r} is {clip(cells[k], 40)!r}; expected a finite number, "
            "such as 0.5."
        )

    def _read_head(self) -> tuple[int, Sequence[str] | None]:
        """The line of the names, and the names; None for rows without names."""
        comment: Line | None = None
        for at, text in self._lines:
            if self._prose(at, text):
                comment = at, text.strip("# \t")
            elif not SEPARATOR_LINE.fullmatch(text):
                self._mark, self.width = self._separator(at, text), 0
                heads = self._cells(at, text)
                self.width = len(heads)
                check_columns(self.width, f"{self.name}, line {at}")
                if not all(map(_is_number, filter(None, heads))):
                    return at, heads
                self._lines = chain([(at, text)], self._lines)
                return self._comment_names(comment) or (at, None)
        raise ParseError(f"{self.name} is empty; expected a line of names and lines of numbers.")

    def _comment_names(self, comment: Line | None) -> tuple[int, Sequence[str]] | None:
        """The names of columns in the last comment above rows of numbers, as NumPy writes them."""
        try:
            heads = self._cells(*comment) if comment else []
        except ParseError:
            return None
        return (comment[0], heads) if comment and not any(map(_is_number, heads)) else None

    def _separator(self, at: int, line: str) -> str:
        """The sign between the columns of a first line: comma, semicolon, tab, or blanks."""
        bare = re.sub(r'"[^"]*"', "", line)
        marks = [x for x in (",", ";", "\t") if x in bare]
        if len(marks) > 1:
            raise ParseError(
                f"{self.name}, line {at}: {' and '.join(map(repr, marks))} in one line; expected "
                "one kind between the columns, names with such signs in quotes, and 0.5 for 0,5."
            )
        return marks[0] if marks else " " if re.search(r"\S\s+\S", bare) else ","

    def _cells(self, at: int, text: str) -> list[str]:
        """The cells of a line; as many as there are names."""
        text = text if self._mark == "\t" else text.strip()
        text = " ".join(text.split()) if self._mark == " " else text
        try:
            (row,) = csv.reader([text], delimiter=self._mark, skipinitialspace=True, strict=True)
        except csv.Error as error:
            raise ParseError(f"{self.name}, line {at} is not a line of CSV: {error}.") from None
        if self.width and len(row) != self.width:
            raise ParseError(
                f"{self.name}, line {at}: {counted(len(row), 'column')}; expected {self.width}."
            )
        return [x.strip() for x in row]

    def _prose(self, at: int, text: str) -> bool:
        """Whether a line is a comment; one that states units for the columns is refused."""
        if UNITS_LINE.fullmatch(text):
            raise ParseError(
                f"{self.name}, line {at}: units in comments are not read; expected them in the "
                f"names of columns, as in q1 [deg], or in {argument('columns')}. Remove the line."
            )
        return text.startswith("#")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()


def _lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    """Numbered lines that are not blank."""
    at = 0
    while data := stream.readline(LONGEST + 1):
        at += 1
        if len(data) > LONGEST:
            raise ParseError(f"{name}, line {at} is longer than {LONGEST >> 20} MiB: no CSV file.")
        try:
            text = data.decode("utf-8-sig" if at == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise ParseError(
                f"{name}, line {at} is not text in UTF-8; expected a CSV file. A spreadsheet saves "
                "one as 'CSV UTF-8'."
            )
        if text and not text.isspace():
            yield at, text
