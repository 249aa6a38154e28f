"""Charts as data: lines over time or over another quantity, with limits, marks and shaded times.

A `Series` is a line or a cloud of points, a `Chart` has the series of one panel, and a `Figure`
(figure.py) is a column of charts. Pages draw a chart with a script that reads `chart_data`;
`chart_svg.py` draws the same as SVG without scripts, and `chart_matplotlib.py` with matplotlib.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, floor, log10

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.present.tables import page_number

NEAR_LIMIT = 0.15  # a limit is drawn if its line comes as near as this part of the range of all
NEGLIGIBLE = 1e-7  # values below this part of the largest limit do not fill the plot
MAX_SAMPLES = 1500  # of a line on a page
MAX_NUMBERS = 100_000  # of a figure on a page, about 1 MB
MAX_LIMIT_MARKS = 4  # lines whose colours stand at the label of a limit; plot.js has it too

Bound = float | Array | None


@dataclass(frozen=True)
class Axis:
    """An axis: its words, such as "t, s", and whether it is logarithmic."""

    words: str
    log: bool = False

    def span(self, *values: Array) -> tuple[float, float]:
        """Lowest and highest value, on a logarithmic axis as powers of ten."""
        x = np.concatenate([self.on(v).ravel() for v in values])
        x = x[np.isfinite(x)]
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    def on(self, x: Array) -> Array:
        """Values along the axis; NaN for those that a logarithmic axis does not have."""
        if not self.log:
            return np.asarray(x, float)
        return np.log10(np.where(x > 0, x, np.nan))

    def label(self, x: float) -> str:
        """The number at a tick."""
        return label(x) if not self.log else f"{10.0**x:g}"

    def ticks(self, span: tuple[float, float], about: int = 5) -> list[float]:
        """Round values along the axis; whole powers of ten if a logarithmic one spans several."""
        low, high = span
        if not self.log:
            return ticks(low, high, about)
        whole = list(range(ceil(low - 1e-9), floor(high + 1e-9) + 1))
        if len(whole) < 3:  # 1, 2, 5 of each power, or steps between two of them
            between = [x for k in range(floor(low), ceil(high) + 1) for m in (1, 2, 5)
                     if low <= (x := k + log10(m)) <= high]  # fmt: skip
            return (
                between if len(between) > 1 else [log10(x) for x in ticks(10**low, 10**high, about)]
            )
        step = -(-len(whole) // 6)
        return [float(k) for k in whole if k % step == 0]


TIME = Axis("t, s")


@dataclass(frozen=True, eq=False)
class Series:
    """A line, or points.

    Args:
        name: in the legend.
        x: shape (T,), increasing unless `dots`.
        y: shape (T,); NaN is a gap.
        unit: of y, where it is not that of the axis.
        limits: lower and upper limit, each None, a number, or shape (T,).
        band: lowest and highest values of a batch, shape (T,) each, shaded; None: no batch.
        reference: x and y, shape (K,) each, of a line that this one should follow, drawn dotted.
        dots: draw points that no line connects.
        colour: number of the colour; None: that of the place in the chart.
    """

    name: str
    x: Array
    y: Array
    unit: str = ""
    limits: tuple[Bound, Bound] = (None, None)
    band: tuple[Array, Array] | None = None
    dots: bool = False
    colour: int | None = None
    reference: tuple[Array, Array] | None = None

    def extent(self) -> tuple[float, float]:
        """Lowest and highest value of line, band and reference; (inf, -inf) without values."""
        parts = [self.y, *(self.band or ()), *(self.reference or ())[1:]]
        y = np.concatenate([np.asarray(x, float) for x in parts])
        y = y[np.isfinite(y)]
        return float(y.min(initial=np.inf)), float(y.max(initial=-np.inf))

    def at(self, keep: Array) -> "Series":
        """Some of the samples."""
        low, high = (x[keep] if isinstance(x, np.ndarray) else x for x in self.limits)
        band = None if self.band is None else (self.band[0][keep], self.band[1][keep])
        return replace(self, x=self.x[keep], y=self.y[keep], limits=(low, high), band=band)


@dataclass(frozen=True)
class Limit:
    """A constant limit of some lines of a chart.

    Args:
        value: of the limit.
        upper: whether it is an upper limit.
        lines: places of the series that have it.
        near: whether one of these lines comes near it, so that it is drawn.
        shared: whether all lines of the chart have it.
    """

    value: float
    upper: bool
    lines: list[int]
    near: bool
    shared: bool

    @property
    def marked(self) -> list[int]:
        """Places of the series whose colours stand at its label; empty if all lines have it."""
        return [] if self.shared else self.lines[:MAX_LIMIT_MARKS]

    @property
    def words(self) -> str:
        """Such as "≤ 2.9", and "≤ 2.9 +3" if three more lines have it than are marked."""
        more = 0 if self.shared else len(self.lines) - len(self.marked)
        return f"{'≤' if self.upper else '≥'} {label(self.value)}{f' +{more}' if more else ''}"


@dataclass(frozen=True, eq=False)
class Chart:
    """One panel.

    Args:
        title: what is drawn.
        axes: horizontal and vertical; the words of the vertical one are the unit.
        series: the lines.
        marks: words and places of vertical lines.
        beyond: start, end and name for each time at which a limit is exceeded, which is shaded;
            None: not known, pages then compute it from the samples.
    """

    title: str
    axes: tuple[Axis, Axis]
    series: tuple[Series, ...]
    marks: tuple[tuple[str, float], ...] = ()
    beyond: tuple[tuple[float, float, str], ...] | None = None

    def colour(self, k: int) -> int:
        """Number of the colour of series k."""
        chosen = self.series[k].colour
        return k if chosen is None else chosen

    def thinned(self, most: int) -> "Chart":
        """The chart with at most that many samples of each line, evenly spread, with both ends."""
        if all(len(one.x) <= most for one in self.series):
            return self
        return replace(self, series=tuple(one.at(spread(len(one.x), most)) for one in self.series))

    def limits(self) -> "list[Limit]":
        """The constant limits, each once, from the highest to the lowest; none on a log axis."""
        if self.axes[1].log:
            return []
        ends = [one.extent() for one in self.series]
        near = NEAR_LIMIT * max(0.0, max([b for _, b in ends]) - min([a for a, _ in ends]))
        owners: dict[tuple[float, bool], list[int]] = {}
        for k, one in enumerate(self.series):
            for bound, upper in zip(one.limits, (False, True), strict=True):
                if isinstance(bound, float) and np.isfinite(bound):
                    owners.setdefault((bound, upper), []).append(k)
        return [
            Limit(value, upper, lines, any(
                ends[k][0] - near <= value <= ends[k][1] + near for k in lines),
                len(lines) == len(self.series))
            for (value, upper), lines in sorted(owners.items(), reverse=True)
        ]  # fmt: skip

    def range(self) -> tuple[float, float]:
        """Lowest and highest value of the vertical axis, with limits that are near, and a margin.

        plot.js follows the same rules.
        """
        axis = self.axes[1]
        parts = [one.y for one in self.series]
        parts += [x for one in self.series for x in (*(one.band or ()), *(one.reference or ())[1:])]
        y = axis.on(np.concatenate([np.asarray(x, float) for x in parts] or [np.zeros(0)]))
        y = y[np.isfinite(y)]
        low, high = (float(y.min()), float(y.max())) if len(y) else (0.0, 1.0)
        reach = max(abs(low), abs(high))
        if not axis.log:
            limits = self.limits()
            if reach < NEGLIGIBLE * max([0.0, *(abs(x.value) for x in limits)]):
                low = high = reach = 0.0
            near = [x.value for x in limits if x.near]
            low, high = min([low, *near]), max([high, *near])
            if 0 < low < 0.5 * (high - low):
                low = 0.0
            if 0 < -high < 0.5 * (high - low):
                high = 0.0
        pad = 0.06 * (high - low) if high - low > 1e-9 * reach else 0.1 * reach or 1.0
        return low - pad, high + pad


def chart_data(chart: Chart, *, values: bool = True) -> dict[str, object]:
    """Data of one chart as plot.js reads it; values: False leaves out x, y and bands.

    Numbers are rounded to six digits, times to nine.
    """
    x, y = chart.axes
    name, _, unit = x.words.rpartition(", ") if ", " in x.words else (x.words, "", "")
    lines: list[dict[str, object]] = []
    for k, one in enumerate(chart.series):
        data: dict[str, object] = {"name": one.name, "colour": chart.colour(k)}
        if values:
            data |= {"t": numbers(one.x, 9), "values": numbers(one.y)}
            if one.band is not None:
                data["band"] = [numbers(side) for side in one.band]
        if one.reference is not None:
            at, wanted = one.reference
            data["reference"] = {"t": numbers(at, 9), "values": numbers(wanted)}
        if one.unit:
            data["unit"] = one.unit
        if any(bound is not None for bound in one.limits):
            data["limit"] = [_bound(bound) for bound in one.limits]
        if one.dots:
            data["dots"] = True
        lines.append(data)
    if values and all(one.x is chart.series[0].x for one in chart.series) and lines:
        shared = {"t": lines[0]["t"]}
        lines = [{key: x for key, x in data.items() if key != "t"} for data in lines]
    else:
        shared = {}
    found: dict[str, object] = {
        "title": chart.title, "unit": y.words, "series": lines, **shared,
        "x": {"name": name, "unit": unit, "log": x.log}, "y": {"log": y.log},
        "marks": [{"name": words, "x": at} for words, at in chart.marks],
    }  # fmt: skip
    if chart.beyond is not None:
        found["violations"] = [
            {"start": a, "end": b, "name": joint} for a, b, joint in chart.beyond
        ]
    return found


def fitted(charts: Iterable[Chart], most: int = MAX_NUMBERS) -> list[Chart]:
    """The charts, thinned so that all of them together have at most about `most` numbers."""
    charts = list(charts)
    lines = sum(3 if one.band else 1 for chart in charts for one in chart.series)
    return [chart.thinned(max(60, min(MAX_SAMPLES, most // max(1, lines)))) for chart in charts]


def spread(count: int, most: int) -> Array:
    """Indices of the samples that are kept: all, or `most` evenly spread with both ends."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))


