"""Charts as data, as SVG and with matplotlib show the same numbers."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from kinetree.base.chart_svg import chart_figure
from kinetree.base.charts import line_chart
from kinetree.base.figure import Figure
from kinetree.errors import InputError

T = np.linspace(0, 2, 301)
NAMES = ("<script>alert(1)</script>", "a & b")


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


def test_wrong_lines_are_named():
    with pytest.raises(InputError, match=r"line 'b' has shape \(3,\); expected \(301,\)"):
        line_chart("x", "m", T, {"a": T, "b": T[:3]})
