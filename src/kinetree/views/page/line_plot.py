"""Lines over time, with a cursor that a script can move."""

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.page.svg import label, path, svg, text, ticks

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 550, 24, 216  # of the area with the lines
COLOURS, DASHES = 8, 4


def line_plot(title: str, unit: str, t: Array, columns: Array, names: Sequence[str]) -> str:
    """A figure of columns (T, n) over time t (T,), and the names of its lines."""
    head = f"{title}, {unit}" if unit else title
    picture = svg("plot", WIDTH, HEIGHT, head, _elements(head, t, columns))
    return f"<figure>{picture}{legend(names)}</figure>"


def _elements(head: str, t: Array, columns: Array) -> Iterator[str]:
    low, high = float(columns.min(initial=0.0)), float(columns.max(initial=0.0))
    pad = 0.06 * (high - low) or 1.0
    values = (low - pad * (low < 0), high + pad)
    times = (float(t[0]), float(t[-1]) if t[-1] > t[0] else float(t[0]) + 1)
    yield text(LEFT, 14, head, kind="name")
    for value in ticks(*values):
        y = float(np.interp(value, values, (BOTTOM, TOP)))
        yield path("axis zero" if abs(value) < 1e-12 else "axis", f"M{LEFT} {y:.1f}H{RIGHT}")
        yield text(LEFT - 6, y + 4, label(value), "end")
    for time in ticks(*times, about=6):
        x = float(np.interp(time, times, (LEFT, RIGHT)))
        yield text(x, BOTTOM + 18, label(time), "middle")
    yield text(RIGHT, HEIGHT - 2, "t, s", "end")
    x = np.interp(t, times, (LEFT, RIGHT))
    for k in range(columns.shape[1]):
        y = np.interp(columns[:, k], values, (BOTTOM, TOP))
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
        yield path(f"track {stroke(k)}", f"M{points}")
    yield (
        f'<line class="cursor" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{BOTTOM}" '
        f'data-start="{LEFT}" data-width="{RIGHT - LEFT}"/>'
    )


def stroke(k: int) -> str:
    """Classes of line k: a colour, and a dash once the colours are used up."""
    return f"c{k % COLOURS} d{k // COLOURS % DASHES}"


def legend(names: Sequence[str]) -> str:
    """Names with a sample of their lines."""
    samples = (
        '<li><svg viewBox="0 0 22 8" aria-hidden="true">'
        f"{path(f'track {stroke(k)}', 'M0 4H22')}</svg>{escape(name)}</li>"
        for k, name in enumerate(names)
    )
    return f'<ul class="legend">{"".join(samples)}</ul>'
