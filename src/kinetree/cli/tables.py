"""Tables on a terminal: they fit its width, and every number has a unit.

A table that is too wide is broken into groups of columns, and the names of its rows are repeated
in every group; no number and no name is cut or wrapped unless it alone is wider than the screen.
A unit stands in the heading if all numbers of a column share it, else beside each number.

A pipe or a file gets plain text without colours, which takes no rich: rich takes 25 ms to import
(`kinetree.cli.terminal`) and prints what has colours, what must be folded, and everything else.

Numbers that are rounding alone are shown as 0. `clear_rounding` takes the size below which a
number cannot be told from a rounding error of its computation; JSON and CSV keep every bit.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.tables import number
from kinetree.errors import visible

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

MANY_ROWS = 200  # above which a table is made at once; rich takes a millisecond a row
GAP = 2  # blanks between two columns of a table
NO_UNIT = "1"  # of a pure number, such as an entry of a quaternion
TURN, SLIDE = "turn", "slide"
# units of a matrix entry, by what its row and its column do
MATRIX_UNITS = {
    "M": {(TURN, TURN): "kg m^2", (TURN, SLIDE): "kg m", (SLIDE, SLIDE): "kg"},
    "C": {(TURN, TURN): "kg m^2/s", (TURN, SLIDE): "kg m/s", (SLIDE, SLIDE): "kg/s"},
}

FORCING = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables that make rich colour a pipe
DEFAULT_WIDTH = 80

Cell: TypeAlias = "str | Text"


class Screen(Protocol):
    """Standard output, of which tables and paragraphs ask the width."""

    @property
    def width(self) -> int:
        """Characters of a line."""
        ...

    def print(self, *objects: Any, style: str | None = None, soft_wrap: bool = False) -> None:
        """Print a table, another renderable of rich, or a text, which is wrapped by default."""
        ...


class Pipe:
    """Standard output that is no terminal: the text that rich would print, without rich."""

    @property
    def width(self) -> int:
        """The width of a terminal that another stream has, as rich takes it, else 80."""
        columns = os.environ.get("COLUMNS", "")
        if columns.isdigit():
            return int(columns) or DEFAULT_WIDTH
        for stream in range(3):
            try:
                return os.get_terminal_size(stream).columns or DEFAULT_WIDTH
            except OSError:
                continue
        return DEFAULT_WIDTH

    def print(self, *objects: Any, style: str | None = None, soft_wrap: bool = False) -> None:
        """Print as rich does; what is not a text or a table that fits is left to rich."""
        text = self._text(objects, soft_wrap)
        if text is None:
            from kinetree.cli.terminal import standard_output

            standard_output().print(*objects, style=style, soft_wrap=soft_wrap)
        else:
            sys.stdout.write(text + "\n")

    def _text(self, objects: Sequence[Any], soft_wrap: bool) -> str | None:
        if not objects:
            return ""
        if len(objects) == 1 and isinstance(objects[0], Blocks):
            return objects[0].text(self.width)
        if len(objects) == 1 and isinstance(objects[0], str):
            lines = visible(objects[0]).split("\n")
            plain = all(x.isascii() and x.isprintable() for x in lines)
            if plain and (soft_wrap or max(map(len, lines)) <= self.width):
                return "\n".join(lines)
        return None


def console() -> Screen:
    """Standard output; names are printed as they are, with escapes, and never as markup."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    forced = any(x in os.environ for x in FORCING) or not encoding.lower().startswith("utf")
    if not sys.stdout.isatty() and not forced:
        return Pipe()
    from kinetree.cli.terminal import standard_output

    return standard_output()


