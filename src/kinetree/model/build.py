"""Description -> Model: order the links, merge fixed joints, name the frames, check everything."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, frozen, is_numeric, times
from kinetree.core.records import checked
from kinetree.core.text import counted, listing, look_up
from kinetree.errors import InertiaError, ModelError, warn
from kinetree.files.description.joints import FIXED
from kinetree.files.description.records import (
    JointDescription,
    LinkDescription,
    Note,
    RobotDescription,
)
from kinetree.files.description.tree import check_tree, check_unique
from kinetree.model.contacts import moving_contacts
from kinetree.model.elements import build_actuator, build_motor, build_spring
from kinetree.model.joint import build_joints, build_rotors, is_plain, unused_limits
from kinetree.model.model import WORLD, Frame, Model, free_fall
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import BodyParts, check_body, compose, move_body, physical_faults
from kinetree.spatial.se3 import check_pose

HOME = frozen(np.eye(4, dtype=int))
NO_BODY: BodyParts = 0.0, np.zeros(3), np.zeros((3, 3))
UNPHYSICAL = ("error", "warn", "allow")
ELEMENTS = {"spring": build_spring, "actuator": build_actuator, "motor": build_motor}


@dataclass
class Parts:
    """The moving links in the order they are found, and the place of every described link."""

    joints: list[JointDescription] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    M_pi: list[Array] = field(default_factory=list)
    bodies: dict[int, list[BodyParts]] = field(default_factory=lambda: {WORLD: []})
    places: dict[str, Frame] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)


def build_model(description: RobotDescription, *, unphysical: str = "error") -> Model:
    """Build the model of a description.

    Args:
        description: links, joints and frames of one tree.
        unphysical: treatment of an impossible mass distribution: "error", "warn", or "allow",
            which only records it in the model's warnings.
    """
    if unphysical not in UNPHYSICAL:
        raise ModelError(f"unphysical is {unphysical!r}; expected {', '.join(UNPHYSICAL)}.")
    root = check_tree(description.links, description.joints, description.name)
    parts = _walk(description, root, unphysical)
    base, *bodies = (compose(*(of_link or [NO_BODY])) for of_link in parts.bodies.values())
    frames = _frames(description, parts.places)
    tool = _default_tool(parts, root) if description.tool is None else description.tool
    if tool is not None:
        look_up(frames, tool, "tool frame")
    joints = build_joints(parts.joints)
    elements: dict[str, Any] = {
        f"{kind}s": tuple(
            build(name, record, joints, frames)
            for name, record in _moving(kind, description, parts, frames)
        )
        for kind, build in ELEMENTS.items()
    }
    contacts, idle = moving_contacts(description.contacts, frames)
    parts.notes += [*idle, *unused_limits(parts.joints)]
    parts.warnings += massless(parts, [m + np.trace(I_com) for m, _, I_com in bodies])
    return Model(
        name=description.name,
        joints=joints,
        link_names=tuple(joint.child for joint in parts.joints),
        base_name=root,
        parent=tuple(parts.parent),
        M_pi=_stack(parts.M_pi, (4, 4)),
        m=_stack([m for m, _, _ in bodies], ()),
        com=_stack([com for _, com, _ in bodies], (3,)),
        I_com=_stack([I_com for _, _, I_com in bodies], (3, 3)),
        gravity=free_fall(description.gravity),
        rotors=build_rotors(
            parts.joints,
            joints,
            {name: (place.link, place.T_if) for name, place in parts.places.items()},
            parts,
        ),
        frames=frames,
        tool=tool,
        base=base,
        **elements,
        contacts=contacts,
        collisions=description.collisions,
        notes=(*description.notes, *parts.notes),
        warnings=(*description.warnings, *parts.warnings, *_left_out(description)),
    )


def _left_out(description: RobotDescription) -> list[Note]:
    """A warning about constraints, which are not part of the tree that is built."""
    if description.constrained is None:
        return []
    names = listing(description.constrained.constraints, 6)
    return [Note(f"constraints are not part of the tree, joints move independently: {names}")]


def _walk(description: RobotDescription, root: str, unphysical: str) -> Parts:
    """Visit the links from the root, joints in the order of the source where parents allow it."""
    parts = Parts(places={root: Frame(WORLD, HOME)})
    links = {link.name: link for link in description.links}
    _add_bodies(parts, links[root], unphysical)
    for described in outward(description):
        joint = checked(described, JointDescription, f"joint {described.name!r}")
        _check_limits(joint)
        M_pc = check_pose(joint.M_pc, f"home pose of joint {joint.name!r}")
        place = parts.places[joint.parent]
        T = times(place.T_if, snap(M_pc, parts.notes, joint))
        if joint.type == FIXED:
            parts.places[joint.child] = Frame(place.link, T)
            note = f"fixed joint {joint.name!r}: link {joint.child!r} merged into {joint.parent!r}"
            parts.notes += [Note(note, joint.where, code="merged"), *idle_drive(joint)]
        else:
            i = len(parts.joints)
            parts.joints.append(joint)
            parts.parent.append(place.link)
            parts.M_pi.append(T)
            parts.bodies[i] = []
            parts.places[joint.child] = Frame(i, HOME)
        _add_bodies(parts, links[joint.child], unphysical)
    return parts


def idle_drive(joint: JointDescription) -> list[Note]:
    """A note on the drive data of a fixed joint, which have no effect since it does not move."""
    usual = JointDescription(name="", type="", parent="", child="", M_pc=HOME)
    parts = ("friction", "armature", "rotor", "drive", "mimic")
    names = ", ".join(x for x in parts if getattr(joint, x) != getattr(usual, x))
    text = f"joint {joint.name!r} is fixed, so these have no effect: {names}"
    return [Note(text, joint.where)] if names else []


def _moving(
    kind: str, description: RobotDescription, parts: Parts, frames: Mapping[str, Frame]
) -> Iterator[tuple[str, Any]]:
    """Springs, actuators or motors that move; one whose ends are all fixed gets a note."""
    fixed = {joint.name for joint in description.joints if joint.type == FIXED}
    for name, record in getattr(description, f"{kind}s").items():
        points = getattr(record, "points", None)
        ends = [name] if getattr(record, "joints", None) is None else list(record.joints)
        if points is not None:
            links = {frames[point[0]].link for point in points if point[0] in frames}
            idle, reason = len(links) == 1, "its points move together"
        else:
            idle, reason = bool(ends) and fixed.issuperset(ends), "its joints are fixed"
        if idle:
            parts.notes.append(Note(f"{kind} {name!r} has no effect: {reason}"))
        else:
            yield name, record


def outward(description: RobotDescription) -> list[JointDescription]:
    """The joints in the order of the source, moved back only where a parent must come first."""
    waiting, order = list(description.joints), list[JointDescription]()
    placed = {link.name for link in description.links} - {joint.child for joint in waiting}
    while waiting:
        first = next(k for k, x in enumerate(waiting) if x.parent in placed)
        order.append(waiting.pop(first))
        placed.add(order[-1].child)
    return order


def _add_bodies(parts: Parts, link: LinkDescription, unphysical: str) -> None:
    place = parts.places[link.name]
    at_home = place.T_if is HOME or np.array_equal(place.T_if, HOME)
    for body in link.bodies:
        numbers = check_body(body.m, body.com, body.I_com, f"link {link.name!r}")
        fault = check_link(link.name, numbers[0], numbers[2], unphysical)
        if fault is not None:
            source = "model" if at_home and len(link.bodies) == 1 else "file"
            parts.warnings.append(Note(fault, link.where, source, "body"))
        moved = numbers if at_home else move_body(*numbers, place.T_if)
        parts.bodies[place.link].append(moved)


def massless(parts: Parts, masses: list[Scalar]) -> list[Note]:
    """A warning for every joint that moves no mass at all; one if no link that moves has any.

    masses: mass plus moments of each link, exactly zero for a body without any inertia.
    """
    beyond = list(masses)
    for i in reversed(range(len(beyond))):
        if parts.parent[i] != WORLD:
            beyond[parts.parent[i]] = beyond[parts.parent[i]] + beyond[i]
    idle = [x for x, mass in zip(parts.joints, beyond, strict=True) if is_plain(mass, 0)]
    texts = [
        f"joint {x.name!r} moves no mass (link {x.child!r} and all beyond it are massless)"
        for x in idle
    ]
    if len(idle) > 1 and len(idle) == len(beyond):
        texts = [f"no link that moves has a mass (all {len(idle)})"]
    need = "forward dynamics needs mass or armature there."
    pairs = zip(texts, idle, strict=False)
    return [Note(f"{text}; {need}", x.where, "model", "massless") for text, x in pairs]


def snap(M: Array, notes: list[Note], joint: JointDescription) -> Array:
    """Clear rotation entries that differ from 0, 1 or -1 by rounding alone, with a note.

    Angles such as pi/2 leave 6e-17 where a zero is meant; each costs operations in every kernel.
    """
    if not is_numeric(M):
        return M
    R = M[:3, :3]
    nearest = np.round(R)
    dust = (R != nearest) & (np.abs(R - nearest) < 4 * np.finfo(float).eps)
    if not dust.any():
        return M
    cleared = counted(int(dust.sum()), "entry", "snapped to 0 or 1")
    text = f"rotation of joint {joint.name!r}: {cleared}"
    notes.append(Note(text, joint.where, code="snapped"))
    return np.block([[np.where(dust, nearest, R), M[:3, 3:]], [M[3:]]])


def _frames(description: RobotDescription, places: dict[str, Frame]) -> dict[str, Frame]:
    names = [*places, *(frame.name for frame in description.frames)]
    check_unique(((name, "") for name in names), "frame")
    frames = dict(places)
    for frame in description.frames:
        place = look_up(places, frame.link, f"link of frame {frame.name!r}")
        T = times(place.T_if, check_pose(frame.T, f"pose of frame {frame.name!r}"))
        frames[frame.name] = Frame(place.link, T)
    return frames


def _default_tool(parts: Parts, root: str) -> str | None:
    """The last described link that moves with the only tip; None if there are several tips."""
    tips = set(range(len(parts.joints))) - set(parts.parent)
    moved = [name for name, place in parts.places.items() if place.link in (tips or {WORLD})]
    return None if len(tips) > 1 else moved[-1] if tips else root


def _stack(entries: list[Array] | list[Scalar], shape: tuple[int, ...]) -> Array:
    return np.array(entries).reshape(len(entries), *shape) if entries else np.zeros((0, *shape))


def check_link(name: str, m: Scalar, I_com: Array, unphysical: str) -> str | None:
    """The fault of an impossible mass distribution as a sentence, or None; symbols are trusted."""
    faults = physical_faults(m, I_com)
    message = f"link {name!r} is not a physical body: {'; '.join(faults)}."
    if faults and unphysical == "error":
        raise InertiaError(f"{message} To use the numbers nevertheless, pass unphysical='warn'.")
    if faults and unphysical == "warn":
        warn(message)
    return message if faults else None


def _check_limits(joint: JointDescription) -> None:
    if joint.limits.lower > joint.limits.upper:
        raise ModelError(
            f"joint {joint.name!r} has lower limit {joint.limits.lower} above its upper limit "
            f"{joint.limits.upper}; expected lower <= upper."
        )
