"""Part: an element of a URDF file, read strictly; every error has the place and the remedy.

Names, numbers, directions and origins of attributes are read here. A doubt about a value that does
not change its meaning (a length of 3000 m, an angle of 90 rad) is a warning.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, nearest_length
from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings, fault
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import PRISMATIC, REVOLUTE
from kinetree.files.description.urdf.vocabulary import XACRO_HINT, check_words
from kinetree.files.description.xml import Element, clip, show
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import from_quaternion, rpy

# Each digit can match in one way only: an ambiguous pattern takes quadratic time on hostile input.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
BLANKS = re.compile(r"[ \t\r\n]+")
LARGEST = 1e60  # metres, kilograms, ...: squares and products of larger ones overflow
MAX_NAME = 1000
FAR_M = 100.0  # a joint or a centre of mass further away is most likely in millimetres
LARGE_ANGLE = 2 * math.pi + 0.01  # rad; a larger roll, pitch or yaw is most likely in degrees
TWO_TURNS = 4 * math.pi + 0.01  # rad; limits beyond are rare, and mostly degrees
ENDLESS = 1e4  # rad or m; too many to be degrees or millimetres, it means "no limit"
ZEROS = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Part:
    """An element, the link or joint that it belongs to, and the findings of the whole file."""

    element: Element
    owner: str
    findings: Findings

    def fault(self, text: str) -> ParseError:
        """The error at this element; the caller raises it."""
        return fault(self.element, self.owner, text)

    def warn(self, text: str) -> None:
        """Warn at this element."""
        self.findings.warn(self.element, f"{self.owner}: {text}")

    def warn_together(self, text: str) -> None:
        """Warn about something that other links or joints may share."""
        self.findings.warn_together(self.element, text, self.owner)

    def note(self, text: str) -> None:
        """Note something at this element."""
        self.findings.note(self.element, f"{self.owner}: {text}")

    def count(self, text: str) -> None:
        """Note something once for the whole file, with the number of its occurrences."""
        self.findings.count(self.element, text)

    def all(self, tag: str) -> list["Part"]:
        """Children of one tag."""
        return [Part(child, self.owner, self.findings) for child in self.element.all(tag)]

    def only(self, tag: str) -> "Part | None":
        """The child of that tag; of several the first counts, with a warning."""
        children = self.element.all(tag)
        if len(children) > 1:
            first = f"the first (line {children[0].line}) counts"
            text = f"{self.owner} has {len(children)} elements <{tag}>; {first}."
            self.findings.warn(children[1], text)
        return Part(children[0], self.owner, self.findings) if children else None

    def child(self, tag: str) -> "Part | None":
        """The child of that tag as of `only`, its attributes and children checked."""
        part = self.only(tag)
        return None if part is None else part.checked()

    def checked(self) -> "Part":
        """The part itself, with warnings for attributes and children that URDF does not have."""
        check_words(self.element, self.owner, self.findings)
        return self

    def name(self, attribute: str) -> str:
        """A required attribute that names a link, a joint or the like."""
        value = self.element.attributes.get(attribute)
        if value is None:
            raise self._absent(attribute)
        if not value.strip():
            raise self.fault(f"<{self.element.tag} {attribute}={value!r}> is an empty name.")
        if len(value) > MAX_NAME:
            size = f"{len(value)} characters; the limit is {MAX_NAME}"
            raise self.fault(f"{attribute} {show(value)} has {size}.")
        if _has_expression(value):
            text = f"{attribute} is {show(value)}, an unexpanded xacro expression; {XACRO_HINT}."
            raise self.fault(text)
        return value

    def choice(self, attribute: str, known: Collection[str]) -> str:
        """A required attribute whose value is one of the known words."""
        value = self.element.attributes.get(attribute)
        expected = f"expected one of {', '.join(known)}"
        if value is None:
            raise self.fault(f"<{self.element.tag}> has no attribute {attribute!r}; {expected}.")
        if value not in known:
            meant = value.strip().lower()
            hint = f" Was {meant!r} meant? (Case and blanks count.)" if meant in known else ""
            raise self.fault(f"{attribute} is {show(value)}; {expected}.{hint}")
        return value

    def number(
        self, attribute: str, default: float | None = None, largest: float = LARGEST
    ) -> float:
        """One number; without a default the attribute is required."""
        if attribute not in self.element.attributes and default is not None:
            return default
        return self.numbers(attribute, 1, largest=largest)[0]

    def numbers(
        self,
        attribute: str,
        count: int,
        default: tuple[float, ...] | None = None,
        largest: float = LARGEST,
    ) -> tuple[float, ...]:
        """`count` finite decimal numbers separated by blanks."""
        value = self.element.attributes.get(attribute)
        if value is None:
            if default is not None:
                return default
            raise self._absent(attribute)
        plain = _plain_numbers(value, count, largest)
        if plain is not None:
            return plain
        return self.parse(value, count, f"<{self.element.tag}> {attribute}={show(value)}", largest)

    def parse(
        self, value: str, count: int, what: str, largest: float = LARGEST
    ) -> tuple[float, ...]:
        """The numbers of a text; `what` names it in errors."""
        expected = "one number" if count == 1 else f"{count} numbers separated by blanks"
        if _has_expression(value):
            text = f"{what} is an unexpanded xacro expression, expected {expected}; {XACRO_HINT}."
            raise self.fault(text)
        tokens = BLANKS.split(value.strip(" \t\r\n")) if value.strip(" \t\r\n") else []
        for token in tokens:
            problem = _problem(token, largest)
            if problem:
                raise self.fault(f"{what}: {show(token)} {problem}; expected {expected}.")
        if len(tokens) != count:
            raise self.fault(f"{what}: found {len(tokens) or 'nothing'}, expected {expected}.")
        return tuple(map(float, tokens))

    def unit(self, given: tuple[float, ...], what: str) -> tuple[float, ...]:
        """`given` scaled to length 1, with a warning if it plainly is not; zero is an error."""
        largest = max(map(abs, given))
        if largest == 0:
            raise self.fault(f"{what} is zero; expected a direction, such as 0 0 1.")
        scaled = [x / largest for x in given]  # first, so that tiny and huge ones keep their digits
        length = nearest_length(scaled)
        if abs(length * largest - 1) > 1e-6:
            size = f"{what} has length {length * largest:.9g}, expected 1"
            self.warn(f"{size}; only its direction is used.")
        return given if abs(length * largest - 1) < 4e-16 else tuple(x / length for x in scaled)

    def _absent(self, attribute: str) -> ParseError:
        names = clip(", ".join(self.element.attributes)) or "none"
        text = f"<{self.element.tag}> has no attribute {attribute!r}; found {names}. Add it."
        return self.fault(text)


def named_part(element: Element, findings: Findings) -> Part:
    """A <link>, <joint> or <frame>, which has a name of its own, with its words checked."""
    name = Part(element, element.tag, findings).name("name")
    return Part(element, f"{element.tag} {show(name)}", findings).checked()


def read_origin(part: Part | None) -> tuple[Array | None, Array]:
    """Rotation (None: no turn) and position of an <origin>; the identity where it is absent."""
    if part is None:
        return None, np.zeros(3)
    attributes = part.checked().element.attributes
    p = part.numbers("xyz", 3, ZEROS)
    if max(map(abs, p)) > FAR_M:
        text = f"xyz={show(attributes['xyz'])} lies more than {FAR_M:g} m away"
        part.warn(f"{text}; lengths are in metres, are these millimetres?")
    if "quat_xyzw" in attributes:  # of URDF 1.1
        if "rpy" in attributes:
            raise part.fault("<origin> has both rpy and quat_xyzw; give one of them.")
        x, y, z, w = part.unit(part.numbers("quat_xyzw", 4), "quat_xyzw")
        return from_quaternion((w, x, y, z)), np.array(p)
    angles = part.numbers("rpy", 3, ZEROS)
    if max(map(abs, angles)) > LARGE_ANGLE:
        text = f"rpy={show(attributes['rpy'])} is more than a turn"
        part.warn(f"{text}; angles are in radians, are these degrees?")
    return rpy(*angles) if any(angles) else None, np.array(p)


def origin_pose(part: Part | None) -> Array:
    """Pose of an <origin>, shape (4, 4); the identity where it is absent."""
    R, p = read_origin(part)
    return pose(np.eye(3) if R is None else R, p)


def friction_of(part: Part, viscous: float, coulomb: float) -> Friction:
    """Friction of a <dynamics> element; ParseError for one that gives energy."""
    for name, value in (("damping", viscous), ("friction", coulomb)):
        if value < 0:
            raise part.fault(f"{name} is {value:g}; expected >= 0 (it takes energy out).")
    return Friction(viscous, coulomb)


def checked_range(part: Part, kind: str, lower: float, upper: float) -> tuple[float, float]:
    """Limits of a position, with a warning if they look wrong; infinite if they exclude all."""
    if lower > upper or lower == math.inf or upper == -math.inf:
        part.warn(f"lower limit {lower:g} is above upper limit {upper:g}; both are ignored.")
        return -math.inf, math.inf
    largest = max((abs(x) for x in (lower, upper) if math.isfinite(x)), default=0.0)
    ends = f"limits lower={show(f'{lower:g}')} upper={show(f'{upper:g}')} are beyond"
    if kind == REVOLUTE and TWO_TURNS < largest < ENDLESS:
        part.warn(f"{ends} two turns; angles are in radians, are these degrees?")
    if kind == PRISMATIC and FAR_M < largest < ENDLESS:
        part.warn(f"{ends} {FAR_M:g} m; lengths are in metres, are these millimetres?")
    return lower, upper


def _plain_numbers(text: str, count: int, largest: float) -> tuple[float, ...] | None:
    """The numbers of a text; None if a check in `Part.parse` may fail."""
    tokens = [text] if count == 1 else BLANKS.split(text.strip(" \t\r\n"))
    if len(tokens) != count or not all(map(NUMBER.fullmatch, tokens)):
        return None
    numbers = tuple(map(float, tokens))
    return numbers if all(abs(x) <= largest and math.isfinite(x) for x in numbers) else None


def _has_expression(text: str) -> bool:
    """Return True if the text holds an unexpanded xacro expression."""
    return "${" in text or "$(" in text


def _problem(token: str, largest: float) -> str:
    """The fault of one number as words; empty if there is none."""
    if NUMBER.fullmatch(token):
        size = abs(float(token))
        if not math.isfinite(size):
            return "is too large for a floating-point number"
        return f"is larger than {largest:g}, beyond any robot" if size > largest else ""
    if "," in token:
        return "has a comma (write decimals with a point, and blanks between numbers)"
    if token.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return "is not finite"
    return "is not a decimal number (no units, no expressions, no hexadecimal)"
