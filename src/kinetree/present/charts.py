"""Charts: lines over time or over another quantity, with limits, marks and shaded times.

A `Series` is a line or a cloud of points, and a `Chart` has the series of one quantity and unit.
`draw` makes a figure of matplotlib of some charts; a page of the workbench draws `chart_data` in
the browser (views/page/plot.js, which follows the same rules for limits and ranges).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO, StringIO
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import without_rounding
from kinetree.errors import InputError, need, visible
from kinetree.present.tables import page_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEAR_LIMIT = 0.15  # a limit is drawn if its line comes as near as this part of the range of all
NEGLIGIBLE = 1e-7  # values below this part of the largest limit do not fill the plot
MAX_LINES = 4  # of a panel; more lines get a panel each
COLUMNS = 4  # of panels with one line
WIDTH, HEIGHT, SMALL_HEIGHT = 9.0, 1.7, 1.1  # in, of a figure, of a panel, of a small panel
LEFT, RIGHT, GAP = 0.75, 0.75, 0.55  # in, margins for numbers and limits, and between columns
HEAD, TICKS, WORDS = 0.34, 0.22, 0.24  # in, above a panel, and below it for numbers and words
LONG_TITLE = 24  # letters of a name and the limits beside it, for which a small panel has room
LINES = ("#2b74c4", "#c76a00", "#23894c", "#c23b5e", "#7d5bd0", "#0b8792", "#8f5c22", "#66727e")
ENERGIES = {
    **{"kinetic": "#d62f8c", "potential": "#5a9e1b", "work": "#222f6b"},
    **{"friction": "#b8a000", "defect": "#8a8a8a"},
}
DASHES = ("-", "--", ":", "-.")
RED, GREY, GRID = "#c62828", "#616161", "#e0e0e0"
TIME = "t, s"

Bound = float | Array | None


@dataclass(frozen=True, eq=False)
class Series:
    """A line, or points.

    Args:
        name: in the legend.
        x: shape (T,), increasing unless `dots`.
        y: shape (T,); NaN is a gap.
        limits: lower and upper limit, each None, a number, or shape (T,).
        band: lowest and highest values of a batch, shape (T,) each, shaded; None: no batch.
        reference: x and y, shape (K,) each, of a line that this one should follow, drawn dotted.
        dots: draw points that no line connects.
        colour: number of the colour, or a name of `ENERGIES`; None: the place in the chart.
    """

    name: str
    x: Array
    y: Array
    limits: tuple[Bound, Bound] = (None, None)
    band: tuple[Array, Array] | None = None
    reference: tuple[Array, Array] | None = None
    dots: bool = False
    colour: int | str | None = None

    def values(self) -> Array:
        """All finite values: of the line, the band and the reference."""
        y = np.concatenate([self.y, *(self.band or ()), *(self.reference or ())[1:]])
        return y[np.isfinite(y)]

    def at(self, keep: Array) -> "Series":
        """Some of the samples."""
        low, high = (x[keep] if isinstance(x, np.ndarray) else x for x in self.limits)
        band = None if self.band is None else (self.band[0][keep], self.band[1][keep])
        return replace(self, x=self.x[keep], y=self.y[keep], limits=(low, high), band=band)


@dataclass(frozen=True, eq=False)
class Chart:
    """The lines of one quantity in one unit.

    Args:
        title: what is drawn.
        unit: of the vertical axis.
        series: the lines.
        x: words of the horizontal axis.
        log: the logarithmic axes: "", "x", "y" or "xy".
        marks: words and places of vertical lines.
        beyond: start, end and name for each time at which a limit is exceeded, which is shaded;
            None: not known, pages then compute it from the samples.
        together: the lines are compared with one another and stay in one panel.
    """

    title: str
    unit: str
    series: tuple[Series, ...]
    x: str = TIME
    log: str = ""
    marks: tuple[tuple[str, float], ...] = ()
    beyond: tuple[tuple[float, float, str], ...] | None = None
    together: bool = False

    @property
    def words(self) -> str:
        """The title, and the name of a single line, which no legend has."""
        alone = len(self.series) == 1 and self.series[0].name not in self.title
        return f"{self.title}, {self.series[0].name}".removeprefix(", ") if alone else self.title

    @property
    def names(self) -> list[str]:
        """Names of the series."""
        return [one.name for one in self.series]

    def colour(self, k: int) -> int | str:
        """Colour of series k."""
        chosen = self.series[k].colour
        return k if chosen is None else chosen

    def thinned(self, most: int) -> "Chart":
        """The chart with at most that many samples of each line, evenly spread, with both ends."""
        if all(len(one.x) <= most for one in self.series):
            return self
        return replace(self, series=tuple(one.at(spread(len(one.x), most)) for one in self.series))

    def panels(self) -> "list[Chart]":
        """The chart itself, or of more than four lines a chart for each.

        Rounding beside the largest value or limit of all, which would fill a panel, is zero.
        """
        if self.together or len(self.series) <= MAX_LINES:
            return [self]
        sizes = [float(np.abs(one.values()).max(initial=0)) for one in self.series]
        largest = max(*sizes, *(abs(value) for value, _ in self.limits()))
        found: list[Chart] = []
        for k, one in enumerate(self.series):
            colour = self.colour(k)
            line = replace(
                one,
                y=without_rounding(one.y, largest),
                colour=colour % len(LINES) if isinstance(colour, int) else colour,
            )
            beyond = tuple(x for x in self.beyond or () if x[2] == one.name)
            found.append(replace(self, title=one.name, series=(line,), beyond=beyond))
        return found

    def limits(self) -> dict[tuple[float, bool], list[int]]:
        """Constant limits (value, whether it is an upper one), and the series that have each."""
        found: dict[tuple[float, bool], list[int]] = {}
        for k, one in enumerate(self.series):
            for bound, upper in zip(one.limits, (False, True), strict=True):
                if isinstance(bound, float) and np.isfinite(bound):
                    found.setdefault((bound, upper), []).append(k)
        return found

    def range(self) -> tuple[float, float]:
        """Lowest and highest value of a vertical axis that is not logarithmic, with a margin.

        Limits that a line comes near are in it, and zero where the values are not far from it.
        """
        y = np.concatenate([one.values() for one in self.series] or [np.zeros(0)])
        low, high = (float(y.min()), float(y.max())) if len(y) else (0.0, 1.0)
        limits = self.limits()
        reach = max(abs(low), abs(high))
        if reach < NEGLIGIBLE * max([0.0, *(abs(value) for value, _ in limits)]):
            low = high = reach = 0.0
        near = NEAR_LIMIT * (high - low)
        for (value, _), owners in limits.items():
            if any(_comes_near(self.series[k].values(), value, near) for k in owners):
                low, high = min(low, value), max(high, value)
        low = 0.0 if 0 < low < 0.5 * (high - low) else low
        high = 0.0 if 0 < -high < 0.5 * (high - low) else high
        pad = 0.06 * (high - low) if high - low > 1e-9 * reach else 0.1 * reach or 1.0
        return low - pad, high + pad


def _comes_near(values: Array, limit: float, distance: float) -> bool:
    return len(values) > 0 and values.min() - distance <= limit <= values.max() + distance


def spread(count: int, most: int) -> Array:
    """Indices of the samples that are kept: all, or `most` evenly spread with both ends."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))


