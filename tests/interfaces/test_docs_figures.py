"""Figures of the documentation: drawings follow the theme, labels keep apart, code runs once."""

import re
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
pytest.importorskip("docutils")
pytest.importorskip("sphinx")


@pytest.fixture(scope="module", autouse=True)
def extension():
    """The extension lies beside the pages and is no part of the package."""
    sys.path.insert(0, str(DOCS))
    yield
    sys.path.remove(str(DOCS))


def used_drawings() -> list[str]:
    """Drawings of all pages with their settings."""
    pages = sorted(DOCS.rglob("*.md"))
    found = [re.findall(r"\{drawing\} (.+)", page.read_text("utf8")) for page in pages]
    return sorted({line.strip() for lines in found for line in lines})


@cache
def drawn(line: str) -> str:
    from extension.directives import literal
    from extension.drawings import DRAWINGS

    name, *settings = line.split()
    options = dict(x.split("=", 1) for x in settings)
    return DRAWINGS[name](**{key: literal(value) for key, value in options.items()})


QUICK = [line for line in used_drawings() if not line.startswith("robots_sheet")]


@pytest.mark.parametrize("line", QUICK)
def test_a_drawing_is_well_formed_and_takes_its_colours_from_the_page(line):
    text = drawn(line)
    root = ElementTree.fromstring(text)
    assert root.get("aria-label")
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b|rgb\(", re.sub(r'aria-label="[^"]*"', "", text))


def test_every_class_of_the_drawings_has_a_style():
    style = (DOCS / "_static" / "figures.css").read_text("utf8")
    kinds = {kind for line in QUICK for kind in re.findall(r"\bk-[\w-]+", drawn(line))}
    plain = {"k-ink", "k-slide", "k-frame", "k-ground"}  # the colour of text
    assert {kind for kind in kinds - plain if f".{kind}" not in style} == set()


def test_labels_of_crowded_points_keep_apart():
    from extension.sketch import Sketch, _Fitted, overlap, plane

    sketch = Sketch(plane("xy"))
    sketch.line([(0, 0, 0), (1, 0, 0)])
    for k in range(6):
        sketch.label((0.02 * k, 0, 0), f"T_{{s{k}}}")
    fitted = _Fitted(sketch, 400, 300)
    fitted.svg("words")
    boxes = fitted.boxes
    assert len(boxes) == 6
    assert not any(overlap(a, b) for k, a in enumerate(boxes) for b in boxes[:k])


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("V_1", [("V", "letter"), ("1", "sub")]),
        ("dq", [("q", "letter"), ("˙", "dot")]),
        ("F_{ext,1}", [("F", "letter"), ("ext,1", "sub")]),
        ("{s}", [("{s}", "plain")]),
        ("0.35 m", [("0.35 m", "plain")]),
        ("panda_link1", [("panda_link1", "plain")]),
        ("a law, $tau$", [("a law, ", "plain"), ("τ", "letter")]),
    ],
)
def test_labels_are_letters_with_subscripts_or_plain_words(words, parts):
    from extension.sketch import pieces

    assert pieces(words) == parts


def test_an_arrow_along_the_line_of_sight_is_a_point_in_a_ring():
    from extension.sketch import Sketch, plane

    sketch = Sketch(plane("xy"))
    sketch.frame(np.eye(4), 1.0)
    assert [mark.symbol for mark in sketch.marks if mark.symbol != ""] == ["head", "head", "toward"]


def test_figures_see_the_names_of_the_snippets_above_them(tmp_path):
    from extension import snippets

    page = tmp_path / "page.md"
    page.write_text("```python\nx = [1]\n```\n\nfigure\n\n```python\nx.append(2)\n```\n\nfigure\n")
    first, second = (snippets.snippets_before(page, line) for line in (5, 11))
    assert len(first) == 1
    assert snippets.names_of(page, first)["x"] == [1]
    assert snippets.names_of(page, second)["x"] == [1, 2]  # the first block ran once
    assert snippets.run("y = 3\ny + 1", {}) == 4


def test_a_plot_of_something_else_is_an_error():
    from extension.plots import plot

    with pytest.raises(TypeError, match=r"Trajectory, \{name: \(x, y\)\}"):
        plot(3.0, {})


def test_a_scene_needs_no_network_and_runs_only_its_own_script():
    from extension.scenes import motion_scene, robot_scene

    import kinetree as kt

    robot = kt.robots.planar_2r()
    motion = kt.motion.quintic([0.0, 0.0], [1.0, 0.5], duration=1.0, dt=0.1, robot=robot)
    for page in (robot_scene(robot, [0.1, 0.2], ("body",)), motion_scene(robot, motion)):
        assert "script-src 'sha256-" in page
        assert not re.search(r"(?:src|href)=\"(?!data:|#)", page)
        assert 'class="embedded"' in page
