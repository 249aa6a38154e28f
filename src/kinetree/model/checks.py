"""Structural and physical checks of a description, each with its message."""

from collections.abc import Sequence
from math import isnan
from numbers import Real

from kinetree.base.arrays import Array
from kinetree.base.tables import listing
from kinetree.description.records import (
    Friction,
    JointDescription,
    Limits,
    LinkDescription,
    Mimic,
    RobotDescription,
    Rotor,
)
from kinetree.errors import InertiaError, InputError, ModelError, NameLookupError, warn
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import physical_faults

UNPHYSICAL = ("error", "warn", "allow")


def check_unique(names: Sequence[str], kind: str) -> None:
    """Raise ModelError if two links, joints or frames have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"two {kind}s are called {name!r}; every {kind} needs its own name.")
        seen.add(name)


def check_tree(description: RobotDescription) -> str:
    """Raise unless links and joints form one tree; return the name of its root link."""
    check_unique([link.name for link in description.links], "link")
    check_unique([joint.name for joint in description.joints], "joint")
    links = {link.name for link in description.links}
    if not links:
        raise ModelError(f"{description.name!r} has no links; expected at least one.")
    parents: dict[str, JointDescription] = {}
    for joint in description.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                raise NameLookupError(
                    f"joint {joint.name!r} has {end} {link!r}, which is not a link; "
                    f"the links are {', '.join(sorted(links))}."
                )
        if joint.child in parents:
            raise ModelError(
                f"link {joint.child!r} is the child of two joints, "
                f"{parents[joint.child].name!r} and {joint.name!r}; a tree allows one "
                "(a loop of links is not a tree)."
            )
        parents[joint.child] = joint
    roots = [link.name for link in description.links if link.name not in parents]
    _check_loops(description.links, parents)
    if len(roots) > 1:
        raise ModelError(
            f"{description.name!r} has {len(roots)} roots, {listing(roots)}; expected "
            "one link without a parent. Connect the others by joints (of type 'fixed' if need be)."
        )
    return roots[0]


def _check_loops(links: Sequence[LinkDescription], parents: dict[str, JointDescription]) -> None:
    safe: set[str] = set()
    for link in links:
        trail = [link.name]
        while trail[-1] in parents and trail[-1] not in safe:
            trail.append(parents[trail[-1]].parent)
            if trail[-1] in trail[:-1]:
                loop = trail[trail.index(trail[-1]) :]
                raise ModelError(
                    f"the links {' -> '.join(map(repr, reversed(loop)))} form a loop; "
                    "expected a tree. Cut the loop at one of its joints."
                )
        safe.update(trail)


def check_unphysical(unphysical: str) -> None:
    """Raise ModelError unless `unphysical` is one of the words for it."""
    if unphysical not in UNPHYSICAL:
        raise ModelError(f"unphysical is {unphysical!r}; expected {', '.join(UNPHYSICAL)}.")


def check_link(name: str, m: Scalar, com: Array, I_com: Array, unphysical: str) -> str | None:
    """The fault of an impossible mass distribution as a sentence, or None; symbols are trusted."""
    faults = physical_faults(m, I_com)
    if not faults:
        return None
    message = f"link {name!r} is not a physical body: {'; '.join(faults)}."
    if unphysical == "error":
        raise InertiaError(f"{message} To use the numbers nevertheless, pass unphysical='warn'.")
    if unphysical == "warn":
        warn(message)
    return message


def check_joint(joint: JointDescription) -> None:
    """Raise unless friction, limits, rotor and mimic are records of their types, limits valid."""
    for field, kind, optional in (
        ("friction", Friction, False),
        ("limits", Limits, False),
        ("rotor", Rotor, True),
        ("mimic", Mimic, True),
    ):
        value = getattr(joint, field)
        if not (isinstance(value, kind) or (optional and value is None)):
            raise InputError(
                f"{field} of joint {joint.name!r} is {value!r}; expected a record {kind.__name__}"
                f"(...){' or None' if optional else ''}."
            )
    function = joint.friction.function
    if not (function is None or callable(function)):
        raise InputError(
            f"friction function of joint {joint.name!r} is {function!r}; expected a function b(dq)."
        )
    check_limits(joint)


def check_limits(joint: JointDescription) -> None:
    """Raise unless limits are numbers, lower <= upper, velocity and effort not negative."""
    limits = joint.limits
    for name in ("lower", "upper", "velocity", "effort"):
        value = getattr(limits, name)
        if not isinstance(value, Real) or isnan(value):
            raise ModelError(f"{name} limit of joint {joint.name!r} is {value}; expected a number.")
    if limits.lower > limits.upper:
        raise ModelError(
            f"joint {joint.name!r} has lower limit {limits.lower} above its upper limit "
            f"{limits.upper}; expected lower <= upper."
        )
    for name in ("velocity", "effort"):
        if getattr(limits, name) < 0:
            raise ModelError(
                f"{name} limit of joint {joint.name!r} is {getattr(limits, name)}; expected >= 0."
            )
