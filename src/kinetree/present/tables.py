"""Tables and numbers as text, in every format that results are shown in.

Numbers: `page_number` (typographic, for HTML pages), `latex_number`. Tables: `Column`, numbers with
their units; `Table`, with a title and notes, whose `lines` fit a screen; below it `text_table`,
`markdown_table` and `html_table`. `plain` makes JSON of any result. LaTeX for notebooks: `matrix`,
`formulas`.

A table's cells are texts, numbers or symbols; everything that a name from a file could mark up in
HTML or Markdown is escaped here.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, cast
from unicodedata import east_asian_width

import numpy as np

from kinetree.core.arrays import ArrayLike
from kinetree.core.text import Cell, number
from kinetree.errors import visible
from kinetree.scalars import Scalar

MAX_ROWS = 40  # rows of a notebook's table that are shown
MAX_ENTRIES = 16  # rows or columns of a matrix that are written out
GAP = 2  # blanks between two columns of a table on a screen
ALIGNED = (' style="text-align:left"', ' style="text-align:right"')  # for pages without our CSS
NUMBER_CLASS = ("", ' class="n"')  # for pages with our CSS, which aligns the class "n"


def page_number(x: Scalar, digits: int = 4) -> str:
    """A number for an HTML page: a true minus sign, ∞ for no limit, – for NaN."""
    x = float(x)
    if isnan(x):
        return "–"
    if not isfinite(x):
        return "∞" if x > 0 else "−∞"
    return number(x, digits).replace("-", "−")


def latex_number(x: Cell) -> str:
    """A number or symbol in LaTeX."""
    if hasattr(x, "free_symbols") and x.free_symbols:  # type: ignore[union-attr]
        from sympy import latex

        return str(latex(x))
    mantissa, _, exponent = number(x).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers or texts under one heading, with their units.

    Args:
        head: the heading.
        cells: numbers, symbols or texts.
        unit: of all cells, or one of each; "" and "1" are no unit.
        digits: of a number.
        left: texts are aligned at the left.
    """

    head: str
    cells: Iterable[Cell]
    unit: str | Sequence[str] = ""
    digits: int = 4
    left: bool = False

    def texts(self) -> tuple[str, list[str]]:
        """Heading and cells; the unit is in the heading if all share it, else beside each."""
        cells = [number(x, self.digits) for x in self.cells]
        given = [self.unit] * len(cells) if isinstance(self.unit, str) else self.unit
        units = ["" if x == "1" else x for x in given]
        if len({unit for unit, cell in zip(units, cells, strict=True) if cell != "-"}) <= 1:
            unit = max(units, default="")
            return f"{self.head}, {unit}" if unit else self.head, cells
        longest = max(map(len, units))
        units = [unit if cell != "-" else "" for unit, cell in zip(units, cells, strict=True)]
        return self.head, [
            f"{cell} {unit:<{longest}}" for cell, unit in zip(cells, units, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows under the names of their columns, in every form that results are shown in.

    Args:
        title: above the table.
        head: names of the columns; units stand in them, as in "force, N m".
        rows: cells: texts, numbers or symbols.
        text: number of columns that hold texts; the columns after them hold numbers.
        notes: sentences below the table.
        left: columns of texts, where they are not the first ones.
    """

    title: str
    head: Sequence[str] = ()
    rows: Iterable[Sequence[Cell]] = ()
    text: int = 1
    notes: Iterable[str] = ()
    left: Sequence[int] | None = None

    @classmethod
    def of(cls, title: str, columns: Sequence[Column], notes: Iterable[str] = ()) -> "Table":
        """A table of columns with units; the first one has the names of the rows."""
        heads, cells = zip(*(x.texts() for x in columns), strict=True)
        left = [k for k, x in enumerate(columns) if x.left or not k]
        return cls(title, heads, list(zip(*cells, strict=True)), 1, notes, left)

    def lines(self, width: int) -> Iterator[str]:
        """The title, and the rows below a rule, in lines of at most `width` where that is possible.

        Headings have their unit in a line of its own. A table that is too wide is broken into
        groups of columns, each with the names of the rows; its title is repeated.
        """
        left = range(self.text) if self.left is None else self.left
        columns = [
            _column(head, [visible(number(cell), "") for cell in cells], k in left)
            for k, (head, *cells) in enumerate(zip(self.head, *self.rows, strict=True))
        ]
        for k, group in enumerate(_groups([_width(head[-1]) for head, _ in columns], width)):
            if k:
                yield ""
            if self.title:
                yield visible(f"{self.title}, continued" if k else self.title, "")
            height = max(len(columns[j][0]) for j in group)
            parts = [
                _aligned([*[""] * (height - len(head)), *head, *cells], j in left)
                for j, (head, cells) in ((j, columns[j]) for j in group)
            ]
            rows = [(" " * GAP).join(row).rstrip() for row in zip(*parts, strict=True)]
            yield from rows[:height]
            yield "─" * (sum(_width(part[0]) + GAP for part in parts) - GAP)
            yield from rows[height:]

    def html(self) -> str:
        """HTML for a notebook: the title, at most 40 rows, and the notes."""
        rows = list(self.rows)
        lines = [f"<div><b>{escape(self.title)}</b>"]
        if rows:
            lines.append(html_table(self.head, rows[:MAX_ROWS], text=self.text, marks=ALIGNED))
        if len(rows) > MAX_ROWS:
            lines.append(f"<p>... and {len(rows) - MAX_ROWS} more rows</p>")
        lines += [f"<p>{escape(note)}</p>" for note in self.notes]
        return "\n".join([*lines, "</div>"])

    def __str__(self) -> str:
        cells = [[number(x) for x in row] for row in self.rows]
        return "\n".join([self.title, *text_table([self.head, *cells]), *self.notes])

    def plain(self) -> list[dict[str, Any]]:
        """An object for each row, for JSON: numbers in full."""
        return [plain(dict(zip(self.head, row, strict=True))) for row in self.rows]


def _width(text: str) -> int:
    """Cells of a terminal that a text takes."""
    return len(text) + sum(east_asian_width(c) in "WF" for c in text)


def _aligned(lines: Sequence[str], left: bool) -> list[str]:
    """Lines of one column, padded to its width."""
    most = max(map(_width, lines), default=0)
    pads = [" " * (most - _width(x)) for x in lines]
    return [x + pad if left else pad + x for x, pad in zip(lines, pads, strict=True)]


def _column(head: str, cells: Sequence[str], left: bool) -> tuple[list[str], list[str]]:
    """The lines of a heading, of words and of its unit, and the cells, of one width each."""
    words, _, unit = visible(head).rpartition(", ") if ", " in head else (visible(head), "", "")
    broken = words.split("\n")
    if not left:  # a heading of words above narrow numbers is broken
        most = max(5, *map(_width, (*cells, *words.split())))
        broken = [line for word in broken for line in textwrap.wrap(word, most) or [""]]
    lines = _aligned([*broken, *([unit] if unit else []), *cells], left)
    count = len(lines) - len(cells)
    return lines[:count], lines[count:]


def _groups(widths: Sequence[int], width: int) -> list[list[int]]:
    """Numbers of the columns of every group, which fits `width`; column 0 begins each of them."""
    groups, used = [[0]], widths[0] if widths else 0
    for k in range(1, len(widths)):
        if used + GAP + widths[k] > width and len(groups[-1]) > 1:
            groups.append([0])
            used = widths[0]
        groups[-1].append(k)
        used += GAP + widths[k]
    return groups


def plain(value: Any) -> Any:
    """A result as JSON has it: arrays as lists; NaN and infinity, which JSON lacks, as null."""
    if isinstance(value, np.ndarray | np.generic):
        listed: Any = value.tolist()
        quick = value.dtype.kind == "f" and bool(np.isfinite(value).all())
        return listed if quick else plain(listed)
    if isinstance(value, Mapping):
        return {str(key): plain(x) for key, x in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in cast("Sequence[Any]", value)]
    return None if isinstance(value, float) and not isfinite(value) else value


def text_table(lines: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Lines of plain text with aligned columns: the first to the left, the others to the right."""
    lines = [[visible(cell, "") for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        gap.join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in lines
    ]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, padded so that it reads well as text too; the last column is ragged."""
    texts = [[markdown_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    widths[-1] = len(head[-1])  # the last column may be long
    lines = [head, ["-" * width for width in widths], *texts]
    return "\n".join(
        "| " + " | ".join(x.ljust(width) for x, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def markdown_text(text: str) -> str:
    """Text, such as a name from a file, as plain words of Markdown on one line.

    Everything that could mark up is escaped: code, emphasis, HTML, links, ends of cells. Brackets
    and underscores inside words, as in m[link_1], mark nothing and stay readable.
    """
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+", " ", text)
    text = re.sub(r"([\\`*<>|&#~$])", r"\\\1", text)
    text = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)
    return re.sub(r"\](?=[(:\[])", r"]\\", text)


def escape(text: str) -> str:
    """`text` for HTML and SVG: no markup, and characters that a reader does not see as escapes."""
    import html  # here, since it is for pages

    return html.escape(visible(text))


def html_table(
    head: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    text: int = 1,
    marks: tuple[str, str] = NUMBER_CLASS,
    caption: str = "",
    css: str = "",
) -> str:
    """A `<table>`; all texts in it are escaped.

    Args:
        head: names of the columns.
        rows: cells: texts, numbers or symbols.
        text: number of columns that hold texts; the columns after them hold numbers.
        marks: attributes of the cells with texts and of those with numbers.
        caption: text of a caption; none if empty.
        css: classes of the table.
    """
    kinds = [marks[k >= text] for k in range(len(head))]
    lines = [f'<table class="{css}">' if css else "<table>"]
    if caption:
        lines.append(f"<caption>{escape(caption)}</caption>")
    lines.append(f"<thead><tr>{_cells('th', head, kinds)}</tr></thead><tbody>")
    lines += [f"<tr>{_cells('td', row, kinds)}</tr>" for row in rows]
    return "\n".join([*lines, "</tbody></table>"])


def _cells(tag: str, cells: Sequence[Cell], kinds: Sequence[str]) -> str:
    pairs = zip(cells, kinds, strict=True)
    return "".join(f"<{tag}{kind}>{escape(number(cell))}</{tag}>" for cell, kind in pairs)


def matrix(name: str, value: ArrayLike) -> str:
    """`name = [...]` in LaTeX, of a matrix or a vector (a column); large ones by their shape."""
    x = np.asarray(value)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or max(x.shape, default=0) > MAX_ENTRIES:
        shape = r" \times ".join(map(str, x.shape))
        return rf"{name} \in \mathbb{{R}}^{{{shape}}}"
    rows = r" \\ ".join(" & ".join(latex_number(entry) for entry in row) for row in x)
    return rf"{name} = \begin{{bmatrix}} {rows} \end{{bmatrix}}"


def formulas(*lines: str) -> str:
    """LaTeX formulas, one below the other, as a notebook shows them."""
    return "\n\n".join(rf"$\displaystyle {line}$" for line in lines)
