"""The page of an explanation, in which joint forces, entries of M and vectors unfold."""

import numpy as np

from kinetree.core.arrays import is_numeric
from kinetree.core.text import counted
from kinetree.explain import Explanation, Node, packed, unfold_mass
from kinetree.explain.html import highlights, markup, own_style
from kinetree.model.units import entry_names, units
from kinetree.present.tables import escape
from kinetree.views.page.document import document, scroll_table

MAX_NODES = 16_000  # of all trees of a page: about 2 MB
MATRIX, VECTORS = 10, 12  # most degrees of freedom for M, most links for V, dV and F
STATIC = 300  # rows that unfold without a script


def explain_page(explanation: Explanation) -> str:
    """The page, self-contained: it fetches nothing.

    Args:
        explanation: of numbers or symbols; symbols do not unfold.
    """
    model, trees = explanation.model, explanation.unfolded()
    named: dict[str, int] = {f"tau,{d}": d for d in range(len(trees))}
    matrix = ""
    if trees:
        more = _masses(explanation) | _vectors(explanation)
        named |= {key: len(trees) + k for k, key in enumerate(more)}
        trees += more.values()
        if model.n <= MATRIX:
            matrix = _matrix(explanation, more)
    data = {
        "unfold": packed(trees, MAX_NODES) if trees else None,
        "named": named,
        "links": [steps.link for steps in explanation.links],
    }
    size = f"{counted(len(model.links), 'moving link')}, {counted(model.n, 'degree')} of freedom"
    numeric = is_numeric(explanation.tau)
    sheets = markup(explanation.page(), trees[: model.n], STATIC)
    body = (
        f"<main><h1>{escape(explanation.page().title)}</h1>"
        f'<p class="lead">{escape(size)}. {HINT if trees else LARGE if numeric else ""}</p>'
        f"{_state(explanation) if trees else ''}"
        f'<div class="kinetree">{sheets}{matrix}</div>'
        "</main>"
    )
    style = own_style() + highlights() + OWN_STYLE
    return document(
        f"{model.name}, explained", body, data, ("unfold.js", "explain.js"),
        own_style=style, formulas=True,
    )  # fmt: skip


HINT = (
    "Click a number of the table of joint forces: it unfolds into the terms, links and factors "
    "that add up to it."
)
LARGE = (
    "The joint forces of this robot have too many parts for one page; the workbench "
    "(kinetree view) unfolds them one by one."
)
OWN_STYLE = """
.kinetree { max-width: none; }
.kinetree [data-unfold] { cursor: pointer; }
.kinetree td[data-unfold]:hover, .kinetree tr[data-unfold]:hover td,
.kinetree td[data-unfold].chosen { background: color-mix(in srgb, var(--lit) 26%, transparent); }
.kinetree td[data-unfold] { text-decoration: underline dotted; text-underline-offset: 0.25em;
  text-decoration-color: var(--soft); }
.kinetree td[data-unfold]:focus-visible, .kinetree tr[data-unfold]:focus-visible {
  outline: 2px solid var(--accent); outline-offset: -1px; }
.kinetree .unfold-place { background: var(--panel); border: 1px solid var(--line);
  border-radius: 8px; padding: 0.6rem 0.8rem; margin: 0.6rem 0; }
.kinetree .unfold-place details { border: 0; margin: 0; padding: 0; border-radius: 0; }
.kinetree .unfold-place summary { font-weight: 400; padding: 0.14rem 0.4rem; }
.kinetree .unfold-place table { margin: 0.15rem 0.4rem 0.3rem; }
.kinetree .unfold-place .n { font-family: inherit; font-size: 1em; white-space: nowrap;
  min-width: 0; }
.kinetree .unfold-place td.n { text-align: left; }
.kinetree .unfold-equation math { margin: 0; }
.kinetree .unfold-numbers th { border: 0; font-weight: 400; padding-right: 1.1rem; }
.kinetree .unfold-numbers td { padding-right: 1.1rem; }
.scripted .unfold.static { display: none; }
.kinetree > .forces table td.n { padding: 0.12em 0.35em; }
.kinetree > .forces > .part { max-height: 20.5em; overflow: auto; }
.kinetree > .forces > .part tr:first-child th { position: sticky; top: 0;
  background: var(--paper); }
"""


def _state(explanation: Explanation) -> str:
    """The state as a table that is closed at first."""
    model, given = explanation.model, explanation.arguments
    tables: list[str] = []
    for name, meaning in (("q", "position"), ("dq", "rate"), ("ddq", "acceleration")):
        pairs = zip(entry_names(model, name), units(model, name), given[name], strict=True)
        rows = [(entry, unit, float(x)) for entry, unit, x in pairs]
        tables.append(scroll_table((meaning, "unit", name), rows, text=2))
    return f"<details class='state'><summary>State</summary>{''.join(tables)}</details>"


def _masses(explanation: Explanation) -> dict[str, Node]:
    """The entries of M on and above the diagonal, of robots that are not too large."""
    n, q = explanation.model.n, explanation.arguments["q"]
    if n > MATRIX:
        return {}
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    return {f"M,{i},{j}": unfold_mass(explanation.model, q, i, j) for i, j in pairs}


def _vectors(explanation: Explanation) -> dict[str, Node]:
    """V, dV and F of every link, of robots that are not too large."""
    links = len(explanation.model.links)
    whole = len(explanation.links) == links
    if links > VECTORS or not whole:
        return {}
    return {
        f"{symbol},{steps.link}": explanation.unfold_vector(steps.link, symbol)
        for steps in explanation.links
        for symbol in ("V", "dV", "F")
    }


def _matrix(explanation: Explanation, trees: dict[str, Node]) -> str:
    """The mass matrix as a table."""
    names, n = explanation.model.dof_names, explanation.model.n
    value = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            value[i, j] = value[j, i] = float(trees[f"M,{i},{j}"].value)  # type: ignore[arg-type]
    rows = [(names[i], *value[i].tolist()) for i in range(n)]
    table = scroll_table(("", *names), rows)
    return f"<details class='matrix' open><summary>Mass matrix M</summary>{table}</details>"
