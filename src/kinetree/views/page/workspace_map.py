"""A map of the workspace: where the tool was, and how hard holding still was there."""

from collections.abc import Iterator

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.page.svg import label, path, rect, svg, text, ticks

CELLS, PIXEL, LEFT, TOP = 20, 18, 56, 24
RIGHT, BOTTOM = LEFT + CELLS * PIXEL, TOP + CELLS * PIXEL


def workspace_map(radius: Array, height: Array, load: Array, words: str) -> str:
    """Cells of (distance from the axis, height) in m, as dark as the largest load (N,) in them.

    load: 1 is full; cells beyond it have the colour of a warning.
    """
    rise = float(np.ptp(height))
    span = max(rise, float(radius.max()), 1e-9)
    low = float(height.min()) - (span - rise) / 2
    elements = [*_cells(radius / span, (height - low) / span, load), *_axes(span, low)]
    return svg("map", RIGHT + 10, BOTTOM + 40, words, elements)


def _cells(across: Array, up: Array, load: Array) -> Iterator[str]:
    """Squares of a grid over the unit square."""
    worst = np.full((CELLS, CELLS), np.nan)
    i, j = (np.clip((x * CELLS).astype(int), 0, CELLS - 1) for x in (across, up))
    np.fmax.at(worst, (i, j), load)
    for i, j in np.argwhere(~np.isnan(worst)):
        share = float(worst[i, j])
        kind = "cell over" if share > 1 + 1e-9 else "cell"
        shade = f' shape-rendering="crispEdges" fill-opacity="{0.06 + 0.94 * min(share, 1):.2f}"'
        yield rect(kind, LEFT + i * PIXEL, BOTTOM - (j + 1) * PIXEL, PIXEL, PIXEL, shade)


def _axes(span: float, low: float) -> Iterator[str]:
    scale = CELLS * PIXEL / span
    for x in ticks(0, span):
        yield text(LEFT + scale * x, BOTTOM + 16, label(x), "middle")
    for z in ticks(low, low + span):
        yield text(LEFT - 6, BOTTOM - scale * (z - low) + 4, label(z), "end")
    yield path("axis", f"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}")
    yield text(RIGHT, BOTTOM + 34, "distance from the base's upward axis, m", "end")
    yield text(LEFT, 14, "height, m", "middle")