def chart_data(chart: Chart) -> dict[str, object]:
    """Data of one chart as plot.js reads it; numbers have six digits, times nine."""
    name, _, unit = chart.x.rpartition(", ") if ", " in chart.x else (chart.x, "", "")
    lines: list[dict[str, object]] = []
    for k, one in enumerate(chart.series):
        line: dict[str, object] = {"name": one.name, "colour": chart.colour(k), "dots": one.dots}
        line |= {"t": numbers(one.x, 9), "values": numbers(one.y)}
        if one.band is not None:
            line["band"] = [numbers(side) for side in one.band]
        if one.reference is not None:
            at, wanted = one.reference
            line["reference"] = {"t": numbers(at, 9), "values": numbers(wanted)}
        if any(bound is not None for bound in one.limits):
            line["limit"] = [_bound(bound) for bound in one.limits]
        lines.append(line)
    shared = {}
    if lines and all(one.x is chart.series[0].x for one in chart.series):
        shared = {"t": lines[0]["t"]}
        lines = [{key: x for key, x in line.items() if key != "t"} for line in lines]
    found: dict[str, object] = {
        "title": chart.title, "unit": chart.unit, "series": lines, **shared,
        "x": {"name": name, "unit": unit, "log": "x" in chart.log}, "y": {"log": "y" in chart.log},
        "marks": [{"name": words, "x": at} for words, at in chart.marks],
    }  # fmt: skip
    if chart.beyond is not None:
        found["violations"] = [{"start": a, "end": b, "name": who} for a, b, who in chart.beyond]
    return found


