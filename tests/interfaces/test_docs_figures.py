"""Figures of the documentation: drawings follow the theme, labels keep apart, code runs once."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

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
    """Drawings of all pages."""
    found = [re.findall(r"\{drawing\} (.+)", page.read_text("utf8")) for page in DOCS.rglob("*.md")]
    return sorted({line.strip() for lines in found for line in lines})


def drawn(name: str) -> str:
    return (DOCS / "drawings" / f"{name}.svg").read_text("utf8")


def test_every_drawing_is_used():
    assert sorted(path.stem for path in (DOCS / "drawings").glob("*.svg")) == used_drawings()


@pytest.mark.parametrize("line", used_drawings())
def test_a_drawing_is_well_formed_and_takes_its_colours_from_the_page(line):
    text = drawn(line)
    root = ElementTree.fromstring(text)
    assert root.get("aria-label")
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b|rgb\(", re.sub(r'aria-label="[^"]*"', "", text))


def test_every_class_of_the_drawings_has_a_style():
    style = (DOCS / "_static" / "figures.css").read_text("utf8")
    kinds = {kind for line in used_drawings() for kind in re.findall(r"\bk-[\w-]+", drawn(line))}
    plain = {"k-ink", "k-slide", "k-frame", "k-ground"}  # the colour of text
    assert {kind for kind in kinds - plain if f".{kind}" not in style} == set()


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
