"""Plots of values: a Trajectory, curves by name, or markup that an object makes of itself."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.trajectory import Trajectory
from kinetree.views.page.svg import Axis, curve_plot

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
    curves, dots = curves_of(value), None
    if "dots" in options:
        wanted = options["dots"].strip()
        dots = next(curve for curve in curves if curve[0] == wanted)
        curves = [curve for curve in curves if curve[0] != wanted]
    axes = (
        Axis(options.get("x", "t, s"), "logx" in options),
        Axis(options.get("y", ""), "logy" in options),
    )
    return curve_plot(options.get("title", ""), axes, curves, dots=dots)


def plot_trajectory(motion: Trajectory, options: Mapping[str, str]) -> str:
    """Columns of a motion over time."""
    track = options.get("of", "q")
    columns = np.asarray(getattr(motion, track), float)
    names = motion.coordinate_names if track == "q" else motion.dof_names
    wanted = [x.strip() for x in options.get("joints", "").split(",") if x.strip()]
    t = np.asarray(motion.t, float)
    keep = np.unique(np.linspace(0, len(t) - 1, min(len(t), 400)).round().astype(int))
    curves = [
        (name, t[keep], columns[keep, k])
        for k, name in enumerate(names)
        if not wanted or name in wanted
    ]
    unit = motion.units.get(track, "")
    axes = (Axis("t, s"), Axis(options.get("y", unit)))
    return curve_plot(options.get("title", TRACKS[track]), axes, curves)


def curves_of(value: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(name, x, y) of every curve."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Mapping):
        x = np.asarray(value[0], float)
        return [thinned(name, x, y) for name, y in value[1].items()]
    if isinstance(value, Mapping):
        return [
            thinned(name, *y) if isinstance(y, tuple) else thinned(name, np.arange(len(y)), y)
            for name, y in value.items()
        ]
    raise TypeError(
        f"a plot shows a Trajectory, {{name: (x, y)}} or (x, {{name: y}}), not {type(value)}"
    )


def thinned(name: str, x: Any, y: Any) -> tuple[str, np.ndarray, np.ndarray]:
    """A curve of at most 600 points."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), 600)).round().astype(int))
    return str(name), x[keep], y[keep]
