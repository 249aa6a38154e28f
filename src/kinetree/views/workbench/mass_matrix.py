"""M(q) as a heat map: which joints feel each other's acceleration."""

from collections.abc import Sequence

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.workbench.style import reading
from kinetree.views.workbench.text import escape, number

MOST_NUMBERS = 8  # of degrees of freedom whose entries are written into the cells
POSITIVE, NEGATIVE = (33, 102, 172), (178, 24, 43)


def mass_unit(units: Sequence[str]) -> str:
    """The unit of M where joint forces have these: one of each kind that occurs."""
    kinds = set(units)
    return {frozenset({"N m"}): "kg m²", frozenset({"N"}): "kg"}.get(
        frozenset(kinds), "kg m², kg m or kg"
    )


def mass_reading(names: tuple[str, ...], M: Array, unit: str = "kg m²") -> str:
    """The map, its numbers where they fit, and how far the robot is from a singular M."""
    values = np.linalg.eigvalsh(M) if len(M) else np.ones(1)
    note = (
        f"<p>Blue is positive, red negative; strength is |M<sub>ij</sub>| against the largest. "
        f"Eigenvalues {number(values[0])} to {number(values[-1])}.</p>"
    )
    key = "".join(f"<li>{escape(name)}</li>" for name in names)
    columns = "2" if len(names) > MOST_NUMBERS else "1"
    rows = f'<ol style="columns:{columns};margin:4px 0 0;padding-left:22px">{key}</ol>'
    return reading(f"<h4>Mass matrix M(q), {unit}</h4>{heat_map(names, M)}{note}{rows}")


def heat_map(names: tuple[str, ...], M: Array) -> str:
    """A square of cells; each says its row, column and value when pointed at."""
    n = len(M)
    largest = max(float(np.max(np.abs(M), initial=0.0)), 1e-300)
    cells = "".join(cell(names, M, i, j, largest) for i in range(n) for j in range(n))
    labels = "".join(
        f'<text x="{k * 10 + 5}" y="-2">{k + 1}</text>'
        f'<text x="-4" y="{k * 10 + 6.3}">{k + 1}</text>'
        for k in range(n)
    )
    return (
        f'<svg viewBox="-9 -8 {10 * n + 10} {10 * n + 9}" font-size="{3.4 if n <= 12 else 5}" '
        f'text-anchor="middle" style="max-height:360px">{cells}'
        f'<g fill="var(--kt-dim)">{labels}</g></svg>'
    )


def cell(names: tuple[str, ...], M: Array, i: int, j: int, largest: float) -> str:
    """One entry: the root of its size makes small couplings visible."""
    value = float(M[i, j])
    strength = (abs(value) / largest) ** 0.5
    r, g, b = (round(255 + (c - 255) * strength) for c in (POSITIVE if value >= 0 else NEGATIVE))
    title = f"{escape(names[i])}, {escape(names[j])}: {number(value, 6)}"
    text = ""
    if len(M) <= MOST_NUMBERS:
        ink = "#fff" if strength > 0.6 else "#17202a"
        text = f'<text x="{10 * j + 5}" y="{10 * i + 6}" fill="{ink}" font-size="2.5">'
        text += f"{number(value, 3)}</text>"
    return (
        f'<g><title>{title}</title><rect x="{10 * j}" y="{10 * i}" width="9.6" height="9.6" '
        f'rx="0.8" fill="rgb({r},{g},{b})" data-m="{i},{j}" data-value="{value!r}"/>{text}</g>'
    )
