"""A joint that rests on its limit has not left it; one beyond it has."""

import pytest

import kinetree as kt


def slider() -> kt.Robot:
    builder = kt.Builder("slider", gravity=(0, 0, 0)).link("rail").link("cart", 1.0)
    limits = kt.Limits(lower=-1.0, upper=0.0)
    return builder.joint("slide", "prismatic", "rail", "cart", limits=limits).build()


def test_rounding_on_a_limit_stops_no_simulation():
    motion = slider().simulate([1e-12], duration=0.01, dt=1e-3, method="rk4")
    assert len(motion.t) == 11


def test_a_micrometre_beyond_a_limit_stops_it_and_names_the_joint():
    with pytest.raises(kt.simulate.SimulationError, match="position of joint 'slide'"):
        slider().simulate([1e-6], duration=0.01, dt=1e-3, method="rk4")
