"""Joints and rotors: the motion of a link relative to its parent, and the drive of that motion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, frozen, known, times, unit
from kinetree.core.text import listing, look_up
from kinetree.errors import InputError, ModelError
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import Drive, checked_drive
from kinetree.files.description.friction import Friction, Pair
from kinetree.files.description.joints import (
    FREE,
    PLANAR,
    REVOLUTE,
    SCREW_TYPES,
    SPHERICAL,
    check_kind,
)
from kinetree.files.description.records import JointDescription, Limits, Note
from kinetree.model.friction import checked_friction, is_zero
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import check_screw, exp_se3, inverse, pose
from kinetree.spatial.so3 import cross, quaternion_rotation, rotation

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
    `drive` has plain floats, checked. actuation: least and most force of all actuators together.
    """

    name: str
    type: str
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    screw: Array | None = None
    scale: Scalar = 1
    offset: Scalar = 0
    armature: Scalar = 0
    friction: Friction = Friction()
    limits: Limits = Limits()
    drive: Drive | None = None
    actuation: Range = UNLIMITED
    follows: str | None = None

    def __post_init__(self) -> None:
        if self.screw is not None:
            object.__setattr__(self, "screw", frozen(self.screw))

    @property
    def loss(self) -> Pair:
        """Load friction (driving, braking), that of the drive included.

        A drive of efficiency eta needs the force load / eta where it drives the motion, and
        eta * load where the load drives it.
        """
        eta = 1 if self.drive is None else self.drive.efficiency
        return self.friction.load if eta == 1 else (1 / eta - 1, 1 - eta)

    @property
    def A(self) -> Array:
        """Twist of the link in its own frame for unit rates, (6, k), constant."""
        if self.screw is None:
            return np.eye(6, dtype=int)[:, list(SUBSPACES[self.type])]
        A = _without_pitch(self.screw) if self.type == REVOLUTE else self.screw
        return (A if is_plain(self.scale, 1) else A * self.scale)[:, None]


@dataclass(frozen=True, eq=False)
class JointRotor:
    """A rotor of joint `joint` on link `link`, spinning at ratio * dq[dof] about s in {link}.

    gear: the same ratio to the rate of the joint itself, which may follow another joint.
    """

    joint: int
    dof: int
    link: int
    inertia: Scalar
    ratio: Scalar
    s: Array
    gear: Scalar = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", frozen(self.s))


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
    return _parts(joint, COORDINATES)


def rate_names(joint: Joint) -> list[str]:
    """Names of the joint's entries in dq, ddq and tau."""
    return _parts(joint, RATES)


