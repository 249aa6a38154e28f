"""Plots of values: a Trajectory, curves by name, or markup that an object makes of itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.motion.plots import charts_of
from kinetree.motion.trajectory import Trajectory
from kinetree.present.charts import Chart, Series, as_svg, draw, draw_chart, new_figure


def plot(value: Any, options: Mapping[str, str], key: str = "plot") -> str:
    """Markup of a plot.

    value: a Trajectory (option `of`: q, dq, ddq or tau); {name: y} or {name: (x, y)}; or
    (x, {name: y}); or an object with `_repr_html_` or `_repr_svg_`; or SVG text. key: text that no
    other plot of the page has.
    """
    if isinstance(value, Trajectory):
        charts = charts_of(value, panels=[options.get("of", "q")])
        return as_svg(draw(options.get("title", ""), _chosen(charts, options)), key)
    if isinstance(value, str):
        return value
    for method in ("_repr_svg_", "_repr_html_"):
        found = getattr(value, method, None)
        if found is not None and found():
            return found()
    return as_svg(draw("", [chart_of(value, options)]), key)


def _chosen(charts: list[Chart], options: Mapping[str, str]) -> list[Chart]:
    """The charts with the lines of the wanted joints, without limits."""
    wanted = [x.strip() for x in options.get("joints", "").split(",") if x.strip()]
    found = []
    for chart in charts:
        lines = tuple(
            replace(x, limits=(None, None)) for x in chart.series if not wanted or x.name in wanted
        )
        if lines:
            found.append(replace(chart, series=lines))
    return found


def chart_of(value: Any, options: Mapping[str, str]) -> Chart:
    """A chart of curves."""
    wanted = options.get("dots", "")
    series = tuple(
        Series(name, x, y, dots=wanted in (name, "all")) for name, x, y in curves_of(value)
    )
    log = "x" * ("logx" in options) + "y" * ("logy" in options)
    title, unit = options.get("title", ""), options.get("y", "")
    return Chart(title, unit, series, options.get("x", "t, s"), log=log, together=True)


def thumbnail(value: Any, kind: str, key: str) -> str:
    """A small plot with axes and without words; kind "dots": of its curves as dots."""
    chart = chart_of(value, {"dots": "all" if kind == "dots" else ""})
    figure = new_figure(4.2, 3.2)
    axes = figure.subplots()
    draw_chart(axes, chart)
    axes.set_title("", loc="left")
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    return as_svg(figure, key)


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
