"""An explanation in Markdown: a heading a link, a table a quantity."""

import re
from collections.abc import Iterator

from kinetree.explain.numbers import expression
from kinetree.explain.page import NOTE, Section, idle_causes, page_title, sheets
from kinetree.explain.record import Explanation


def markdown(explanation: Explanation) -> str:
    """The whole page."""
    lines = [f"# {escape(page_title(explanation))}", "", escape(NOTE), ""]
    for sheet in sheets(explanation):
        lines += [f"## {escape(sheet.title)}", ""]
        for section in sheet.sections:
            lines += [*(_listed(section) if section.listed else _table(section)), ""]
    idle = idle_causes(explanation.torque)
    if idle:
        lines += [f"No joint feels: {', '.join(idle)}.", ""]
    return "\n".join(lines)


def escape(text: str) -> str:
    """A name as plain words: nothing in it is read as a mark of Markdown or HTML."""
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"([\\`*_{}\[\]<>#|$~&])", r"\\\1", text)


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
        found = [
            (escape(label), expression(x))
            for (label, _), x in zip(section.columns, row.values, strict=True)
            if expression(x) != "0"
        ]
        for k, (label, text) in enumerate(found or [("", "0")]):
            yield _row([name if k == 0 else "", label, _code(text)])


def _head(section: Section) -> str:
    unit = section.unit.replace("^2", "²")
    return f"{escape(section.symbol)} ({unit})" if unit else escape(section.symbol)


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
