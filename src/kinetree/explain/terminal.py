"""An explanation on a terminal, drawn by rich."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from kinetree.errors import visible
from kinetree.explain.numbers import expression
from kinetree.explain.page import NOTE, Page, Section, Sheet

NAME, EQUATION, NUMBER = 26, 35, 9  # widths of columns
SHORT = 14  # least width of a column of names


@dataclass(frozen=True)
class Screen:
    """A page that rich prints in the width of the console."""

    page: Page

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield Text(self.page.title, style="bold")
        yield Text(NOTE, style="dim")
        yield Text("")
        for sheet in self.page.sheets:
            yield from draw_sheet(sheet, options.max_width)
        if self.page.ending:
            yield Text(self.page.ending, style="dim")


def plain_text(page: Page, width: int) -> str:
    """The page as a string without colours."""
    file = io.StringIO()
    Console(file=file, width=width, color_system=None, legacy_windows=False).print(Screen(page))
    return "\n".join(line.rstrip() for line in visible(file.getvalue()).splitlines()) + "\n"


def draw_sheet(sheet: Sheet, width: int) -> Iterator[RenderableType]:
    """A rule with the title, and tables below it."""
    yield Rule(Text(sheet.title, style="bold cyan"), align="left", style="cyan")
    columns = max(len(section.columns) for section in sheet.sections)
    for section in sheet.sections:
        if section.by_cause:
            table = torque_table(section, width)
        else:
            table = section_table(section, columns, width)
            if table is None:
                table = section_table(section, len(section.columns), width)
        yield listed_table(section) if table is None else table
        yield Text("")


def section_table(section: Section, columns: int, width: int) -> Table | None:
    """Parts in rows, components in columns; with equations if there is room for them.

    None if there is no room for numbers in columns. columns: the most columns of a section of the
    sheet, so that all its tables get the same widths.
    """
    if section.listed:
        return None
    gap = 1 if width < NAME + 2 + columns * (NUMBER + 2) else 2
    name = min(NAME, width - columns * (NUMBER + gap) - (gap if gap == 2 else 0))
    if name < SHORT:
        return None
    roomy = width >= NAME + EQUATION + 4 + columns * (NUMBER + 2)
    padding = (0, 1) if gap == 2 else (0, 1, 0, 0)
    table = Table(box=None, padding=padding, pad_edge=gap == 2, header_style="")
    table.add_column(_head(section), width=name, overflow="fold")
    if roomy:
        table.add_column(Text(section.meaning, style="dim"), width=EQUATION, overflow="fold")
    for text, _ in section.columns:
        table.add_column(Text(text.rjust(NUMBER), style="dim"), min_width=NUMBER, no_wrap=True)
    for row, cells in zip(section.rows, section.cells(), strict=True):
        equation = [Text(row.equation[0], style="dim italic")] if roomy else []
        numbers = [_number(cell, NUMBER, row.total) for cell in cells]
        table.add_row(_label(row.name, row.total), *equation, *numbers)
    return table


def listed_table(section: Section) -> Table:
    """Long expressions: one line per component; zeros are left out."""
    table = Table(box=None, padding=(0, 1), header_style="")
    table.add_column(_head(section), width=NAME, overflow="fold")
    table.add_column("", width=11, style="dim", overflow="fold")
    table.add_column(Text(section.meaning, style="dim"), overflow="fold")
    for row in section.rows:
        for k, ((name, _), x) in enumerate(section.entries(row)):
            label, text = _label(row.name if k == 0 else "", row.total), expression(x)
            style = "dim" if text == "0" else "bold" if row.total else ""
            table.add_row(label, name, Text(text, style=style))
    return table


def torque_table(section: Section, width: int) -> Table | None:
    """One row per degree of freedom; None if there is no room for the numbers."""
    if section.listed:
        return None
    rows = section.cells()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths = [max(w, len(text)) for w, (text, _) in zip(widths, section.columns, strict=True)]
    names = min(max(len(row.name) for row in section.rows), NAME)
    need = names + 3 + sum(widths)
    if width < need + len(widths) + 2:
        return None
    roomy = width >= need + 2 * (len(widths) + 2)
    table = Table(box=None, padding=(0, 1) if roomy else (0, 1, 0, 0), header_style="")
    table.add_column("", min_width=names, overflow="fold")
    table.add_column("", style="dim", no_wrap=True)
    for (text, _), w in zip(section.columns, widths, strict=True):
        style = "bold" if text == "tau" else "dim"
        table.add_column(Text(text.rjust(w), style=style), no_wrap=True)
    for row, cells in zip(section.rows, rows, strict=True):
        pairs = enumerate(zip(cells, widths, strict=True))
        numbers = [_number(cell, w, k == len(cells) - 1) for k, (cell, w) in pairs]
        table.add_row(Text(row.name), row.equation[0], *numbers)
    return table


def _number(cell: str, width: int, strong: bool) -> Text:
    """A right-justified number; rich's own justification would strip the spaces after a zero."""
    style = "dim" if cell.strip() == "0" else "bold" if strong else ""
    return Text(cell.rjust(width), style=style)


def _head(section: Section) -> Text:
    """Symbol and unit, at the head of a table."""
    return Text.assemble((section.symbol, "bold"), "  " + section.unit.replace("^2", "²"))


def _label(name: str, total: bool) -> Text:
    return Text(name if total or not name else f"  {name}", style="bold" if total else "")
