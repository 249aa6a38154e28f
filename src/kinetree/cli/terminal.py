"""Standard output as rich prints it: colours, folded cells, and names with escapes."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from kinetree.cli.tables import Block, Cell, widths_of
from kinetree.errors import visible

MANY_ROWS = 200  # above which a table is made without rich, which takes a millisecond a row


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


def standard_output() -> Terminal:
    """Standard output; rich leaves colours out if it is not a terminal or NO_COLOR is set."""
    return Terminal(markup=False, highlight=False, emoji=False)


def drawn(blocks: Sequence[Block]) -> Group:
    """The blocks of a table with an empty line between two, titles and headings in bold."""
    parts: list[RenderableType] = []
    for k, block in enumerate(blocks):
        if k:
            parts.append(Text())
        if block.title:
            parts.append(Text(block.title, style="bold"))
        if block.legend:
            parts.append(Text(block.legend))
        made_at_once = _text_of(block) if len(block.rows) > MANY_ROWS else None
        parts.append(_rich_table(block) if made_at_once is None else made_at_once)
    return Group(*parts)


def _text_of(block: Block) -> Text | None:
    """The text of `_rich_table`, made at once; None if a cell has a style or must be folded."""
    lines = block.lines(standard_output().width)
    if lines is None:
        return None
    head = Text("\n".join(lines[0]), style="bold", no_wrap=True)
    return Text("", no_wrap=True).append_text(head).append("\n" + "\n".join(lines[1]))


def _rich_table(block: Block) -> Table:
    """A table with a rule below the headings."""
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
        table.add_row(*(_aligned(row[k], 0 if k in left else widths[k]) for k in block.shown))
    return table


def _aligned(cell: Cell, width: int) -> Text:
    """The cell moved to the right; rich's own justification would strip blanks after a unit."""
    text = Text(cell) if isinstance(cell, str) else cell.copy()
    text.pad_left(max(width - text.cell_len, 0))
    return text
