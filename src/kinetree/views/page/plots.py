"""Plots as inline SVG: lines over time, ranges against limits, a map of the workspace."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

import numpy as np

from kinetree.arrays import Array

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 250, 58, 10, 24, 34
COLOURS, DASHES, MOST_POINTS = 8, 4, 600


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two bounds: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** floor(log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    return [k * step for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def label(x: float) -> str:
    """A tick's number."""
    return f"{x:.6g}".replace("-", "−") if abs(x) > 1e-12 else "0"


def line_plot(title: str, unit: str, t: Array, columns: Array, names: Sequence[str]) -> str:
    """A figure of columns (T, n) over time t (T,), with a cursor line that a script can move."""
    low, high = float(columns.min(initial=0.0)), float(columns.max(initial=0.0))
    pad = 0.06 * (high - low) or 1.0
    low, high = low - pad * (low < 0), high + pad
    start, end = float(t[0]), float(t[-1]) if t[-1] > t[0] else float(t[0]) + 1
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x_of(time: Array | float) -> Array | float:
        return LEFT + (time - start) / (end - start) * across

    def y_of(value: Array | float) -> Array | float:
        return TOP + (high - value) / (high - low) * down

    head = f"{title}, {unit}" if unit else title
    lines = [f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
             f'aria-label="{escape(head)}">']  # fmt: skip
    lines.append(f'<text class="name" x="{LEFT}" y="14">{escape(head)}</text>')
    for y in ticks(low, high):
        at = y_of(y)
        kind = "zero" if abs(y) < 1e-12 else "tick"
        lines.append(f'<path class="axis {kind}" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{label(y)}</text>')
    for x in ticks(start, end, 6):
        at = x_of(x)
        lines.append(f'<text x="{at:.1f}" y="{HEIGHT - 16}" text-anchor="middle">{label(x)}</text>')
    lines.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">t, s</text>')
    for k in range(columns.shape[1]):
        points = zip(x_of(t), y_of(columns[:, k]), strict=True)  # type: ignore[arg-type]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        lines.append(f'<path class="track {stroke(k)}" d="M{path}"/>')
    lines.append(
        f'<line class="cursor" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{TOP + down}" '
        f'data-start="{LEFT}" data-width="{across}"/></svg>'
    )
    return f"<figure>{''.join(lines)}{legend(names)}</figure>"


def stroke(k: int) -> str:
    """Classes of line k: a colour, and a dash once the colours are used up."""
    return f"c{k % COLOURS} d{k // COLOURS % DASHES}"


def legend(names: Sequence[str]) -> str:
    """Names with a sample of their lines."""
    samples = (
        f'<li><svg viewBox="0 0 22 8" aria-hidden="true"><path class="track {stroke(k)}" '
        f'd="M0 4H22"/></svg>{escape(name)}</li>'
        for k, name in enumerate(names)
    )
    return f'<ul class="legend">{"".join(samples)}</ul>'


def range_bars(
    names: Sequence[str], held: Array, moving: Array | None, effort: Array, units: Sequence[str]
) -> str:
    """A row a joint: held (2, n) within moving (2, n), and the limits as ticks, each to its scale.

    Joints of one robot differ by orders of magnitude, so every row has a scale of its own: the
    larger of its limit and its forces.
    """
    row, left, right, width = 26, 150, 90, 900
    across = width - left - right
    height = row * len(names) + 8
    lines = [
        f'<svg class="bars" viewBox="0 0 {width} {height}" role="img" aria-label="torque ranges">'
    ]
    for k, name in enumerate(names):
        y = row * k + 4
        parts = [held[:, k]] + ([] if moving is None else [moving[:, k]])
        largest = max(float(np.abs(x).max()) for x in parts)
        if np.isfinite(effort[k]):
            largest = max(largest, float(effort[k]))
        scale = across / 2 / (1.04 * largest or 1.0)
        middle = left + across / 2
        lines.append(f'<text class="name" x="{left - 10}" y="{y + 16}" text-anchor="end">'
                     f"{escape(clip(name))}</text>")  # fmt: skip
        lines.append(f'<path class="axis" d="M{left} {y + 11}H{left + across}"/>')
        kinds = (("held", 10), ("moving", 18))
        for x, (kind, thick) in reversed([*zip(parts, kinds, strict=False)]):
            a, b = middle + scale * x[0], middle + scale * x[1]
            lines.append(
                f'<rect class="{kind}" x="{a:.1f}" y="{y + 11 - thick / 2}" '
                f'width="{max(b - a, 1.5):.1f}" height="{thick}" rx="2"/>'
            )
        lines.append(f'<path class="zero axis" d="M{middle} {y}V{y + 22}"/>')
        if np.isfinite(effort[k]):
            for side in (-1, 1):
                x = middle + side * scale * effort[k]
                lines.append(f'<path class="limit" d="M{x:.1f} {y + 1}V{y + 21}"/>')
        end = f"±{largest:.4g} {units[k]}" if largest else f"0 {units[k]}"
        lines.append(f'<text x="{left + across + 8}" y="{y + 16}">{end}</text>')
    return "".join([*lines, "</svg>"])


def clip(text: str, most: int = 20) -> str:
    """A name short enough for its column."""
    return text if len(text) <= most else text[: most - 1] + "…"


def workspace_map(radius: Array, height: Array, load: Array, words: str) -> str:
    """Cells of (distance from the axis, height) in m, as dark as the largest load (N,) in them.

    load: 1 is full; cells beyond it have the colour of a warning.
    """
    cells, pixel, left, bottom, top = 20, 18, 56, 40, 24
    size = left + cells * pixel + 10
    span = max(float(np.ptp(height)), float(radius.max()), 1e-9)
    step = span / cells
    low = float(height.min()) - (span - float(np.ptp(height))) / 2
    worst: dict[tuple[int, int], float] = {}
    for r, z, share in zip(radius, height, load, strict=True):
        key = min(int(r / step), cells - 1), min(int((z - low) / step), cells - 1)
        worst[key] = max(worst.get(key, 0.0), float(share))
    base = top + cells * pixel
    box = f"0 0 {size} {base + bottom}"
    lines = [f'<svg class="map" viewBox="{box}" role="img" aria-label="{escape(words)}">']
    for (i, j), share in sorted(worst.items()):
        kind = "cell over" if share > 1 + 1e-9 else "cell"
        x, y = left + i * pixel, base - (j + 1) * pixel
        shade = 0.06 + 0.94 * min(share, 1)
        lines.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{pixel}" '
            f'height="{pixel}" shape-rendering="crispEdges" fill-opacity="{shade:.2f}"/>'
        )
    for x in ticks(0, span):
        lines.append(f'<text x="{left + x / step * pixel:.1f}" y="{base + 16}" '
                     f'text-anchor="middle">{label(x)}</text>')  # fmt: skip
    for z in ticks(low, low + span):
        lines.append(f'<text x="{left - 6}" y="{base - (z - low) / step * pixel + 4:.1f}" '
                     f'text-anchor="end">{label(z)}</text>')  # fmt: skip
    lines.append(f'<path class="axis" d="M{left} {top}V{base}H{size - 10}"/>')
    lines.append(f'<text x="{size - 10}" y="{base + 34}" text-anchor="end">'
                 "distance from the base's upward axis, m</text>")  # fmt: skip
    lines.append(f'<text x="{left}" y="14" text-anchor="middle">height, m</text>')
    return "".join([*lines, "</svg>"])