def numbers(x: Array, digits: int = 6) -> list[float | None]:
    """Numbers with few digits, which keeps a page small; None for those that are not finite."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.asarray(x).tolist()]


def _bound(bound: Bound) -> float | list[float | None] | None:
    if isinstance(bound, np.ndarray):
        return numbers(bound)
    return float(bound) if bound is not None and np.isfinite(bound) else None


# Figures of matplotlib


@dataclass(frozen=True, eq=False)
class Panel:
    """A chart at its place in a figure.

    label: words of its vertical axis. box: left and upper edge, width and height, in. ticks: the
    horizontal axis has numbers. last: it has words too.
    """

    chart: Chart
    label: str
    box: tuple[float, float, float, float]
    ticks: bool
    last: bool


def draw(
    title: str,
    charts: Iterable[Chart],
    *,
    notes: Sequence[str] = (),
    columns: int = 1,
    path: str | PathLike[str] | None = None,
    show: bool = False,
) -> "Figure":
    """The charts as a figure of matplotlib, which a notebook shows.

    Charts of more than four lines become small panels with a line each. Panels over the same
    quantity have a common horizontal axis.

    Args:
        title: above the charts.
        charts: from top to bottom.
        notes: sentences below the charts.
        columns: charts beside one another; with more than one, no chart is divided.
        path: file to write; its ending chooses the format: .png, .svg, .pdf and others.
        show: open the figure in a window, which needs a screen.
    """
    panels, below = _arranged(list(charts), columns)
    height = below + 0.2 * len(notes)
    figure = new_figure(WIDTH, height, window=show, layout=None)
    ticks = 4 if any(panel.box[2] < WIDTH / 2 for panel in panels) else 10
    shared: dict[str, Axes] = {}
    named: list[list[str]] = []  # names in the legends so far
    for panel in panels:
        chart, (left, top, w, h) = panel.chart, panel.box
        place = left / WIDTH, 1 - (top + h) / height, w / WIDTH, h / height
        axes = figure.add_axes(place, sharex=shared.get(chart.x))
        shared.setdefault(chart.x, axes)
        draw_chart(axes, chart)
        axes.set_ylabel(literal(panel.label))
        axes.tick_params(labelbottom=panel.ticks, labelsize=8)
        if not chart.log:
            axes.locator_params(axis="x", nbins=ticks)
        if panel.last:
            axes.set_xlabel(chart.x)
        if len(chart.series) > 1 and chart.names not in named:
            named.append(chart.names)
            _legend(axes)
    figure.text(0.1 / WIDTH, 1 - 0.08 / height, literal(title), va="top", fontsize=11)
    for k, note in enumerate(reversed(notes)):
        place = 0.1 / WIDTH, (0.08 + 0.2 * k) / height
        figure.text(*place, literal(note), fontsize=8, color=GREY)
    if path is not None:
        save(figure, path)
    if show:
        need("matplotlib.pyplot", "plot", "a plot").show()
    return figure


def _arranged(charts: list[Chart], columns: int) -> tuple[list[Panel], float]:
    """Panels at their places, and the height of all of them, in.

    Left and right edges of all blocks agree, so that their horizontal axes do.
    """
    blocks = [charts] if columns > 1 else [chart.panels() for chart in charts]
    panels: list[Panel] = []
    top = 0.2
    for b, block in enumerate(blocks):
        wide = min(columns if columns > 1 else COLUMNS, len(block))
        below = {chart.x for later in blocks[b + 1 :] for chart in later}
        width = (WIDTH - LEFT - RIGHT + GAP) / wide - GAP
        height = SMALL_HEIGHT if wide > 1 else HEIGHT
        for k, chart in enumerate(block):
            if k % wide == 0:
                top += HEAD + (height if k else 0)
            box = LEFT + (k % wide) * (width + GAP), top, width, height
            label = chart.unit
            if columns == 1 and wide > 1:
                label = f"{charts[b].title}, {chart.unit}" if k % wide == 0 else ""
            lowest, last = k + wide >= len(block), chart.x not in below
            ticks = lowest and (last or wide > 1)
            panels.append(Panel(chart, label, box, ticks, lowest and last))
        top += height + (TICKS if wide > 1 or not below else 0)
    return panels, top + WORDS


def draw_chart(axes: "Axes", chart: Chart) -> None:
    """Draw one chart on axes: lines, bands, dashed limits, shaded times and marks.

    Args:
        axes: of matplotlib.
        chart: what is drawn.
    """
    for k, one in enumerate(chart.series):
        colour, dash = _style(chart.colour(k))
        if one.band is not None:
            axes.fill_between(one.x, *one.band, color=colour, alpha=0.18, lw=0)
        style: dict[str, Any] = (
            {"ls": "", "marker": ".", "ms": 2.5} if one.dots else {"ls": dash, "lw": 1.5}
        )
        axes.plot(one.x, one.y, color=colour, label=literal(one.name), **style)
        if one.reference is not None:
            axes.plot(*one.reference, ":", color=colour, lw=1.5)
    axes.set_title(literal(chart.words), loc="left", fontsize=8.5)
    axes.grid(True, color=GRID, lw=0.6)
    axes.margins(x=0.01)
    for name in chart.log:
        axes.set(**{f"{name}scale": "log"})
    if "y" not in chart.log:
        axes.set_ylim(*chart.range())
        _draw_limits(axes, chart)
    for start, end in _joined(chart.beyond or ()):
        axes.axvspan(start, end, color=RED, alpha=0.12, lw=0)
    for words, x in chart.marks:
        axes.axvline(x, color=GREY, ls="--", lw=1.2)
        place: dict[str, Any] = {
            "xycoords": ("data", "axes fraction"),
            "rotation": 90,
            "fontsize": 8,
        }
        axes.annotate(literal(words), (x, 0.04), ha="right", **place)


def _style(colour: int | str) -> tuple[str, str]:
    """Colour and dashes of a line."""
    if isinstance(colour, str):
        return ENERGIES[colour], "-"
    return LINES[colour % len(LINES)], DASHES[colour // len(LINES) % len(DASHES)]


def _joined(times: Iterable[tuple[float, float, str]]) -> list[tuple[float, float]]:
    """Spans of time without overlaps, which would be darker."""
    found: list[tuple[float, float]] = []
    for start, end, _ in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _draw_limits(axes: "Axes", chart: Chart) -> None:
    """Draw the limits in view, dashed, with their values in the margin; arrows to the others.

    A limit of all lines is grey, another one has the colour of its first line. Those of a single
    line stand above it, since panels beside one another have no margin.
    """
    low, high = axes.get_ylim()
    for k, one in enumerate(chart.series):
        for bound in one.limits:
            if isinstance(bound, np.ndarray):
                inside = np.where((bound < low) | (bound > high), np.nan, bound)
                axes.plot(one.x, inside, color=_style(chart.colour(k))[0], ls="--", lw=1)
    limits = chart.limits()
    if len(chart.series) == 1:
        words = _limits_of_one(limits)
        if len(words + chart.words) <= LONG_TITLE:
            axes.set_title(words, loc="right", fontsize=7, color=GREY)
    above = min((value for value, _ in limits if value > high), default=None)
    below = max((value for value, _ in limits if value < low), default=None)
    taken: list[float] = []
    for (value, upper), owners in limits.items():
        out = "↑" if value == above else "↓" if value == below else ""
        if not out and not low <= value <= high:
            continue
        all_lines = len(owners) == len(chart.series)
        colour = GREY if all_lines else _style(chart.colour(owners[0]))[0]
        if not out:
            axes.axhline(value, color=colour, ls="--", lw=1)
        y = min(max((value - low) / (high - low), 0.04), 0.96)
        if len(chart.series) > 1 and all(abs(y - other) > 0.1 for other in taken):
            taken.append(y)
            words = f"{_limit_words(value, upper)} {out}"
            place: dict[str, Any] = {
                "xycoords": "axes fraction",
                "textcoords": "offset points",
                "va": "center",
            }
            axes.annotate(words, (1, y), (3, 0), fontsize=7, color=colour, **place)


def _limits_of_one(limits: Iterable[tuple[float, bool]]) -> str:
    """The limits of one line, such as "±2.9" or "−3.1 to −0.07"."""
    ends = sorted(limits)
    if len(ends) == 2:
        (low, _), (high, _) = ends
        return (
            f"±{high:.3g}" if low == -high else f"{page_number(low, 2)} to {page_number(high, 2)}"
        )
    return "".join(_limit_words(*end) for end in ends)


def _limit_words(value: float, upper: bool) -> str:
    return f"{'≤' if upper else '≥'} {page_number(value)}"


def _legend(axes: "Axes") -> None:
    """Add names of the lines above the panel, at the right."""
    style = {"fontsize": 8, "frameon": False, "handlelength": 1.4, "columnspacing": 1.2}
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=6, borderaxespad=0, **style)


def new_figure(
    width: float, height: float, *, window: bool = False, layout: str | None = "constrained"
) -> "Figure":
    """An empty figure of a size in inches, which needs no screen and shows in notebooks.

    window: a figure of pyplot instead, which opens in a window. layout: of matplotlib.
    """
    need("matplotlib", "plot", "a plot")
    size: dict[str, Any] = {"figsize": (width, height), "layout": layout}
    if window:
        return need("matplotlib.pyplot", "plot", "a plot").figure(**size)
    return _figure_class()(**size)


@cache
def _figure_class() -> Any:
    """A class of figures that notebooks show as PNG, also without `%matplotlib inline`."""
    Base = need("matplotlib.figure", "plot", "a plot").Figure

    class Figure(Base):
        """A matplotlib Figure that a notebook shows by itself."""

        def _repr_png_(self) -> bytes:
            return as_png(self)

    return Figure


def literal(name: str) -> str:
    """A name as matplotlib has to be given it; `$` would begin a formula."""
    return visible(name, "").replace("$", r"\$")


def save(figure: "Figure", path: str | PathLike[str]) -> None:
    """Write a figure in the format that the ending of the name chooses."""
    name = fspath(path)
    folder, ending = Path(name).parent, Path(name).suffix.lower()
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}, where {name} is to be written.")
    known = [f".{x}" for x in sorted(figure.canvas.get_supported_filetypes())]
    if ending not in known:
        raise InputError(
            f"a figure is to be written as {name}; expected a name ending with {', '.join(known)}."
        )
    figure.savefig(path, dpi=130)


def as_png(figure: "Figure") -> bytes:
    """The content of a PNG file."""
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    return stream.getvalue()


def as_svg(figure: "Figure", key: str) -> str:
    """An <svg> element whose text and axes have the colour of the page around it.

    key: text that no other picture of the page has; the names of its parts are made of it.
    """
    matplotlib = need("matplotlib", "plot", "a plot")
    stream = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace("<svg", '<svg class="plot" fill="currentColor"', 1)
    return text.replace("#000000", "currentColor").replace(GRID, "#80808050")
