"""Part: an element of a URDF or SDF file, read strictly; every error has the place and the remedy.

A value is an attribute of the element (URDF) or the text of one of its children (SDF). `Format`
says which, and lists the words that are read. A doubt about a value that does not change its
meaning (a length of 3000 m, an angle of 90 rad) is a warning.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, nearest_length, times
from kinetree.core.text import nearest
from kinetree.errors import ParseError
from kinetree.files.description.collisions import SIZES, UNREADABLE, CollisionShape
from kinetree.files.description.findings import Findings, fault
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import PRISMATIC, REVOLUTE
from kinetree.files.description.records import Body
from kinetree.files.description.xml import Element, clip, show
from kinetree.spatial.inertia import symmetric
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
MOMENTS, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")
# a limit beyond is most likely in another unit
UNITS = {REVOLUTE: (TWO_TURNS, "unit-degrees"), PRISMATIC: (FAR_M, "unit-millimetres")}
XACRO_HINT = "expand the file with xacro first, or load the .xacro file itself"
DEFINITIONS = ("link", "joint")


@dataclass(frozen=True)
class Known:
    """Children and attributes of an element that are read, and children for other programs."""

    children: frozenset[str]
    attributes: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


def known_words(**elements: str) -> dict[str, Known]:
    """The contents of elements by tag: "children | attributes | children for other programs".

    TEXT: the element has text. *: anything else does not change the dynamics.
    """
    return {
        tag: Known(*(frozenset(part.split()) for part in words.split("|")))
        for tag, words in elements.items()
    }


LEAF = Known(frozenset({"TEXT"}))


@dataclass(frozen=True)
class Format:
    """The words of a format; in_text: values are the text of children, else attributes."""

    words: Mapping[str, Known]
    in_text: bool


@dataclass(frozen=True, slots=True)
class Part:
    """An element, the link or joint that it belongs to, and the findings of the whole file."""

    element: Element
    owner: str
    findings: Findings
    format: Format

    def fault(self, text: str, code: str = "", **fields: Any) -> ParseError:
        """The error at this element; the caller raises it."""
        return fault(self.element, self.owner, text, code, **fields)

    def warn(self, text: str, code: str = "", **fields: Any) -> None:
        """Warn at this element."""
        self.findings.warn(self.element, f"{self.owner}: {text}", code, **fields)

    def warn_together(self, text: str, code: str = "", **fields: Any) -> None:
        """Warn about something that other links or joints may share."""
        self.findings.warn_together(self.element, text, self.owner, code, **fields)

    def note(self, text: str, code: str = "", **fields: Any) -> None:
        """Note something at this element."""
        self.findings.note(self.element, f"{self.owner}: {text}", code, **fields)

    def count(self, text: str) -> None:
        """Note something once for the whole file, with the number of its occurrences."""
        self.findings.count(self.element, text)

    # children

    def at(self, element: Element) -> "Part":
        """Another element of the same owner."""
        return Part(element, self.owner, self.findings, self.format)

    def all(self, tag: str) -> list["Part"]:
        """Children of one tag."""
        return [self.at(child) for child in self.element.all(tag)]

    def child(self, tag: str) -> "Part | None":
        """The child of that tag, its words checked.

        Of several the first counts in URDF, with a warning; in SDF they are an error.
        """
        children = self.all(tag)
        if len(children) > 1:
            text = f"<{self.element.tag}> has {len(children)} elements <{tag}>"
            if self.format.in_text:
                raise children[1].fault(f"{text}; expected one.")
            children[1].warn(f"{text}; the first (line {children[0].element.line}) counts.")
        return children[0].checked() if children else None

    def checked(self) -> "Part":
        """The part itself, with warnings for children, attributes and text that are not read."""
        tag, known = self.element.tag, self.format.words.get(self.element.tag, LEAF)
        for child in self.element.children:
            if child.tag not in known.children:
                self._check_child(child, known)
        unknown = [x for x in self.attributes if x not in known.attributes and ":" not in x]
        if unknown := [x for x in unknown if x != "xmlns"]:
            verb = "attribute {} of <{}> is" if len(unknown) == 1 else "attributes {} of <{}> are"
            near = self._near(unknown[0], known.attributes)
            names = ", ".join(map(show, unknown[:6]))
            self._unread(verb.format(names, tag), near, "*" not in known.children)
        if self.element.text.strip() and "TEXT" not in known.children:
            self._unread(f"text {show(self.element.text.strip())} in <{tag}> is", "", True)
        return self

    def _check_child(self, child: Element, known: Known) -> None:
        """Report a child that is not read; raise where links or joints of a URDF would be lost."""
        prefix, _, local = child.tag.rpartition(":")
        what, part = f"<{clip(child.tag)}> in <{self.element.tag}> is", self.at(child)
        matters = "*" not in known.children and not prefix
        if child.tag in known.others:
            if self.format.in_text:
                part.count(f"{what} not read")
        elif self.format.in_text:
            near = "" if prefix else self._near(local, known.children)
            part._unread(what, near, not prefix or self.element.tag in ("joint", "model"))
        else:
            self._refuse_lost(child, prefix, local)
            matters |= prefix == "xacro" or child.tag in self.format.words
            matters |= any(x in local.lower() for x in DEFINITIONS)
            part._unread(what, self._near(local, known.children), matters)

    def _refuse_lost(self, child: Element, prefix: str, local: str) -> None:
        """Raise if links or joints of a URDF stand where they would be lost."""
        is_xacro, is_top = prefix == "xacro", self.element.tag == "robot"
        what, problem = f"<{clip(child.tag)}>", ""
        if is_xacro and (not is_top or _defines(child)):
            problem = f"an unexpanded xacro element that may hold part of the robot; {XACRO_HINT}"
        elif (local in DEFINITIONS and (prefix or not is_top)) or _defines(child):
            problem = f"inside <{self.element.tag}>, has a prefix or holds links or joints that "
            problem += "would be lost; move it directly under <robot>"
        if problem:
            raise self.at(child).fault(f"{what} is {problem}.")

    def _unread(self, what: str, near: str, matters: bool) -> None:
        """Warn that something is not read; only count it where it does not change the dynamics."""
        if matters or near:
            meant = f"; was {near!r} meant?" if near else "."
            code = "word-near" if near else "not-read"
            self.warn_together(f"{what} not read{meant}", code, word=near)
        else:
            self.count(f"{what} not read")

    def _near(self, word: str, known: Collection[str]) -> str:
        """The known word that was meant; empty if none is near."""
        if self.findings.is_full:
            return ""
        same = [right for right in known if right == word.lower().strip()]
        return next(iter(same or get_close_matches(word[:40].lower(), sorted(known), 1, 0.8)), "")

    # names and words

    def name(self, attribute: str) -> str:
        """A required attribute that names a link, a joint or the like."""
        value = self.attributes.get(attribute)
        if value is None:
            raise self._absent(attribute)
        text = f"{attribute} of <{self.element.tag}> is {show(value)}"
        if not value.strip() or len(value) > MAX_NAME:
            raise self.fault(f"{text}; expected 1 to {MAX_NAME} characters, not only blanks.")
        if _has_expression(value):
            raise self.fault(f"{text}, an unexpanded xacro expression; {XACRO_HINT}.")
        return value

    def choice(self, attribute: str, known: Collection[str]) -> str:
        """A required attribute whose value is one of the known words."""
        value = self.attributes.get(attribute)
        if value is None:
            raise self._absent(attribute)
        if value not in known:
            text = f"{attribute} is {show(value)}; expected one of {', '.join(known)}."
            raise self.fault(f"{text}{nearest(value.strip(), known)}")
        return value

    def text(self, name: str) -> str:
        """A value as text, without blanks around it; empty if it is absent."""
        if not self.format.in_text:
            return self.attributes.get(name, "").strip()
        child = self.child(name)
        return "" if child is None else child.element.value

    def has(self, name: str) -> bool:
        """Return True if the file gives the value."""
        return bool(self.element.all(name)) if self.format.in_text else name in self.attributes

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the element."""
        return self.element.attributes

    # numbers

    def number(self, name: str, default: float | None = None, largest: float = LARGEST) -> float:
        """One number; without a default it is required."""
        return self.numbers(name, 1, None if default is None else (default,), largest)[0]

    def numbers(
        self,
        name: str,
        count: int,
        default: tuple[float, ...] | None = None,
        largest: float = LARGEST,
    ) -> tuple[float, ...]:
        """`count` finite decimal numbers separated by blanks; without a default, required."""
        child = self.child(name) if self.format.in_text else None
        if child is not None:
            return child.own_numbers(count, largest)
        if not self.format.in_text and name in self.attributes:
            value = self.attributes[name]
            return self.parse(value, count, f"<{self.element.tag}> {name}={show(value)}", largest)
        if default is None:
            raise self._absent(name)
        return default

    def own_numbers(self, count: int, largest: float = LARGEST) -> tuple[float, ...]:
        """The numbers in the text of the element itself."""
        text, tag = self.element.value, self.element.tag
        return self.parse(text, count, f"<{tag}>{clip(text)}</{tag}>", largest)

    def parse(
        self, value: str, count: int, what: str, largest: float = LARGEST
    ) -> tuple[float, ...]:
        """The numbers of a text; `what` names it in errors."""
        written = [x for x in BLANKS.split(value) if x]
        tokens = [_without_quote(x) for x in written]
        if tokens != written:
            text = f"{what}: a stray quote stands behind a number; it is not read."
            self.warn(text, "stray-quote")
        if len(tokens) == count and all(map(NUMBER.fullmatch, tokens)):
            numbers = tuple(map(float, tokens))
            if all(abs(x) <= largest and math.isfinite(x) for x in numbers):
                return numbers
        expected = "one number" if count == 1 else f"{count} numbers separated by blanks"
        if _has_expression(value):
            problem = f"is an unexpanded xacro expression; {XACRO_HINT}"
        else:
            listed = (f"has {show(x)}, which {y}" for x in tokens if (y := _problem(x, largest)))
            problem = next(listed, f"has {len(tokens) or 'nothing'}")
        raise self.fault(f"{what} {problem}; expected {expected}.")

    def unit(self, given: tuple[float, ...], what: str) -> tuple[float, ...]:
        """`given` scaled to length 1, with a warning if it plainly is not; zero is an error."""
        largest = max(map(abs, given))
        if largest == 0:
            raise self.fault(f"{what} is zero; expected a direction, such as 0 0 1.")
        scaled = [x / largest for x in given]  # first, so that tiny and huge ones keep their digits
        length = nearest_length(scaled)
        size = length * largest
        if abs(size - 1) > 1e-6:
            text = f"{what} has length {size:.9g}, expected 1; only its direction is used."
            self.warn(text, "axis-length", length=size)
        return given if abs(size - 1) < 4e-16 else tuple(x / length for x in scaled)

    def _absent(self, name: str) -> ParseError:
        if self.format.in_text:
            return self.fault(f"<{self.element.tag}> has no <{name}>; add it.")
        names = clip(", ".join(self.attributes)) or "none"
        text = f"<{self.element.tag}> has no attribute {name!r}; found {names}. Add it."
        return self.fault(text)

    # poses and bodies

    def place(
        self,
        p: tuple[float, ...],
        angles: tuple[float, ...],
        written: str,
        in_degrees: bool = False,
    ) -> Array:
        """Pose of a position and roll, pitch, yaw, with warnings where a unit looks mistaken."""
        self._check_near(p, written)
        radians = tuple(map(math.radians, angles)) if in_degrees else angles
        if max(map(abs, radians)) > LARGE_ANGLE:
            unit = "degrees" if in_degrees else "radians, are these degrees?"
            text = f"{written} is more than a turn; its angles are in {unit}"
            self.warn(text, "" if in_degrees else "unit-degrees")
        return pose(rpy(*radians) if any(radians) else np.eye(3), np.array(p))

    def turned(self, p: tuple[float, ...], xyzw: tuple[float, ...], written: str) -> Array:
        """Pose of a position and a quaternion, its scalar part last."""
        self._check_near(p, written)
        x, y, z, w = self.unit(xyzw, f"the quaternion {written}")
        return pose(from_quaternion((w, x, y, z)), np.array(p))

    def _check_near(self, p: tuple[float, ...], written: str) -> None:
        if max(map(abs, p)) > FAR_M:
            text = f"{written} lies more than {FAR_M:g} m away; lengths are in metres, are these "
            self.warn(f"{text}millimetres?", "unit-millimetres")

    def mass(self, default: float | None = None) -> float:
        """The mass of this element, which is not negative."""
        value = self.number("mass" if self.format.in_text else "value", default)
        if value < 0:
            text = f"mass is {value:g} kg, less than zero; correct the <mass>."
            raise self.fault(text, "mass-negative")
        return value

    def body(self, m: float, T: Array, moment: float | None) -> Body:
        """The body of an <inertia>, whose axes are those of T in the frame of the link.

        moment: of the diagonal where the file does not give it; None: it is required.
        """
        xx, yy, zz = (self.number(key, moment) for key in MOMENTS)
        xy, xz, yz = (self.number(key, 0.0) for key in PRODUCTS)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R, p = T[:3, :3], T[:3, 3]
        return Body(m, p, symmetric(times(R, I, R.T)) if np.any(np.eye(3) != R) else I)

    # joints

    def friction(self) -> Friction:
        """Friction of a <dynamics> element; ParseError for one that gives energy."""
        viscous, coulomb = self.number("damping", 0.0), self.number("friction", 0.0)
        if viscous < 0 or coulomb < 0:
            text = f"damping is {viscous:g} and friction {coulomb:g}"
            raise self.fault(f"{text}; expected >= 0 (they take energy out).")
        return Friction(viscous, coulomb)

    def range(self, kind: str, lower: float, upper: float) -> tuple[float, float]:
        """Limits of a position, with a warning if they look wrong; infinite if they exclude all."""
        if lower > upper or lower == math.inf or upper == -math.inf:
            text = f"lower limit {lower:g} is above upper limit {upper:g}; both are ignored."
            self.warn(text, "limits-reversed", lower=lower, upper=upper)
            return -math.inf, math.inf
        largest = max((abs(x) for x in (lower, upper) if math.isfinite(x)), default=0.0)
        most, code = UNITS.get(kind, (math.inf, ""))
        if most < largest < ENDLESS:
            text = f"limits lower='{lower:g}' upper='{upper:g}' are large for rad and m"
            self.warn(f"{text}; are these {code.removeprefix('unit-')}?", code)
        return lower, upper

    def rate_limit(self, key: str, value: float) -> float:
        """A velocity or effort limit; 0 means that none was filled in, less is ignored."""
        if value < 0:
            text = f"{key} limit {value:g} is negative; taken as unlimited."
            self.warn(text, "limit-negative", key=key, size=-value)
        elif value == 0:
            text = f"{key} limit 0 is taken as not given: unlimited."
            self.warn_together(text, "limit-zero", key=key)
        return value if value > 0 else math.inf

    # shapes

    def shapes(self) -> Iterator[tuple[str, tuple[float, ...], str]]:
        """Kind, size and mesh file of each shape in <geometry>, as in `CollisionShape`."""
        for shape in (self.at(x) for part in self.all("geometry") for x in part.element.children):
            kind = shape.element.tag
            if kind == "mesh":
                path = shape.text("uri" if self.format.in_text else "filename")
                yield kind, shape.numbers("scale", 3, (1.0, 1.0, 1.0)), path
                continue
            sizes = {} if kind == "ellipsoid" and not self.format.in_text else SIZES.get(kind, {})
            listed = [shape.numbers(name, count) for name, count in sizes.items()]
            # the sign of a negative size is dropped
            yield kind, tuple(abs(x) for numbers in listed for x in numbers), ""


