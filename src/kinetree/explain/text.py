"""An explanation as plain text."""

from collections.abc import Iterator

from kinetree.errors import visible
from kinetree.explain.numbers import expression
from kinetree.explain.sections import NOTE, Page, Row, Section, Sheet

NAME, NUMBER = 26, 9  # widths of columns
EQUATION = 37  # room for an equation, if the width allows it


def text(page: Page, width: int) -> str:
    """Tables for a terminal of that width."""
    lines = [page.title, NOTE, ""]
    for sheet in page.sheets:
        lines += _sheet(sheet, width)
    lines += [page.ending] if page.ending else []
    return "\n".join(visible(line).rstrip() for line in lines) + "\n"


def _sheet(sheet: Sheet, width: int) -> Iterator[str]:
    yield f"{sheet.title} ".ljust(width, "─")
    columns = max(len(section.columns) for section in sheet.sections)
    roomy = width >= NAME + EQUATION + columns * (NUMBER + 2)
    for section in sheet.sections:
        if section.listed:
            yield from _list(section)
        else:
            yield from _table(section, width, EQUATION if roomy and not section.by_cause else 0)
        yield ""


def _table(section: Section, width: int, equation: int) -> Iterator[str]:
    """Parts in rows and components in columns, or an entry a line where they do not fit."""
    cells = section.cells()
    heads = [name for name, _ in section.columns]
    sizes = [
        max(NUMBER if not section.by_cause else 0, len(head), *map(len, column))
        for head, column in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    names = [_name(section, row) for row in section.rows]
    first = max([len(_head(section)), *map(len, names)])
    if first + equation + sum(sizes) + 2 * len(sizes) > width:
        yield from _list(section)
        return
    meaning = section.meaning.ljust(equation)[:equation]
    yield _head(section).ljust(first) + meaning + _columns(heads, sizes)
    for name, row, line in zip(names, section.rows, cells, strict=True):
        formula = row.text.ljust(equation)[:equation] if equation else ""
        yield name.ljust(first) + formula + _columns(line, sizes)


def _columns(cells: list[str], sizes: list[int]) -> str:
    return "".join(f"  {cell.rjust(size)}" for cell, size in zip(cells, sizes, strict=True))


def _list(section: Section) -> Iterator[str]:
    """Long expressions: one line per component; zeros are left out."""
    yield f"{_head(section)}  {section.meaning}".rstrip()
    for row in section.rows:
        for k, (name, x) in enumerate(section.entries(row)):
            label = _name(section, row) if k == 0 else ""
            yield f"{label.ljust(NAME)}  {name.ljust(11)}  {expression(x)}"


def _head(section: Section) -> str:
    """Symbol and unit, at the head of a table."""
    return "" if section.by_cause else f"{section.symbol}  {section.unit.replace('^2', '²')}"


def _name(section: Section, row: Row) -> str:
    if section.by_cause:
        return f"{row.name}  {row.latex}"
    return row.name if row.total or not row.name else f"  {row.name}"
