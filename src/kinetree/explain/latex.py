"""An explanation in LaTeX: plain tabulars, to be input into a document."""

import re
from collections.abc import Iterator

import numpy as np

from kinetree.base.arrays import known
from kinetree.explain.numbers import expression, latex_expression
from kinetree.explain.page import Row, Section, idle_causes, page_title, sheets
from kinetree.explain.record import Explanation

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
}  # fmt: skip
NOTE = (
    r"Rows add up to the row below the line. Gravity is a row of its own; the index "
    r"$\mathrm{motion}$ marks what is without it."
)


def latex(explanation: Explanation) -> str:
    """The whole page, without a preamble; needs no package."""
    lines = [rf"\section*{{{escape(page_title(explanation))}}}", NOTE, ""]
    for sheet in sheets(explanation):
        lines.append(rf"\subsection*{{{escape(sheet.title)}}}")
        for section in sheet.sections:
            lines += [*(_listed(section) if section.listed else _table(section)), ""]
    idle = idle_causes(explanation.torque)
    if idle:
        lines += [f"No joint feels: {', '.join(idle)}.", ""]
    return "\n".join(lines)


def escape(text: str) -> str:
    """A name as plain words; control characters become spaces."""
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
    """Long expressions, broken at plus and minus signs where they are too long for a line."""
    yield r"\noindent\begin{tabular}{llp{0.66\linewidth}}"
    symbol, meaning = _head(section)
    yield _row([symbol, "", meaning]) + r" \hline"
    for row in section.rows:
        if row.total:
            yield r"\hline"
        found = [
            (name, latex_expression(x))
            for (_, name), x in zip(section.columns, row.values, strict=True)
            if expression(x) != "0"
        ]
        for k, (name, text) in enumerate(found or [("", "0")]):
            label = _name(section, row) if k == 0 else ""
            yield _row([label, _math(name), r"\raggedright " + _math(text)], r" \tabularnewline")
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
    """A number as a formula, so that its minus sign is one."""
    if known(np.asarray(row.values)) is None:
        return _math(latex_expression(row.values[j]))
    digits, _, exponent = cell.strip().partition("e")
    return _math(rf"{digits} \cdot 10^{{{int(exponent)}}}" if exponent else digits)


def _math(text: str) -> str:
    return f"${text}$" if text else ""


def _row(cells: list[str], end: str = r" \\") -> str:
    return " & ".join(cells) + end
