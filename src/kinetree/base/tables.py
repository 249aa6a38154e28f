"""Tables as HTML, matrices as LaTeX and counts in words, for notebooks and messages."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

MOST_ROWS = 40  # of a table that are shown
MOST_ENTRIES = 16  # rows or columns of a matrix that are written out
LEFT, RIGHT = ' style="text-align:left"', ' style="text-align:right"'


def table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    text: int = 1,
    notes: Iterable[str] = (),
) -> str:
    """A table under a title, with sentences below.

    Args:
        title: plain text, as all that follows.
        head: names of the columns.
        rows: their cells: texts, numbers or symbols.
        text: how many columns hold texts and stand to the left.
        notes: sentences.
    """
    rows = list(rows)
    kinds = [LEFT if k < text else RIGHT for k in range(len(head))]
    lines = [f"<div><b>{escape(title)}</b>"]
    if rows:
        lines.append(f"<table><thead><tr>{_cells('th', head, kinds)}</tr></thead><tbody>")
        lines += [f"<tr>{_cells('td', row, kinds)}</tr>" for row in rows[:MOST_ROWS]]
        lines.append("</tbody></table>")
    if len(rows) > MOST_ROWS:
        lines.append(f"<p>... and {len(rows) - MOST_ROWS} more rows</p>")
    lines += [f"<p>{escape(note)}</p>" for note in notes]
    return "\n".join([*lines, "</div>"])


def matrix(name: str, value: Any) -> str:
    """`name = [...]` in LaTeX, of a matrix or a vector (a column); large ones by their shape."""
    x = np.asarray(value)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or max(x.shape, default=0) > MOST_ENTRIES:
        shape = r" \times ".join(map(str, x.shape))
        return rf"{name} \in \mathbb{{R}}^{{{shape}}}"
    rows = r" \\ ".join(" & ".join(latex_number(entry) for entry in row) for row in x)
    return rf"{name} = \begin{{bmatrix}} {rows} \end{{bmatrix}}"


def formulas(*lines: str) -> str:
    """LaTeX formulas, one below the other, as a notebook shows them."""
    return "\n\n".join(rf"$\displaystyle {line}$" for line in lines)


def number(x: Any) -> str:
    """A number with four digits, a symbol as it is written."""
    if isinstance(x, str):
        return x
    try:
        return f"{float(x) + 0.0:.4g}"
    except (TypeError, ValueError):  # a symbol
        return str(x)


def latex_number(x: Any) -> str:
    """A number or symbol in LaTeX."""
    if hasattr(x, "free_symbols") and x.free_symbols:
        from sympy import latex

        return latex(x)
    mantissa, _, exponent = number(x).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _cells(tag: str, cells: Sequence[Any], kinds: Sequence[str]) -> str:
    pairs = zip(cells, kinds, strict=True)
    return "".join(f"<{tag}{kind}>{escape(number(cell))}</{tag}>" for cell, kind in pairs)


def counted(count: int, noun: str, rest: str = "") -> str:
    """The count with its noun, in the plural unless it is one: 1 entry, 2 entries, 0 rows.

    rest: what follows the noun, as in "2 degrees of freedom".
    """
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun} {rest}".rstrip()
