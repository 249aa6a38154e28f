"""Drawings of a page as SVG: line plots, ranges of joint forces, a map of the workspace.

Coordinates are in pixels, and all text is escaped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import page_number

COLOURS, DASHES = 8, 4  # of lines in the style sheet


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


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two bounds: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** floor(log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    return [k * step for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def label(x: float) -> str:
    """The number at a tick."""
    return page_number(x, 6) if abs(x) > 1e-12 else "0"


def clip(words: str, most: int = 20) -> str:
    """A name cut to fit into its column."""
    return words if len(words) <= most else words[: most - 1] + "…"


def line_plot(title: str, unit: str, t: Array, columns: Array, names: Sequence[str]) -> str:
    """A figure of columns (T, n) over time t (T,), with a legend and a cursor for a script."""
    head = f"{title}, {unit}" if unit else title
    picture = svg("plot", 560, 250, head, _plot(head, t, columns))
    return f"<figure>{picture}{legend(names)}</figure>"


def _plot(head: str, t: Array, columns: Array) -> Iterator[str]:
    left, right, top, bottom = 58, 550, 24, 216  # of the area with the lines
    low, high = float(columns.min(initial=0.0)), float(columns.max(initial=0.0))
    pad = 0.06 * (high - low) or 1.0
    values = (low - pad * (low < 0), high + pad)
    times = (float(t[0]), float(t[-1]) if t[-1] > t[0] else float(t[0]) + 1)
    yield text(left, 14, head, kind="name")
    for value in ticks(*values):
        y = float(np.interp(value, values, (bottom, top)))
        yield path("axis zero" if abs(value) < 1e-12 else "axis", f"M{left} {y:.1f}H{right}")
        yield text(left - 6, y + 4, label(value), "end")
    for time in ticks(*times, about=6):
        x = float(np.interp(time, times, (left, right)))
        yield text(x, bottom + 18, label(time), "middle")
    yield text(right, 248, "t, s", "end")
    x = np.interp(t, times, (left, right))
    for k in range(columns.shape[1]):
        y = np.interp(columns[:, k], values, (bottom, top))
        points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
        yield path(f"track {stroke(k)}", f"M{points}")
    yield (
        f'<line class="cursor" x1="{left}" x2="{left}" y1="{top}" y2="{bottom}" '
        f'data-start="{left}" data-width="{right - left}"/>'
    )


@dataclass(frozen=True)
class Axis:
    """An axis of a plot of curves: its words, and whether it is logarithmic."""

    words: str
    log: bool = False

    def span(self, *values: Array) -> tuple[float, float]:
        """Lowest and highest value, on a logarithmic axis as powers of ten."""
        x = np.concatenate([self.on(v).ravel() for v in values])
        x = x[np.isfinite(x)]
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def on(self, x: Array) -> Array:
        """Values along the axis; NaN for those that a logarithmic axis does not have."""
        if not self.log:
            return np.asarray(x, float)
        return np.log10(np.where(x > 0, x, np.nan))

    def label(self, x: float) -> str:
        """The number at a tick."""
        return label(x) if not self.log else f"{10.0**x:g}"


def curve_plot(
    title: str,
    axes: tuple[Axis, Axis],
    lines: Sequence[tuple[str, Array, Array]],
    *,
    dots: tuple[str, Array, Array] | None = None,
    marks: Sequence[tuple[str, float]] = (),
    colours: Sequence[int] | None = None,
) -> str:
    """A figure of curves (name, x, y), over dots, with vertical lines at marks (words, x).

    colours: numbers of the colours, dots first; None: in order.
    """
    names = ([dots[0]] if dots is not None else []) + [name for name, _, _ in lines]
    own = range(len(names)) if colours is None else colours
    picture = svg("plot", 560, 250, title, _curves(title, axes, lines, dots, marks, own))
    return f"<figure>{picture}{legend(names, own)}</figure>"


def _curves(
    title: str,
    axes: tuple[Axis, Axis],
    lines: Sequence[tuple[str, Array, Array]],
    dots: tuple[str, Array, Array] | None,
    marks: Sequence[tuple[str, float]],
    colours: Sequence[int],
) -> Iterator[str]:
    left, right, top, bottom = 66, 550, 24, 210
    drawn = [*lines, *([dots] if dots is not None else [])]
    xs = axes[0].span(*(x for _, x, _ in drawn), np.array([x for _, x in marks]))
    ys = axes[1].span(*(y for _, _, y in drawn))
    pad = 0.04 * (ys[1] - ys[0])
    ys = (ys[0] - pad, ys[1] + pad)
    yield text(left, 14, title, kind="name")
    yield text(right, 246, axes[0].words, "end")
    yield text(right, 14, axes[1].words, "end")
    for value in _steps(ys, axes[1].log):
        y = float(np.interp(value, ys, (bottom, top)))
        zero = abs(value) < 1e-12 and not axes[1].log
        yield path("axis zero" if zero else "axis", f"M{left} {y:.1f}H{right}")
        yield text(left - 6, y + 4, axes[1].label(value), "end")
    for value in _steps(xs, axes[0].log):
        x = float(np.interp(value, xs, (left, right)))
        yield text(x, bottom + 18, axes[0].label(value), "middle")
    first = 0
    if dots is not None:
        x, y = (axis.on(v) for axis, v in zip(axes, dots[1:], strict=True))
        points = zip(np.interp(x, xs, (left, right)), np.interp(y, ys, (bottom, top)), strict=True)
        yield path(
            f"track dots {stroke(colours[0])}", "".join(f"M{a:.1f} {b:.1f}h0" for a, b in points)
        )
        first = 1
    for k, (_, x, y) in enumerate(lines, start=first):
        for piece in _pieces(axes[0].on(x), axes[1].on(y)):
            a = np.interp(piece[0], xs, (left, right))
            b = np.interp(piece[1], ys, (bottom, top))
            points = "L".join(f"{u:.1f} {v:.1f}" for u, v in zip(a, b, strict=True))
            yield path(f"track {stroke(colours[k])}", f"M{points}")
    for words, value in marks:
        x = float(np.interp(axes[0].on(np.array(value)), xs, (left, right)))
        yield path("limit", f"M{x:.1f} {top}V{bottom}")
        side = "end" if x > (left + right) / 2 else "start"
        yield text(x + (-6 if side == "end" else 6), top + 12, words, side, "name")


def _pieces(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """Parts of a curve between values that are not finite."""
    good = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        yield x[a:b], y[a:b]


def _steps(span: tuple[float, float], log: bool) -> list[float]:
    """Ticks of an axis; whole powers of ten if it spans several."""
    low, high = span
    if not log:
        return ticks(low, high)
    whole = list(range(ceil(low - 1e-9), floor(high + 1e-9) + 1))
    if len(whole) < 3:  # 1, 2, 5 of each power
        return [x for k in range(floor(low), ceil(high) + 1) for m in (1, 2, 5)
                if low <= (x := k + log10(m)) <= high]  # fmt: skip
    step = -(-len(whole) // 6)
    return [float(k) for k in whole if k % step == 0]


def stroke(k: int) -> str:
    """Classes of line k: a colour, and a dash pattern once all colours are used."""
    return f"c{k % COLOURS} d{k // COLOURS % DASHES}"


def legend(names: Sequence[str], colours: Sequence[int] | None = None) -> str:
    """Names with a sample of their lines; colours: their numbers, None in order."""
    own = range(len(names)) if colours is None else colours
    samples = (
        '<li><svg viewBox="0 0 22 8" aria-hidden="true">'
        f"{path(f'track {stroke(k)}', 'M0 4H22')}</svg>{escape(name)}</li>"
        for k, name in zip(own, names, strict=True)
    )
    return f'<ul class="legend">{"".join(samples)}</ul>'


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


def _axes(span: float, low: float) -> Iterator[str]:
    scale = CELLS * PIXEL / span
    for x in ticks(0, span):
        yield text(MAP_LEFT + scale * x, MAP_BOTTOM + 16, label(x), "middle")
    for z in ticks(low, low + span):
        yield text(MAP_LEFT - 6, MAP_BOTTOM - scale * (z - low) + 4, label(z), "end")
    yield path("axis", f"M{MAP_LEFT} {MAP_TOP}V{MAP_BOTTOM}H{MAP_RIGHT}")
    yield text(MAP_RIGHT, MAP_BOTTOM + 34, "distance from the base's upward axis, m", "end")
    yield text(MAP_LEFT, 14, "height, m", "middle")
