"""Joint: the motion of a link relative to its parent, and the drive of that motion."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from kinetree.core.arrays import Array, frozen, known
from kinetree.core.text import number
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import Drive, checked_drive
from kinetree.files.description.joints import FREE, PLANAR, REVOLUTE, SCREW_TYPES, SPHERICAL
from kinetree.files.description.records import Limits
from kinetree.model.friction import JointFriction, with_efficiency, without_efficiency
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import exp_se3, pose
from kinetree.spatial.so3 import cross, quaternion_rotation, rotation


class NamedPart(Protocol):
    """A part of the model that has a name."""

    @property
    def name(self) -> str:
        """Name of the part."""
        ...


Part = TypeVar("Part", bound=NamedPart)  # a spring or an actuator of the model
Record = TypeVar("Record")  # its description

# names of the coordinates q and of the rates dq, angular first
COORDINATES = {
    SPHERICAL: ("qw", "qx", "qy", "qz"),
    PLANAR: ("theta", "x", "y"),
    FREE: ("qw", "qx", "qy", "qz", "x", "y", "z"),
}
RATES = {
    SPHERICAL: ("wx", "wy", "wz"),
    PLANAR: ("wz", "vx", "vy"),
    FREE: ("wx", "wy", "wz", "vx", "vy", "vz"),
}
SUBSPACES = {SPHERICAL: (0, 1, 2), PLANAR: (2, 3, 4), FREE: (0, 1, 2, 3, 4, 5)}


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint of one link.

    coords, dofs: which entries of q and of dq are its own. A: the link's twist in {i} for unit
    rates, (6, k). A joint of one degree of freedom stands at scale * q + offset along `screw`;
    a mimic joint shares coords and dofs with the joint that it follows, at another scale.
    `drive` has plain floats, checked; its loss is part of `friction`. actuation: least and most
    force of all actuators together.
    """

    name: str
    type: str
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    screw: Array | None = None
    scale: Scalar = 1
    offset: Scalar = 0
    armature: Scalar = 0
    friction: JointFriction = JointFriction()
    limits: Limits = Limits()
    drive: Drive | None = None
    actuation: Range = UNLIMITED
    follows: str | None = None

    def __post_init__(self) -> None:
        if self.screw is not None:
            object.__setattr__(self, "screw", frozen(self.screw))

    @property
    def A(self) -> Array:
        """Twist of the link in its own frame for unit rates, (6, k), constant."""
        if self.screw is None:
            return np.eye(6, dtype=int)[:, list(SUBSPACES[self.type])]
        A = _without_pitch(self.screw) if self.type == REVOLUTE else self.screw
        return (A if is_plain(self.scale, 1) else A * self.scale)[:, None]


def joint_named(key: str, joints: Sequence[Joint], owner: str, hint: str = "") -> Joint:
    """The joint of this name that `owner`, such as a spring, acts on; `hint` ends the error."""
    for joint in joints:
        if joint.name == key:
            return joint
    names = ", ".join(joint.name for joint in joints)
    raise NameLookupError(
        f"{owner} acts on {key!r}, which is not a moving joint; the moving joints are {names}."
        f"{hint}"
    )


def changed_by_name(
    kind: str,
    own: Sequence[Part],
    changes: Mapping[str, Record | None],
    build: Callable[[str, Record], Part],
    example: str,
) -> tuple[Part, ...]:
    """Springs or actuators with some added or replaced by name; None removes one.

    Args:
        kind: "spring" or "actuator", for messages.
        own: those of the model.
        changes: records by name.
        build: makes the part of a name and its record.
        example: what the error for changes that are no dict expects.
    """
    if not isinstance(changes, Mapping):
        raise InputError(f"{kind}s are {changes!r:.60}; expected them by name, {example}")
    kept = {part.name: part for part in own}
    for name, record in changes.items():
        if record is not None:
            kept[name] = build(name, record)
        elif kept.pop(name, None) is None:
            raise NameLookupError(
                f"there is no {kind} {name!r} to remove; the {kind}s are "
                f"{', '.join(kept) or 'none'}."
            )
    return tuple(kept.values())


