"""What each kind of joint contributes: its screw axis in the child's frame, and its name."""

from typing import Any

import numpy as np

from kinetree.arrays import Array, is_numeric, scalar, unit
from kinetree.errors import ModelError
from kinetree.spatial.twist import screw

REVOLUTE, PRISMATIC, HELICAL = "revolute", "prismatic", "helical"
SPHERICAL, PLANAR, FREE, FIXED = "spherical", "planar", "free", "fixed"
SCREW_TYPES = (REVOLUTE, PRISMATIC, HELICAL)
JOINT_TYPES = (*SCREW_TYPES, SPHERICAL, PLANAR, FREE, FIXED)


def joint_screw(type: str, axis: Any, pitch: Any, point: Any, name: str) -> Array | None:
    """Screw axis A of a joint from its type, axis direction, pitch (m/rad) and a point on the axis.

    All are given in the child's frame; joints of other types have none.
    """
    if type not in JOINT_TYPES:
        raise ModelError(
            f"joint {name!r} has type {type!r}; expected one of {', '.join(JOINT_TYPES)}."
        )
    if type not in SCREW_TYPES:
        return None
    w = unit(axis, f"axis of joint {name!r}")
    if type == PRISMATIC:
        return screw((0, 0, 0), w, np.inf)
    return screw(point, w, scalar(pitch, f"pitch of joint {name!r}") if type == HELICAL else 0)


def joint_type(S: Array) -> str:
    """Kind of joint that moves along a screw axis."""
    w, v = S[:3], S[3:]
    if not np.any(w != 0):
        return PRISMATIC
    pitch = w @ v
    rounding = 1e-14 * float(np.linalg.norm(v)) if is_numeric(S) else 0
    is_zero = abs(pitch) <= rounding if is_numeric(S) else pitch == 0
    return REVOLUTE if is_zero else HELICAL
