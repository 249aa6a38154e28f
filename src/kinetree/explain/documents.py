"""An explanation for a document: Markdown with a table per quantity, or LaTeX with tabulars."""

import re
from collections.abc import Iterator

import numpy as np

from kinetree.core.arrays import known
from kinetree.explain.numbers import expression, latex_expression
from kinetree.explain.page import NOTE, Page, Row, Section
from kinetree.present.tables import latex_number
from kinetree.present.tables import markdown_text as escape


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


SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
}  # fmt: skip
LATEX_NOTE = (
    r"Rows add up to the row below the line. Gravity has its own row; the index "
    r"$\mathrm{motion}$ excludes gravity."
)


def latex(page: Page) -> str:
    """The whole page, without a preamble; it needs no package."""
    lines = [rf"\section*{{{latex_text(page.title)}}}", LATEX_NOTE, ""]
    for sheet in page.sheets:
        lines.append(rf"\subsection*{{{latex_text(sheet.title)}}}")
        for section in sheet.sections:
            lines += [*(_equations(section) if section.listed else _tabular(section)), ""]
    return "\n".join([*lines, page.ending, ""] if page.ending else lines)


def latex_text(text: str) -> str:
    """A name as plain text; control characters become spaces."""
    text = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text)
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def _tabular(section: Section) -> Iterator[str]:
    columns = [_column(section, text, name) for text, name in section.columns]
    yield r"\noindent\begin{tabular}{ll" + "r" * len(columns) + "}"
    yield _tabular_row([*_tabular_head(section), *columns]) + r" \hline"
    for k, (row, cells) in enumerate(zip(section.rows, section.cells(), strict=True)):
        if row.total:
            yield r"\hline"
        values = [_cell(row, j, cell) for j, cell in enumerate(cells)]
        last = k + 1 == len(section.rows)
        yield _tabular_row([_name(section, row), _equation(section, row), *values]) + (
            r" \hline" if last else ""
        )
    yield r"\end{tabular}\par\medskip"


def _equations(section: Section) -> Iterator[str]:
    """Long expressions, one per line; TeX breaks them at plus and minus signs."""
    yield r"\noindent\begin{tabular}{llp{0.66\linewidth}}"
    symbol, meaning = _tabular_head(section)
    yield _tabular_row([symbol, "", meaning]) + r" \hline"
    for row in section.rows:
        if row.total:
            yield r"\hline"
        for k, ((_, name), x) in enumerate(section.entries(row)):
            label = _name(section, row) if k == 0 else ""
            text = r"\raggedright " + _math(latex_expression(x))
            yield _tabular_row([label, _math(name), text], r" \tabularnewline")
    yield r"\end{tabular}\par\medskip"


def _tabular_head(section: Section) -> list[str]:
    if section.by_cause:
        return ["", ""]
    unit = section.unit.replace("^2", "$^2$")
    return [f"${section.latex}$" + (f" ({unit})" if unit else ""), latex_text(section.meaning)]


def _column(section: Section, text: str, name: str) -> str:
    """A component is a formula, a cause is a word."""
    return latex_text(text) if section.by_cause and text != "tau" else _math(name)


def _name(section: Section, row: Row) -> str:
    return f"$= {section.latex}$" if row.total else latex_text(row.name)


def _equation(section: Section, row: Row) -> str:
    return latex_text(row.equation[1]) if section.by_cause else _math(row.equation[1])


def _cell(row: Row, j: int, cell: str) -> str:
    """A number as a formula, which gives it a true minus sign."""
    if known(np.asarray(row.values)) is None:
        return _math(latex_expression(row.values[j]))
    return _math(latex_number(cell.strip()))


def _math(text: str) -> str:
    return f"${text}$" if text else ""


def _tabular_row(cells: list[str], end: str = r" \\") -> str:
    return " & ".join(cells) + end
