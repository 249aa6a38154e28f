"""Sliders of robots with constraints: the others follow, and states that stay open are named."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.robots import MECHANISMS
from kinetree.views.workbench.api import API
from kinetree.views.workbench.closing import closed_state, closure_words, random_state
from kinetree.views.workbench.motions import recorded
from kinetree.views.workbench.readings import readings
from kinetree.views.workbench.shelf import BUILT_IN, Shelf
from kinetree.views.workbench.state import at_rest


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
    shown = readings(moved, None, 1.0)
    tau = shown["tau"]
    assert np.abs(sum(shown["parts"].values()) - tau).max() < 1e-9 * (1 + np.abs(tau).max())
    expected = robot.inverse_dynamics(moved.q, moved.dq, moved.ddq)
    assert np.abs(tau - expected).max() < 1e-9 * (1 + np.abs(tau).max())


def test_readings_have_the_rates_that_the_loop_allows():
    """The slider that was set is kept, and the page gets the others."""
    state = at_rest(kt.robots.four_bar())
    asked = state.replace(dq=np.array([0.5, 0.1, 0.2]), ddq=np.array([0.3, 0.0, 0.0]))
    found = readings(asked, None, 1.0, ("dq", 0))
    assert found["dq"][0] == pytest.approx(0.5) and found["ellipsoids"] == {}
    J = state.robot.constraint_jacobian(state.q)
    assert np.abs(J @ found["dq"]).max() < 1e-9 and "All constraints" in found["closure"]


def test_a_position_that_cannot_be_closed_is_shown_and_named():
    state = at_rest(kt.robots.slider_crank())
    robot = state.robot
    far = state.replace(q=state.q + np.array([0, 0, 50.0]))
    shown = closed_state(far, ("q", 2))
    assert shown.q[2] == far.q[2]
    assert closure_words(shown).startswith("Constraint loop is open by")
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
    assert closed_state(state, ("q", 0)) is state and closure_words(state) == ""


def test_a_recording_of_sliders_is_refused():
    state = at_rest(kt.robots.four_bar())
    with pytest.raises(InputError, match=r"recording of sliders.*Simulate"):
        recorded(state.robot, [(0.0, state.q), (1.0, state.q + 0.1)])


def test_requests_close_and_list_constraints():
    shelf = Shelf()
    try:
        found = API["open"](shelf, {"name": "four_bar"})
        assert found["ties"][0]["kind"] == "loop, axis z" and "1 degree of" in found["freedom"]
        q = np.add(found["rest"], [0.05, 0, 0]).tolist()
        closed = API["close"](shelf, {"robot": "four_bar", "q": q, "kept": ["q", 0]})
        assert closed["q"][0] == pytest.approx(q[0]) and "All constraints" in closed["closure"]
        assert "All constraints" in API["random"](shelf, {"robot": "four_bar"})["closure"]
        for wrong in (["q"], ["tau", 0], ["q", 9], ["q", True], "q"):
            with pytest.raises(InputError, match="kept"):
                API["close"](shelf, {"robot": "four_bar", "q": q, "kept": wrong})
    finally:
        shelf.close()
    assert set(MECHANISMS) <= set(BUILT_IN)
