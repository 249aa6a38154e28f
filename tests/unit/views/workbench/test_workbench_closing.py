"""Sliders of robots with constraints: the others follow, and states that stay open are named."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.robots import MECHANISMS
from kinetree.views.workbench.api import API
from kinetree.views.workbench.motions import recorded
from kinetree.views.workbench.shelf import BUILT_IN, Shelf
from kinetree.views.workbench.state import at_rest


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
