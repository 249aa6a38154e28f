"""Contacts of a robot with the ground, as typed: --contacts and --ground.

`--contacts file` takes all collision shapes of the robot's file. Otherwise every word is the name
of a link or of a collision shape, or FRAME:RADIUS, a sphere about the origin of a link or frame (a
point if the radius is 0), for robots without collision shapes. `--ground` has numbers by name.
"""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from kinetree.cli.arguments import BasicReading, split
from kinetree.cli.states import typed_number
from kinetree.core.text import nearest
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.contacts import Contact, ContactPoint, Plane
from kinetree.robot import Robot

FILE = "file"  # the word of --contacts for all collision shapes
PLACE = ("slope", "z")  # numbers of --ground that make a plane of their own
PAIR = ("friction", "restitution", "compliance")  # those of the contacts with it
RADIUS = re.compile(r"[+-]?[\d.][^:]*|[+-]?(nan|inf\w*)", re.IGNORECASE)


def with_typed_contacts(robot: Robot, reading: BasicReading) -> Robot:
    """The robot with the contacts of --contacts and the ground of --ground.

    Args:
        robot: as it was loaded, with the contacts of its file for --contacts file.
        reading: the options as typed.
    """
    words, numbers = split(reading.contacts), _ground_numbers(split(reading.ground))
    if not words:
        raise InputError(
            "--ground needs contacts; add --contacts file, or --contacts with the links that touch."
        )
    if FILE in words and len(words) > 1:
        raise InputError(
            f"--contacts is {' '.join(words)}; expected {FILE} alone, which takes all collision "
            "shapes of the robot's file, or names of links or shapes."
        )
    if words == [FILE] and not numbers:
        return robot
    pair: dict[str, Any] = {x: numbers[x] for x in PAIR if x in numbers}
    feet = _file_feet(robot, pair) if words == [FILE] else _typed_feet(robot, words)
    ground = None
    if any(x in numbers for x in PLACE):
        ground = Plane((-numbers.get("slope", 0.0), 0, 1), (0, 0, numbers.get("z", 0.0)))
    return robot.with_contacts(feet, ground, **pair)


def _file_feet(robot: Robot, pair: Collection[str]) -> list[Contact]:
    """The contacts of the robot's file; typed numbers replace those of the file."""
    contacts = robot.model.contacts
    points = () if contacts is None else contacts.points
    instead: dict[str, Any] = dict.fromkeys({"friction", "restitution"} & set(pair))
    return [replace(x, **instead) for x in points]


def _typed_feet(robot: Robot, words: Collection[str]) -> list[str | Contact]:
    """Names of links and shapes, and spheres about the origins of frames."""
    shapes, frames = robot.model.collisions.shapes, robot.model.frames
    known = dict.fromkeys([*frames, *(x.name for x in shapes)])  # in the order of the file
    feet: list[str | Contact] = []
    for word in words:
        frame, colon, radius = word.rpartition(":")
        if word in known or not (colon and RADIUS.fullmatch(radius)):
            feet.append(_known(word, known))
        else:
            size = typed_number("--contacts", frame, radius)
            feet.append(ContactPoint(frame, _known(frame, frames), radius=size))
    return feet


def _known(word: str, names: Collection[str]) -> str:
    if word in names:
        return word
    raise NameLookupError(
        f"--contacts names {word!r}, which the robot does not have; expected {FILE}, or some of "
        f"{', '.join(names)}.{nearest(word, list(names))}"
    )


def _ground_numbers(words: Collection[str]) -> dict[str, float]:
    """The numbers of --ground by name."""
    numbers: dict[str, float] = {}
    known = (*PAIR, *PLACE)
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in known:
            raise InputError(
                f"--ground has {word!r}; expected NAME=NUMBER with a name of {', '.join(known)}."
                f"{nearest(name, known)}"
            )
        if name in numbers:
            raise InputError(f"--ground names {name!r} twice; expected one number for it.")
        numbers[name] = typed_number("--ground", name, text)
    return numbers
