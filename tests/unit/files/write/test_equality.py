"""Constraints in MJCF: written, compiled by MuJoCo and read back as the same motion."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.constraints import Couple, Hold, Loop, Rod

pytest.importorskip("mujoco", reason="MJCF needs mujoco")


def arms():
    """A tree with offsets: two arms of two joints, and a slide."""
    builder = kt.Builder("arms").link("base")
    I = 0.02 * np.eye(3)
    for name, parent, at in (
        ("a", "base", 0.0),
        ("b", "a", 0.3),
        ("c", "base", 0.6),
        ("d", "c", 0.4),
    ):
        builder.link(name, 1 + at, (0.1, 0.02, 0), I)
        axis = (0, 0, 1) if name in "ac" else (0, 0.6, 0.8)
        builder.joint(f"q{name}", "revolute", parent, name, at=(at, 0, 0.1), axis=axis, offset=at)
    builder.link("e", 2, (0, 0, 0), I).joint("s", "prismatic", "d", "e", axis=(1, 0, 0))
    turned = kt.spatial.pose(kt.spatial.rotation((0.6, 0, 0.8), 0.3), np.array([0.2, 0.1, 0]))
    return builder.frame("end", "b", (0.3, 0.1, 0)).frame("tip", "e", turned, tool=True).build()


CASES = {
    "point": {"x": Loop("end", "tip")},
    "hinge": {"x": Loop("b", "tip", "axis", "y")},
    "weld": {"x": Loop("a", "d", "pose")},
    "hold": {"x": Hold("tip", "point", arms().pose(np.full(5, 0.1), "tip")[:3, 3])},
    "couple": {"x": Couple("qb", {"qc": (0.5, -0.2, 0.1, 0.3)}, 0.1)},
    "slide": {"x": Couple("s", {"qa": 0.1}), "y": Couple("qd", {}, 0.2)},
}


@pytest.mark.parametrize("case", CASES)
def test_a_constrained_robot_reads_back_with_the_same_motion(case):
    tree, given = arms(), CASES[case]
    if case in ("hinge", "weld"):  # both ends coincide at a position that is then closed
        q0 = np.array([0.3, -0.4, 0.5, 0.2, 0.1])
        loop = given["x"]
        T = np.linalg.inv(tree.pose(q0, loop.frame_a)) @ tree.pose(q0, loop.frame_b)
        tree = tree.with_tool("there", T, loop.frame_a)
        given = {"x": Loop("there", loop.frame_b, loop.kind, loop.axis)}
        robot = tree.constrained(given, near=q0)
    else:
        q0 = np.zeros(5)
        robot = tree.constrained(given, near=q0)
    with pytest.warns(kt.errors.KinetreeWarning, match="constraint 'x' as an exact one"):
        text = kt.convert.to_mjcf(robot)
    if kt.constraints.mobility(robot).degrees_of_freedom:
        again = kt.load_string(text)
    else:
        with pytest.warns(kt.errors.KinetreeWarning, match="no degree of freedom: it stands still"):
            again = kt.load_string(text)
    assert (
        kt.constraints.mobility(again).degrees_of_freedom
        == kt.constraints.mobility(robot).degrees_of_freedom
    )
    rng = np.random.default_rng(2)
    q = kt.constraints.project(robot, q0 + 0.05 * rng.normal(size=5))
    assert np.abs(kt.constraints.errors(again, q)).max() < 1e-8
    dq = kt.constraints.project_rates(robot, q, rng.normal(size=5))
    tau = rng.normal(size=5)
    expected = robot.forward_dynamics(q, dq, tau)
    np.testing.assert_allclose(again.forward_dynamics(q, dq, tau), expected, rtol=1e-7, atol=1e-7)


def test_constraints_that_mjcf_lacks_are_comments_and_losses():
    robot = arms().constrained({"bar": Rod("end", "tip", 0.3), "gear": Couple("qb", {"qc": 1})})
    with pytest.warns(kt.errors.KinetreeWarning, match="constraint 'bar', a rod"):
        text = kt.convert.to_mjcf(robot)
    assert "<!-- not supported by MJCF: constraint 'bar', a rod" in text
    assert list(kt.load_string(text).model.constraints.given) == ["gear"]


def test_motors_are_named_where_actuators_do_not_show_them():
    with pytest.warns(kt.errors.KinetreeWarning, match="the joints with motors, which are crank"):
        kt.convert.to_mjcf(kt.robots.four_bar())
