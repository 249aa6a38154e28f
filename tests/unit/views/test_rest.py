"""Positions of rest, sliders, and envelopes of joint forces."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.views.page.forces import envelopes


def test_joints_whose_zero_is_out_of_reach_rest_midway():
    model = kt.robots.panda().model
    limits = model.joint("panda_joint4").limits
    assert rest_position(model)[3] == (limits.lower + limits.upper) / 2


def test_envelopes_of_a_pendulum_are_those_of_its_formula():
    """Gravity m g l sin q and friction at full speed, both signs."""
    builder = kt.Builder("pendulum").link("base").link("bob", 2, (0, 0, -0.5))
    builder.joint(
        "hinge", "revolute", "base", "bob", axis=(0, 1, 0),
        limits=kt.Limits(velocity=3.0, effort=20.0), friction=kt.Friction(viscous=0.5),
    )  # fmt: skip
    found = envelopes(builder.build(), 2000)
    top = 2 * 9.81 * 0.5
    # 2000 draws of sin: the largest misses 1 by more than 1e-4 with a probability of e^-9
    np.testing.assert_allclose(found.held[:, 0], (-top, top), rtol=1e-4)
    np.testing.assert_allclose(found.moving[:, 0], (-top - 1.5, top + 1.5), rtol=2e-4)
    assert found.load.max() == pytest.approx(top / 20, rel=1e-4)


def test_a_floating_base_is_no_driven_joint():
    robot = kt.robots.quadruped()
    found = envelopes(robot, 50)
    assert found.driven == tuple(range(6, robot.n))


def test_robots_without_limits_have_no_load_and_no_speed():
    found = envelopes(kt.robots.planar_2r(), 50)
    assert found.load is None and found.moving is None


def test_rounding_is_no_force():
    """The turning of a hip about the vertical carries no weight, to the last digit."""
    robot = kt.robots.humanoid()
    found = envelopes(robot, 50)
    k = robot.model.dof_names.index("left_hip_turn")
    assert np.array_equal(found.held[:, k], (0, 0))
