"""Tables: they fit any width, cut no name and no number, have units, and show rounding as 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

import kinetree as kt
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.cli.states import reach_of, rounding
from kinetree.cli.tables import (
    GAP,
    aligned,
    clear_rounding,
    column_groups,
    matrix_tables,
    plain_table,
    rich_table,
    screen_table,
    unit_column,
)


def printed(renderable, width):
    screen = Console(width=width, color_system=None, legacy_windows=False)
    with screen.capture() as capture:
        screen.print(renderable)
    return [line.rstrip() for line in capture.get().splitlines()]


@given(widths=st.lists(st.integers(1, 30), min_size=2, max_size=12), width=st.integers(40, 140))
def test_groups_have_all_columns_in_order_and_fit(widths, width):
    groups = column_groups(widths, width)
    assert [k for group in groups for k in group[1:]] == list(range(1, len(widths)))
    for group in groups:
        assert group[0] == 0
        used = sum(widths[k] for k in group) + GAP * (len(group) - 1)
        assert used <= width or len(group) == 2
    # as few groups as filling them from the left needs
    count, used = 1, widths[0]
    for w in widths[1:]:
        if used + GAP + w > width and used > widths[0]:
            count, used = count + 1, widths[0]
        used += GAP + w
    assert len(groups) == count


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


def test_units_are_in_the_heading_or_beside_numbers():
    assert unit_column("q", ["1", "2"], ["rad", "rad"]) == ("q\nrad", ["1", "2"])
    assert unit_column("q", ["1", "20"], ["rad", "m"]) == ("q\n", ["1 rad", "20 m  "])
    assert unit_column("q", ["1", "2"], ["1", "m"]) == ("q\n", ["1  ", "2 m"])


def test_numbers_beside_each_other_are_aligned():
    assert aligned([[1, 20.5], [100, 3]], 3) == ["  1  20.5", "100     3"]


@pytest.mark.parametrize("letter", ["M", "C"])
def test_matrices_have_units(letter):
    names = ("hinge", "slide")
    unit = {"M": ("kg m^2", "kg m", "kg"), "C": ("kg m^2/s", "kg m/s", "kg/s")}[letter]
    turning = matrix_tables(letter, "T", names, [False, False], np.eye(2), 80)
    assert printed(next(iter(turning)), 80)[0] == f"T, {unit[0]}"
    sliding = matrix_tables(letter, "T", names, [True, True], np.eye(2), 80)
    assert printed(next(iter(sliding)), 80)[0] == f"T, {unit[2]}"
    mixed = printed(next(iter(matrix_tables(letter, "T", names, [False, True], np.eye(2), 80))), 80)
    assert f"{unit[0]}; rows and columns of sliding joints (2): {unit[1]}" in mixed[1]
    assert mixed[1].endswith(f"where both slide: {unit[2]}")


# ----- rounding


@pytest.mark.parametrize("robot", [x for x in kt.robots.TREES if x != "humanoid"])
def test_rounding_is_far_below_what_the_robot_can_feel(robot):
    """No true number of a robot is hidden: what is shown as 0 is below 1e-12 of its own weight."""
    robot = getattr(kt.robots, robot)()
    model, q = robot.model, rest_position(robot.model)
    zero = np.zeros(model.n)
    size = rounding(model, "tau", {"q": q, "dq": zero, "ddq": zero}, zero)
    weight = float(sum(model.m))
    assert np.all(size > 0) and np.all(size <= 1e-14 * 9.81 * weight * max(1, reach_of(model, q)))


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


def test_rounding_is_cleared_by_size():
    x = np.array([1e-20, -1e-14, 3.0])
    assert clear_rounding(x, 1e-15).tolist() == [0, -1e-14, 3]
    assert clear_rounding(x, np.array([0, 1e-13, 10])).tolist() == [1e-20, 0, 0]


@given(
    cells=st.lists(
        st.tuples(st.text("ab \u00fc1-.", max_size=9), st.text("12.-", max_size=7)), min_size=1
    ),
    heads=st.tuples(st.sampled_from(["joint", "q\nrad", "x"]), st.sampled_from(["tau\nN m", "g"])),
    left=st.sampled_from([(), (0,), (0, 1)]),
)
def test_a_table_made_at_once_has_the_text_of_rich(cells, heads, left):
    found, expected = (make(heads, cells, left, (0, 1)) for make in (plain_table, rich_table))
    assert printed(found, 80) == printed(expected, 80)


def test_a_long_table_has_every_row_and_styles_stay_with_rich():
    rows = [[f"joint{k}", str(k)] for k in range(1000)]
    lines = printed(screen_table("", ["joint", "q"], rows, width=80), 80)
    assert [line.split() for line in lines[2:]] == rows
    assert plain_table(["joint"], [[Text("a", style="red")]], (0,), (0,)) is None
