"""The sliders that move a robot; they begin at its rest position.

Joints of one degree of freedom have one slider; quaternions have three, for roll, pitch and yaw.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.configuration import rest_position
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES
from kinetree.files.write.urdf import roll_pitch_yaw
from kinetree.model import Model
from kinetree.spatial.so3 import quaternion_rotation


@dataclass(frozen=True)
class Handle:
    """A slider for entry `coord` of q; low, high and start in rad or m.

    turn: None, or which angle (0 roll, 1 pitch, 2 yaw) of the quaternion that begins at `coord`.
    """

    label: str
    joint: int
    coord: int
    turn: int | None
    unit: str
    low: float
    high: float
    start: float


def handles(model: Model, extent: float, q: Array | None = None) -> Iterator[Handle]:
    """One slider per degree of freedom, in the order of q, between the joint's limits.

    q: where the sliders begin, (nq,); None: the position of rest.
    """
    q = rest_position(model) if q is None else q
    for i in model.links:
        joint = model.joints[i]
        if joint.follows is not None:
            continue
        c = joint.coords
        if joint.type in SCREW_TYPES:
            slides = joint.type == PRISMATIC
            low, high = _range(joint.limits.lower, joint.limits.upper, extent if slides else pi)
            unit = "m" if slides else "rad"
            yield Handle(joint.name, i, c[0], None, unit, low, high, float(q[c[0]]))
        elif joint.type == PLANAR:
            yield Handle(f"{joint.name}.theta", i, c[0], None, "rad", -pi, pi, float(q[c[0]]))
            for k, axis in ((1, "x"), (2, "y")):
                label, start = f"{joint.name}.{axis}", float(q[c[k]])
                yield Handle(label, i, c[k], None, "m", -extent, extent, start)
        else:
            R = np.asarray(quaternion_rotation(q[list(c[:4])]), float)
            turns = zip(("roll", "pitch", "yaw"), roll_pitch_yaw(R), strict=True)
            for k, (angle, start) in enumerate(turns):
                yield Handle(f"{joint.name}.{angle}", i, c[0], k, "rad", -pi, pi, float(start))
            for k, axis in enumerate("xyz" if joint.type == FREE else ""):
                label, start = f"{joint.name}.{axis}", float(q[c[4 + k]])
                yield Handle(label, i, c[4 + k], None, "m", -extent, extent, start)


def _range(low: float, high: float, usual: float) -> tuple[float, float]:
    """The limits; a missing limit is replaced so that the range is at least `usual` wide."""
    if isfinite(low) and isfinite(high):
        return low, high
    if isfinite(low):
        return low, max(usual, low + usual)
    return (min(-usual, high - usual), high) if isfinite(high) else (-usual, usual)