def _parts(joint: Joint, parts: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [f"{joint.name}.{x}" for x in parts.get(joint.type, ())] or [joint.name]


def is_plain(x: Any, number: float) -> bool:
    """Return True for a plain number of this value; symbols and traced scalars are not."""
    return isinstance(x, int | float) and x == number


def build_joints(described: Sequence[JointDescription]) -> tuple[Joint, ...]:
    """One joint per moving link; q and dq are numbered in order, mimic joints share numbers."""
    numbers: dict[str, dict[str, tuple[int, ...]]] = {}  # of joints that move by themselves
    sizes = {"coords": 0, "dofs": 0}
    for x in described:
        if x.mimic is None:
            numbers[x.name] = {}
            for entries, parts in (("coords", COORDINATES), ("dofs", RATES)):
                first, size = sizes[entries], len(parts.get(x.type, "1"))
                numbers[x.name][entries] = tuple(range(first, first + size))
                sizes[entries] += size
    by_name = {joint.name: joint for joint in described}
    return tuple(_joint(joint, by_name, numbers) for joint in described)


def _joint(
    joint: JointDescription,
    by_name: Mapping[str, JointDescription],
    numbers: Mapping[str, Mapping[str, tuple[int, ...]]],
) -> Joint:
    source, scale, offset = resolve_mimic(joint, by_name)
    _check_force(joint)
    return Joint(
        name=intern(joint.name),  # machine code knows a name by its address, see engine/call/named
        type=joint.type,
        **numbers[source],
        screw=_screw(joint) if joint.type in SCREW_TYPES else None,
        scale=scale,
        offset=joint.offset if joint.mimic is None else offset + joint.offset,
        armature=joint.armature,
        friction=checked_friction(joint.friction, joint.name),
        limits=joint.limits if joint.mimic is None else Limits(),
        drive=None if joint.drive is None else checked_drive(joint.drive, joint.name),
        actuation=joint.actuation,
        follows=None if joint.mimic is None else source,
    )


def _check_force(joint: JointDescription) -> None:
    """Raise for parts that need a force of the joint, or one degree of freedom, which it lacks."""
    owner = f"joint {joint.name!r}"
    lossy = isinstance(joint.friction, Friction) and not is_zero(joint.friction.load)
    if joint.type in (FREE, PLANAR) and not is_plain(joint.armature, 0):
        raise ModelError(  # its rates turn with the link
            f"{owner} is {joint.type} and has armature {joint.armature}; expected 0: armature is "
            "the inertia of a motor. Add it to the mass and inertia of the link."
        )
    if joint.mimic is not None and (lossy or joint.drive is not None):
        leader, part = joint.mimic.joint, "load friction" if lossy else "a drive"
        raise ModelError(
            f"{owner} follows {leader!r} and has no force of its own, but {part}. Give it to "
            f"{leader!r}."
        )
    if joint.drive is not None:
        check_one_dof(joint.type, f"{owner} has a drive")
        if lossy and getattr(joint.drive, "efficiency", 1) != 1:
            raise InputError(
                f"{owner} has load friction and a drive of efficiency below 1; expected one."
            )


def check_one_dof(kind: str, problem: str) -> None:
    """Raise ModelError for a type of joint that has not one degree of freedom."""
    if kind not in SCREW_TYPES:
        raise ModelError(
            f"{problem}, but its type is {kind}; expected a joint of one degree of freedom "
            f"({', '.join(SCREW_TYPES)})."
        )


def unused_limits(described: Sequence[JointDescription]) -> list[Note]:
    """A note on limits of mimic joints: those of the joints that they follow count instead.

    Files often repeat limits there, and not always in agreement with the multiplier, so that they
    cannot be put together with those of the other joint.
    """
    followers = [x for x in described if x.mimic is not None and x.limits != Limits()]
    if not followers:
        return []
    names = listing([x.name for x in followers], 6)
    text = "limits of mimic joints are not used; those of the joints that they follow count"
    return [Note(f"{text}: {names}", followers[0].where)]


def resolve_mimic(
    joint: JointDescription, by_name: Mapping[str, JointDescription]
) -> tuple[str, Scalar, Scalar]:
    """The joint at the end of a chain of mimic joints, with the scale and offset on the way."""
    scale, offset, trail = 1, 0, [joint.name]
    while joint.mimic is not None:
        mimic = joint.mimic
        target = look_up(by_name, mimic.joint, f"the joint that {joint.name!r} follows")
        trail.append(target.name)
        if target.name in trail[:-1]:
            raise ModelError(
                f"the joints {' -> '.join(trail)} mimic each other in a circle; one of them must "
                "move by itself."
            )
        for x in (joint, target):
            check_one_dof(x.type, f"joint {joint.name!r} follows {target.name!r}")
        offset, scale = offset + scale * mimic.offset, scale * mimic.multiplier
        joint = target
    return joint.name, scale, offset


def build_rotors(
    described: Sequence[JointDescription],
    joints: Sequence[Joint],
    places: Mapping[str, tuple[int, Array]],
    tree: Any,
) -> tuple[JointRotor, ...]:
    """Rotors of the model.

    Args:
        described: joints of the moving links.
        joints: the same joints as built.
        places: described link -> the moving link it is part of, and its pose there.
        tree: has `parent` and `M_pi` of the moving links, as a model.
    """
    rotors: list[JointRotor] = []
    for i, joint in enumerate(described):
        if joint.rotor is None:
            continue
        owner = f"rotor of joint {joint.name!r}"
        rotor = joint.rotor
        check_one_dof(joint.type, f"joint {joint.name!r} has a rotor")
        carrier = joint.parent if rotor.link is None else rotor.link
        link, T = look_up(places, carrier, f"link of the {owner}")
        if rotor.axis is None:
            screw = _screw(joint)
            direction = screw[:3] if np.any(screw[:3] != 0) else screw[3:]
            s = times(home_rotation(tree, link, i), direction)
        else:
            s = times(T[:3, :3], unit(rotor.axis, f"axis of the {owner}"))
        own, ratio = joints[i], rotor.ratio
        rotors.append(JointRotor(i, own.dofs[0], link, rotor.inertia, ratio * own.scale, s, ratio))
    return tuple(rotors)


def home_rotation(tree: Any, i: int, j: int) -> Array:
    """R_ij at q = 0 of two moving links; -1 is the base. tree: has `parent` and `M_pi`."""
    poses: list[Array] = []
    for k in (i, j):
        T = np.eye(4, dtype=int)
        while k >= 0:
            T, k = times(tree.M_pi[k], T), tree.parent[k]
        poses.append(T)
    return times(inverse(poses[0]), poses[1])[:3, :3]


def _screw(joint: JointDescription) -> Array:
    if joint.A is None:
        raise InputError(f"joint {joint.name!r} of type {joint.type!r} has no screw axis.")
    name = f"screw axis of joint {joint.name!r}"
    return check_kind(check_screw(joint.A, name), joint.type, name)
