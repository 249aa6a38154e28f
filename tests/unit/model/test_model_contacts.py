"""Records of contacts: checks with sentences, and models that keep them through every change."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError
from kinetree.model import build_model

from kinetree.contacts import (  # isort: skip
    Box,
    Boxes,
    ContactPoint,
    HeightField,
    Plane,
    stairs,
)

TIP = ContactPoint("tip", "tool", (0, 0, 0.1), friction=0.4)
GROUNDS = {
    "plane": Plane((0, 0.1, 1), (0, 0, -0.2)),
    "boxes": Boxes([Box((1, 0, 0.1), (1, 1, 0.2), 0.3)]),
    "field": HeightField(np.arange(12.0).reshape(3, 4) / 50, (0.1, 0.2), (1, 2, 3)),
    "stairs": stairs(4, 0.3, 0.1, 1.0),
}


def arm(ground=GROUNDS["plane"], *points):
    return kt.robots.panda().with_contacts([TIP, *points], ground, friction=0.7, restitution=0.1)


@pytest.mark.parametrize("name", GROUNDS)
def test_records_compare_hash_pickle_and_go_through_a_description(name):
    model = arm(GROUNDS[name]).model
    again = pickle.loads(pickle.dumps(model))
    written = build_model(model.description)
    assert again.contacts == written.contacts == model.contacts
    assert hash(again.contacts) == hash(model.contacts)
    other = arm(Plane((0, 0.2, 1))).model.contacts
    assert other != model.contacts


def test_changed_robots_keep_their_contacts():
    robot = arm()
    joint = robot.joint_names[0]
    changed = [
        robot.with_payload(1.0),
        robot.with_friction(kt.friction.Friction(1.0)),
        robot.with_gravity((0, 0, -1)),
        robot.with_tool("probe", (0, 0, 0.1)),
        robot.lock({joint: 0.3}),
        robot.subtree("panda_link3"),
        robot.with_elastic_joint(joint, 5000.0, motor_inertia=0.1),
    ]
    assert all(x.model.contacts == robot.model.contacts for x in changed)
    assert robot.with_contacts(None).model.contacts is None


def test_contacts_of_links_that_no_longer_move_are_left_out_with_a_note():
    robot = kt.robots.planar_2r()
    points = [ContactPoint("low", robot.model.link_names[0]), ContactPoint("high", "tool")]
    locked = robot.with_contacts(points).lock({"joint1": 0.2})
    assert locked.model.contacts.names == ("high",)
    assert "contact 'low' has no effect: it is fixed to the world" in [
        note.text for note in locked.model.notes
    ]
    assert robot.with_contacts(points[:1]).lock({"joint1": 0.2}).model.contacts is None


def test_two_robots_with_one_ground_become_one():
    first, second = arm(), kt.robots.planar_2r()
    points = [ContactPoint("end", "tool", friction=0.2)]
    joined = first.attach(second.with_contacts(points, GROUNDS["plane"]), prefix="b/")
    assert joined.model.contacts.names == ("tip", "b/end")
    assert joined.model.contacts.frictions == (0.4, 0.2)
    with pytest.raises(ModelError, match="different ground"):
        first.attach(second.with_contacts(points, Plane()), prefix="b/")


def test_kernels_of_other_quantities_do_not_depend_on_contacts():
    robot, q = arm(), np.full(7, 0.3)
    assert (robot.mass_matrix(q) == kt.robots.panda().mass_matrix(q)).all()
