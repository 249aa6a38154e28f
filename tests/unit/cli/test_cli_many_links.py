"""Robots of many links: what is not shown is named, with the way to see it."""

import json

import pytest

import kinetree as kt
from kinetree.cli.dynamics import MAX_COLUMNS
from kinetree.cli.explain import FIRST_LINKS, MAX_LINKS

LONG = MAX_COLUMNS + 1


@pytest.fixture(scope="module")
def snake(program):
    builder = kt.Builder("snake").link("base")
    for i in range(LONG):
        builder.link(
            f"l{i}", m=0.1, com=(0.05, 0, 0), I_com=[[1e-4, 0, 0], [0, 1e-4, 0], [0, 0, 1e-4]]
        )
        parent = f"l{i - 1}" if i else "base"
        builder.joint(f"j{i}", "revolute", parent, f"l{i}", axis=(0, 1, 0), at=(0.1, 0, 0))
    robot = builder.build()
    program.folder.joinpath("snake.urdf").write_text(
        robot.to_urdf(losses="allow"), encoding="utf-8"
    )
    return robot


def test_explain_shows_the_first_of_many_links_and_names_the_way_to_the_others(program, snake):
    shown = " ".join(program("explain snake.urdf").stdout.split())
    assert f"l{FIRST_LINKS - 1}, on l{FIRST_LINKS - 2}" in shown
    assert f"l{FIRST_LINKS}, on" not in shown and f"j{LONG - 1}" in shown  # all joint forces
    assert f"other {LONG - FIRST_LINKS} links are not shown. Choose links with --link" in shown
    assert LONG > MAX_LINKS


def test_explain_shows_chosen_links_and_writes_all(program, snake):
    shown = program("explain snake.urdf --link l70 l3").stdout
    assert "l3, on l2" in shown and "l70, on l69" in shown and "l4, on" not in shown
    assert "not shown" not in shown
    program("explain snake.urdf --format markdown -o all.md")
    text = program.folder.joinpath("all.md").read_text(encoding="utf-8")
    assert all(f"l{i}, on" in text for i in range(LONG))
    assert len(json.loads(program("explain snake.urdf --json").stdout)["links"]) == LONG


def test_explain_refuses_a_link_that_does_not_exist(program, snake):
    wrong = program("explain snake.urdf --link L7O", code=2).stderr
    assert "--link is 'L7O'" in wrong and "no such moving link" in wrong


def test_terms_of_many_joints_are_shown_without_matrices_and_written_with_them(program, snake):
    shown = program("terms snake.urdf").stdout
    assert f"have {LONG} rows and columns and are not shown" in " ".join(shown.split())
    assert f"j{LONG - 1}" in shown and "mass matrix" not in shown
    found = json.loads(program("terms snake.urdf --json").stdout)
    assert len(found["M"]) == len(found["C"]) == LONG


def test_c_of_many_joints_is_that_of_the_matrix(program, snake):
    rates = " ".join(str(0.1 * (-1) ** k) for k in range(LONG))
    found = program.json(f"terms snake.urdf --dq {rates}")
    c = [sum(a * b for a, b in zip(row, found["dq"], strict=True)) for row in found["C"]]
    assert found["c"] == pytest.approx(c, abs=1e-9)
