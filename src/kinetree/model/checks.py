"""Structural and physical checks of a description, each with its message."""

from math import isnan
from numbers import Real

from kinetree.base.arrays import Array
from kinetree.errors import InertiaError, InputError, ModelError, warn
from kinetree.files.description.friction import Friction
from kinetree.files.description.records import (
    JointDescription,
    Limits,
    Mimic,
    Rotor,
)
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import physical_faults

UNPHYSICAL = ("error", "warn", "allow")


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