Surface = tuple[float | None, float | None]  # friction and restitution; None: not given


def read_collisions(
    link: Part, name: str, place: Callable[[Part], Array], surface: Callable[[Part], Surface]
) -> list[CollisionShape]:
    """Collision shapes of a <link>, for contacts; one that cannot be read has no numbers.

    place, surface: pose of a shape, and its friction and restitution.
    """
    shapes: list[CollisionShape] = []
    for shape in link.all("collision"):
        # findings of its own: dynamics do not depend on the origin of a shape
        part = replace(shape, owner=f"collision of link {show(name)}", findings=Findings())
        label = part.attributes.get("name", "")
        try:
            T, pair = place(part), surface(part)
            for kind, size, path in part.shapes():
                shapes.append(CollisionShape(label, name, kind, T, size, *pair, path))
        except ParseError as error:
            shapes.append(CollisionShape(label, name, UNREADABLE, np.eye(4)))
            text = f"a shape is skipped, dynamics do not need it: {error}"
            link.findings.note(part.element, text, "shape-skipped")
    return shapes


def named_part(element: Element, findings: Findings, format: Format) -> Part:
    """A <link>, <joint> or <frame>, which has a name of its own, with its words checked."""
    name = Part(element, element.tag, findings, format).name("name")
    return Part(element, f"{element.tag} {show(name)}", findings, format).checked()


def _has_expression(text: str) -> bool:
    """Return True if the text holds an unexpanded xacro expression."""
    return "${" in text or "$(" in text


def _without_quote(token: str) -> str:
    """The number before a stray quote; any other token as it is."""
    bare = token.rstrip("'\"")
    return bare if NUMBER.fullmatch(bare) else token


def _problem(token: str, largest: float) -> str:
    """The fault of one number as words; empty if there is none."""
    if NUMBER.fullmatch(token):
        size = abs(float(token))
        return "" if size <= largest and math.isfinite(size) else "is larger than any robot has"
    if "," in token:
        return "has a comma (write decimals with a point, and blanks between numbers)"
    return "is not a finite decimal number (no units, no expressions, no hexadecimal)"


def _defines(element: Element) -> bool:
    """Return True if links with content or joints with ends stand anywhere below."""
    is_xacro = element.tag.startswith("xacro:")
    return any(
        (x.tag == "link" and (x.children or is_xacro))
        or (x.tag == "joint" and x.all("parent") and x.all("child"))
        for x in element.below()
    )
