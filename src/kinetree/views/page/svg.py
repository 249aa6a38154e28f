"""Drawings of a page as SVG: ranges of joint forces, a map of the workspace; frames of charts.

Coordinates are in pixels, and all text is escaped.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log10

import numpy as np

from kinetree.core.arrays import Array
from kinetree.present.tables import escape, page_number

CHART_SCRIPTS = ("plot.js", "charts.js", "figure.js")  # of a page without other scripts


def chart_frames(count: int) -> list[str]:
    """Elements in which the script draws the charts of the page's data."""
    return [f'<figure data-chart="{k}"></figure>' for k in range(count)]


def svg(kind: str, width: float, height: float, title: str, elements: Iterable[str]) -> str:
    """A picture of a class of the style sheet; `title` is its text for screen readers."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(elements)}</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Words at a point; anchor: which point of the words it is, start, middle or end."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def path(kind: str, d: str) -> str:
    """A line."""
    return f'<path class="{kind}" d="{d}"/>'


def rect(kind: str, x: float, y: float, width: float, height: float, rest: str = "") -> str:
    """A filled rectangle; `rest` has further attributes."""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}"{rest}/>'
    )


def clip(words: str, most: int = 20) -> str:
    """A name cut to fit into its column."""
    return words if len(words) <= most else words[: most - 1] + "…"


def range_bars(
    names: Sequence[str], held: Array, moving: Array | None, effort: Array, units: Sequence[str]
) -> str:
    """Bars of held (2, n) within moving (2, n), lowest and highest, and limits (n,) as ticks.

    The forces of one robot differ by orders of magnitude, so every row has a scale of its own: the
    larger of its limit and its forces.
    """
    spans = [held] if moving is None else [held, moving]
    rows = [
        element
        for k, name in enumerate(names)
        for element in _range(26 * k + 4, name, [x[:, k] for x in spans], effort[k], units[k])
    ]
    return svg("bars", 900, 26 * len(names) + 8, "ranges of joint forces", rows)


def _range(y: float, name: str, spans: list[Array], effort: float, unit: str) -> Iterator[str]:
    left, right = 150, 810
    middle = (left + right) / 2
    bars = (("held", 10), ("moving", 18))  # class and thickness
    limits = [effort] if np.isfinite(effort) else []
    largest = max([float(np.abs(x).max()) for x in spans] + limits)
    scale = (right - left) / 2 / (1.04 * largest or 1.0)
    yield text(left - 10, y + 16, clip(name), "end", "name")
    yield path("axis", f"M{left} {y + 11}H{right}")
    for (low, high), (kind, thick) in reversed([*zip(spans, bars, strict=False)]):
        width = max(scale * (high - low), 1.5)
        yield rect(kind, middle + scale * low, y + 11 - thick / 2, width, thick, ' rx="2"')
    yield path("zero axis", f"M{middle} {y}V{y + 22}")
    for limit in limits:
        for x in (middle - scale * limit, middle + scale * limit):
            yield path("limit", f"M{x:.1f} {y + 1}V{y + 21}")
    yield text(right + 8, y + 16, f"±{largest:.4g} {unit}" if largest else f"0 {unit}")


CELLS, PIXEL = 20, 18  # cells of the map along each axis, and their edge
MAP_LEFT, MAP_TOP = 56, 24
MAP_RIGHT, MAP_BOTTOM = MAP_LEFT + CELLS * PIXEL, MAP_TOP + CELLS * PIXEL


def workspace_map(radius: Array, height: Array, load: Array, words: str) -> str:
    """Cells of (distance from the axis, height) in m, as dark as the largest load (N,) in them.

    load: 1 is full; cells with more have the warning colour.
    """
    rise = float(np.ptp(height))
    span = max(rise, float(radius.max()), 1e-9)
    low = float(height.min()) - (span - rise) / 2
    elements = [*_cells(radius / span, (height - low) / span, load), *_axes(span, low)]
    return svg("map", MAP_RIGHT + 10, MAP_BOTTOM + 40, words, elements)


def _cells(across: Array, up: Array, load: Array) -> Iterator[str]:
    """Squares of a grid over the unit square."""
    worst = np.full((CELLS, CELLS), np.nan)
    i, j = (np.clip((x * CELLS).astype(int), 0, CELLS - 1) for x in (across, up))
    np.fmax.at(worst, (i, j), load)
    for i, j in np.argwhere(~np.isnan(worst)):
        share = float(worst[i, j])
        kind = "cell over" if share > 1 + 1e-9 else "cell"
        shade = f' shape-rendering="crispEdges" fill-opacity="{0.06 + 0.94 * min(share, 1):.2f}"'
        yield rect(kind, MAP_LEFT + i * PIXEL, MAP_BOTTOM - (j + 1) * PIXEL, PIXEL, PIXEL, shade)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Three or more round numbers between two bounds: multiples of 1, 2 or 5 times 10^k."""
    rough = (high - low) / about
    size = 10.0 ** floor(log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    places = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
    return [k * step for k in places] if len(places) > 2 else ticks(low, high, 2 * about)


def _axes(span: float, low: float) -> Iterator[str]:
    scale = CELLS * PIXEL / span
    for x in ticks(0, span):
        yield text(MAP_LEFT + scale * x, MAP_BOTTOM + 16, page_number(x), "middle")
    for z in ticks(low, low + span):
        yield text(MAP_LEFT - 6, MAP_BOTTOM - scale * (z - low) + 4, page_number(z), "end")
    yield path("axis", f"M{MAP_LEFT} {MAP_TOP}V{MAP_BOTTOM}H{MAP_RIGHT}")
    yield text(MAP_RIGHT, MAP_BOTTOM + 34, "distance from the base's upward axis, m", "end")
    yield text(MAP_LEFT, 14, "height, m", "middle")
