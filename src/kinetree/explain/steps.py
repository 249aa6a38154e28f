"""The recursion as steps for a page: equations whose terms are marked, rows, vectors to draw.

Every quantity of a step has an equation in MathML in which each term stands in an <mrow> with
data-term; the rows of numbers have the same names.
"""

from typing import Any

import numpy as np

from kinetree.explain.explanation import Explanation
from kinetree.explain.node import Node, marked
from kinetree.explain.recursion import SYMBOLS
from kinetree.explain.sections import HALVES
from kinetree.present.mathml import from_latex

OUTWARD, INWARD = "outward", "inward"
QUANTITIES = {OUTWARD: ("V", "dV"), INWARD: ("F", "tau")}
LETTERS = {"V": ("omega", "v"), "dV": ("alpha", "a"), "F": ("n", "f")}
RECORDED = {"V": ("omega", "v"), "dV": ("alpha", "a_e"), "F": ("n", "f")}


def recursion_steps(explanation: Explanation) -> list[dict[str, Any]]:
    """Both passes, one link a step: outward V and dV of every link, then inward F and tau.

    explanation: of numbers.

    Returns:
        For each step `pass`, `link`, `name`, `title` and `quantities`. A quantity has `symbol`,
        `meaning`, `mathml`, `unit`, `frame`, `columns`, `rows` (`term`, `name`, `values`), `value`,
        `arrows` (`kind`, `unit`, `from`, `vector`, both in {s}) and `code` (`file`, `line`,
        `text`).
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
    names = [f"{letter}{x}" for letter, _ in HALVES.get(symbol, ()) for x in "xyz"]
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
        "arrows": _arrows(explanation, i, symbol),
        "code": None if term.code is None else vars(term.code),
    }


def _equation(term: Node) -> str:
    """The equation of a quantity in MathML, each part in an <mrow> with data-term."""
    terms = [marked(x.name, x.latex, first=k == 0) for k, x in enumerate(term.children)]
    return " ".join([from_latex(f"{term.latex} ="), *terms])


def _arrows(explanation: Explanation, i: int, symbol: str) -> list[dict[str, Any]]:
    """Both halves of a quantity at the origin of its link, in {s}; of tau the joint's force."""
    recursion, link = explanation.recursion, explanation.links[i]
    T = np.asarray(recursion.T_si[i], float)
    if symbol == "tau":
        turned = np.asarray(explanation.model.A[i], float) @ np.array(link["tau"].value)
        halves = [("tau", "N m", turned[:3]), ("tau", "N", turned[3:])]
        halves = [x for x in halves if x[2].any()]
    else:
        names = zip(LETTERS[symbol], SYMBOLS[symbol][2], RECORDED[symbol], strict=True)
        halves = [(kind, unit, getattr(recursion, name)[i]) for kind, unit, name in names]
    return [
        {
            "kind": kind,
            "unit": unit,
            "from": T[:3, 3].tolist(),
            "vector": (T[:3, :3] @ np.asarray(x, float)).tolist(),
        }
        for kind, unit, x in halves
    ]
