"""Types of joints, and the screw axis of those that have one degree of freedom."""

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, known, length, scalar, times, unit
from kinetree.errors import ModelError
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import screw_through

REVOLUTE, PRISMATIC, HELICAL = "revolute", "prismatic", "helical"
SPHERICAL, PLANAR, FREE, FIXED = "spherical", "planar", "free", "fixed"
SCREW_TYPES = (REVOLUTE, PRISMATIC, HELICAL)
JOINT_TYPES = (*SCREW_TYPES, SPHERICAL, PLANAR, FREE, FIXED)


def joint_screw(
    type: str, axis: ArrayLike, pitch: Scalar, point: ArrayLike, name: str
) -> Array | None:
    """Screw axis of a joint, see `screw_axis`; None for types that have no axis."""
    if type not in JOINT_TYPES:
        raise ModelError(
            f"joint {name!r} has type {type!r}; expected one of {', '.join(JOINT_TYPES)}."
        )
    return screw_axis(type, axis, pitch, point, name) if type in SCREW_TYPES else None


def screw_axis(type: str, axis: ArrayLike, pitch: Scalar, point: ArrayLike, name: str) -> Array:
    """Screw axis A from the joint's type, axis direction, pitch (m/rad) and a point on the axis.

    All are given in the child's frame.
    """
    # the division of the first call may leave more than the rounding of a second one
    w = unit(unit(axis, f"axis of joint {name!r}"), f"axis of joint {name!r}")
    if type == PRISMATIC:
        return np.concatenate([np.zeros(3, int), w])
    place = array(point, (3,), f"point on the axis of joint {name!r}")
    return screw_through(
        place, w, scalar(pitch, f"pitch of joint {name!r}") if type == HELICAL else np.float64(0)
    )


def joint_type(S: Array) -> str:
    """Type of the joint that moves along a screw axis."""
    if not np.any(S[:3] != 0):
        return PRISMATIC
    return REVOLUTE if _has_no_pitch(S) else HELICAL


def check_kind(S: Array, type: str, name: str) -> Array:
    """`S`; raise unless it fits the type: a slide does not turn, a hinge has no pitch."""
    w, v = S[:3], S[3:]
    turns = bool(np.any(w != 0))
    fits = not turns if type == PRISMATIC else turns
    if not fits or (type == REVOLUTE and known(S) is not None and not _has_no_pitch(S)):
        pitch = f"pitch {float(times(w, v)):.6g}" if turns else "a translation"
        text = f"{name} is {S.tolist()}, {pitch}, which does not fit the type {type!r}"
        raise ModelError(f"{text}; prismatic: w = 0, revolute: w . v = 0, helical: |w| = 1.")
    return S


def _has_no_pitch(S: Array) -> bool:
    """Return True if w . v = 0; for numbers to 1e-12 m/rad, the rounding of changes of frame."""
    pitch, values = times(S[:3], S[3:]), known(S)
    if values is None:
        return bool(pitch == 0)
    return abs(float(pitch)) <= 1e-12 * max(1.0, float(length(values[3:])))
