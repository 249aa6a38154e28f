"""The hand: coupled fingers, their geometry and their forces."""

import numpy as np
import pytest

from kinetree import algorithms, robots

FINGERS = ("index", "middle", "ring", "little", "thumb")


@pytest.fixture(scope="module")
def model():
    return robots.hand().model


def posed(model, **angles):
    q = algorithms.neutral(model)
    for name, angle in angles.items():
        q[model.coordinate_names.index(name)] = angle
    return q


def test_twenty_joints_move_by_fifteen(model):
    assert (len(model.joints), model.n, model.nq) == (20, 15, 15)
    followers = {joint.name: joint.follows for joint in model.joints if joint.follows is not None}
    assert followers == {f"{finger}_tip_bend": f"{finger}_bend" for finger in FINGERS}


@pytest.mark.parametrize(("finger", "coupling"), [("middle", 2 / 3), ("thumb", 1)])
def test_the_last_joint_follows_the_one_before(model, finger, coupling):
    before = algorithms.pose(model, posed(model), f"{finger}_tip")
    after = algorithms.pose(model, posed(model, **{f"{finger}_bend": 0.6}), f"{finger}_tip")
    turned = before[:3, :3].T @ after[:3, :3]
    assert np.arccos((np.trace(turned) - 1) / 2) == pytest.approx(0.6 * (1 + coupling))


@pytest.mark.parametrize("finger", FINGERS[:-1])
def test_fingers_are_as_long_as_their_bones_and_close_onto_the_palm(model, finger):
    at, _, bones = robots.hands.FINGERS[finger]
    tip = algorithms.pose(model, posed(model), f"{finger}_tip")[:3, 3]
    assert np.linalg.norm(tip - at) == pytest.approx(0.01 + sum(bones))
    closed = posed(model, **{f"{finger}_knuckle": 1.4, f"{finger}_bend": 1.4})
    tip = algorithms.pose(model, closed, f"{finger}_tip")[:3, 3]
    assert tip[0] > 0.005 and tip[2] < at[2]


def test_the_thumb_stands_on_the_palm_side_next_to_the_index(model):
    tip = algorithms.pose(model, posed(model), "thumb_tip")[:3, 3]
    assert tip[0] > 0.02 and tip[1] > 0.05


def test_every_finger_has_a_tip_and_the_index_is_the_tool(model):
    assert {f"{finger}_tip" for finger in FINGERS} <= set(model.frames)
    assert model.tool == "index_tip"
