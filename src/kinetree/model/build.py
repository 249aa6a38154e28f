"""Description -> Model: order the links, merge fixed joints, name the frames, check everything."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.arrays import Array, is_numeric, scalar, unit
from kinetree.description.records import JointDescription, RobotDescription
from kinetree.errors import InputError, NameLookupError
from kinetree.model.change import free_fall
from kinetree.model.checks import check_limits, check_link, check_tree, check_unique
from kinetree.description.joints import FIXED
from kinetree.model.model import WORLD, Frame, JointFriction, JointRotor, Model
from kinetree.spatial.inertia import check_body, compose, move_body
from kinetree.spatial.se3 import check_pose, inverse
from kinetree.spatial.twist import check_screw


@dataclass
class _Place:
    """Where a described link ends up: on which moving link, and at which pose in its frame."""

    link: int
    T: Array


@dataclass
class _Parts:
    """The moving links as they are found."""

    joints: list[JointDescription] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    M_pi: list[Array] = field(default_factory=list)
    bodies: dict[int, list[tuple[Any, Array, Array]]] = field(default_factory=lambda: {WORLD: []})
    notes: list[str] = field(default_factory=list)


def build_model(description: RobotDescription, *, unphysical: str = "error") -> Model:
    """The model of a description.

    Args:
        description: links, joints and frames of one tree.
        unphysical: what to do about an impossible mass distribution: "error", "warn" or "allow".
    """
    root = check_tree(description)
    parts, places = _walk(description, root, unphysical)
    n = len(parts.joints)
    bodies = [compose(*parts.bodies[i]) for i in range(n)]
    frames = _frames(description, places)
    tool = description.tool if description.tool is not None else _default_tool(parts, places, root)
    if tool not in frames:
        raise NameLookupError(f"tool frame {tool!r} is unknown; frames are {', '.join(frames)}.")
    return Model(
        name=description.name,
        joint_names=tuple(joint.name for joint in parts.joints),
        joint_types=tuple(joint.type for joint in parts.joints),
        link_names=tuple(joint.child for joint in parts.joints),
        base_name=root,
        parent=tuple(parts.parent),
        M_pi=_stack(parts.M_pi, (4, 4)),
        A=_stack([_screw(joint) for joint in parts.joints], (6,)),
        m=_stack([body[0] for body in bodies], ()),
        com=_stack([body[1] for body in bodies], (3,)),
        I_com=_stack([body[2] for body in bodies], (3, 3)),
        gravity=free_fall(description.gravity),
        armature=_stack([_armature(joint) for joint in parts.joints], ()),
        friction=tuple(_friction(joint) for joint in parts.joints),
        rotors=tuple(_rotors(parts, places)),
        limits=tuple(joint.limits for joint in parts.joints),
        frames=frames,
        tool=tool,
        base=compose(*parts.bodies[WORLD]) if parts.bodies[WORLD] else _no_body(),
        notes=(*description.notes, *parts.notes),
    )


def _walk(
    description: RobotDescription, root: str, unphysical: str
) -> tuple[_Parts, dict[str, _Place]]:
    """Visit the links from the root, joints in the order of the source where parents allow it."""
    parts = _Parts()
    places = {root: _Place(WORLD, np.eye(4, dtype=int))}
    bodies = {link.name: link.bodies for link in description.links}
    _add_bodies(parts, places[root], root, bodies[root], unphysical)
    waiting = list(description.joints)
    while waiting:
        joint = next(joint for joint in waiting if joint.parent in places)
        waiting.remove(joint)
        check_limits(joint)
        place = places[joint.parent]
        M_pc = snap(check_pose(joint.M_pc, f"home pose of joint {joint.name!r}"), parts.notes, joint)
        T = place.T @ M_pc
        if joint.type == FIXED:
            places[joint.child] = _Place(place.link, T)
            parts.notes.append(f"fixed joint {joint.name!r} merged into link {joint.parent!r}")
        else:
            i = len(parts.joints)
            parts.joints.append(joint)
            parts.parent.append(place.link)
            parts.M_pi.append(T)
            parts.bodies[i] = []
            places[joint.child] = _Place(i, np.eye(4, dtype=int))
        _add_bodies(parts, places[joint.child], joint.child, bodies[joint.child], unphysical)
    for i in range(len(parts.joints)):
        if not parts.bodies[i]:
            parts.bodies[i].append(_no_body())
    return parts, places


def _add_bodies(parts: _Parts, place: _Place, name: str, bodies: Any, unphysical: str) -> None:
    if not bodies:
        return
    checked = [check_body(body.m, body.com, body.I_com, f"link {name!r}") for body in bodies]
    for body in checked:
        check_link(name, *body, unphysical=unphysical)
    at_home = np.array_equal(place.T, np.eye(4))
    for body in checked:
        parts.bodies[place.link].append(body if at_home else move_body(*body, place.T))


def snap(M: Array, notes: list[str], joint: JointDescription) -> Array:
    """Clear rotation entries that differ from 0, 1 or -1 by rounding alone, and say so.

    Angles such as pi/2 leave 6e-17 where a zero is meant; each costs operations in every kernel.
    """
    if not is_numeric(M):
        return M
    R = M[:3, :3]
    nearest = np.round(R)
    dust = (R != nearest) & (np.abs(R - nearest) < 4 * np.finfo(float).eps)
    if not dust.any():
        return M
    notes.append(f"rotation of joint {joint.name!r}: {int(dust.sum())} entries snapped to 0 or 1")
    return np.block([[np.where(dust, nearest, R), M[:3, 3:]], [M[3:]]])


def _screw(joint: JointDescription) -> Array:
    if joint.A is None:
        raise InputError(f"joint {joint.name!r} of type {joint.type!r} has no screw axis.")
    return check_screw(joint.A, f"screw axis of joint {joint.name!r}")


def _armature(joint: JointDescription) -> Any:
    value = scalar(joint.armature, f"armature of joint {joint.name!r}")
    if is_numeric(np.asarray(value)) and value < 0:
        raise InputError(f"armature of joint {joint.name!r} is {value}; expected >= 0.")
    return value


def _friction(joint: JointDescription) -> JointFriction:
    friction = joint.friction
    return JointFriction(
        friction.pair("viscous", joint.name), friction.pair("coulomb", joint.name), friction.function
    )


def _rotors(parts: _Parts, places: dict[str, _Place]) -> list[JointRotor]:
    rotors = []
    for i, joint in enumerate(parts.joints):
        if joint.rotor is None:
            continue
        carrier = joint.parent if joint.rotor.link is None else joint.rotor.link
        if carrier not in places:
            raise NameLookupError(
                f"rotor of joint {joint.name!r} is mounted on {carrier!r}, which is no link; "
                f"the links are {', '.join(places)}."
            )
        place = places[carrier]
        inertia = scalar(joint.rotor.inertia, f"rotor inertia of joint {joint.name!r}")
        if is_numeric(np.asarray(inertia)) and inertia < 0:
            raise InputError(
                f"rotor inertia of joint {joint.name!r} is {inertia}; expected >= 0 kg m^2."
            )
        ratio = scalar(joint.rotor.ratio, f"gear ratio of joint {joint.name!r}")
        axis = joint.rotor.axis
        if axis is None:
            s = _axis_on(parts, i, place.link)
        else:
            s = place.T[:3, :3] @ unit(axis, f"rotor axis of joint {joint.name!r}")
        rotors.append(JointRotor(i, place.link, inertia, ratio, s))
    return rotors


def _axis_on(parts: _Parts, i: int, link: int) -> Array:
    """Direction of joint i's axis at q = 0, in the frame of `link`."""

    def home(k: int) -> Array:
        T = np.eye(4, dtype=int)
        while k != WORLD:
            T, k = parts.M_pi[k] @ T, parts.parent[k]
        return T

    A = _screw(parts.joints[i])
    direction = A[:3] if np.any(A[:3] != 0) else A[3:]
    return (inverse(home(link)) @ home(i))[:3, :3] @ direction


def _frames(description: RobotDescription, places: dict[str, _Place]) -> dict[str, Frame]:
    check_unique([*places, *(frame.name for frame in description.frames)], "frame")
    frames = {name: Frame(place.link, place.T) for name, place in places.items()}
    for frame in description.frames:
        if frame.link not in places:
            raise NameLookupError(
                f"frame {frame.name!r} is fixed to {frame.link!r}, which is no link; "
                f"the links are {', '.join(places)}."
            )
        place = places[frame.link]
        T = place.T @ check_pose(frame.T, f"pose of frame {frame.name!r}")
        frames[frame.name] = Frame(place.link, T)
    return frames


def _default_tool(parts: _Parts, places: dict[str, _Place], root: str) -> str:
    """The last described link that moves with the last moving link."""
    last = len(parts.joints) - 1
    return [name for name, place in places.items() if place.link == last][-1] if last >= 0 else root


def _no_body() -> tuple[Any, Array, Array]:
    return 0.0, np.zeros(3), np.zeros((3, 3))


def _stack(entries: list[Any], shape: tuple[int, ...]) -> Array:
    return np.array(entries).reshape(len(entries), *shape) if entries else np.zeros((0, *shape))
