"""Records of contacts: checks with sentences, and models that keep them through every change."""

import pickle
from math import nan

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.write.json import from_json, to_json
from kinetree.model import build_model

from kinetree.contacts import (  # isort: skip
    Box,
    Boxes,
    ContactPoint,
    ContactRim,
    Contacts,
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
def test_records_compare_hash_pickle_and_go_through_json(name):
    model = arm(GROUNDS[name]).model
    again = pickle.loads(pickle.dumps(model))
    written = build_model(from_json(to_json(model)))
    assert again.contacts == written.contacts == model.contacts
    assert hash(again.contacts) == hash(model.contacts)
    other = arm(Plane((0, 0.2, 1))).model.contacts
    assert other != model.contacts


def test_a_point_has_friction_of_its_own_or_that_of_all():
    contacts = arm(GROUNDS["plane"], ContactPoint("side", "tool")).model.contacts
    assert contacts.names == ("tip", "side")
    assert contacts.frictions == (0.4, 0.7)
    assert contacts.restitutions == (0.1, 0.1)


def test_changed_robots_keep_their_contacts():
    robot = arm()
    joint = robot.joint_names[0]
    changed = [
        robot.with_payload(1.0),
        robot.with_friction(kt.Friction(1.0)),
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


def test_numbers_of_contacts_can_have_fifty_digits():
    contacts = arm(GROUNDS["stairs"]).model.astype(mpmath.mpf).contacts
    assert isinstance(contacts.points[0].friction, mpmath.mpf)
    assert isinstance(contacts.ground.boxes[0].size[0], mpmath.mpf)


def test_kernels_of_other_quantities_do_not_depend_on_contacts():
    robot, q = arm(), np.full(7, 0.3)
    assert (robot.mass_matrix(q) == kt.robots.panda().mass_matrix(q)).all()


BAD = {
    "friction of contact 'a' is -1; expected 0 or more": lambda: ContactPoint(
        "a", "b", friction=-1
    ),
    "friction of contact 'a' is nan": lambda: ContactPoint("a", "b", friction=nan),
    "friction of the contacts is nan": lambda: Contacts([TIP], friction=nan),
    "restitution of contact 'a' is 1.2; expected 0 to 1": lambda: ContactPoint(
        "a", "b", restitution=1.2
    ),
    "radius of contact 'a' is -0.1": lambda: ContactPoint("a", "b", radius=-0.1),
    "radius of contact 'a' is 0; expected a number above 0": lambda: ContactRim(
        "a", "b", (0, 0, 0), (0, 0, 1), 0
    ),
    "axis of contact 'a'.*length 1": lambda: ContactRim("a", "b", (0, 0, 0), (0, 0, 2), 1),
    "position of contact 'a'": lambda: ContactPoint("a", "b", (0, 0)),
    "there are 1000 contacts; expected 128 at most": lambda: Contacts(
        [ContactPoint(f"a{k}", "b") for k in range(1000)]
    ),
    "two contacts have the name 'tip'": lambda: Contacts([TIP, TIP]),
    "empty list": lambda: Contacts([]),
    "ground is 3; expected a record Plane, Boxes, HeightField": lambda: Contacts([TIP], ground=3),
    "normal of the plane is zero": lambda: Plane((0, 0, 0)),
    "an edge of a box is 0": lambda: Box((0, 0, 0), (1, 0, 1)),
    r"shape \(1000, 1000\).*coarser": lambda: HeightField(np.zeros((1000, 1000)), 0.1),
    r"heights.*\[1, 1\] is nan": lambda: HeightField([[0, 0], [0, nan]], 0.1),
    "spacing of the height field is 0": lambda: HeightField(np.zeros((2, 2)), 0),
    "feet is 'tool'; expected a list": lambda: kt.robots.panda().with_contacts("tool"),
    "one of the contacts is 3": lambda: kt.robots.panda().with_contacts([3]),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_input_has_a_sentence(text):
    with pytest.raises(InputError, match=text):
        BAD[text]()


def test_contacts_are_on_links_that_move():
    robot = kt.robots.panda()
    with pytest.raises(
        NameLookupError, match="'foot', which is no link or frame of 'Franka Panda'"
    ):
        robot.with_contacts([ContactPoint("a", "foot")])
    with pytest.raises(ModelError, match="fixed to the world"):
        robot.with_contacts([ContactPoint("a", robot.model.base_name)])
    with pytest.raises(ModelError, match=r"link 'tool' has no collision shape.*ContactPoint"):
        robot.with_contacts(["tool"])
    with pytest.raises(NameLookupError, match="no link or collision shape 'paw'"):
        robot.with_contacts(["paw"])
