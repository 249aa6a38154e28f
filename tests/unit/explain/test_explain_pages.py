"""Rendered explanations: every form has every number, names are escaped, lines fit."""

import io
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import FORMULATIONS
from kinetree.explain import explain
from kinetree.explain.numbers import column_cells
from robot_states import any_robot, random_state

HOSTILE = r"a|b_c <script>alert(1)</script> & \x{y} $z% #1 `t` *u*"


@cache
def puma(formulation: str = "screw"):
    robot = kt.robots.puma_560()
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 6))
    return robot.explain(q, dq, ddq, formulation=formulation)


@cache
def hostile():
    builder = kt.Builder(HOSTILE).link("base").link(f"{HOSTILE} 1", 1, (1, 0, 0))
    builder.link(f"{HOSTILE} 2", 1, (1, 0, 0))
    builder.joint(f"{HOSTILE} j1", "revolute", "base", f"{HOSTILE} 1")
    builder.joint(f"{HOSTILE} j2", "revolute", f"{HOSTILE} 1", f"{HOSTILE} 2", at=(1, 0, 0))
    return explain(builder.build_model(), [0.1, 0.2], [0.3, 0.4], [0.5, 0.6])


def numbers_of(explanation) -> set[str]:
    """The joint forces as any form prints them: three decimals for the Puma."""
    return {f"{abs(x):.3f}" for x in explanation.tau}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_form_shows_the_joint_forces_and_the_links(form, formulation):
    explanation = puma(formulation)
    text = getattr(explanation, form)()
    for name in ("link1", "link6", "joint3", "revolute", "gravity", "friction", "centrifugal"):
        assert name in text
    assert numbers_of(explanation) <= set(re.findall(r"\d+\.\d+", text))


@pytest.mark.parametrize("width", [100, 140])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_terminal_table_fits(formulation, width):
    lines = puma(formulation).text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    assert ("Ad_ip V_p" in "".join(lines)) == (formulation == "screw" and width == 140)


@pytest.mark.parametrize("width", [50, 60, 80, 93, 94, 120])
def test_no_number_is_lost_on_a_narrow_terminal(width):
    """Numbers that do not fit into columns are listed; every component of every total is shown."""
    text = puma().text(width)
    assert max(map(len, text.splitlines())) <= width and "…" not in text
    found = [abs(float(x)) for x in re.findall(r"\d+\.\d+", text)]
    for steps in puma().links:
        for symbol in ("V", "dV", "F", "tau"):
            parts = [np.abs(part.value).max() for part in steps[symbol].parts]
            for x in np.abs(np.ravel(steps[symbol].value)):
                assert min(abs(x - y) for y in [*found, 0]) <= 1e-4 * max(parts)


def test_decimal_points_are_in_line():
    lines = puma().text(100).splitlines()
    start = lines.index(next(line for line in lines if line.startswith(" F  N m, N")))
    rows = lines[start + 1 : lines.index("", start)]
    points = [{match.start() for match in re.finditer(r"\.", row)} for row in rows]
    widest = set().union(*points)
    assert len(rows) >= 4 and len(widest) == 6


def test_a_console_draws_it_in_colour():
    console_module = pytest.importorskip("rich.console")
    console = console_module.Console(
        width=120, record=True, file=io.StringIO(), color_system="256", force_terminal=True
    )
    console.print(puma())
    assert "\x1b[" in console.export_text(styles=True)


def test_markdown_is_made_of_whole_tables():
    """Every row of a table has as many cells as its head."""
    for explanation in (puma(), hostile()):
        text = re.sub(r"\\\|", "", explanation.markdown())
        tables = re.findall(r"(?:^\|.*\|\n)+", text, re.M)
        assert len(tables) == 5 * len(explanation.links) + 1
        for table in tables:
            assert len({row.count("|") for row in table.splitlines()}) == 1


def test_markdown_escapes_names():
    text = hostile().markdown()
    assert "<script>" not in text and r"\<script\>" in text
    assert r"a\|b_c" in text and r"\*u\*" in text and r"\`t\`" in text


class Checker(HTMLParser):
    """Collects tags and text; fails if tags are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


@pytest.mark.parametrize("make", [puma, hostile])
def test_html_is_well_formed_and_safe(make):
    explanation = make()
    checker = Checker()
    checker.feed(explanation.html())
    assert checker.open == [] and "script" not in checker.tags
    assert explanation.links[1].name in checker.words
    assert explanation.html() == explanation._repr_html_()


def test_many_links_are_folded_in_html():
    model = any_robot(11)
    state = random_state(model, 11)
    text = explain(model, *state.motion).html()
    assert text.count("<details class='link'>") == len(model.links) > 8
    assert text.count(" open>") == 1  # the joint forces by cause


def latex_document(body: str) -> str:
    return r"\documentclass{article}" + "\n\\begin{document}\n" + body + "\\end{document}\n"


@pytest.mark.parametrize("make", [puma, hostile])
def test_latex_compiles_without_packages(make, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (tmp_path / "page.tex").write_text(latex_document(make().latex()))
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]


def test_latex_escapes_names():
    text = hostile().latex()
    for escaped in (
        r"a\textbar{}b\_c",
        r"\textless{}script\textgreater{}",
        r"\&",
        r"\$z\%",
        r"\#1",
    ):
        assert escaped in text
    assert text.isascii()


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1.0, 0.0, -0.25], ["1.0000", "0     ", "-0.2500"]),
        ([0.0, 0.0], ["0", "0"]),
        ([12345.678, 1e-9], ["12346", "0"]),
        ([1e9, 0.0], ["1.00e+09", "0"]),
        ([2e-7, 1e-7], ["2.00e-07", "1.00e-07"]),
        ([-1e-12, 3.0], ["0.0000", "3.0000"]),
        ([-0.00123456, 0.001], ["-0.001235", "0.001000"]),
        ([-9999999.0, 0.5], ["-9999999", "0"]),
        ([np.nan, 1.0], ["nan", "1.0000"]),
    ],
)
def test_numbers_have_few_digits(values, cells):
    assert column_cells(np.array(values)) == cells


def test_every_row_of_a_table_of_joints_is_readable():
    cells = column_cells(np.array([[100.0, 50.0], [0.0123, 0.01]]), every_row=True)
    assert cells == ["100.0000", "50.0000", "0.0123", "0.0100"]


def test_all_joint_types_are_drawn():
    model = any_robot(24)
    state = random_state(model, 24)
    explanation = explain(model, *state.motion, **state.all)
    text = explanation.text(120)
    for name in {joint.type for joint in model.joints} | {"wx", "vz", "external wrench", "base"}:
        assert name in text
    assert max(map(len, text.splitlines())) <= 120


def test_causes_without_contribution_are_listed_once():
    explanation = kt.robots.planar_2r().explain([0.1, 0.2], [1, 2], [3, 4])
    text = explanation.text()
    assert "No contribution: friction, rotor, external." in text
    assert str(explanation) == text and "planar 2R" in repr(explanation)


@pytest.mark.parametrize("formulation", ["screw", "closed", "link", "space"])
def test_forces_that_are_rounding_are_shown_as_0(formulation):
    robot = kt.robots.planar_2r()
    page = robot.explain([np.pi / 2, 0], [0, 0], [0, 0], formulation=formulation)  # upright
    assert np.abs(page.tau).max() > 0  # the numbers keep their bits
    assert "e-1" not in page.text()
    assert "gravity" in page.text().rpartition("No contribution")[2]
