"""Where a robot stands when nobody says otherwise, and how far each coordinate may be moved."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from kinetree.algorithms import neutral
from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES
from kinetree.model import Model


@dataclass(frozen=True)
class Handle:
    """Something to pull at: entry `coord` of q; low, high and start in rad or m.

    Where `turn` is given, an angle (0 roll, 1 pitch, 2 yaw) of the quaternion that begins there.
    """

    label: str
    joint: int
    coord: int
    turn: int | None
    unit: str
    low: float
    high: float
    start: float


def rest_position(model: Model) -> Array:
    """Every joint at zero, or midway between its limits where zero lies outside them, (nq,)."""
    q = np.asarray(neutral(model), float)
    for joint in model.joints:
        if joint.follows is None and joint.type in SCREW_TYPES:
            low, high = joint.limits.lower, joint.limits.upper
            if not low <= q[joint.coords[0]] <= high:
                q[joint.coords[0]] = np.clip((low + high) / 2, low, high)
    return q


def handles(model: Model, extent: float) -> Iterator[Handle]:
    """One handle a degree of freedom, in the order of q, between the joint's limits."""
    q = rest_position(model)
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
            yield Handle(f"{joint.name}.theta", i, c[0], None, "rad", -pi, pi, 0.0)
            for k, axis in ((1, "x"), (2, "y")):
                yield Handle(f"{joint.name}.{axis}", i, c[k], None, "m", -extent, extent, 0.0)
        else:
            for k, angle in enumerate(("roll", "pitch", "yaw")):
                yield Handle(f"{joint.name}.{angle}", i, c[0], k, "rad", -pi, pi, 0.0)
            for k, axis in enumerate("xyz" if joint.type == FREE else ""):
                yield Handle(f"{joint.name}.{axis}", i, c[4 + k], None, "m", -extent, extent, 0.0)


def _range(low: float, high: float, usual: float) -> tuple[float, float]:
    """The limits, or a usual stretch where one is missing."""
    if isfinite(low) and isfinite(high):
        return low, high
    if isfinite(low):
        return low, max(usual, low + usual)
    return (min(-usual, high - usual), high) if isfinite(high) else (-usual, usual)
