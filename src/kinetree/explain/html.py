"""An explanation in HTML: one block per link, closed at first if there are many links."""

import re
from collections.abc import Iterator
from html import escape

from kinetree.explain.numbers import expression
from kinetree.explain.page import NOTE, Page, Row, Section, Sheet

FEW = 8  # blocks are open at first for at most so many links
GREEK = {"omega": "ω", "alpha": "α", "tau": "τ", "lambda": "λ"}
STYLE = """
.kinetree { font: 14px/1.45 system-ui, sans-serif; max-width: 68em; }
.kinetree h2 { font-size: 1.25em; margin: 0.6em 0 0.1em; }
.kinetree p { margin: 0.2em 0 0.8em; opacity: 0.7; }
.kinetree details { border: 1px solid #8893a355; border-radius: 6px; margin: 0.6em 0;
  padding: 0 0.8em; }
.kinetree summary { font-weight: 600; padding: 0.5em 0; cursor: pointer; }
.kinetree .scroll { overflow-x: auto; }
.kinetree table { border-collapse: collapse; margin: 0 0 0.9em; background: none; }
.kinetree th, .kinetree td { padding: 0.12em 0.7em 0.12em 0; border: none; text-align: left; }
.kinetree th { font-weight: 600; border-bottom: 1px solid #8893a388; white-space: nowrap; }
.kinetree th small, .kinetree .soft { font-weight: 400; opacity: 0.7; }
.kinetree .name { min-width: 9em; }
.kinetree .equation { min-width: 10em; font-style: italic; opacity: 0.7; }
.kinetree .n { text-align: right; white-space: pre; min-width: 5.5em;
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.92em; }
.kinetree .zero { opacity: 0.4; }
.kinetree .total td, .kinetree .more td { font-weight: 600; }
.kinetree .total td { border-top: 1px solid #8893a388; }
.kinetree code { white-space: normal; }
.kinetree td { vertical-align: top; }
.kinetree sub, .kinetree sup { line-height: 0; }
"""


def html(page: Page) -> str:
    """A `div` with its own style, which can be put into any page."""
    lines = ['<div class="kinetree">', f"<style>{STYLE}</style>"]
    lines.append(f"<h2>{escape(page.title)}</h2>")
    lines.append(f"<p>{escape(NOTE)}</p>")
    for sheet in page.sheets:
        lines += _sheet(sheet, page.links <= FEW or sheet.sections[0].by_cause)
    if page.ending:
        lines.append(f"<p>{escape(page.ending)}</p>")
    return "\n".join([*lines, "</div>"]) + "\n"


def _sheet(sheet: Sheet, opened: bool) -> Iterator[str]:
    yield f"<details{' open' if opened else ''}><summary>{escape(sheet.title)}</summary>"
    yield '<div class="scroll">'
    for section in sheet.sections:
        yield "<table>"
        yield from _listed(section) if section.listed else _table(section)
        yield "</table>"
    yield "</div></details>"


def _table(section: Section) -> Iterator[str]:
    names = "".join(f'<th class="n">{escape(text)}</th>' for text, _ in section.columns)
    yield f"<tr>{_head(section)}<th><small>{_meaning(section)}</small></th>{names}</tr>"
    for row, cells in zip(section.rows, section.cells(), strict=True):
        numbers = "".join(_number(cell) for cell in cells)
        kind = "soft" if section.by_cause else "equation"
        yield (
            f"<tr{_total(row)}><td class='name'>{_name(row)}</td>"
            f"<td class='{kind}'>{_formula(row.equation[0])}</td>{numbers}</tr>"
        )


def _listed(section: Section) -> Iterator[str]:
    yield f"<tr>{_head(section)}<th></th><th><small>{_meaning(section)}</small></th></tr>"
    for row in section.rows:
        for k, ((label, _), x) in enumerate(section.entries(row)):
            name = _name(row) if k == 0 else ""
            mark = _total(row) if k == 0 else ' class="more"' if row.total else ""
            yield (
                f"<tr{mark}><td class='name'>{name}</td><td class='soft'>{escape(label)}</td>"
                f"<td><code>{escape(expression(x))}</code></td></tr>"
            )


def _head(section: Section) -> str:
    if section.by_cause:
        return "<th></th>"
    unit = section.unit.replace("^2", "²")
    return f"<th>{_formula(section.symbol)} <small>{escape(unit)}</small></th>"


def _meaning(section: Section) -> str:
    return "" if section.by_cause else escape(section.meaning)


def _formula(text: str) -> str:
    """An equation with subscripts, superscripts and Greek letters: V_p, ad(V)^T, omega."""
    text = escape(text)
    for word, letter in GREEK.items():
        text = re.sub(rf"\b{word}(?=\b|_)", letter, text)
    text = re.sub(r"_([A-Za-z]+(?:,[A-Za-z]+)*)", r"<sub>\1</sub>", text)
    text = re.sub(r"\^(T|-?\d+)", r"<sup>\1</sup>", text)
    return re.sub(r" x ", " × ", text)


def _number(cell: str) -> str:
    # the spaces after a zero align it with the decimals of the other rows
    kind = "n zero" if cell.strip() == "0" else "n"
    return f'<td class="{kind}">{escape(cell)}</td>'


def _name(row: Row) -> str:
    """A total has its symbol as name, a part has words that may come from a file."""
    return _formula(row.name) if row.total else escape(row.name)


def _total(row: Row) -> str:
    return ' class="total"' if row.total else ""
