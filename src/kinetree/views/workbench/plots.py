"""Plots of the motion that is played, with a mark at the present time."""

from collections.abc import Sequence
from html import escape

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import steady_number
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory
from kinetree.views.workbench.bench import Bench
from kinetree.views.workbench.markup import CURVES, reading

EMPTY = reading("<p>No motion yet: simulate, open or record one in the tab <b>Motion</b>.</p>")
WIDTH, HEIGHT, LEFT, BOTTOM = 380, 150, 42, 16
MOST_POINTS, MOST_NAMES = 200, 9


def add_plots(bench: Bench) -> None:
    """Add the element of the plots, which the player fills."""
    bench.plots = bench.server.gui.add_html(EMPTY)


def plots_reading(robot: Robot, trajectory: Trajectory, now: float) -> str:
    """q, dq and tau over time; tau is computed if the motion has none."""
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


def plot(title: str, t: Array, rows: Array, names: Sequence[str], now: float) -> str:
    """A plot of rows (T, k) over t (T,), with the values at `now` beside the names.

    title and names can come from a file and are escaped here.
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
    first, last, top, bottom = (steady_number(value, 3) for value in (t[0], t[-1], high, low))
    frame = (
        f'<g font-size="10" fill="var(--kt-dim)"><text x="{LEFT - 4}" y="14" text-anchor="end">'
        f'{top}</text><text x="{LEFT - 4}" y="{HEIGHT - BOTTOM}" text-anchor="end">'
        f'{bottom}</text><text x="{LEFT}" y="{HEIGHT - 3}">{first} s</text>'
        f'<text x="{WIDTH - 6}" y="{HEIGHT - 3}" text-anchor="end">{last} s</text></g>'
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
    """Range of an axis: that of the data and zero, never empty."""
    low, high = float(np.min(rows, initial=0.0)), float(np.max(rows, initial=0.0))
    room = 0.03 * (high - low)
    return (low - room, high + room) if room > 1e-12 else (low - 1, high + 1)


def legend(rows: Array, t: Array, names: Sequence[str], now: float) -> str:
    """Names in the colours of their curves with the present values; those left out are counted."""
    shown = [(name, float(np.interp(now, t, rows[:, k]))) for k, name in enumerate(names)]
    items = [
        f'<span style="white-space:nowrap"><i class="kt-key" style="background:'
        f'{CURVES[k % len(CURVES)]}"></i>{escape(name)} {steady_number(value, 3)}</span> '
        for k, (name, value) in enumerate(shown[:MOST_NAMES])
    ]
    more = len(names) - MOST_NAMES
    return f"<p>{''.join(items)}{f'and {more} more' if more > 0 else ''}</p>"
