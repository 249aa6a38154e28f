"""Degrees of freedom, redundant equations, independent joints and motors."""

import numpy as np
import pytest

import kinetree as kt
from closed_loops import four_bar, four_bar_tree, slider_crank, slider_crank_tree
from kinetree import dynamics
from kinetree.constraints import Couple, Hold, Loop, Rod
from kinetree.errors import InputError, ModelError


def test_a_planar_loop_in_space_has_three_redundant_equations():
    found = kt.constraints.mobility(slider_crank(actuated=["crank"]))
    assert found.degrees_of_freedom == 1 and found.joints == 3 and len(found.rows) == 5
    assert found.redundant == ("loop.angular_x", "loop.angular_y", "loop.linear_z")
    assert found.independent == ("crank",) and found.actuated == ("crank",) and found.sufficient
    assert "1 degree of freedom" in str(found) and "loop.linear_z" in str(found)


def test_independent_joints_can_be_chosen():
    chosen = slider_crank_tree().constrained(
        {"loop": Loop("pin", "tip", "axis")}, independent=["slide"]
    )
    assert kt.constraints.mobility(chosen).independent == ("slide",)
    with pytest.raises(InputError, match="expected 1 rate that the others follow from, such as"):
        slider_crank_tree().constrained(
            {"loop": Loop("pin", "tip", "axis")}, independent=["slide", "crank"]
        )


@pytest.mark.parametrize(
    ("names", "words"), [([], "independent is empty; expected 1"), (["crank"] * 2, "crank, crank;")]
)
def test_empty_and_repeated_choices_of_independent_joints_are_refused(names, words):
    with pytest.raises(InputError, match=words):
        slider_crank(independent=names)


def test_a_motor_that_is_named_twice_is_refused():
    for names in (["crank", "crank"], ["crank", "slide", "crank"]):
        with pytest.raises(InputError):
            slider_crank(actuated=names)


def test_independent_joints_of_a_robot_that_cannot_move_are_refused():
    arm = kt.robots.planar_2r()
    held = {"tip": Hold("tool", "point", arm.pose([0.4, 0.7])[:3, 3])}
    assert kt.constraints.mobility(arm.constrained(held, independent=[])).independent == ()
    with pytest.raises(InputError, match="expected no rate, because no joint can move"):
        arm.constrained(held, independent=["joint1"])


def test_joints_that_cannot_decide_the_others_are_refused_as_independent():
    """A joint that the coupling fixes has a rate of zero, from which nothing follows."""
    tree = kt.robots.spatial_3r()
    names = tree.joint_names
    fixed = {"fixed": Couple(names[0], {names[1]: 0.0}, 0.3)}
    with pytest.raises(InputError):
        tree.constrained(fixed, independent=[names[0], names[1]])


def test_a_constraint_that_repeats_another_is_named_redundant():
    robot = four_bar(kind="point").constrained({"again": Loop("end", "tip", "point")})
    assert set(kt.constraints.mobility(robot).redundant) >= {"again.linear_x", "again.linear_y"}
    assert kt.constraints.mobility(robot).degrees_of_freedom == 1


def test_motors_that_do_not_suffice_are_noticed():
    arm = kt.robots.ur5e()
    q = np.array([0.1, -1, 1.2, 0.3, 0.5, 0])
    held = {"tip": Hold(arm.model.tool, "point", arm.pose(q)[:3, 3])}
    names = arm.joint_names
    few = arm.constrained(held, near=q, actuated=names[:2])
    assert (
        kt.constraints.mobility(few).degrees_of_freedom == 3
        and not kt.constraints.mobility(few).sufficient
    )
    # the last joint does not move the tip, so that no force of the constraint can turn it
    assert not kt.constraints.mobility(arm.constrained(held, near=q, actuated=names[:3])).sufficient
    motors = [names[0], names[1], names[5]]
    assert kt.constraints.mobility(arm.constrained(held, near=q, actuated=motors)).sufficient
    assert "too few" in str(kt.constraints.mobility(few))
    with pytest.raises(ModelError, match="cannot make every motion"):
        few.inverse_dynamics(q, q, q)
    spin = np.array([0, 0, 0, 0, 0, 1000.0])  # allowed, but the last joint has no motor
    _, _, force, motion = kt.constraints.inverse_dynamics(few, q, np.zeros(6), spin)
    assert np.abs(force).max() > 0.1 and np.abs(motion).max() < 1e-9
    with pytest.raises(InputError, match="joint 'wrist_3', which has none, would need"):
        dynamics.constrained_inverse_dynamics(few.model, q, np.zeros(6), spin)


def test_constraints_that_contradict_one_another_are_refused_with_residual_and_name():
    given = {"loop": Loop("end", "tip", "point"), "bar": Rod("tip", "anchor", 1.2)}
    text = r"'loop', 'bar' contradict one another.*'(loop|bar)' stays open by 0\.[0-9]+ .*`near`"
    with pytest.raises(InputError, match=text):
        four_bar_tree().constrained(given)


def test_constraints_that_restrict_nothing_are_refused():
    builder = kt.Builder("turn").link("base").link("wheel", m=1, I_com=np.eye(3))
    wheel = builder.joint("axle", "revolute", "base", "wheel").build()
    with pytest.raises(ModelError):
        wheel.constrained({"pin": Hold("wheel", "point", (0, 0, 0))})


def test_a_mechanism_without_freedom_stands_still():
    arm = kt.robots.planar_2r()
    held = arm.constrained({"tip": Hold("tool", "point", arm.pose([0.4, 0.7])[:3, 3])})
    assert (
        kt.constraints.mobility(held).degrees_of_freedom == 0
        and kt.constraints.mobility(held).independent == ()
    )
    q = kt.constraints.project(held, [0.3, 0.8])
    assert np.abs(held.forward_dynamics(q, [0, 0], [3, 4])).max() < 1e-10
    assert np.abs(held.inverse_dynamics(q, [0, 0], [0, 0])).max() < 1e-9  # the pin carries all


def test_constraints_are_replaced_and_removed_by_name():
    tree = four_bar_tree()
    robot = tree.constrained({"loop": Loop("end", "tip", "axis")}, actuated=["crank"])
    point = robot.constrained({"loop": Loop("end", "tip", "point")})
    assert len(kt.constraints.mobility(point).rows) == 3 and kt.constraints.mobility(
        point
    ).actuated == ("crank",)
    assert robot.constrained({"loop": None}).model.constraints is None
    with pytest.raises(InputError, match="without constraints"):
        tree.constrained({}, actuated=["crank"])


def test_the_same_robot_gives_the_same_choice():
    first, second = four_bar().model.constraints, four_bar().model.constraints
    assert (first.basis, first.kept, first.scales) == (second.basis, second.kept, second.scales)


def test_symbols_are_constrained_as_numbers_first():
    import sympy

    model = slider_crank_tree().model
    symbolic = model.replace(m=np.array([sympy.Symbol("m"), 1, 2], object))
    with pytest.raises(ModelError):
        kt.Robot.constrained(symbolic, {"loop": Loop("pin", "tip")})
