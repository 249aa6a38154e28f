"""Charts as data, as SVG and with matplotlib show the same numbers."""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from kinetree.base import chart_matplotlib
from kinetree.base.chart_svg import chart_figure, figure_svg
from kinetree.base.charts import TIME, Axis, Chart, Series, chart_data, fitted, line_chart, ticks
from kinetree.base.figure import Figure
from kinetree.errors import InputError

T = np.linspace(0, 2, 301)
NAMES = ("<script>alert(1)</script>", "a & b")


def waves(count=2, limit=None):
    bounds = (None, None) if limit is None else (-limit, limit)
    lines = (Series(f"j{k}", T, (k + 1) * np.sin(T + k), limits=bounds) for k in range(count))
    return Chart("position", (TIME, Axis("rad")), tuple(lines))


def points(svg, kind):
    """Corners of the lines of a class, in pixels."""
    found = re.findall(rf'class="{kind}" d="M([^"H]*)"', svg)
    return [np.array([list(map(float, p.split())) for p in d.split("L")]) for d in found]


@pytest.mark.parametrize("seed", range(5))
def test_the_picture_is_an_affine_image_of_the_data(seed):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(-5, 5, 40))
    values = 10 ** rng.uniform(-6, 6) * rng.normal(size=(40, 3))
    chart = line_chart("x", "m", t, {f"c{k}": values[:, k] for k in range(3)})
    drawn = np.stack([points(chart_figure(chart), f"track c{k} d0")[0] for k in range(3)])
    for k in range(3):
        x = np.polyfit(t, drawn[k, :, 0], 1)
        assert x[0] > 0 and np.abs(np.polyval(x, t) - drawn[k, :, 0]).max() < 0.06
    y = np.polyfit(values.ravel(), drawn[..., 1].T.ravel(), 1)
    assert y[0] < 0 and np.abs(np.polyval(y, values) - drawn[..., 1].T).max() < 0.06


def test_units_change_labels_and_nothing_else():
    """The same motion in degrees has the same picture but for the numbers at the ticks."""
    lines = {f"j{k}": np.sin(T + k) for k in range(2)}
    rad = chart_figure(line_chart("q", "", T, lines))
    tenfold = chart_figure(line_chart("q", "", T, {name: 10 * y for name, y in lines.items()}))
    assert points(rad, "track c0 d0")[0] == pytest.approx(points(tenfold, "track c0 d0")[0])


def test_near_limits_are_in_view_and_far_ones_are_arrows_at_the_edge():
    """The lines go from 0.14 to 2: the upper limit is near, the lower one is not."""
    low, high = waves(limit=2.2).range()
    assert -0.5 < low < 0 and high > 2.2
    far = waves(limit=100.0)
    assert far.range() == waves().range()
    near = chart_figure(waves(limit=2.2))
    assert near.count('class="bound"') == near.count('class="bound-band"') == 1
    assert ">≤ 2.2</text>" in near and ">≥ −2.2 ↓</text>" in near
    picture = chart_figure(far)
    assert picture.count('class="bound"') == 0
    assert ">≤ 100 ↑</text>" in picture and ">≥ −100 ↓</text>" in picture


def test_labels_of_limits_stand_right_of_all_lines():
    svg = chart_figure(waves(limit=2.2))
    lines = np.concatenate([points(svg, f"track c{k} d0")[0] for k in range(2)])
    labels = [float(x) for x in re.findall(r'class="bound-name" x="([\d.]+)"', svg)]
    assert len(labels) == 2 and min(labels) > lines[:, 0].max()


def test_a_reference_is_dotted_beside_its_line_and_in_view():
    wanted = (np.array([0.0, 2.0]), np.array([5.0, 5.0]))
    one = Series("a", T, np.sin(T), reference=wanted)
    chart = Chart("q", (TIME, Axis("rad")), (one,))
    assert chart.range()[1] > 5
    assert len(points(chart_figure(chart), "track reference c0 d0")) == 1
    assert chart_data(chart)["series"][0]["reference"] == {"t": [0, 2], "values": [5, 5]}


@pytest.mark.parametrize("seed", range(5))
def test_an_axis_has_three_ticks_or_more(seed):
    low, width = np.random.default_rng(seed).uniform(0.1, 9, 2)
    assert 3 <= len(ticks(low, low + width)) <= 11


@pytest.mark.parametrize("span", [(1e-3, 10.0), (0.3, 0.4), (0.0085, 0.0087), (3.0, 3.0)])
def test_a_logarithmic_axis_has_ticks_however_short_it_is(span):
    y = np.linspace(*span, len(T))
    chart = Chart("error", (TIME, Axis("m", log=True)), (Series("e", T, y),))
    low, high = chart.range()
    found = chart.axes[1].ticks((low, high))
    assert len(found) >= 2 and all(low - 1e-9 <= x <= high + 1e-9 for x in found)
    assert chart_figure(chart)


def test_values_that_are_tiny_beside_their_limits_do_not_fill_the_plot():
    """Those of a chart without limits do: errors of rounding may be what it is about."""
    y = 1e-9 * np.sin(T)
    limited = Chart("rate", (TIME, Axis("rad/s")), (Series("j", T, y, limits=(-2.0, 2.0)),))
    assert limited.range() == (-1.0, 1.0)
    assert max(line_chart("rate", "rad/s", T, {"j": y}).range()) < 2e-9


