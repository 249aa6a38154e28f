"""Joints and rotors of the model from their descriptions: numbering, mimic, friction, checks."""

from collections.abc import Callable, Mapping, Sequence
from sys import intern

import numpy as np

from kinetree.core.arrays import Array, known, known_number, scalar, times, unit
from kinetree.core.text import listing
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES, check_kind
from kinetree.files.description.records import JointDescription, Limits, Note
from kinetree.model.friction import joint_friction, with_efficiency
from kinetree.model.joint import COORDINATES, RATES, Joint, is_plain, joint_drive
from kinetree.model.model import JointRotor
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import check_screw, inverse


def build_joints(described: Sequence[JointDescription]) -> tuple[Joint, ...]:
    """One joint per moving link; q and dq are numbered in order, mimic joints share numbers."""
    numbers: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    nq = n = 0
    for joint in described:
        if joint.mimic is None:
            size, rates = len(COORDINATES.get(joint.type, "1")), len(RATES.get(joint.type, "1"))
            numbers[joint.name] = tuple(range(nq, nq + size)), tuple(range(n, n + rates))
            nq, n = nq + size, n + rates
    by_name = {joint.name: joint for joint in described}
    return tuple(_joint(joint, by_name, numbers) for joint in described)


def _joint(
    joint: JointDescription,
    by_name: Mapping[str, JointDescription],
    numbers: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]],
) -> Joint:
    source, scale, offset = resolve_mimic(joint, by_name)
    coords, dofs = numbers[source]
    shift = scalar(joint.offset, f"offset of joint {joint.name!r}")
    follows = None if joint.mimic is None else source
    drive = joint_drive(joint.drive, joint.name, joint.type, follows=follows is not None)
    friction = joint_friction(joint.friction, joint.name, follows)
    return Joint(
        name=intern(joint.name),  # machine code knows a name by its address, see engine/call/named
        type=joint.type,
        coords=coords,
        dofs=dofs,
        screw=_screw(joint) if joint.type in SCREW_TYPES else None,
        scale=scale,
        offset=shift if joint.mimic is None else offset + shift,
        armature=_armature(joint),
        friction=with_efficiency(friction, drive, joint.name),
        limits=joint.limits if joint.mimic is None else Limits(),
        drive=drive,
        actuation=joint.actuation,
        follows=follows,
    )


def _armature(joint: JointDescription) -> Scalar:
    """Armature of a joint; a free or planar one has no motor, and its rates turn with the link."""
    armature = _not_negative(joint.armature, f"armature of joint {joint.name!r}")
    if joint.type in (FREE, PLANAR) and not is_plain(armature, 0):
        raise ModelError(
            f"joint {joint.name!r} is {joint.type} and has armature {joint.armature}; expected 0: "
            "armature is the inertia of a motor. Add it to the mass and inertia of the link."
        )
    return armature


def unused_limits(described: Sequence[JointDescription]) -> list[Note]:
    """Notes on limits of mimic joints: those of the joints that they follow count instead.

    Files often repeat limits there, and not always in agreement with the multiplier, so that they
    cannot be put together with those of the other joint; a range that differs is a note of its own.
    """
    by_name = {joint.name: joint for joint in described}
    followers = [x for x in described if x.mimic is not None and x.limits != Limits()]
    if not followers:
        return []
    names = listing([x.name for x in followers], 6)
    text = "limits of mimic joints are not used; those of the joints that they follow count"
    return [
        Note(f"{text}: {names}", followers[0].where),
        *(note for joint in followers for note in _wider_range(joint, by_name)),
    ]


def _wider_range(joint: JointDescription, by_name: Mapping[str, JointDescription]) -> list[Note]:
    """A note if the joint that a mimic joint follows moves it beyond its own range or speed."""
    leader, scale, offset = resolve_mimic(joint, by_name)
    numbers = known(np.array([scale, offset], dtype=object))
    if numbers is None or numbers[0] == 0:
        return []
    factor, shift = (float(x) for x in numbers)
    limits, its = joint.limits, by_name[leader].limits
    low, high = sorted(factor * end + shift for end in (its.lower, its.upper))
    speed, slack = abs(factor) * its.velocity, 1e-6 * (1 + abs(limits.lower) + abs(limits.upper))
    unit = "m" if joint.type == PRISMATIC else "rad"
    parts: list[str] = []
    if low < limits.lower - slack or high > limits.upper + slack:
        parts.append(
            f"from {low:g} to {high:g} {unit} (its own: {limits.lower:g} to {limits.upper:g})"
        )
    if speed > limits.velocity * (1 + 1e-6):
        parts.append(f"at up to {speed:g} {unit}/s (its own: {limits.velocity:g})")
    if not parts:
        return []
    text = f"joint {joint.name!r} follows {leader!r}, which may move it {' and '.join(parts)}"
    return [Note(text, joint.where)]