@dataclass(frozen=True, eq=False)
class Block:
    """Some columns of a table, `shown`, below a line in bold and a legend, which can be empty.

    left: columns that are aligned left, the others are aligned right.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: Sequence[int]
    shown: Sequence[int]
    legend: str = ""

    def lines(self, width: int) -> tuple[list[str], list[str]] | None:
        """Lines of the heading and of the body; None if a cell has a style or must be folded."""
        cells = [[self.rows[i][k] for k in self.shown] for i in range(len(self.rows))]
        widths = widths_of(self.heads, self.rows)
        chosen = [widths[k] for k in self.shown]
        total = sum(chosen) + GAP * (len(chosen) - 1)
        texts = [[x for x in row if isinstance(x, str) and x.isprintable()] for row in cells]
        if total > width or not cells or any(len(row) != len(chosen) for row in texts):
            return None

        def line(texts: Sequence[str]) -> str:
            padded: list[str] = []
            for k, text, size in zip(self.shown, texts, chosen, strict=True):
                blanks = " " * (size - cells_of(text))
                padded.append(text + blanks if k in self.left else blanks + text)
            return (" " * GAP).join(padded)

        lines = [self.heads[k].split("\n") for k in self.shown]
        high = max(map(len, lines))
        table = [[""] * (high - len(x)) + x for x in lines]
        head = [line(x) for x in zip(*table, strict=True)]
        return head, ["\u2500" * total, *map(line, texts)]


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table, broken into blocks of columns with an empty line between two."""

    blocks: Sequence[Block]

    def text(self, width: int) -> str | None:
        """The table as plain text; None if it has colours or is too wide."""
        parts: list[str] = []
        for block in self.blocks:
            made = block.lines(width)
            above = [x for x in (block.title, block.legend) if x]
            fine = all(x.isprintable() and cells_of(x) <= width for x in above)
            if made is None or not fine:
                return None
            parts.append("\n".join([*above, *made[0], *made[1]]))
        return "\n\n".join(parts)

    def __rich__(self) -> "Group":
        """The table for rich, titles and headings in bold."""
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = []
        for k, block in enumerate(self.blocks):
            parts += [Text()] if k else []
            parts += [Text(block.title, style="bold")] if block.title else []
            parts += [Text(block.legend)] if block.legend else []
            parts.append(_rich_text(block) or _rich_table(block))
        return Group(*parts)


def styled(text: str, style: str) -> Cell:
    """A cell in colours, which need rich; plain where there are none."""
    if isinstance(console(), Pipe):
        return text
    from rich.text import Text

    return Text(text, style=style)


def cells_of(text: str) -> int:
    """The width of a text on a terminal, on which some characters are wide."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def screen_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    left: Sequence[int] = (0,),
    width: int | None = None,
) -> Blocks:
    """A table that fits `width`, by default that of the screen.

    heads: headings, of one or several lines each. left: columns that are aligned left, the others
    are aligned right. The first column is repeated where the table is broken.
    """
    width = console().width if width is None else width
    rows = [[visible(x, "") if isinstance(x, str) else x for x in row] for row in rows]
    if all(x.endswith("\n") or "\n" not in x for x in heads):  # all units are beside the numbers
        heads = [x.removesuffix("\n") for x in heads]
    blocks: list[Block] = []
    for k, group in enumerate(column_groups(widths_of(heads, rows), width)):
        head = f"{title}, continued" if title and k else title
        blocks.append(Block(head, heads, rows, left, group))
    return Blocks(blocks)


def column_table(
    title: str, columns: Sequence[tuple[str, Sequence[Cell]]], left: Sequence[int] = (0,)
) -> Blocks:
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
    return [max(cells_of(x) for cell in column for x in cell) for column in lines]


def _plain(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.plain


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


def _rich_text(block: Block) -> "Text | None":
    """The text of `_rich_table`, made at once for many rows; None if a cell must be folded."""
    from rich.text import Text

    lines = block.lines(console().width) if len(block.rows) > MANY_ROWS else None
    if lines is None:
        return None
    head = Text("\n".join(lines[0]), style="bold", no_wrap=True)
    return Text("", no_wrap=True).append_text(head).append("\n" + "\n".join(lines[1]))


def _rich_table(block: Block) -> "Table":
    """A table with a rule below the headings."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
        header_style="bold",
    )  # fmt: skip
    heads, left, widths = block.heads, block.left, widths_of(block.heads, block.rows)
    for k in block.shown:
        lines = heads[k].split("\n")
        head = heads[k] if k in left else "\n".join(x.rjust(widths[k]) for x in lines)
        table.add_column(Text(head), overflow="fold")
    for row in block.rows:
        cells: list[Text] = []
        for k in block.shown:
            cell = row[k]
            text = Text(cell) if isinstance(cell, str) else cell.copy()
            # rich's own justification would strip blanks after a unit
            text.pad_left(0 if k in left else max(widths[k] - text.cell_len, 0))
            cells.append(text)
        table.add_row(*cells)
    return table


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
) -> Iterator[Blocks]:
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
    legend = ""
    if not unit:
        which = ", ".join(str(k) for k, kind in enumerate(kinds, 1) if kind == SLIDE)
        legend = (
            f"{units[TURN, TURN]}; rows and columns of sliding joints ({which}): "
            f"{units[TURN, SLIDE]}; where both slide: {units[SLIDE, SLIDE]}"
        )
    for group in groups:
        columns = f", columns {group[1]} to {group[-1]}" if len(groups) > 1 else ""
        yield Blocks([Block(f"{heading}{columns}", heads, rows, (0,), group, legend)])
        heading, legend = letter if not unit else f"{letter}, {unit}", ""
