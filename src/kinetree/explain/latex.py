"""An explanation in LaTeX: plain tabulars for use in a document."""

import re
from collections.abc import Iterator

import numpy as np

from kinetree.base.arrays import known
from kinetree.base.tables import latex_number
from kinetree.explain.numbers import latex_expression
from kinetree.explain.page import Page, Row, Section

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
}  # fmt: skip
NOTE = (
    r"Rows add up to the row below the line. Gravity has its own row; the index "
    r"$\mathrm{motion}$ excludes gravity."
)


def latex(page: Page) -> str:
    """The whole page, without a preamble; it needs no package."""
    lines = [rf"\section*{{{escape(page.title)}}}", NOTE, ""]
    for sheet in page.sheets:
        lines.append(rf"\subsection*{{{escape(sheet.title)}}}")
        for section in sheet.sections:
            lines += [*(_listed(section) if section.listed else _table(section)), ""]
    return "\n".join([*lines, page.ending, ""] if page.ending else lines)


def escape(text: str) -> str:
    """A name as plain text; control characters become spaces."""
    text = re.sub(r"[\s\x00-\x1f\x7f]+", " ", text)
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def _table(section: Section) -> Iterator[str]:
    columns = [_column(section, text, name) for text, name in section.columns]
    yield r"\noindent\begin{tabular}{ll" + "r" * len(columns) + "}"
    yield _row([*_head(section), *columns]) + r" \hline"
    for k, (row, cells) in enumerate(zip(section.rows, section.cells(), strict=True)):
        if row.total:
            yield r"\hline"
        values = [_cell(row, j, cell) for j, cell in enumerate(cells)]
        last = k + 1 == len(section.rows)
        yield _row([_name(section, row), _equation(section, row), *values]) + (
            r" \hline" if last else ""
        )
    yield r"\end{tabular}\par\medskip"


def _listed(section: Section) -> Iterator[str]:
    """Long expressions, one per line; TeX breaks them at plus and minus signs."""
    yield r"\noindent\begin{tabular}{llp{0.66\linewidth}}"
    symbol, meaning = _head(section)
    yield _row([symbol, "", meaning]) + r" \hline"
    for row in section.rows:
        if row.total:
            yield r"\hline"
        for k, ((_, name), x) in enumerate(section.entries(row)):
            label = _name(section, row) if k == 0 else ""
            text = r"\raggedright " + _math(latex_expression(x))
            yield _row([label, _math(name), text], r" \tabularnewline")
    yield r"\end{tabular}\par\medskip"


def _head(section: Section) -> list[str]:
    if section.by_cause:
        return ["", ""]
    unit = section.unit.replace("^2", "$^2$")
    return [f"${section.latex}$" + (f" ({unit})" if unit else ""), escape(section.meaning)]


def _column(section: Section, text: str, name: str) -> str:
    """A component is a formula, a cause is a word."""
    return escape(text) if section.by_cause and text != "tau" else _math(name)


def _name(section: Section, row: Row) -> str:
    return f"$= {section.latex}$" if row.total else escape(row.name)


def _equation(section: Section, row: Row) -> str:
    return escape(row.equation[1]) if section.by_cause else _math(row.equation[1])


def _cell(row: Row, j: int, cell: str) -> str:
    """A number as a formula, which gives it a true minus sign."""
    if known(np.asarray(row.values)) is None:
        return _math(latex_expression(row.values[j]))
    return _math(latex_number(cell.strip()))


def _math(text: str) -> str:
    return f"${text}$" if text else ""


def _row(cells: list[str], end: str = r" \\") -> str:
    return " & ".join(cells) + end
