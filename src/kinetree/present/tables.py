"""Tables and numbers as text, in every format that results are shown in.

Numbers: `page_number` (typographic, for HTML pages), `short_number` (narrow columns),
`latex_number`. Tables: `Table`, with a title and notes, and below it `text_table`, `markdown_table`
and `html_table`. `plain` makes JSON of any result. LaTeX for notebooks: `matrix`, `formulas`.

A table's cells are texts, numbers or symbols; everything that a name from a file could mark up in
HTML or Markdown is escaped here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import ArrayLike
from kinetree.core.text import Cell, number
from kinetree.errors import visible
from kinetree.scalars import Scalar

MAX_ROWS = 40  # rows of a notebook's table that are shown
MAX_ENTRIES = 16  # rows or columns of a matrix that are written out
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


def short_number(x: float) -> str:
    """A number for a narrow column: two decimals below 10, one below 10,000; "-" for NaN."""
    if isnan(x):
        return "-"
    if abs(x) >= 9999.5:
        return f"{x:.3g}"
    return f"{x + 0.0:.{2 if abs(x) < 9.995 else 1}f}".replace("-0.00", "0.00")


def latex_number(x: Cell) -> str:
    """A number or symbol in LaTeX."""
    if hasattr(x, "free_symbols") and x.free_symbols:  # type: ignore[union-attr]
        from sympy import latex

        return str(latex(x))
    mantissa, _, exponent = number(x).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


@dataclass(frozen=True, eq=False)
class Table:
    """Rows under the names of their columns, in every form that results are shown in.

    Args:
        title: above the table.
        head: names of the columns; units stand in them, as in "force, N m".
        rows: cells: texts, numbers or symbols.
        text: number of columns that hold texts; the columns after them hold numbers.
        notes: sentences below the table.
    """

    title: str
    head: Sequence[str] = ()
    rows: Iterable[Sequence[Cell]] = ()
    text: int = 1
    notes: Iterable[str] = ()

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
