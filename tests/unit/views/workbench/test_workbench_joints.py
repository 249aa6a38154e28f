"""Sliders: one per degree of freedom, converted to q and back without loss, for all joint types."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.views.workbench.joints import (
    acceleration_sliders,
    position_sliders,
    positions,
    rate_sliders,
    slider_values,
    step,
)


def mixed():
    """A robot with a joint of every kind."""
    b = kt.Builder("mixed").link("base")
    kinds = ("free", "revolute", "prismatic", "spherical", "planar")
    parent = "base"
    for kind in kinds:
        b.link(kind, 1.0, (0.1, 0, 0), np.eye(3) * 0.01)
        b.joint(f"j_{kind}", kind, parent, kind, at=(0.2, 0, 0))
        parent = kind
    return b.build()


ROBOTS = {"mixed": mixed(), "panda": kt.robots.panda(), "humanoid": kt.robots.humanoid()}


@pytest.fixture(params=ROBOTS)
def model(request):
    return ROBOTS[request.param].model


def test_there_is_a_slider_for_every_degree_of_freedom(model):
    for sliders in (position_sliders(model, 1.0), rate_sliders(model), acceleration_sliders(model)):
        assert len(sliders) == model.n
        assert all(slider.low < slider.high for slider in sliders)
        assert all(np.isfinite([slider.low, slider.high]).all() for slider in sliders)


def test_sliders_reach_the_limits_and_no_further():
    model = kt.robots.panda().model
    for slider, joint in zip(position_sliders(model, 1.0), model.joints, strict=True):
        assert (slider.low, slider.high) == (joint.limits.lower, joint.limits.upper)
        assert slider.name == joint.name and slider.angle
    speeds = [joint.limits.velocity for joint in model.joints]
    assert [slider.high for slider in rate_sliders(model)] == speeds


def test_sliders_lead_to_a_position_and_back(model):
    rng = np.random.default_rng(0)
    sliders = position_sliders(model, 1.0)
    low, high = (np.array([getattr(s, end) for s in sliders]) for end in ("low", "high"))
    for _ in range(20):
        values = low + (high - low) * rng.uniform(0.02, 0.98, len(low))
        q = positions(model, values)
        assert q.shape == (model.nq,)
        # a half-angle and an arc tangent each way: some eps of a turn
        np.testing.assert_allclose(slider_values(model, q), values, rtol=0, atol=1e-13)


def test_angles_and_lengths_are_told_apart():
    sliders = {s.name: s.angle for s in position_sliders(ROBOTS["mixed"].model, 1.0)}
    assert sliders["j_free.roll"] and not sliders["j_free.x"]
    assert sliders["j_planar.theta"] and not sliders["j_planar.y"]
    assert sliders["j_revolute"] and not sliders["j_prismatic"]
    rates = {s.name: s.angle for s in rate_sliders(ROBOTS["mixed"].model)}
    assert rates["j_free.wx"] and not rates["j_free.vz"]


@pytest.mark.parametrize("width", [1e-3, 0.37, 2 * np.pi, 360, 5e4])
def test_a_step_is_a_round_number_near_a_two_thousandth(width):
    found = step(-width / 2, width / 2)
    assert width / 2000 * 0.99 < found < width / 2000 * 2.6
    assert round(found / 10 ** np.floor(np.log10(found * 1.0001)), 6) in (1, 2, 5)