def numbers(x: Array, digits: int = 6) -> list[float | None]:
    """Numbers with few digits, which keeps a page small; None for those that are not finite."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.asarray(x).tolist()]


def _bound(bound: Bound) -> float | list[float | None] | None:
    if isinstance(bound, np.ndarray):
        return numbers(bound)
    return float(bound) if bound is not None and np.isfinite(bound) else None


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Three or more round numbers between two bounds: multiples of 1, 2 or 5 times 10^k."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    size = 10.0 ** floor(log10(rough))
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    places = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
    return [k * step for k in places] if len(places) > 2 else ticks(low, high, 2 * about)


def label(x: float) -> str:
    """The number at a tick."""
    return page_number(x, 6) if abs(x) > 1e-12 else "0"


def line_chart(title: str, unit: str, t: Array, lines: Mapping[str, Array]) -> Chart:
    """A chart of lines over time.

    Args:
        title: of the chart.
        unit: of the lines.
        t: times, shape (T,), s.
        lines: values by name, shape (T,) each.
    """
    for name, y in lines.items():
        if np.shape(y) != np.shape(t):
            raise InputError(f"line {name!r} has shape {np.shape(y)}; expected {np.shape(t)}.")
    return Chart(title, (TIME, Axis(unit)), tuple(Series(name, t, y) for name, y in lines.items()))
