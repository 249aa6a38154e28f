"""Contacts of a model: the records, their places in the links, and checks against the robot."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.core.text import listing, look_up
from kinetree.errors import InputError, ModelError, argument
from kinetree.files.description.collisions import Collisions, CollisionShape, contacts_of
from kinetree.files.description.contacts import Contact, ContactRim, Contacts
from kinetree.files.description.records import Note


def contact_places(contacts: Contacts, frames: Mapping[str, Any]) -> list[tuple[int, Array, Array]]:
    """Link, position and axis of every contact: its number, (3,) in m and (3,), both in {link}.

    The axis of a point is zero.

    Args:
        contacts: of a model.
        frames: of the same model: a link number and T_if, by name.
    """
    places: list[tuple[int, Array, Array]] = []
    for x in contacts.points:
        frame = frames[x.link]
        R, p = frame.T_if[:3, :3], frame.T_if[:3, 3]
        axis = np.array(x.axis) if isinstance(x, ContactRim) else np.zeros(3, int)
        places.append((frame.link, times(R, np.array(x.position)) + p, times(R, axis)))
    return places


def contacts_of_model(model: Any, what: str) -> Contacts:
    """The contacts of a model; raise ModelError if it has none."""
    if model.contacts is None:
        raise ModelError(
            f"{what} needs a robot with contacts, and {model.name!r} has none. Add some with "
            "robot.with_contacts(['left_foot', 'right_foot'])."
        )
    return model.contacts


def check_no_contacts(model: Any, what: str) -> None:
    """Raise ModelError if a model has contacts, which `what` leaves out."""
    if model.contacts is not None:
        raise ModelError(
            f"{what} leaves out contacts, and {model.name!r} has some: "
            f"{listing(model.contacts.names, 6)}. Use robot.with_contacts(None); steps have "
            "derivatives: robot.derivative('step_semi_implicit_euler', ['q', 'dq', 'tau'])."
        )


def check_places(contacts: Contacts, frames: Mapping[str, Any], name: str) -> None:
    """Raise unless every contact is on a frame of the robot that moves.

    Args:
        contacts: to be those of a robot.
        frames: of the robot: a link number, -1 for the base, and T_if, by name.
        name: of the robot.
    """
    for x in contacts.points:
        if look_up(frames, x.link, f"link of contact {x.name!r} of {name!r}").link < 0:
            raise ModelError(
                f"contact {x.name!r} is on {x.link!r}, which is fixed to the world; expected a "
                f"link that moves. Load a floating robot with {argument('floating', True)}."
            )


def moving_contacts(
    contacts: Contacts | None, frames: Mapping[str, Any]
) -> tuple[Contacts | None, list[Note]]:
    """The contacts of links that move, and notes on those that are fixed to the world.

    Args:
        contacts: as described; None: there are none.
        frames: of the robot: a link number, -1 for the base, and T_if, by name.
    """
    if contacts is None:
        return None, []
    fixed = {x.name for x in contacts.points if x.link in frames and frames[x.link].link < 0}
    kept = _kept(contacts, {x.name for x in contacts.points} - fixed)
    return kept, [Note(f"contact {x!r} has no effect: it is fixed to the world") for x in fixed]


def contacts_on(contacts: Contacts | None, frames: Collection[str]) -> Contacts | None:
    """The contacts on some links and frames, by name; None if there are none."""
    if contacts is None:
        return None
    return _kept(contacts, {x.name for x in contacts.points if x.link in frames})


def _kept(contacts: Contacts, names: Collection[str]) -> Contacts | None:
    points = tuple(x for x in contacts.points if x.name in names)
    return replace(contacts, points=points) if points else None


def joined_contacts(ours: Contacts | None, theirs: Contacts | None) -> Contacts | None:
    """The contacts of two robots that become one; raise ModelError if their grounds differ."""
    if ours is None or theirs is None:
        return ours or theirs
    if (ours.ground, ours.compliance) != (theirs.ground, theirs.compliance):
        raise ModelError(
            "the two robots have contacts with different ground or compliance; expected the same. "
            "Call with_contacts of one of them again."
        )
    kept = theirs.with_pairs(theirs.frictions, theirs.restitutions)
    return replace(ours, points=(*ours.points, *kept.points))


def shapes_on(collisions: Collisions, frames: Collection[str]) -> Collisions:
    """The collision shapes on some links and frames, by name."""
    return replace(collisions, shapes=tuple(x for x in collisions.shapes if x.link in frames))


def chosen_contacts(
    collisions: Collisions,
    feet: Sequence[str | Contact],
    links: Collection[str],
    friction: Any = None,
) -> list[Contact]:
    """Contacts of links, of collision shapes and of records, in their order.

    Args:
        collisions: shapes of the robot's file.
        feet: names of links or shapes, and records `ContactPoint` or `ContactRim`.
        links: names of all links and frames, for messages.
        friction: replaces that of the shapes; None: theirs.
    """
    if isinstance(feet, str) or not isinstance(feet, Sequence):
        raise InputError(
            f"feet is {feet!r:.60}; expected a list of names of links or collision shapes, and of "
            "records kt.contacts.ContactPoint, such as ['left_foot', 'right_foot']."
        )
    contacts: list[Contact] = []
    for foot in feet:
        if not isinstance(foot, str):
            contacts.append(foot)
            continue
        for shape in _shapes_of(collisions, foot, links):
            made = contacts_of(shape)
            if not made:
                raise ModelError(
                    f"collision shape {shape.name!r} of link {shape.link!r} is a {shape.kind}, "
                    "which has no contacts; expected spheres, boxes, capsules and cylinders. Give "
                    f"points instead: kt.contacts.ContactPoint('heel', {shape.link!r}, (x, y, z))."
                )
            contacts += made if friction is None else [replace(x, friction=None) for x in made]
    return contacts


def _shapes_of(
    collisions: Collisions, name: str, links: Collection[str]
) -> tuple[CollisionShape, ...]:
    """The shapes of a link, or the one shape of that name."""
    shapes = collisions.shapes
    of_link = tuple(x for x in shapes if x.link == name)
    if chosen := of_link or tuple(x for x in shapes if x.name == name):
        return chosen
    if name in links:
        raise ModelError(
            f"link {name!r} has no collision shape to make contacts of; expected a link with some: "
            f"{listing(dict.fromkeys(x.link for x in shapes), 12) or 'the robot has none'}. Give "
            f"points instead: kt.contacts.ContactPoint('heel', {name!r}, (x, y, z))."
        )
    known = dict.fromkeys([*links, *(x.name for x in shapes)], chosen)
    return look_up(known, name, "the link or collision shape of a contact")
