"""Mechanisms without a regular position, dead centres, and links without mass."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.constraints import Couple, Loop, Rod
from kinetree.errors import InputError, SingularityError


def bars(base, *, turn=0.0, kind="axis", **options):
    """A four-bar with bars of 0.3, 0.5 and 0.3 m on a base that is turned in its plane."""
    builder = kt.Builder("bars", gravity=(0, -9.81, 0)).link("base")
    for name, length in (("a", 0.3), ("b", 0.5), ("c", 0.3)):
        builder.link(name, m=1, com=(length / 2, 0, 0), I_com=0.01 * np.eye(3))
    end = base * np.array([np.cos(turn), np.sin(turn), 0])
    builder.joint("ja", "revolute", "base", "a").joint("jb", "revolute", "a", "b", at=(0.3, 0, 0))
    builder.joint("jc", "revolute", "base", "c", at=end)
    builder.frame("fb", "b", (0.5, 0, 0)).frame("fc", "c", (0.3, 0, 0))
    return builder.build().constrained({"loop": Loop("fb", "fc", kind)}, **options)


@pytest.mark.parametrize("turn", [0.0, 0.4, np.pi / 2])
@pytest.mark.parametrize("kind", ["axis", "point"])
def test_bars_stretched_to_their_limit_are_refused_by_name(turn, kind):
    with pytest.raises(InputError):
        bars(1.1, turn=turn, kind=kind)
    near = [turn, 0, turn + np.pi]
    with pytest.raises(InputError):
        bars(1.1, turn=turn, kind=kind, near=near)


@pytest.mark.parametrize("base", [1.1 - 1e-6, 1.0, 0.5, 0.3, 0.1 + 1e-6])
def test_bars_that_can_move_are_accepted(base):
    """A base of 0.5 m makes a parallelogram, whose flat position is singular and is no obstacle."""
    assert kt.constraints.mobility(bars(base)).degrees_of_freedom == 1
    assert kt.constraints.mobility(bars(base, turn=1.0)).degrees_of_freedom == 1


def test_a_start_at_a_singular_position_does_not_hide_the_others():
    assert kt.constraints.mobility(bars(0.5, near=[0, 0, 0])).degrees_of_freedom == 1


def test_a_rod_at_full_reach_is_refused_and_a_shorter_one_is_not():
    arm = kt.robots.planar_2r()
    with pytest.raises(InputError, match="row 'a' of constraint 'a' loses its effect there"):
        arm.constrained({"a": Rod("base", "tool", 1.8)})
    robot = arm.constrained({"a": Rod("base", "tool", 1.79)})
    angle = arm.constrained(
        {"a": Couple("joint2", {}, kt.constraints.project(robot, [0.3, 0.2])[1])}
    )
    q = kt.constraints.project(robot, [0.3, 0.2])
    state = q, [1.0, 0.0], [2.0, 3.0]
    assert np.abs(robot.forward_dynamics(*state) - angle.forward_dynamics(*state)).max() < 1e-10


@pytest.mark.parametrize("powers", [(1, 1), (1, 0, 1)])
def test_couplings_that_touch_without_crossing_are_refused(powers):
    """q1 = q2 and q1 = q2 + q2^2 (or q2^3) agree at q2 = 0, where their slopes agree too."""
    touching = {"a": Couple("joint1", {"joint2": 1}), "b": Couple("joint1", {"joint2": powers})}
    with pytest.raises(InputError):
        kt.robots.planar_2r().constrained(touching)


def engine(crank):
    """A slider-crank with its motor at the slider, and a closed position of it."""
    crank_moved = kt.robots.slider_crank()
    robot = kt.constraints.unconstrained(crank_moved).constrained(
        crank_moved.model.constraints.given, independent=["slide"], actuated=["slide"]
    )
    lean = -np.arcsin(0.2 * np.sin(crank) / 0.6)
    q = np.array([crank, lean - crank, 0.2 * np.cos(crank) + 0.6 * np.cos(lean) - 0.8])
    return robot, crank_moved, q


@pytest.mark.parametrize("crank", [0.0, np.pi, 1e-8, 1e-7])
def test_dead_centres_give_not_a_number_instead_of_wrong_numbers(crank):
    robot, _, q = engine(crank)
    rest = np.zeros(3)
    M_r, h_r, N = kt.constraints.reduced_dynamics(robot, q, rest)
    assert np.isnan(M_r).all() and np.isnan(h_r).all() and np.isnan(N[:2]).all()
    assert np.isnan(robot.inverse_dynamics(q, rest, rest)[2])
    tau, lam, left, _ = kt.constraints.inverse_dynamics(robot, q, rest, rest)
    assert np.isnan(tau[2]) and np.isnan(lam).any() and np.isnan(left).any()
    with pytest.raises(SingularityError, match="'crank', 'rod' do not follow"):
        dynamics.reduced_dynamics(robot.model, q, rest)