def changed_drives(
    joints: Sequence[Joint], changes: Mapping[str, Drive | None], robot: str
) -> tuple[Joint, ...]:
    """The joints with some drives added, replaced or removed (None), by the joint's name."""
    if not isinstance(changes, Mapping):
        raise InputError(
            f"drives are {changes!r:.60}; expected them by joint, {{name: Drive(...)}}. "
            "For all alike: {name: drive for name in robot.joint_names}."
        )
    names = [joint.name for joint in joints]
    known_names = set(names)
    for name in changes:
        if name not in known_names:
            raise NameLookupError(
                f"{robot!r} has no joint {name!r} to give a drive to; its joints are "
                f"{', '.join(names)}."
            )

    def changed(x: Joint) -> Joint:
        drive = joint_drive(changes[x.name], x.name, x.type, follows=x.follows is not None)
        own = without_efficiency(x.friction, x.drive)
        return replace(x, drive=drive, friction=with_efficiency(own, drive, x.name))

    return tuple(changed(x) if x.name in changes else x for x in joints)


def joint_drive(drive: Drive | None, joint: str, kind: str, *, follows: bool) -> Drive | None:
    """The drive of a joint, checked; a joint that follows another or has several rates has none."""
    if drive is None:
        return None
    if follows:
        raise ModelError(
            f"joint {joint!r} follows another joint and has a drive; expected a joint that moves "
            "by itself. Give the drive to the joint that it follows."
        )
    if kind not in SCREW_TYPES:
        raise ModelError(
            f"joint {joint!r} of type {kind!r} has a drive; expected a joint of one degree of "
            f"freedom ({', '.join(SCREW_TYPES)})."
        )
    return checked_drive(drive, joint)


def _without_pitch(S: Array) -> Array:
    """Axis of a hinge less the part of v along w, which is rounding; symbols stay as they are."""
    w, v = S[:3], S[3:]
    if known(w) is None or not np.any(v != 0):
        return S
    return np.concatenate([w, cross(cross(w, v), w)])


def joint_pose(joint: Joint, q: Array) -> Array:
    """Pose of the link relative to where it is at zero, from the joint's own coordinates."""
    if joint.type in SCREW_TYPES:
        angle = q[0] if is_plain(joint.scale, 1) else q[0] * joint.scale
        angle = angle if is_plain(joint.offset, 0) else angle + joint.offset
        pitch = 0 if joint.type == REVOLUTE else None
        return exp_se3(joint.screw, angle, pitch=pitch)  # type: ignore[arg-type]
    if joint.type == SPHERICAL:
        return pose(quaternion_rotation(q), np.zeros(3, int))
    if joint.type == FREE:
        return pose(quaternion_rotation(q[:4]), q[4:])
    return pose(rotation(np.eye(3, dtype=int)[2], q[0]), np.array([q[1], q[2], 0]))


def coordinate_names(joint: Joint) -> list[str]:
    """Names of the joint's entries in q."""
    parts = COORDINATES.get(joint.type)
    return [joint.name] if parts is None else [f"{joint.name}.{part}" for part in parts]


def rate_names(joint: Joint) -> list[str]:
    """Names of the joint's entries in dq, ddq and tau."""
    parts = RATES.get(joint.type)
    return [joint.name] if parts is None else [f"{joint.name}.{part}" for part in parts]


def is_plain(x: Any, number: float) -> bool:
    """Return True for a plain number of this value; symbols and traced scalars are not."""
    return isinstance(x, int | float) and x == number


def type_words(joint: Joint) -> str:
    """The type of a joint, and how it follows another."""
    if joint.follows is None:
        return joint.type
    return f"{joint.type}, {number(joint.scale)} x {joint.follows} + {number(joint.offset)}"


def limit_cells(joint: Joint) -> tuple[float | str, ...]:
    """Limits as cells of a table, empty where there is none."""
    limits = joint.limits
    return tuple(
        "" if abs(x) == float("inf") else x
        for x in (limits.lower, limits.upper, limits.velocity, limits.effort)
    )
