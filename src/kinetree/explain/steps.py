"""The recursion as steps for a page: equations whose terms are marked, and rows of numbers.

Every quantity of a step has an equation in MathML in which each term stands in an <mrow> with
data-term; the rows of numbers have the same names.
"""

from typing import Any

from kinetree.explain.explanation import Explanation
from kinetree.explain.node import Node, marked
from kinetree.explain.recursion import SYMBOLS
from kinetree.explain.tables import HALVES
from kinetree.present.mathml import from_latex

OUTWARD, INWARD = "outward", "inward"
QUANTITIES = {OUTWARD: ("V", "dV"), INWARD: ("F", "tau")}


def recursion_steps(explanation: Explanation) -> list[dict[str, Any]]:
    """Both passes, one link a step: outward V and dV of every link, then inward F and tau.

    explanation: of numbers.

    Returns:
        For each step `pass`, `link`, `name`, `title` and `quantities`. A quantity has `symbol`,
        `meaning`, `mathml`, `unit`, `frame`, `columns`, `rows` (`term`, `name`, `values`), `value`
        and `code` (`file`, `line`, `text`).
    """
    links = range(len(explanation.links))
    order = [(OUTWARD, i) for i in links] + [(INWARD, i) for i in reversed(links)]
    return [_step(explanation, direction, i) for direction, i in order]


def _step(explanation: Explanation, direction: str, i: int) -> dict[str, Any]:
    link = explanation.links[i]
    way = f"from {link.parent}" if direction == OUTWARD else f"to {link.parent}"
    return {
        "pass": direction,
        "link": i,
        "name": link.name,
        "title": f"{link.name}, {direction} {way} by {link.joint} ({link.type})",
        "quantities": [_quantity(explanation, i, x) for x in QUANTITIES[direction]],
    }


def _quantity(explanation: Explanation, i: int, symbol: str) -> dict[str, Any]:
    link = explanation.links[i]
    term = link[symbol]
    names = [f"{letter}{x}" for letter in HALVES.get(symbol, ()) for x in "xyz"]
    parts = [{"term": x.name, "name": x.name, "values": x.value} for x in term.children]
    return {
        "symbol": symbol,
        "meaning": SYMBOLS[symbol][1],
        "mathml": _equation(term),
        "unit": term.unit,
        "frame": term.frame,
        "columns": names or list(link.rates),
        "rows": parts,
        "value": term.value,
        "code": None if term.code is None else vars(term.code),
    }


def _equation(term: Node) -> str:
    """The equation of a quantity in MathML, each part in an <mrow> with data-term."""
    terms = [marked(x.name, x.latex, first=k == 0) for k, x in enumerate(term.children)]
    return " ".join([from_latex(f"{term.latex} ="), *terms])
