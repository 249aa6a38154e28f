"""Pages of every kind in a browser: no text is cut, overlaps or is pale, and nothing is fetched.

`python tools/screenshots.py` measures the same on all pages, in two sizes and both themes; here is
a choice of them, with sizes and themes by turns.
"""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import kinetree as kt

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from coloured_robot import write_coloured_robot
from screenshots import Shot, faults_of, opened, shown_frames, workbench

DOCS = ("index", "tutorial/1_twists", "notation", "simulation", "command_line", "api/robot")
STATES = ("recursion", "upload")
VARIANTS = (("1280x800", "light"), ("1920x1080", "dark"), ("1280x800", "dark"))


def measured(chromium, shot, k):
    """Faults of a shot in one of the variants."""
    with opened(chromium, shot, *VARIANTS[k % len(VARIANTS)]) as page:
        shown_frames(page)
        return [*shot.faults, *faults_of(page)]


@pytest.mark.parametrize("name", DOCS)
def test_a_page_of_the_documentation(name, chromium, built_docs):
    folder, _ = built_docs
    shot = Shot(name, (folder / f"{name}.html").as_uri())
    assert measured(chromium, shot, DOCS.index(name)) == []


def test_states_of_the_workbench(chromium, tmp_path):
    with ExitStack() as stack:
        shots = workbench(tmp_path, stack, STATES)
        found = {shot.name: measured(chromium, shot, k) for k, shot in enumerate(shots)}
    assert found == {name: [] for name in STATES}


def test_a_report_with_coloured_meshes_and_outputs_of_a_notebook(chromium, tmp_path):
    urdf = write_coloured_robot(tmp_path / "coloured")[0]
    motion = kt.motion.quintic([0, 0], [1.5, -1], 1, 0.01, robot=kt.robots.planar_2r())
    outputs = (kt.load(urdf), motion, motion.plot())
    cells = "".join(f"<div>{one._repr_html_()}</div>" for one in outputs)
    pages = {
        "report": kt.views.report_page(kt.load(urdf), source=urdf, samples=100),
        "notebook": f"<!DOCTYPE html><body style='width: 960px'>{cells}</body>",
    }
    found = {}
    for k, (name, text) in enumerate(pages.items()):
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        found[name] = measured(chromium, Shot(name, path.as_uri()), k)
    assert found == {name: [] for name in pages}


def test_faults_are_found(chromium, tmp_path):
    """The measurements see what they are made for."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<!DOCTYPE html><body style='background: white'><p style='color: #aaa'>pale</p>"
        "<p style='width: 3em; overflow: hidden; white-space: nowrap'>words that are cut off</p>"
        "<p style='margin: 0'>one line</p><p style='margin: -1em 0'>another line</p>"
        "<img alt='' src='http://kinetree.invalid/x.png'>",
        encoding="utf-8",
    )
    text = "\n".join(measured(chromium, Shot("bad", path.as_uri()), 0))
    for fault in ("contrast", "is cut", "overlaps", "request: http://kinetree.invalid"):
        assert fault in text
