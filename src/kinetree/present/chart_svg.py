"""Charts as SVG: the picture of a page without scripts, and SVG files that stand alone.

Coordinates are in pixels, and all text is escaped. Lines have classes (`c0 d0`: colour and dash
pattern) that the style sheet of the pages knows; files have a style of their own.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.present.charts import Axis, Chart, Series, fitted
from kinetree.present.tables import escape

COLOURS, DASHES = 8, 4  # of lines in the style sheet
WIDTH, HEIGHT = 560, 250
MAX_DRAWN = 400  # samples of a line; a picture is not wide enough to show more
LETTER = 6.8  # width of a letter, roughly
MARK, MARK_GAP = 7, 3  # width of the colour of a line at the label of a limit, and of the gap
LABEL_GAP = 12  # least distance of two labels, one above the other
LIGHT = ("#2b74c4", "#c76a00", "#23894c", "#c23b5e", "#7d5bd0", "#0b8792", "#8f5c22", "#66727e")
DARK = ("#5aa2ee", "#f0a03c", "#4fc07d", "#f0708f", "#a88bf0", "#34bfcb", "#c99a63", "#a5b0bc")
PAPER = {"light": ("#ffffff", "#1c2430", "#59636f", "#d5dbe3", "#a34a00"),
         "dark": ("#14181e", "#e4e9f0", "#9aa6b4", "#37414d", "#f2a65a")}  # fmt: skip


def svg(kind: str, width: float, height: float, title: str, elements: Iterable[str]) -> str:
    """A picture of a class of the style sheet; `title` is its text for screen readers."""
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(elements)}</svg>'
    )


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Words at a point; anchor: which point of the words it is, start, middle or end."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def path(kind: str, d: str) -> str:
    """A line."""
    return f'<path class="{kind}" d="{d}"/>'


def rect(kind: str, x: float, y: float, width: float, height: float, rest: str = "") -> str:
    """A filled rectangle; `rest` has further attributes."""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}"{rest}/>'
    )


def clip(words: str, most: int = 20) -> str:
    """A name cut to fit into its column."""
    return words if len(words) <= most else words[: most - 1] + "…"


def stroke(k: int) -> str:
    """Classes of line k: a colour, and a dash pattern once all colours are used."""
    return f"c{k % COLOURS} d{k // COLOURS % DASHES}"


def legend(names: Sequence[str], colours: Sequence[int] | None = None) -> str:
    """Names with a sample of their lines; colours: their numbers, None in order."""
    numbers = range(len(names)) if colours is None else colours
    samples = (
        '<li><svg viewBox="0 0 22 8" aria-hidden="true">'
        f"{path(f'track {stroke(k)}', 'M0 4H22')}</svg>{escape(name)}</li>"
        for k, name in zip(numbers, names, strict=True)
    )
    return f'<ul class="legend">{"".join(samples)}</ul>'


def chart_figure(chart: Chart, number: int | None = None) -> str:
    """The chart as an element of a page: the picture and a legend.

    Args:
        chart: what is drawn.
        number: place among the charts of the page's data, where a script draws it anew; None: it
            stays a picture.
    """
    chart = chart.thinned(MAX_DRAWN)
    picture = svg("plot", WIDTH, HEIGHT, chart.title, chart_elements(chart))
    names = [one.name for one in chart.series]
    colours = [chart.colour(k) for k in range(len(names))]
    mark = "" if number is None else f' data-chart="{number}"'
    return f"<figure{mark}>{picture}{legend(names, colours)}</figure>"


def chart_elements(
    chart: Chart, width: float = WIDTH, height: float = HEIGHT, top: float = 0
) -> Iterator[str]:
    """Elements of the picture of a chart, in a box whose upper edge is at `top`."""
    axes = chart.axes
    ys = chart.range()
    xs = axes[0].span(*(one.x for one in chart.series), np.array([x for _, x in chart.marks]))
    labels = {y: axes[1].label(y) for y in axes[1].ticks(ys)}
    left = max([34.0, *(7.2 * len(words) + 12 for words in labels.values())])
    margin = max([10.0, *(
        LETTER * (len(x.words) + 2) + 4 + (MARK + MARK_GAP) * len(x.marked) for x in chart.limits()
    )])  # fmt: skip
    box = (left, width - margin, top + 38, top + height - 26)
    yield text(left, top + 14, chart.title, kind="name")
    fits = LETTER * len(axes[1].words) + 8 < left
    yield text(left - 6 if fits else 2, top + 29, axes[1].words, "end" if fits else "start")
    yield from _grid(axes, xs, ys, box, labels)
    place = _Place(axes, xs, ys, box)
    spans = [place.across(np.array([start, end])) for start, end, _ in chart.beyond or ()]
    shaded = (rect("", a, box[2], max(b - a, 1.5), box[3] - box[2]) for a, b in spans)
    if spans:
        yield f'<g class="beyond">{"".join(shaded)}</g>'  # as a group, overlaps are no darker
    yield from _limits(chart, place)
    for k, one in enumerate(chart.series):
        yield from _lines(one, stroke(chart.colour(k)), place)
    for words, value in chart.marks:
        x = float(place.across(np.array([value]))[0])
        yield path("bound", f"M{x:.1f} {box[2]}V{box[3]}")
        side = "end" if x > (box[0] + box[1]) / 2 else "start"
        yield text(x + (-6 if side == "end" else 6), box[2] + 12, words, side, "name")


class _Place:
    """Pixels of values of a chart; values beyond the box are drawn at its edge."""

    def __init__(
        self,
        axes: tuple[Axis, Axis],
        xs: tuple[float, float],
        ys: tuple[float, float],
        box: tuple[float, float, float, float],
    ) -> None:
        self.axes, self.xs, self.ys, self.box = axes, xs, ys, box

    def across(self, x: Array) -> Array:
        """Horizontal pixels."""
        return np.interp(self.axes[0].on(x), self.xs, self.box[:2])

    def up(self, y: Array) -> Array:
        """Vertical pixels; NaN for values that are not finite."""
        along = self.axes[1].on(y)
        return np.where(np.isfinite(along), np.interp(along, self.ys, self.box[3:1:-1]), np.nan)


def _grid(
    axes: tuple[Axis, Axis],
    xs: tuple[float, float],
    ys: tuple[float, float],
    box: tuple[float, float, float, float],
    labels: dict[float, str],
) -> Iterator[str]:
    left, right, top, bottom = box
    for value, words in labels.items():
        y = float(np.interp(value, ys, (bottom, top)))
        zero = abs(value) < 1e-12 and not axes[1].log
        yield path("axis zero" if zero else "axis", f"M{left:.1f} {y:.1f}H{right:.1f}")
        yield text(left - 6, y + 4, words, "end")
    room = right - LETTER * len(axes[0].words) - 8  # for the words at the end of the axis
    for value in axes[0].ticks(xs, about=6):
        x = float(np.interp(value, xs, (left, right)))
        words = axes[0].label(value)
        yield path("axis", f"M{x:.1f} {top:.1f}V{bottom:.1f}")
        if x + LETTER / 2 * len(words) < room:
            yield text(x, bottom + 18, words, "middle")
    yield text(right, bottom + 18, axes[0].words, "end")


def _lines(one: Series, kind: str, place: _Place) -> Iterator[str]:
    x, y = place.across(one.x), place.up(one.y)
    if one.dots:
        points = zip(x[np.isfinite(y)], y[np.isfinite(y)], strict=True)
        yield path(f"track dots {kind}", "".join(f"M{a:.1f} {b:.1f}h0" for a, b in points))
        return
    if one.band is not None:
        low, high = (place.up(side) for side in one.band)
        good = np.isfinite(low) & np.isfinite(high)
        around = (
            np.concatenate([x[good], x[good][::-1]]),
            np.concatenate([low[good], high[good][::-1]]),
        )
        corners = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(*around, strict=True))
        yield path(f"band {kind}", f"M{corners}Z")
    lines = {"": (x, y)}
    if one.reference is not None:
        lines["reference "] = place.across(one.reference[0]), place.up(one.reference[1])
    for style, line in lines.items():
        for a, b in pieces(*line):
            points = "L".join(f"{u:.1f} {v:.1f}" for u, v in zip(a, b, strict=True))
            yield path(f"track {style}{kind}", f"M{points}")


def _limits(chart: Chart, place: _Place) -> Iterator[str]:
    """Limits as dashed lines with a strip on their far side, and their values in the margin.

    Of the limits out of view, the nearest is an arrow at the edge. The value of a limit that some
    lines alone have stands behind the colours of these lines.
    """
    left, right, top, bottom = place.box
    for k, one in enumerate(chart.series):
        for bound in one.limits:
            if isinstance(bound, np.ndarray):
                inside = np.where((bound >= place.ys[0]) & (bound <= place.ys[1]), bound, np.nan)
                for a, b in pieces(place.across(one.x), place.up(inside)):
                    points = "L".join(f"{u:.1f} {v:.1f}" for u, v in zip(a, b, strict=True))
                    yield path(f"bound {stroke(chart.colour(k))}", f"M{points}")
    limits = chart.limits()
    above = [x for x in limits if x.value > place.ys[1]]
    below = [x for x in limits if x.value < place.ys[0]]
    labels = [(x, " ↑", top + 5) for x in above[-1:]]
    labels += [(x, " ↓", bottom - 5) for x in below[:1]]
    for limit in limits:
        if not limit.near or limit in above or limit in below:
            continue
        y = float(place.up(np.array([limit.value]))[0])
        kind = "" if limit.shared else f" {stroke(chart.colour(limit.lines[0]))}"
        far = y + (-3 if limit.upper else 3)
        yield path(f"bound-band{kind}", f"M{left:.1f} {far:.1f}H{right:.1f}")
        yield path(f"bound{kind}", f"M{left:.1f} {y:.1f}H{right:.1f}")
        if all(abs(y - other) >= LABEL_GAP for *_, other in labels):
            labels.append((limit, "", y))
    for limit, arrow, y in labels:
        x = right + 4
        for k in limit.marked:
            yield path(f"track owner {stroke(chart.colour(k))}", f"M{x:.1f} {y:.1f}H{x + MARK:.1f}")
            x += MARK + MARK_GAP
        yield text(x, y + 4, limit.words + arrow, kind="bound-name")


def pieces(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """Parts of a curve between values that are not finite."""
    good = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        yield x[a:b], y[a:b]


def figure_svg(
    title: str,
    charts: Sequence[Chart],
    notes: Sequence[str] = (),
    *,
    width: float = 760,
    panel: float = 210,
) -> str:
    """Text of an SVG file: the charts one below the other, with legends.

    Args:
        title: above the charts.
        charts: from top to bottom.
        notes: sentences below the charts.
        width: of the picture, px.
        panel: height of each chart, px.
    """
    elements = [text(10, 20, title, kind="title")]
    top = 30.0
    charts = [chart.thinned(MAX_DRAWN) for chart in fitted(charts)]
    for k, chart in enumerate(charts):
        elements += chart_elements(chart, width, panel, top)
        top += panel + 4
        names = [one.name for one in chart.series]
        following = charts[k + 1].series if k + 1 < len(charts) else ()
        if names != [one.name for one in following]:  # one legend for panels with the same lines
            rows, top = _legend_rows(chart, width, top)
            elements += rows
    for note in notes:
        elements.append(text(10, top + 12, note))
        top += 18
    height = round(top + 8)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" '
        f'viewBox="0 0 {width:g} {height}" role="img" aria-label="{escape(title)}">'
        f"<style>{_style()}</style>{rect('paper', 0, 0, width, height)}{''.join(elements)}</svg>\n"
    )


def _legend_rows(chart: Chart, width: float, top: float) -> tuple[list[str], float]:
    """Samples and names in rows that fit the width, and the height at which they end."""
    elements: list[str] = []
    x, y = 34.0, top + 10
    for k, one in enumerate(chart.series):
        needed = 30 + LETTER * len(one.name) + 16
        if x + needed > width and x > 34:
            x, y = 34.0, y + 17
        elements.append(path(f"track {stroke(chart.colour(k))}", f"M{x:.1f} {y - 4:.1f}h22"))
        elements.append(text(x + 28, y, one.name, kind="name"))
        x += needed
    return elements, y + 12


def _style() -> str:
    """Colours without variables, which programs other than browsers do not know."""

    def colours(tones: Sequence[str], paper: Sequence[str]) -> str:
        lines = "".join(
            f".c{k}{{stroke:{tone}}}.band.c{k}{{fill:{tone}}}" for k, tone in enumerate(tones)
        )
        back, ink, soft, line, warn = paper
        return (
            f".paper{{fill:{back}}}text{{fill:{soft}}}text.name,text.title{{fill:{ink}}}"
            f".axis{{stroke:{line}}}.zero{{stroke:{soft}}}.bound,.bound-band{{stroke:{soft}}}"
            f".beyond{{fill:{warn}}}{lines}"
        )

    return (
        "text{font:12px system-ui,sans-serif}text.title{font-size:15px;font-weight:600}"
        ".axis,.track,.bound{fill:none}.track{stroke-width:1.6;stroke-linejoin:round}"
        ".dots{stroke-width:3;stroke-linecap:round;stroke-opacity:.7}.beyond{opacity:.16}"
        ".d1{stroke-dasharray:6 3}.d2{stroke-dasharray:2 3}.d3{stroke-dasharray:8 3 2 3}"
        ".bound{stroke-width:1.3;stroke-dasharray:7 4}.bound-name{font-size:11px}"
        ".bound-band{fill:none;stroke-width:6;opacity:.22}"
        ".track.reference{stroke-width:1.8;stroke-dasharray:1.5 3}"
        f"{colours(LIGHT, PAPER['light'])}"
        f"@media(prefers-color-scheme:dark){{{colours(DARK, PAPER['dark'])}}}"
        ".band{stroke:none;opacity:.18}"
    )
