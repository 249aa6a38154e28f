"""dh/dt by slopes is the difference of h along a motion, at fifty digits, and that of kernels."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from precise_robots import derivative, precise, precise_state
from robot_states import any_robot, random_state, relative

pytest.importorskip("mpmath")


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_it_is_the_difference_of_h_along_the_motion(seed, fifty_digits):
    model = any_robot(seed, 6)
    state = random_state(model, seed)
    exact, x = precise(model), precise_state(model, state)

    def h(t):
        there = algorithms.integrate(exact, x.q, x.dq * t)
        return algorithms.bias_forces(exact, there, x.dq + x.ddq * t)

    expected = derivative(h).astype(float)
    assert relative(algorithms.bias_forces_rate(model, *state.motion), expected) < 1e-12
    assert relative(kt.Robot(model).bias_forces_rate(*state.motion), expected) < 1e-12


def test_load_friction_is_no_part_of_it_as_it_is_none_of_h():
    plain = kt.robots.planar_2r()
    robot = plain.with_friction({"joint1": kt.Friction(viscous=2, load=0.1)})
    viscous = plain.with_friction({"joint1": kt.Friction(viscous=2)})
    state = np.array([0.1, 0.2]), np.array([1.0, 0.5]), np.array([0.0, 2.0])
    assert np.array_equal(robot.bias_forces_rate(*state), viscous.bias_forces_rate(*state))
