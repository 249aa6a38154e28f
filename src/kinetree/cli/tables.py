"""Tables on a terminal: they fit its width, and every number has a unit.

A table that is too wide is broken into groups of columns, and the names of its rows are repeated
in every group. A unit stands in the heading if all numbers of a column share it, else beside each
number. Numbers that are rounding alone are shown as 0: `clear_rounding` takes the size below which
a number cannot be told from a rounding error of its computation; JSON and CSV keep every bit.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kinetree.cli.terminal import Terminal
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.text import number
from kinetree.errors import visible

GAP = 2  # blanks between two columns of a table
NO_UNIT = "1"  # of a pure number, such as an entry of a quaternion
TURN, SLIDE = "turn", "slide"
# units of a matrix entry, by what its row and its column do
MATRIX_UNITS = {
    "M": {(TURN, TURN): "kg m^2", (TURN, SLIDE): "kg m", (SLIDE, SLIDE): "kg"},
    "C": {(TURN, TURN): "kg m^2/s", (TURN, SLIDE): "kg m/s", (SLIDE, SLIDE): "kg/s"},
}

Cell: TypeAlias = str | Text


def console() -> Terminal:
    """Standard output; names are printed as they are, with escapes, and never as markup."""
    return Terminal(markup=False, highlight=False, emoji=False)


def screen_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    left: Sequence[int] = (0,),
    width: int | None = None,
    legend: str = "",
) -> Group:
    """A table that fits `width`, by default that of the screen.

    heads: headings, of one or several lines each. left: columns that are aligned left, the others
    are aligned right. The first column is repeated where the table is broken.
    """
    width = console().width if width is None else width
    rows = [[visible(x, "") if isinstance(x, str) else x for x in row] for row in rows]
    if all(x.endswith("\n") or "\n" not in x for x in heads):  # all units are beside the numbers
        heads = [x.removesuffix("\n") for x in heads]
    parts: list[RenderableType] = []
    for k, group in enumerate(column_groups(widths_of(heads, rows), width)):
        parts += [Text()] if k else []
        if title:
            parts.append(Text(f"{title}, continued" if k else title, style="bold"))
        parts += [Text(legend)] if legend and not k else []
        parts.append(_table(heads, rows, left, group))
    return Group(*parts)


def column_table(
    title: str, columns: Sequence[tuple[str, Sequence[Cell]]], left: Sequence[int] = (0,)
) -> Group:
    """A table of columns, each with its heading and its cells; see `screen_table`."""
    heads, cells = zip(*columns, strict=True)
    return screen_table(title, heads, list(zip(*cells, strict=True)), left)


def widths_of(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """The width of every column: of its widest cell or line of the heading."""
    lines = [[*head.split("\n"), *(str(row[k]) for row in rows)] for k, head in enumerate(heads)]
    return [max(map(cell_len, column)) for column in lines]


def column_groups(widths: Sequence[int], width: int) -> list[list[int]]:
    """Numbers of the columns of every group, which fits `width`; column 0 begins each of them."""
    groups, used = [[0]], widths[0]
    for k in range(1, len(widths)):
        if used + GAP + widths[k] > width and len(groups[-1]) > 1:
            groups.append([0])
            used = widths[0]
        groups[-1].append(k)
        used += GAP + widths[k]
    return groups


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: Sequence[int], shown: Sequence[int]
) -> Table:
    """Some columns with a rule below the headings."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
        header_style="bold",
    )  # fmt: skip
    widths = widths_of(heads, rows)
    for k in shown:
        lines = [x if k in left else x.rjust(widths[k]) for x in heads[k].split("\n")]
        table.add_column(Text("\n".join(lines)), vertical="bottom", overflow="fold")
    for row in rows:
        cells = [x if isinstance(x, Text) else Text(x) for x in row]
        for k, cell in enumerate(cells):  # rich's own justification strips blanks after a unit
            cell.pad_left(0 if k in left else max(widths[k] - cell.cell_len, 0))
        table.add_row(*(cells[k] for k in shown))
    return table


def unit_column(head: str, texts: Sequence[str], units: Sequence[str]) -> tuple[str, list[str]]:
    """Heading and cells of a column; the unit is in the heading if all cells share it."""
    if len(set(units)) == 1:
        unit = "" if units[0] == NO_UNIT else units[0]
        return f"{head}\n{unit}", list(texts)
    plain = ["" if x == NO_UNIT else x for x in units]
    longest = max(map(len, plain))
    return f"{head}\n", [f"{a} {b:<{longest}}" for a, b in zip(texts, plain, strict=True)]


def aligned(rows: Sequence[Sequence[float]], digits: int) -> list[str]:
    """One text per row: its numbers side by side, in columns that are aligned over all rows."""
    texts = [[number(x, digits) for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in texts]


def clear_rounding(x: ArrayLike, size: ArrayLike) -> Array:
    """x with 0 for entries whose magnitude is at most `size` (one number, or one per entry).

    NaN stays, as an entry and as a size.
    """
    x = np.asarray(x, float)
    return np.where(np.abs(x) <= size, 0.0, x)


def matrix_tables(
    letter: str, title: str, names: Sequence[str], sliding: Sequence[bool], matrix: Array
) -> Iterator[Group]:
    """A square matrix with joint names beside the rows, its columns in groups that fit the screen.

    letter: "M" or "C", which have units. sliding: whether each entry of dq is in m/s.
    """
    kinds = [SLIDE if x else TURN for x in sliding]
    units = MATRIX_UNITS[letter]
    cells = [[number(x, 5) for x in row] for row in matrix.tolist()]
    heads = ["", *(str(k) for k in range(1, len(names) + 1))]
    rows = [
        [f"{k} {name}", *row] for k, (name, row) in enumerate(zip(names, cells, strict=True), 1)
    ]
    if len(set(kinds)) == 1:
        yield screen_table(f"{title}, {units[kinds[0], kinds[0]]}", heads, rows)
        return
    which = ", ".join(str(k) for k, kind in enumerate(kinds, 1) if kind == SLIDE)
    legend = (
        f"{units[TURN, TURN]}; rows and columns of sliding joints ({which}): "
        f"{units[TURN, SLIDE]}; where both slide: {units[SLIDE, SLIDE]}"
    )
    yield screen_table(title, heads, rows, legend=legend)
