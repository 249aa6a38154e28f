"""Ranges of joint forces against their limits, a row a joint."""

from collections.abc import Iterator, Sequence

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.page.svg import clip, path, rect, svg, text

WIDTH, LEFT, RIGHT, ROW = 900, 150, 810, 26
MIDDLE = (LEFT + RIGHT) / 2
BARS = (("held", 10), ("moving", 18))  # class and thickness


def range_bars(
    names: Sequence[str], held: Array, moving: Array | None, effort: Array, units: Sequence[str]
) -> str:
    """held (2, n) within moving (2, n), lowest and highest, and the limits (n,) as ticks.

    Joints of one robot differ by orders of magnitude, so every row has a scale of its own: the
    larger of its limit and its forces.
    """
    spans = [held] if moving is None else [held, moving]
    rows = [
        element
        for k, name in enumerate(names)
        for element in _row(ROW * k + 4, name, [x[:, k] for x in spans], effort[k], units[k])
    ]
    return svg("bars", WIDTH, ROW * len(names) + 8, "ranges of joint forces", rows)


def _row(y: float, name: str, spans: list[Array], effort: float, unit: str) -> Iterator[str]:
    limits = [effort] if np.isfinite(effort) else []
    largest = max([float(np.abs(x).max()) for x in spans] + limits)
    scale = (RIGHT - LEFT) / 2 / (1.04 * largest or 1.0)
    yield text(LEFT - 10, y + 16, clip(name), "end", "name")
    yield path("axis", f"M{LEFT} {y + 11}H{RIGHT}")
    for (low, high), (kind, thick) in reversed([*zip(spans, BARS, strict=False)]):
        width = max(scale * (high - low), 1.5)
        yield rect(kind, MIDDLE + scale * low, y + 11 - thick / 2, width, thick, ' rx="2"')
    yield path("zero axis", f"M{MIDDLE} {y}V{y + 22}")
    for limit in limits:
        for x in (MIDDLE - scale * limit, MIDDLE + scale * limit):
            yield path("limit", f"M{x:.1f} {y + 1}V{y + 21}")
    yield text(RIGHT + 8, y + 16, f"±{largest:.4g} {unit}" if largest else f"0 {unit}")
