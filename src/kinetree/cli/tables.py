"""Tables on a terminal: they fit its width, and every number has a unit.

A table that is too wide is broken into groups of columns, and the names of its rows are repeated
in every group; no number and no name is cut or wrapped unless it alone is wider than the screen.
A unit stands in the heading if all numbers of a column share it, else beside each number.

Numbers that are rounding alone are shown as 0. `clear_rounding` takes the size below which a
number cannot be told from a rounding error of its computation; JSON and CSV keep every bit.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.tables import number
from kinetree.errors import visible

MANY_ROWS = 200  # above which a table is made without rich
GAP = 2  # blanks between two columns of a table
NO_UNIT = "1"  # of a pure number, such as an entry of a quaternion
TURN, SLIDE = "turn", "slide"
# units of a matrix entry, by what its row and its column do
MATRIX_UNITS = {
    "M": {(TURN, TURN): "kg m^2", (TURN, SLIDE): "kg m", (SLIDE, SLIDE): "kg"},
    "C": {(TURN, TURN): "kg m^2/s", (TURN, SLIDE): "kg m/s", (SLIDE, SLIDE): "kg/s"},
}

Cell = str | Text


class Terminal(Console):
    """A console of rich that shows control characters of names as escapes.

    Names come from files of others: a control character could move the cursor or hide text.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does. Texts are escaped before rich removes some characters from them."""
        super().print(*(visible(x) if isinstance(x, str) else x for x in objects), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with escapes in the texts of tables and other renderables."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


def console() -> Terminal:
    """Standard output; names are printed as they are, with escapes, and never as markup.

    rich leaves colours out if the output is not a terminal or NO_COLOR is set.
    """
    return Terminal(markup=False, highlight=False, emoji=False)


def screen_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    left: Sequence[int] = (0,),
    width: int | None = None,
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
        if k:
            parts.append(Text())
        if title:
            parts.append(Text(title if k == 0 else f"{title}, continued", style="bold"))
        parts.append(_table(heads, rows, left, group))
    return Group(*parts)


def column_table(
    title: str, columns: Sequence[tuple[str, Sequence[Cell]]], left: Sequence[int] = (0,)
) -> Group:
    """A table of columns, each with its heading and its cells; see `screen_table`."""
    heads, cells = zip(*columns, strict=True)
    return screen_table(title, heads, list(zip(*cells, strict=True)), left)


def fits(heads: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> bool:
    """Return True if the table needs no breaking."""
    widths = widths_of(heads, rows)
    return sum(widths) + GAP * (len(widths) - 1) <= width


def widths_of(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """The width of every column: of its widest cell or line of the heading."""
    lines = [
        [head.split("\n"), *([_plain(row[k])] for row in rows)] for k, head in enumerate(heads)
    ]
    return [max(cell_len(x) for cell in column for x in cell) for column in lines]


def _plain(cell: Cell) -> str:
    return cell.plain if isinstance(cell, Text) else cell


def column_groups(widths: Sequence[int], width: int) -> list[list[int]]:
    """Numbers of the columns of every group; column 0 begins each of them.

    There are as few groups as possible, and none is much wider than the others: the last one is
    never a single column if that can be avoided.
    """
    room = width - widths[0] if widths else 0
    filled = _fill(widths, room)
    for narrower in range(1, max(room, 1)):  # the narrowest room that needs no further group
        if len(_fill(widths, narrower)) == len(filled) and max(widths[1:], default=0) <= narrower:
            return _fill(widths, narrower)
    return filled


def _fill(widths: Sequence[int], room: int) -> list[list[int]]:
    """Put columns into groups from the left; a group takes what fits beside column 0."""
    groups: list[list[int]] = [[0]]
    used = 0
    for k in range(1, len(widths)):
        if used + GAP + widths[k] > room and len(groups[-1]) > 1:
            groups.append([0])
            used = 0
        groups[-1].append(k)
        used += GAP + widths[k]
    return groups


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: Sequence[int], shown: Sequence[int]
) -> Table | Text:
    if len(rows) > MANY_ROWS:
        made_at_once = plain_table(heads, rows, left, shown)
        if made_at_once is not None:
            return made_at_once
    return rich_table(heads, rows, left, shown)


def plain_table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: Sequence[int], shown: Sequence[int]
) -> Text | None:
    """The text of `rich_table`, made at once; None if a cell has a style or needs to be folded.

    rich takes a millisecond a row.
    """
    cells: list[list[str]] = []
    for row in rows:
        cells.append([x for k in shown if isinstance(x := row[k], str)])
    if any(len(row) != len(shown) for row in cells):
        return None
    widths = widths_of(heads, rows)
    chosen = [widths[k] for k in shown]
    width = sum(chosen) + GAP * (len(chosen) - 1)
    if width > console().width:
        return None
    sides = [k in left for k in shown]

    def line(texts: Sequence[str]) -> str:
        padded: list[str] = []
        for text, size, is_left in zip(texts, chosen, sides, strict=True):
            blanks = " " * (size - cell_len(text))
            padded.append(text + blanks if is_left else blanks + text)
        return (" " * GAP).join(padded)

    lines = [heads[k].split("\n") for k in shown]
    high = max(map(len, lines))
    table = [["", *x] if len(x) < high else x for x in lines] if high == 2 else lines
    head = [line([x[k] if k < len(x) else "" for x in table]) for k in range(high)]
    table_head = Text("\n".join(head), style="bold", no_wrap=True)
    body = ["\u2500" * width, *map(line, cells)]
    return Text("", no_wrap=True).append_text(table_head).append("\n" + "\n".join(body))


def rich_table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: Sequence[int], shown: Sequence[int]
) -> Table:
    """A table with a rule below the headings, the columns `shown`."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
        header_style="bold",
    )  # fmt: skip
    widths = widths_of(heads, rows)
    for k in shown:
        lines = heads[k].split("\n")
        head = heads[k] if k in left else "\n".join(x.rjust(widths[k]) for x in lines)
        table.add_column(Text(head), overflow="fold")
    for row in rows:
        table.add_row(*(_aligned(row[k], 0 if k in left else widths[k]) for k in shown))
    return table


