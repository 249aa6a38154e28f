"""Tables: they fit any width, cut no name and no number, have units, and show rounding as 0."""

import numpy as np
import pytest
from rich.console import Console

import kinetree as kt
from kinetree.cli.tables import (
    screen_table,
)


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
