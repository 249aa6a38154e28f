"""The robot that a command names, with the contacts, friction and payload that are typed.

`--contacts file` takes all collision shapes of the robot's file. Otherwise every word is the name
of a link or of a collision shape, or FRAME:RADIUS, a sphere about the origin of a link or frame (a
point if the radius is 0), for robots without collision shapes. `--ground` and `--friction` have
numbers by name.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from kinetree.cli.options import BasicReading, Reading, split
from kinetree.cli.writer import waiting
from kinetree.core.text import look_up, nearest
from kinetree.errors import InputError, NameLookupError
from kinetree.files.description.contacts import Contact, ContactPoint, Plane
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.files.loading import load
from kinetree.robot import Robot

Word = TypeVar("Word", bound=str)
FILE = "file"  # the word of --contacts for all collision shapes, and of --friction
PAIR = ("friction", "restitution", "compliance")  # numbers of --ground of the contacts
PLACE = ("slope", "z")  # and those that make a plane
RADIUS = re.compile(r"[+-]?[\d.][^:]*|[+-]?(nan|inf\w*)", re.IGNORECASE)


def choose(word: str, known: Collection[Word], what: str) -> Word:
    """Return the known word; raise an error with the nearest one if it is not known."""
    return look_up({str(x): x for x in known}, word, what)


def find_robot(name: str, reading: BasicReading) -> Robot:
    """Load a robot by its name or file, as `kinetree.load` does, with the options of a command."""
    words, ground = split(reading.contacts), split(reading.ground)
    with waiting(f"reading {Path(name).name}"):
        shapes = FILE if words == [FILE] else "none"
        robot = load(name, contacts=shapes, **reading.options())
    if words or ground:
        robot = _with_contacts(robot, words, ground)
    if isinstance(reading, Reading):
        robot = _with_payload(_with_friction(robot, reading.friction), reading.payload)
    return robot


def _with_contacts(robot: Robot, words: list[str], ground: list[str]) -> Robot:
    """The robot with the contacts of --contacts and the ground of --ground."""
    numbers = numbers_by_name("--ground", ground, (*PAIR, *PLACE))
    if not words:
        raise InputError(
            "--ground needs contacts; add --contacts file, or --contacts with the links that touch."
        )
    if words == [FILE] and not numbers:
        return robot
    pair: dict[str, Any] = {x: numbers[x] for x in PAIR if x in numbers}
    if words == [FILE]:  # typed numbers replace those of the file
        points = () if robot.model.contacts is None else robot.model.contacts.points
        instead: dict[str, Any] = dict.fromkeys({"friction", "restitution"} & pair.keys())
        feet: list[str | Contact] = [replace(x, **instead) for x in points]
    else:
        feet = [_foot(robot, word) for word in words]
    plane = None
    if set(PLACE) & numbers.keys():
        plane = Plane((-numbers.get("slope", 0.0), 0, 1), (0, 0, numbers.get("z", 0.0)))
    return robot.with_contacts(feet, plane, **pair)


def _foot(robot: Robot, word: str) -> str | Contact:
    """The name of a link or shape, or a sphere about the origin of a frame."""
    shapes, frames = robot.model.collisions.shapes, robot.model.frames
    known = list(dict.fromkeys([*frames, *(x.name for x in shapes)]))  # in the order of the file
    frame, colon, radius = word.rpartition(":")
    if word in known or not (colon and RADIUS.fullmatch(radius)):
        return choose(word, known, "a name of --contacts")
    size = typed_number("--contacts", frame, radius)
    return ContactPoint(frame, choose(frame, list(frames), "a frame of --contacts"), radius=size)


def _with_friction(robot: Robot, words: Sequence[str]) -> Robot:
    """The robot with the friction of --friction on every joint that turns or slides."""
    if tuple(words) in ((FILE,), ("none",)):
        return robot
    numbers = numbers_by_name("--friction", split(words), ("viscous", "coulomb"))
    joints = [x.name for x in robot.model.joints if x.follows is None and x.type in SCREW_TYPES]
    friction = Friction(numbers.get("viscous", 0.0), numbers.get("coulomb", 0.0))
    return robot.with_friction(dict.fromkeys(joints, friction))


def _with_payload(robot: Robot, words: Sequence[str]) -> Robot:
    """The robot with the point mass of --payload."""
    if not words:
        return robot
    mass, frame, *_ = *words, None
    return robot.with_payload(typed_number("--payload", "the mass", mass or ""), frame=frame)


# Numbers as typed

UNITS = re.compile(r"\d\s*(rad|deg|°|m|mm|N)\b", re.IGNORECASE)


def typed_number(option: str, name: str, text: str) -> float:
    """Read one finite number of an option; `name` is what it is for, in messages."""
    try:
        value = float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        unit = UNITS.search(text)
        more = " Leave the unit out: rad and m, degrees with --degrees." if unit else ""
        raise InputError(
            f"{option}: {text!r} for {name!r} is not a number; expected one such as -0.5 or 1e-3."
            f"{more}"
        ) from None
    if abs(value) < float("inf"):
        return value
    raise InputError(f"{option}: {name!r} is {text}; expected a finite number.")


def numbers_by_name(
    option: str, words: Sequence[str], known: Sequence[str], owner: str = ""
) -> dict[str, float]:
    """Read entries such as shoulder=0.1; owner: of the names, in messages."""
    numbers: dict[str, float] = {}
    for word in words:
        name, equals, text = word.rpartition("=")
        if not equals:
            raise InputError(
                f"{option} has {word!r} without a name; name every number, as in {known[0]}=0.1"
                + (f", or give all {len(known)} in order." if owner else ".")
            )
        if name not in known:
            lacking = f", which {owner} does not have" if owner else ""
            raise NameLookupError(
                f"{option} names {name!r}{lacking}; expected some of {', '.join(known)}."
                f"{nearest(name, known)}"
            )
        if name in numbers:
            raise InputError(f"{option} names {name!r} twice; expected one number for it.")
        numbers[name] = typed_number(option, name, text)
    return numbers


def words_by_name(option: str, words: Sequence[str]) -> dict[str, str]:
    """Words such as shoulder=sigmoid, by name; the name of a word without one is empty."""
    found: dict[str, str] = {}
    for word in words:
        name, _, value = word.rpartition("=")
        if name in found:
            raise InputError(f"{option} gives {name or 'a word for all'!r} twice; expected once.")
        found[name] = value
    return found
