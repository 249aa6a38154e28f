"""An explanation in Markdown: one heading per link, one table per quantity."""

from collections.abc import Iterator

from kinetree.base.tables import markdown_text as escape
from kinetree.explain.numbers import expression
from kinetree.explain.page import NOTE, Page, Section


def markdown(page: Page) -> str:
    """The whole page."""
    lines = [f"# {escape(page.title)}", "", escape(NOTE), ""]
    for sheet in page.sheets:
        lines += [f"## {escape(sheet.title)}", ""]
        for section in sheet.sections:
            lines += [*(_listed(section) if section.listed else _table(section)), ""]
    return "\n".join([*lines, page.ending, ""] if page.ending else lines)


def _table(section: Section) -> Iterator[str]:
    first, second = ("", "") if section.by_cause else (_head(section), escape(section.meaning))
    names = [escape(text) for text, _ in section.columns]
    yield _row([first, second, *names])
    yield _row(["---", "---", *("---:" for _ in names)])
    for row, cells in zip(section.rows, section.cells(), strict=True):
        equation = row.equation[0] if section.by_cause else _code(row.equation[0])
        values = [cell.strip() for cell in cells]
        name = escape(row.name)
        if row.total:
            name, values = f"**{name}**", [f"**{value}**" for value in values]
        yield _row([name, equation, *values])


def _listed(section: Section) -> Iterator[str]:
    yield _row([_head(section), "", escape(section.meaning)])
    yield _row(["---", "---", "---"])
    for row in section.rows:
        name = f"**{escape(row.name)}**" if row.total else escape(row.name)
        for k, ((label, _), x) in enumerate(section.entries(row)):
            yield _row([name if k == 0 else "", escape(label), _code(expression(x))])


def _head(section: Section) -> str:
    unit = section.unit.replace("^2", "²")
    return f"{escape(section.symbol)} ({unit})" if unit else escape(section.symbol)


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