def _aligned(cell: Cell, width: int) -> Text:
    """The cell moved to the right; rich's own justification would strip blanks after a unit."""
    text = Text(cell) if isinstance(cell, str) else cell.copy()
    text.pad_left(max(width - text.cell_len, 0))
    return text


def unit_column(head: str, texts: Sequence[str], units: Sequence[str]) -> tuple[str, list[str]]:
    """Heading and cells of a column; the unit is in the heading if all cells share it.

    Units beside the numbers are padded, so that the numbers stay aligned.
    """
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
    letter: str,
    title: str,
    names: Sequence[str],
    sliding: Sequence[bool],
    matrix: Array,
    width: int,
    digits: int = 5,
) -> Iterator[Group]:
    """A square matrix with joint names beside the rows, its columns in groups that fit `width`.

    letter: "M" or "C", which have units. sliding: whether each entry of dq is in m/s.
    """
    kinds = [SLIDE if x else TURN for x in sliding]
    units = MATRIX_UNITS[letter]
    unit = units[kinds[0], kinds[0]] if len(set(kinds)) == 1 else ""
    n, label = len(names), [f"{k} {visible(name, '')}" for k, name in enumerate(names, 1)]
    cells = [[number(x, digits) for x in row] for row in matrix.tolist()]
    heads = ["", *(str(k) for k in range(1, n + 1))]
    rows = [[label[i], *cells[i]] for i in range(n)]
    groups = column_groups(widths_of(heads, rows), width)
    heading = f"{title}, {unit}" if unit else title
    legend: list[Text] = []
    if not unit:
        which = ", ".join(str(k) for k, kind in enumerate(kinds, 1) if kind == SLIDE)
        legend = [
            Text(
                f"{units[TURN, TURN]}; rows and columns of sliding joints ({which}): "
                f"{units[TURN, SLIDE]}; where both slide: {units[SLIDE, SLIDE]}"
            )
        ]
    for group in groups:
        columns = f", columns {group[1]} to {group[-1]}" if len(groups) > 1 else ""
        head = Text(f"{heading}{columns}", style="bold")
        yield Group(head, *legend, _table(heads, rows, (0,), group))
        heading, legend = letter if not unit else f"{letter}, {unit}", []
