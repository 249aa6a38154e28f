"""Tables: they fit any width, cut no name and no number, have units, and show rounding as 0."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import kinetree as kt
from kinetree.cli.tables import Pipe, console, screen_table, styled
from kinetree.cli.terminal import Terminal


def printed(renderable, width):
    screen = Console(width=width, color_system=None, legacy_windows=False)
    with screen.capture() as capture:
        screen.print(renderable)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 160])
def test_no_name_and_no_number_is_cut(width):
    names = [f"arm_left_{k}_joint_of_the_robot" for k in range(9)]
    rows = [[name, *(f"{x:.6g}" for x in np.random.default_rng(k).normal(size=9))]
            for k, name in enumerate(names)]  # fmt: skip
    heads = ["joint", *(f"number {k}\nN m" for k in range(9))]
    lines = printed(screen_table("many", heads, rows, width=width), width)
    words = " ".join(lines).split()
    for row in rows:
        assert all(cell in words for cell in row)
    assert all(len(line) <= width for line in lines)
    parts = sum(line.startswith("many") for line in lines)
    assert parts == words.count(names[0]) and (parts > 1) == (width < 160)


# ----- a pipe gets what rich would print, without rich

CELLS = st.text(st.sampled_from("abz 019.-+é語\u0301\t\n"), max_size=9)
HEADS = st.text(st.sampled_from("abz 0\n"), min_size=1, max_size=8)


@st.composite
def tables(draw):
    columns = draw(st.integers(1, 4))
    row = st.lists(CELLS, min_size=columns, max_size=columns)
    heads = draw(st.lists(HEADS, min_size=columns, max_size=columns))
    left = draw(st.sets(st.integers(0, columns - 1)))
    return draw(CELLS), heads, draw(st.lists(row, max_size=4)), tuple(left)


def by_rich(thing, width, **options):
    file = io.StringIO()
    plain = {"markup": False, "highlight": False, "emoji": False}
    Terminal(file=file, width=width, legacy_windows=False, **plain).print(thing, **options)
    return file.getvalue()


@given(tables(), st.integers(5, 60))
def test_a_table_in_a_pipe_is_that_of_rich(table, width):
    title, heads, rows, left = table
    made = screen_table(title, heads, rows, left, width)
    text = made.text(width)
    assert text is None or text + "\n" == by_rich(made, width)


def test_a_table_of_a_command_needs_no_rich():
    made = screen_table("title", ["joint", "q\nrad"], [["a", "0.1"], ["b", "-2"]])
    assert made.text(40) == "title\n         q\njoint  rad\n──────────\na      0.1\nb       -2"


@given(st.text(st.sampled_from("ab .é語\t\n\x1b"), max_size=30), st.booleans())
def test_a_text_in_a_pipe_is_that_of_rich(text, soft_wrap):
    shown = Pipe()._text((text,), soft_wrap)
    assert shown is None or shown + "\n" == by_rich(text, Pipe().width, soft_wrap=soft_wrap)


def test_colours_are_left_to_rich(monkeypatch):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert isinstance(console(), Pipe) and styled("OVER", "red") == "OVER"
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert not isinstance(console(), Pipe) and styled("OVER", "red").style == "red"
        console().print(screen_table("", ["joint", ""], [["a", styled("OVER", "red")]]))
    assert "\x1b[31mOVER" in out.getvalue()


# ----- rounding


@pytest.mark.parametrize("q", [(np.pi / 2, 0), (-np.pi / 2, 0), (np.pi / 2, np.pi)])
def test_a_hanging_arm_needs_no_torque(program, q):
    found = program.json(f"id planar_2r --q {q[0]!r} {q[1]!r}")["tau"]
    assert any(x != 0 for x in found)  # JSON has the rounding errors
    rows = program(f"id planar_2r --q {q[0]!r} {q[1]!r}").stdout.splitlines()[-2:]
    assert [row.split()[-1] for row in rows] == ["0", "0"]


@pytest.mark.parametrize("tau", [1e-9, 1e-6, -3e-10])
def test_true_small_numbers_are_shown(program, tau):
    """A small force that the robot really needs: a slow acceleration of a hanging arm."""
    arm = kt.robots.planar_2r()
    ddq = arm.forward_dynamics([np.pi / 2, 0], [0, 0], [tau, 0])
    words = " ".join(map(repr, ddq.tolist()))
    shown = program(f"id planar_2r --q {np.pi / 2!r} 0 --ddq {words}").stdout.splitlines()[-2]
    assert float(shown.split()[-1]) == pytest.approx(tau, rel=1e-3)
    typed = program("id planar_2r --q 1e-200 0").stdout
    assert "1e-200" in typed  # what was typed is shown as typed