def test_limits_of_some_lines_have_their_colour_and_value():
    one = Series("a", T, np.sin(T), limits=(None, 0.5))
    chart = Chart("q", (TIME, Axis("rad")), (one, Series("b", T, np.cos(T))))
    svg = chart_figure(chart)
    assert svg.count('class="bound c0 d0"') == 1 and ">≤ 0.5</text>" in svg


def test_the_label_of_a_limit_has_the_colours_of_its_lines():
    """Also where the limit is out of view; a limit of all lines has no colours."""
    limits = [(-3.0, 28.0), (-3.0, 28.0), (-3.0, 150.0)]
    lines = [Series(f"j{k}", T, np.sin(T + k), limits=x) for k, x in enumerate(limits)]
    chart = Chart("q", (TIME, Axis("rad")), tuple(lines))
    svg = chart_figure(chart)
    marks = re.findall(r'class="track owner (c\d) d0" d="M[\d.]+ ([\d.]+)H', svg)
    assert [colour for colour, _ in marks] == ["c0", "c1"]
    place = float(re.findall(r'y="([\d.]+)"[^>]*>≤ 28 ↑</text>', svg)[0])
    assert all(float(y) == place - 4 for _, y in marks)
    axis = chart_matplotlib.new_figure(4, 3).subplots()
    chart_matplotlib.draw_chart(axis, chart)
    words = [(x.get_text(), x.get_color()) for x in axis.texts]
    own = [line.get_color() for line in axis.lines[:2]]
    assert words[:2] == [("—", own[0]), ("—", own[1])]
    assert [x for x, _ in words[2:]] == ["≤ 28 ↑", "≥ −3 ↓"]


def test_the_label_of_a_limit_counts_the_lines_beyond_four():
    limits = [(None, 28.0)] * 6 + [(None, None)]
    lines = [Series(f"j{k}", T, np.sin(T + k), limits=x) for k, x in enumerate(limits)]
    svg = chart_figure(Chart("q", (TIME, Axis("rad")), tuple(lines)))
    assert ">≤ 28 +2 ↑</text>" in svg and svg.count('class="track owner ') == 4


def test_gaps_cut_a_line():
    y = np.sin(T)
    y[100:110] = np.nan
    svg = chart_figure(line_chart("q", "rad", T, {"a": y}))
    assert [len(p) for p in points(svg, "track c0 d0")] == [100, 191]
    data = chart_data(line_chart("q", "rad", T, {"a": y}))
    assert data["series"][0]["values"][105] is None
    json.dumps(data, allow_nan=False)


def test_the_data_are_the_numbers_to_six_digits():
    chart = waves(3, limit=2.0)
    data = chart_data(chart)
    np.testing.assert_allclose(data["t"], T, rtol=1e-8)
    for one, given in zip(data["series"], chart.series, strict=True):
        np.testing.assert_allclose(one["values"], given.y, rtol=1e-5)
        assert one["limit"] == [-2.0, 2.0]
    assert "violations" not in data
    assert "t" not in chart_data(chart, values=False)


def test_long_figures_are_thinned_and_keep_their_ends():
    t = np.linspace(0, 9, 100_000)
    chart = line_chart("q", "rad", t, {f"j{k}": np.sin(t) for k in range(44)})
    (thin,) = fitted([chart])
    one = thin.series[7]
    assert sum(len(x.x) for x in thin.series) <= 100_000
    assert one.x[0] == 0 and one.x[-1] == 9 and np.array_equal(one.y, np.sin(one.x))
    assert len(Figure("long", (chart,)).svg()) < 1_000_000


def test_files_are_well_formed_and_names_stay_text(tmp_path):
    chart = line_chart(NAMES[0], "rad", T, {NAMES[0]: T, NAMES[1]: -T})
    figure = Figure(NAMES[0], (chart,), (NAMES[1],))
    figure.save(tmp_path / "x.svg")
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    texts = [node.text for node in root.iter() if node.text]
    assert texts.count(NAMES[0]) == 3 and texts.count(NAMES[1]) == 2
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    figure.save(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2 and "&lt;script&gt;alert" in page


def test_one_legend_serves_charts_with_the_same_names():
    svg = figure_svg("x", [waves(), waves(3)])
    assert svg.count(">j0</text>") == 2
    assert figure_svg("x", [waves(), waves()]).count(">j0</text>") == 1


def test_logarithmic_axes_have_powers_of_ten():
    axis = Axis("f, Hz", log=True)
    assert axis.ticks((-2.0, 3.0)) == [-2, -1, 0, 1, 2, 3]
    assert [axis.label(x) for x in axis.ticks((-0.1, 1.0))] == ["1", "2", "5", "10"]
    y = np.array([1.0, 0.0, 100.0])
    chart = Chart("x", (axis, Axis("", log=True)), (Series("a", np.array([1.0, 10, 100]), y),))
    assert [len(p) for p in points(chart_figure(chart), "track c0 d0")] == [1, 1]


def test_ticks_are_round():
    assert ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])


def test_wrong_lines_are_named():
    with pytest.raises(InputError, match=r"line 'b' has shape \(3,\); expected \(301,\)"):
        line_chart("x", "m", T, {"a": T, "b": T[:3]})


def test_matplotlib_draws_the_same_lines():
    pytest.importorskip("matplotlib")
    chart = waves(2, limit=2.5)
    figure = Figure("x", (chart,)).matplotlib()
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "-"]
    for line, one in zip(lines, chart.series, strict=True):
        assert np.array_equal(line.get_ydata(), one.y)
    assert figure.axes[0].get_ylim() == pytest.approx(chart.range())
    assert figure._repr_png_().startswith(b"\x89PNG")
