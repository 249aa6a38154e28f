"""Robots that nothing can move are refused before the first step, with the link by name."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import Builder
from kinetree.errors import SingularityError
from kinetree.files.description import Friction

METHODS = ("dop853", "rk4", "semi_implicit_euler", "euler")
UP, SIDE, BALL = (0, 0, 1), (0, 1, 0), np.eye(3) * 0.01


def arm(first, second, friction=0.0, axes=(UP, SIDE)):
    """Two links by their masses; 0 is a link without any data."""
    builder = Builder("arm").link("base")
    for k, (mass, axis) in enumerate(zip((first, second), axes, strict=True), 1):
        builder.link(f"link{k}", *((mass, (0.2, 0, 0), BALL * mass) if mass else ()))
        parent = "base" if k == 1 else "link1"
        builder.joint(
            f"joint{k}", "revolute", parent, f"link{k}",
            at=(0.3 * (k > 1 and axes[0] != axes[1]), 0, 0), axis=axis,
            friction=Friction(coulomb=friction),
        )  # fmt: skip
    return builder.build()


ROBOTS = {
    "a last link": (arm(1.0, 0), "joint2", "link2"),
    "with dry friction": (arm(1.0, 0, friction=0.3), "joint2", "link2"),
    "all links": (arm(0, 0), "joint2", "link2"),
    # both turn the same body about the same axis: which of them does it, nothing decides
    "between two joints on one axis": (arm(0, 1.0, axes=(UP, UP)), "joint1", "link1"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ROBOTS)
def test_the_link_is_named(case, method):
    robot, joint, link = ROBOTS[case]
    with pytest.raises(SingularityError, match=f"joint '{joint}', which moves link '{link}', is 0"):
        robot.simulate([0.0, 0.0], duration=0.01, method=method)


def test_a_law_in_python_and_a_controller_change_nothing():
    robot = arm(1.0, 0)
    for options in (
        {"tau": lambda t, q, dq: np.array([0.0, float(q[0])])},
        {"controller": kt.controllers.ComputedTorque(np.zeros(2), kp=1.0, kd=1.0)},
    ):
        with pytest.raises(SingularityError, match="link 'link2'"):
            robot.simulate([0.0, 0.0], duration=0.01, **options)


def test_a_massless_link_that_moves_another_is_fine():
    motion = arm(0, 1.0).simulate([0.0, 0.1], duration=0.01, method="rk4")
    assert np.isfinite(motion.ddq).all() and motion.ddq.any()


def test_masses_that_are_given_later_count():
    """The file says nothing about the mass of a link; the simulation does."""
    robot = arm(1.0, 0)
    given = {"mass": [1.0, 1.0], "com": [[0.2, 0, 0]] * 2, "inertia": [BALL, BALL]}
    options = {"duration": 0.01, "method": "rk4", "parameters": given}
    one, other = (x.simulate([0.0, 0.1], **options) for x in (robot, arm(1.0, 1.0)))
    assert np.array_equal(one.q, other.q) and one.dq.any()
