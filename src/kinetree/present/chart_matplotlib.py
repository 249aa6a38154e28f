"""Charts drawn with matplotlib, for files such as PNG and for figures that are changed by hand."""

from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import need
from kinetree.present.charts import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

RED, GREY, GRID = "#c62828", "#616161", "#e0e0e0"
Colour = tuple[float, float, float, float]


def literal(name: str) -> str:
    """A name as matplotlib has to be given it; `$` would begin a formula."""
    return name.replace("$", r"\$")


@cache
def _figure_class() -> Any:
    """A class of figures that notebooks show as PNG, also without `%matplotlib inline`."""
    Base = need("matplotlib.figure", "plot", "a plot").Figure

    class ShownFigure(Base):
        """A matplotlib Figure that a notebook shows by itself."""

        def _repr_png_(self) -> bytes:
            stream = BytesIO()
            self.savefig(stream, format="png", dpi=100)
            return stream.getvalue()

    return ShownFigure


def new_figure(width: float, height: float) -> "MatplotlibFigure":
    """An empty figure of a size in inches, which needs no screen and shows in notebooks."""
    need("matplotlib", "plot", "a plot")
    return _figure_class()(figsize=(width, height), layout="constrained")


def matplotlib_figure(
    title: str, charts: Sequence[Chart], *, window: bool = False
) -> "MatplotlibFigure":
    """The charts as one figure; those over the same quantity have a common horizontal axis.

    Args:
        title: above the charts.
        charts: from top to bottom.
        window: make a figure of pyplot, which `pyplot.show` opens in a window.
    """
    count = len(charts)
    if window:
        pyplot = need("matplotlib.pyplot", "plot", "a plot")
        drawn = pyplot.figure(figsize=(9, 0.8 + 2.1 * count), layout="constrained")
    else:
        drawn = new_figure(9, 0.8 + 2.1 * count)
    axes = np.atleast_1d(drawn.subplots(count, 1))
    for axis, chart in zip(axes, charts, strict=True):
        draw_chart(axis, chart)
    for words in dict.fromkeys(chart.axes[0].words for chart in charts):
        over = [k for k, chart in enumerate(charts) if chart.axes[0].words == words]
        for k in over[1:]:
            axes[k].sharex(axes[over[0]])
        for k in over[:-1]:
            axes[k].tick_params(labelbottom=False)
        axes[over[-1]].set_xlabel("time, s" if words == "t, s" else words)
        lines = charts[over[0]].series
        if all(one.x is lines[0].x for one in lines) and lines[0].x[-1] > lines[0].x[0]:
            axes[over[0]].set_xlim(lines[0].x[0], lines[0].x[-1])
    first = charts[0]
    _legend(drawn, first)
    for axis, chart in zip(axes, charts, strict=True):
        if {one.name for one in chart.series}.isdisjoint(one.name for one in first.series):
            low, high = axis.get_ylim()  # and room for a legend of its own
            log = chart.axes[1].log
            axis.set_ylim(low, high * (high / low) ** 0.2 if log else high + 0.2 * (high - low))
            axis.legend(loc="upper left", ncols=4, fontsize=8, frameon=False)
    drawn.suptitle(literal(title))
    return drawn


def draw_chart(axis: "Axes", chart: Chart) -> None:
    """Draw one chart on axes: lines, bands, dashed limits, shaded times and marks.

    Args:
        axis: matplotlib's axes.
        chart: what is drawn.
    """
    colours = [_colour(chart.colour(k), len(chart.series)) for k in range(len(chart.series))]
    for one, colour in zip(chart.series, colours, strict=True):
        if one.band is not None:
            axis.fill_between(one.x, *one.band, color=colour, alpha=0.18, lw=0)
        style = "." if one.dots else "-"
        axis.plot(one.x, one.y, style, color=colour, lw=1.6, ms=3, label=literal(one.name))
        if one.reference is not None:
            axis.plot(*one.reference, ":", color=colour, lw=1.6)
    axis.set_ylabel(", ".join(filter(None, (chart.title, chart.axes[1].words))))
    axis.grid(True, color=GRID, lw=0.6)
    axis.set_ylim(*(10**y if chart.axes[1].log else y for y in chart.range()))
    for at, set_scale in zip(chart.axes, (axis.set_xscale, axis.set_yscale), strict=True):
        if at.log:
            set_scale("log")
    last = -np.inf
    for start, end, _ in sorted(chart.beyond or ()):
        if end > last:
            axis.axvspan(max(start, last), end, color=RED, alpha=0.12, lw=0)
            last = end
    for words, x in chart.marks:
        axis.axvline(x, color=GREY, ls="--", lw=1.2)
        axis.annotate(literal(words), (x, 0.02), xycoords=("data", "axes fraction"), rotation=90)
    _draw_limits(axis, chart, colours)


def _colour(k: int, count: int) -> Colour:
    colours = need("matplotlib", "plot", "a plot").colormaps["tab10" if count <= 10 else "turbo"]
    return colours(k if count <= 10 else k / (count - 1))


def _draw_limits(axis: "Axes", chart: Chart, colours: list[Colour]) -> None:
    """Draw the limits in view, dashed, with values in the margin, and arrows to those out of view.

    A limit of all lines is grey, another one has the colours of its lines, also at its value.
    """
    low, high = chart.range()
    for one, colour in zip(chart.series, colours, strict=True):
        for bound in one.limits:
            if isinstance(bound, np.ndarray):
                near = np.where((bound < low) | (bound > high), np.nan, bound)
                axis.plot(one.x, near, color=colour, ls="--", lw=1.2, zorder=1)
    limits = chart.limits()
    above, below = ([x for x in limits if x.value > high], [x for x in limits if x.value < low])
    labels = [(x, " ↑", 0.97) for x in above[-1:]]
    labels += [(x, " ↓", 0.03) for x in below[:1]]
    band = 0.03 * (high - low)
    for limit in limits:
        if not limit.near or limit in above or limit in below:
            continue
        owners = [GREY] if limit.shared else [colours[k] for k in limit.lines]
        end = limit.value + (band if limit.upper else -band)
        axis.axhspan(limit.value, end, color=owners[0], alpha=0.18, lw=0, zorder=0.5)
        dash, period = 6, max(10, 7 * len(owners))
        for k, colour in enumerate(owners):
            style = (7 * k, (dash, period - dash))
            axis.axhline(limit.value, color=colour, ls=style, lw=1.2, zorder=1)
        y = (limit.value - low) / (high - low)
        if all(abs(y - other) > 0.07 for *_, other in labels):
            labels.append((limit, "", y))
    for limit, arrow, y in labels:
        parts = [("\N{EM DASH}", colours[k]) for k in limit.marked]
        for k, (words, colour) in enumerate([*parts, (limit.words + arrow, GREY)]):
            axis.annotate(
                words, (1, y), (3 + 10 * k, 0), xycoords="axes fraction", va="center", fontsize=7.5,
                textcoords="offset points", color=colour,
                weight="normal" if colour == GREY else "bold",
            )  # fmt: skip


def _legend(figure: Any, chart: Chart) -> None:
    """Add names of the lines to the right of all panels, in two columns if there are many."""
    Line = need("matplotlib.lines", "plot", "a plot").Line2D
    count = len(chart.series)
    lines = [Line([], [], color=_colour(chart.colour(k), count), lw=1.6) for k in range(count)]
    names = [literal(one.name) for one in chart.series]
    many = count > 30
    figure.legend(
        lines, names, loc="outside right upper", frameon=False, fontsize=7 if many else 9,
        ncols=1 + many,
    )  # fmt: skip
