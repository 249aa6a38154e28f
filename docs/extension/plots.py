"""Plots of values: a Trajectory, curves by name, or markup that an object makes of itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.motion.trajectory import Trajectory
from kinetree.present.chart_svg import chart_figure
from kinetree.present.charts import TIME, Axis, Chart, Series

TRACKS = {"q": "positions", "dq": "rates", "ddq": "accelerations", "tau": "joint forces"}


def plot(value: Any, options: Mapping[str, str]) -> str:
    """Markup of a plot.

    value: a Trajectory (option `of`: q, dq, ddq or tau); {name: y} or {name: (x, y)}; or
    (x, {name: y}); or an object with `_repr_html_` or `_repr_svg_`; or SVG text.
    """
    if isinstance(value, Trajectory):
        return plot_trajectory(value, options)
    if isinstance(value, str):
        return value
    for method in ("_repr_svg_", "_repr_html_"):
        found = getattr(value, method, None)
        if found is not None and found():
            return found()
    wanted = options.get("dots", "")
    axes = (
        Axis(options.get("x", "t, s"), "logx" in options),
        Axis(options.get("y", ""), "logy" in options),
    )
    series = tuple(
        Series(name, x, y, dots=wanted in (name, "all")) for name, x, y in curves_of(value)
    )
    return chart_figure(Chart(options.get("title", ""), axes, series))


def plot_trajectory(motion: Trajectory, options: Mapping[str, str]) -> str:
    """Columns of a motion over time."""
    track = options.get("of", "q")
    columns = np.asarray(getattr(motion, track), float)
    names = motion.coordinate_names if track == "q" else motion.dof_names
    wanted = [x.strip() for x in options.get("joints", "").split(",") if x.strip()]
    t = np.asarray(motion.t, float)
    series = tuple(
        Series(name, t, columns[:, k])
        for k, name in enumerate(names)
        if not wanted or name in wanted
    )
    axes = (TIME, Axis(options.get("y", motion.units.get(track, ""))))
    return chart_figure(Chart(options.get("title", TRACKS[track]), axes, series))


def curves_of(value: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(name, x, y) of every curve."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        found = [(name, value[0], y) for name, y in value[1].items()]
    elif isinstance(value, Mapping):
        found = [
            (name, *y) if isinstance(y, tuple) else (name, range(len(y)), y)
            for name, y in value.items()
        ]
    else:
        raise TypeError(
            f"a plot shows a Trajectory, {{name: (x, y)}} or (x, {{name: y}}), not {type(value)}"
        )
    return [(str(name), np.asarray(x, float), np.asarray(y, float)) for name, x, y in found]
