"""The slope of friction, and the dual numbers that friction functions are run on."""

import dataclasses

import numpy as np
import pytest

import kinetree as kt
from kinetree import scalars
from kinetree.algorithms.joints.friction import friction_slopes
from kinetree.model import JointFriction
from kinetree.spatial.duals import Dual, dual


def with_friction(**friction):
    model = kt.robots.planar_2r().model
    joint = dataclasses.replace(model.joints[1], friction=JointFriction(**friction))
    return model.replace(joints=(model.joints[0], joint))


def test_viscous_friction_has_the_slope_of_its_direction():
    model = with_friction(viscous=(3.0, 5.0), coulomb=(1.0, 2.0))
    assert friction_slopes(model, np.array([1.0, 2.0])).tolist() == [0, 3]
    assert friction_slopes(model, np.array([1.0, -2.0])).tolist() == [0, 5]


def stribeck(x):
    """Every function that a traced friction may use, and every operator."""
    smooth = x / scalars.sqrt(x * x + 0.01) * (1 + scalars.cos(3 * x) / 4)
    return 2 - (-smooth) + scalars.sin(x) ** 3 / (1 + x**2) - 1 / (2 + x * scalars.sign(x)) + (+x)


@pytest.mark.parametrize("at", [-1.3, 0.2, 2.5])
def test_functions_are_differentiated_as_they_are_written(at):
    model = with_friction(function=stribeck)
    h = 1e-5
    expected = (stribeck(at + h) - stribeck(at - h)) / (2 * h)
    found = friction_slopes(model, np.array([0.0, at]))[1]
    assert abs(found - expected) < 1e-8 * abs(expected)


def test_a_function_that_ignores_the_rate_has_no_slope():
    assert friction_slopes(with_friction(function=lambda x: 4), np.array([0.0, 1.0]))[1] == 0


def test_a_mimic_joint_adds_its_friction_through_its_scale():
    builder = kt.Builder("pair").link("base").link("a", 1, (0.1, 0, 0)).link("b", 1, (0.1, 0, 0))
    builder.joint("one", "revolute", "base", "a", axis=(0, 0, 1))
    friction = kt.Friction(viscous=2.0)
    mimic = kt.Mimic("one", 3.0, 0.0)
    builder.joint("two", "revolute", "a", "b", axis=(0, 0, 1), mimic=mimic, friction=friction)
    assert friction_slopes(builder.build_model(), np.array([0.7])).tolist() == [2.0 * 9.0]


def test_choices_take_the_slope_of_what_is_chosen():
    x = Dual(2.0, 1.0)
    assert scalars.where(x, x * x, -x).slope == 4.0
    assert scalars.where(-x, x * x, -x).slope == -1.0
    assert dual(3).slope == 0
    assert (np.float64(2) * x).slope == 2.0