def resolve_mimic(
    joint: JointDescription, by_name: Mapping[str, JointDescription]
) -> tuple[str, Scalar, Scalar]:
    """The joint at the end of a chain of mimic joints, with the scale and offset on the way."""
    scale, offset, trail = 1, 0, [joint.name]
    while joint.mimic is not None:
        mimic = joint.mimic
        target = by_name.get(mimic.joint)
        if target is None:
            raise NameLookupError(
                f"joint {joint.name!r} mimics {mimic.joint!r}, which is not a moving joint; "
                f"the moving joints are {', '.join(by_name)}."
            )
        if target.name in trail:
            raise ModelError(
                f"the joints {' -> '.join([*trail, target.name])} mimic each other in a circle; "
                "one of them must move by itself."
            )
        if joint.type not in SCREW_TYPES or target.type not in SCREW_TYPES:
            raise ModelError(
                f"joint {joint.name!r} ({joint.type}) mimics {target.name!r} ({target.type}); "
                "both must have one degree of freedom."
            )
        multiplier = scalar(mimic.multiplier, f"mimic multiplier of joint {joint.name!r}")
        offset = offset + scale * scalar(mimic.offset, f"mimic offset of joint {joint.name!r}")
        scale = scale * multiplier
        trail.append(target.name)
        joint = target
    return joint.name, scale, offset


def build_rotors(
    described: Sequence[JointDescription],
    joints: Sequence[Joint],
    places: Mapping[str, tuple[int, Array]],
    home: Callable[[int], Array],
) -> tuple[JointRotor, ...]:
    """Rotors of the model.

    Args:
        described: joints of the moving links.
        joints: the same joints as built.
        places: described link -> the moving link it is part of, and its pose there.
        home: moving link -> its pose in {s} at q = 0.
    """
    rotors: list[JointRotor] = []
    for i, joint in enumerate(described):
        rotor = joint.rotor
        if rotor is None:
            continue
        if joint.type not in SCREW_TYPES:
            raise ModelError(
                f"joint {joint.name!r} of type {joint.type!r} has a rotor; only a joint of one "
                "degree of freedom can drive one."
            )
        carrier = joint.parent if rotor.link is None else rotor.link
        if carrier not in places:
            raise NameLookupError(
                f"rotor of joint {joint.name!r} is mounted on {carrier!r}, which is not a link; "
                f"the links are {', '.join(places)}."
            )
        link, T = places[carrier]
        inertia = _not_negative(rotor.inertia, f"rotor inertia of joint {joint.name!r}")
        ratio = scalar(rotor.ratio, f"gear ratio of joint {joint.name!r}")
        if rotor.axis is None:
            screw = _screw(joint)
            direction = screw[:3] if np.any(screw[:3] != 0) else screw[3:]
            s = times(times(inverse(home(link)), home(i))[:3, :3], direction)
        else:
            s = times(T[:3, :3], unit(rotor.axis, f"rotor axis of joint {joint.name!r}"))
        own = joints[i]
        rotors.append(JointRotor(i, own.dofs[0], link, inertia, ratio * own.scale, s, ratio))
    return tuple(rotors)


def _screw(joint: JointDescription) -> Array:
    if joint.A is None:
        raise InputError(f"joint {joint.name!r} of type {joint.type!r} has no screw axis.")
    name = f"screw axis of joint {joint.name!r}"
    return check_kind(check_screw(joint.A, name), joint.type, name)


def _not_negative(value: Scalar, name: str) -> Scalar:
    value = scalar(value, name)
    number = known_number(value)
    if number is not None and number < 0:
        raise InputError(f"{name} is {value}; expected >= 0.")
    return value
