"""Sliders of robots with constraints: the others follow, and states that stay open are named."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.robots import MECHANISMS
from kinetree.views.workbench.closing import (
    closed_state,
    closure_reading,
    closure_words,
    random_state,
)
from kinetree.views.workbench.motions import MOTIONS, recorded, simulated
from kinetree.views.workbench.readings import NO_ELLIPSOIDS, hand_ellipsoids, torques
from kinetree.views.workbench.recursion import explained, step_reading, steps
from kinetree.views.workbench.robot_panel import BUILT_IN, robot_reading
from kinetree.views.workbench.state import at_rest

FALL = next(iter(MOTIONS))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_slider_that_moves_keeps_the_loops_closed(name):
    state = at_rest(getattr(kt.robots, name)())
    robot, one = state.robot, np.eye(state.robot.n)[0]
    moved = closed_state(state.replace(q=state.q + 0.05 * one), ("q", 0))
    assert moved.q[0] == pytest.approx(state.q[0] + 0.05, abs=1e-12)
    assert np.abs(robot.constraint_errors(moved.q)).max() < 1e-9
    moved = closed_state(moved.replace(dq=0.7 * one), ("dq", 0))
    moved = closed_state(moved.replace(ddq=0.3 * one), ("ddq", 0))
    assert (moved.dq[0], moved.ddq[0]) == (pytest.approx(0.7), pytest.approx(0.3))
    J = robot.constraint_jacobian(moved.q)
    assert np.abs(J @ moved.dq).max() < 1e-9
    assert np.abs(J @ moved.ddq + robot.constraint_bias(moved.q, moved.dq)).max() < 1e-9
    assert closure_words(moved).startswith("All constraints are closed")
    x = torques(moved)
    assert np.abs(sum(x.parts.values()) - x.tau).max() < 1e-9 * (1 + np.abs(x.tau).max())
    expected = robot.inverse_dynamics(moved.q, moved.dq, moved.ddq)
    assert np.abs(x.tau - expected).max() < 1e-9 * (1 + np.abs(x.tau).max())
    plan = steps(robot.model)
    assert "constraints onto frame_b" in step_reading(explained(moved), plan, len(plan) - 1)


def test_a_position_that_cannot_be_closed_is_shown_and_named():
    state = at_rest(kt.robots.slider_crank())
    robot = state.robot
    far = state.replace(q=state.q + np.array([0, 0, 50.0]))
    shown = closed_state(far, ("q", 2))
    assert shown.q[2] == far.q[2]
    words = closure_words(shown)
    assert words.startswith("Constraint loop is open by") and "kt-over" in closure_reading(shown)
    assert np.abs(robot.constraint_errors(shown.q)).max() > 1


def test_rates_that_the_loop_forbids_are_named():
    state = at_rest(kt.robots.four_bar())
    assert "do not allow" in closure_words(state.replace(dq=np.ones(3)))
    assert "do not allow" in closure_words(state.replace(ddq=np.ones(3)))


def test_random_positions_are_closed():
    state = random_state(at_rest(kt.robots.five_bar()))
    assert np.abs(state.robot.constraint_errors(state.q)).max() < 1e-9


def test_robots_without_constraints_are_left_as_they_are():
    state = at_rest(kt.robots.planar_2r())
    assert closed_state(state, ("q", 0)) is state and closure_reading(state) == ""


def test_falls_and_controllers_are_simulated_on_the_constraints():
    state = closed_state(at_rest(kt.robots.four_bar()), ("q", 0))
    away = closed_state(state.replace(q=state.q + 0.3 * np.eye(3)[0]), ("q", 0))
    assert np.ptp(simulated(away, FALL, 0.2).q[:, 0]) > 0.01
    for name in MOTIONS:
        motion = simulated(away, name, 0.2)
        assert np.abs(state.robot.constraint_errors(motion.q)).max() < 1e-9
        if "float" in name or "hold" in name:
            assert np.ptp(motion.q[:, 0]) < 1e-8
        if "home" in name:
            assert abs(motion.q[-1, 0] - state.q[0]) < 0.25
    with pytest.raises(InputError, match=r"recording of sliders.*Simulate"):
        recorded(state.robot, [(0.0, state.q), (1.0, state.q + 0.1)])


def test_mechanisms_can_be_chosen_and_their_constraints_are_listed():
    assert set(MECHANISMS) <= set(BUILT_IN)
    robot = kt.robots.four_bar()
    text = robot_reading(robot, [])
    assert "loop, axis z" in text and "1 degree of freedom" in text
    assert hand_ellipsoids(at_rest(robot), None, 1.0) == {} and "constraints" in NO_ELLIPSOIDS
