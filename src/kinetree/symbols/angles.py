"""The base angles of a robot: turns about parallel axes add up, so their sums are the base.

Joints with parallel axes one after the other (slides between them do not turn) form a group. The
base angles of a group are the sums theta1, theta1 + theta2, ...: what the links are really turned
by. In them cos(theta1 + theta2) is one symbol, and polynomials are short.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.symbols.read import MOST_TURNS, Reader


@dataclass(frozen=True)
class Turned:
    """How far link i is turned about the axis of its group: a combination of base angles."""

    link: int
    axis: Array  # in {link}
    group: int
    combination: dict[int, int]


def register_angles(reader: Reader, model: Model, q: Any) -> None:
    """Make the base angles of all joints that turn; square the quaternions to 1."""
    found: dict[int, Turned] = {}
    groups = 0
    for i in model.links:
        joint = model.joints[i]
        if joint.type in (SPHERICAL, FREE):
            _register_quaternion(reader, [q[k] for k in joint.coords[:4]])
        axis = turn_axis(reader, model, i)
        if axis is None:
            continue
        carrier, sign = _parallel(reader, model, i, axis, found)
        angle = joint_angle(model, i, q)
        group = groups if carrier is None else carrier.group
        groups += carrier is None
        before = {} if carrier is None else carrier.combination
        own = _known_multiple(reader, model, i, q)
        if own is None:
            own = _new_angle(reader, angle, before, sign, group)
        reader.combined[angle] = own
        total = {k: before.get(k, 0) + sign * own.get(k, 0) for k in {*before, *own}}
        found[i] = Turned(i, axis * sign, group, {k: v for k, v in total.items() if v})


def joint_angle(model: Model, i: int, q: Any) -> Any:
    """The angle of joint i as the algorithms form it: scale * q + offset."""
    from sympy import expand

    joint = model.joints[i]
    return expand(q[joint.coords[0]] * joint.scale + joint.offset)


def turn_axis(reader: Reader, model: Model, i: int) -> Array | None:
    """Axis of a joint that turns about one, in {i}, as polynomials."""
    joint = model.joints[i]
    if joint.type == PLANAR:
        return np.array([reader.read(x) for x in (0, 0, 1)])
    if joint.type not in SCREW_TYPES or joint.type == PRISMATIC or joint.screw is None:
        return None
    return np.array([reader.read(x) for x in joint.screw[:3]])


def _parallel(
    reader: Reader, model: Model, i: int, axis: Array, found: dict[int, Turned]
) -> tuple[Turned | None, int]:
    """The turning link that carries joint i by slides alone, if its axis is parallel; the sign."""
    direction, k = axis, i
    while True:
        R = np.array([[reader.read(x) for x in row[:3]] for row in model.M_pi[k][:3]])
        direction, k = R @ direction, model.parent[k]
        if k == WORLD:
            return None, 1
        if k in found:
            carrier = found[k].axis
            if all(a == b for a, b in zip(direction, carrier, strict=True)):
                return found[k], 1
            if all(a == -b for a, b in zip(direction, carrier, strict=True)):
                return found[k], -1
            return None, 1
        if model.joints[k].type != PRISMATIC:
            return None, 1


def _known_multiple(reader: Reader, model: Model, i: int, q: Any) -> dict[int, int] | None:
    """Base angles of a mimic joint that turns a whole number of times as far as its leader."""
    from sympy import sympify

    joint = model.joints[i]
    scale = sympify(joint.scale)
    leader = reader.combined.get(q[joint.coords[0]])
    if joint.follows is None or leader is None or joint.offset != 0 or not scale.is_Integer:
        return None
    if abs(scale) > MOST_TURNS:
        return None
    return {number: factor * int(scale) for number, factor in leader.items()}


def _new_angle(
    reader: Reader, angle: Any, before: dict[int, int], sign: int, group: int
) -> dict[int, int]:
    """A base angle for the sum up to this joint, and the joint's own angle in base angles."""
    from sympy import Add, expand

    turned_before = Add(*(reader.angles[k].angle * factor for k, factor in before.items()))
    number = reader.base_angle(expand(turned_before + sign * angle), group)
    return {number: sign} | {k: -sign * factor for k, factor in before.items()}


def _register_quaternion(reader: Reader, quaternion: list[Any]) -> None:
    ring = reader.ring
    one, (w, *rest) = ring.number.one, [ring.generator(x) for x in quaternion]
    ring.known_square(w, {0: one} | {ring.monomial(k, 2): -one for k in rest})
