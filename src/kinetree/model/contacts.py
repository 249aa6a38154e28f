"""Contacts of a model: the records, their places in the links, and checks against the robot."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, times
from kinetree.errors import ModelError, NameLookupError
from kinetree.files.description.contacts import (
    Box,
    Boxes,
    Contact,
    ContactPoint,
    ContactRim,
    Contacts,
    Ground,
    HeightField,
    Plane,
)
from kinetree.files.description.records import Note

__all__ = [
    "Box",
    "Boxes",
    "Contact",
    "ContactPoint",
    "ContactRim",
    "Contacts",
    "Ground",
    "HeightField",
    "Plane",
    "check_places",
    "contact_places",
    "contacts_on",
    "joined_contacts",
    "moving_contacts",
    "prefixed_contacts",
]


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


def check_places(contacts: Contacts, frames: Mapping[str, Any], name: str) -> None:
    """Raise unless every contact is on a frame of the robot that moves.

    Args:
        contacts: to be those of a robot.
        frames: of the robot: a link number, -1 for the base, and T_if, by name.
        name: of the robot.
    """
    for x in contacts.points:
        if x.link not in frames:
            raise NameLookupError(
                f"contact {x.name!r} is on {x.link!r}, which is no link or frame of {name!r}; "
                f"expected one of {', '.join(frames)}."
            )
        if frames[x.link].link < 0:
            raise ModelError(
                f"contact {x.name!r} is on {x.link!r}, which is fixed to the world and cannot "
                "touch the ground; expected a link that moves. Load a robot that can leave its "
                "place with floating=True."
            )


def moving_contacts(
    contacts: Contacts | None, frames: Mapping[str, Any], name: str
) -> tuple[Contacts | None, list[Note]]:
    """The contacts of links that move, and notes on those that are fixed to the world.

    Args:
        contacts: as described; None: there are none.
        frames: of the robot: a link number, -1 for the base, and T_if, by name.
        name: of the robot.
    """
    if contacts is None:
        return None, []
    fixed = {x.name for x in contacts.points if x.link in frames and frames[x.link].link < 0}
    kept = _kept(contacts, {x.name for x in contacts.points} - fixed)
    if kept is not None:
        check_places(kept, frames, name)
    return kept, [Note(f"contact {x!r} has no effect: it is fixed to the world") for x in fixed]


def contacts_on(contacts: Contacts | None, frames: Collection[str]) -> Contacts | None:
    """The contacts on some links and frames, by name; None if there are none."""
    if contacts is None:
        return None
    return _kept(contacts, {x.name for x in contacts.points if x.link in frames})


def _kept(contacts: Contacts, names: Collection[str]) -> Contacts | None:
    points = tuple(x for x in contacts.points if x.name in names)
    return replace(contacts, points=points) if points else None


def prefixed_contacts(contacts: Contacts | None, prefix: str) -> Contacts | None:
    """The contacts with a prefix before the names of contacts and links."""
    if contacts is None:
        return None
    points = [replace(x, name=prefix + x.name, link=prefix + x.link) for x in contacts.points]
    return replace(contacts, points=points)


def joined_contacts(ours: Contacts | None, theirs: Contacts | None) -> Contacts | None:
    """The contacts of two robots that become one; raise ModelError if their grounds differ."""
    if ours is None or theirs is None:
        return ours or theirs
    if (ours.ground, ours.compliance) != (theirs.ground, theirs.compliance):
        raise ModelError(
            "the two robots have contacts with different ground or compliance; expected the same, "
            "because both stand in one world. Call with_contacts of one of them again."
        )
    kept = theirs.with_pairs(theirs.frictions, theirs.restitutions)
    return replace(ours, points=(*ours.points, *kept.points))
