"""Curves of the motion being played, with a mark that follows time."""

# TODO merge docstring of kinetree.views.workbench.plots:
# Curves over time with a mark at the present, as one small drawing.

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.trajectory import Trajectory
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.text import CURVES, number, reading

EMPTY = reading("<p>Nothing yet: simulate, upload or record a motion under <b>Motion</b>.</p>")


def add_plots(bench: Bench) -> None:
    """The place of the plots; `bench.plots` is filled by the player."""
    bench.plots = bench.server.gui.add_html(EMPTY)


def plots_reading(robot: Any, trajectory: Trajectory, now: float) -> str:
    """q, dq and tau over time; tau is computed where the motion has none."""
    tau = trajectory.tau
    if tau is None:
        tau = robot.inverse_dynamics(trajectory.q, trajectory.dq, trajectory.ddq)
    names = trajectory.dof_names
    rows = (
        ("q, rad or m", trajectory.q, trajectory.coordinate_names),
        ("dq, rad/s or m/s", trajectory.dq, names),
        ("tau, N m or N", np.asarray(tau), names),
    )
    drawings = [plot(title, trajectory.t, x, names, now) for title, x, names in rows]
    return reading("".join(drawings))


WIDTH, HEIGHT, LEFT, BOTTOM = 380, 150, 42, 16
MOST_POINTS, MOST_NAMES = 200, 9


def plot(title: str, t: Array, rows: Array, names: Sequence[str], now: float) -> str:
    """A drawing of rows (T, k) over t (T,), with the values at `now` beside the names.

    title and names may come from a file; they are escaped here.
    """
    low, high = span(rows)
    x = LEFT + (WIDTH - LEFT - 6) * (t - t[0]) / max(float(t[-1] - t[0]), 1e-12)
    every = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_POINTS)).astype(int))
    y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 8) * (rows[every] - low) / (high - low)
    lines = "".join(
        f'<polyline fill="none" stroke="{CURVES[k % len(CURVES)]}" stroke-width="1.3" points="'
        + " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[every], y[:, k], strict=True))
        + '"/>'
        for k in range(rows.shape[1])
    )
    mark = float(np.interp(now, t, x))
    frame = (
        f'<g font-size="10" fill="var(--kt-dim)"><text x="{LEFT - 4}" y="14" text-anchor="end">'
        f'{number(high, 3)}</text><text x="{LEFT - 4}" y="{HEIGHT - BOTTOM}" text-anchor="end">'
        f'{number(low, 3)}</text><text x="{LEFT}" y="{HEIGHT - 3}">{number(t[0], 3)} s</text>'
        f'<text x="{WIDTH - 6}" y="{HEIGHT - 3}" text-anchor="end">{number(t[-1], 3)} s</text></g>'
        f'<rect x="{LEFT}" y="8" width="{WIDTH - LEFT - 6}" height="{HEIGHT - BOTTOM - 8}" '
        'fill="none" stroke="var(--kt-line)"/>'
    )
    line = (
        f'<line x1="{mark:.1f}" x2="{mark:.1f}" y1="8" y2="{HEIGHT - BOTTOM}" '
        'stroke="currentColor"/>'
    )
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}">{frame}{lines}{line}</svg>'
    return f"<h4>{escape(title)}</h4>{drawing}{legend(rows, t, names, now)}"


def span(rows: Array) -> tuple[float, float]:
    """The range of an axis: that of the data, never empty."""
    low, high = float(np.min(rows, initial=0.0)), float(np.max(rows, initial=0.0))
    room = 0.03 * (high - low)
    return (low - room, high + room) if room > 1e-12 else (low - 1, high + 1)


def legend(rows: Array, t: Array, names: Sequence[str], now: float) -> str:
    """Names in the colours of their curves, with their values now; too many are counted."""
    items = [
        f'<span style="white-space:nowrap"><i class="kt-key" style="background:'
        f'{CURVES[k % len(CURVES)]}"></i>{escape(name)} {number(np.interp(now, t, rows[:, k]), 3)}'
        "</span> "
        for k, name in enumerate(names[:MOST_NAMES])
    ]
    more = len(names) - MOST_NAMES
    return f"<p>{''.join(items)}{f'and {more} more' if more > 0 else ''}</p>"
