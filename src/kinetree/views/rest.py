"""The sliders that move a robot; they begin at its rest position.

Joints of one degree of freedom have one slider; quaternions have three, for roll, pitch and yaw.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, pi

from kinetree.algorithms.configuration import rest_position
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES
from kinetree.model import Model


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


def handles(model: Model, extent: float) -> Iterator[Handle]:
    """One slider per degree of freedom, in the order of q, between the joint's limits."""
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
    """The limits; a missing limit is replaced so that the range is at least `usual` wide."""
    if isfinite(low) and isfinite(high):
        return low, high
    if isfinite(low):
        return low, max(usual, low + usual)
    return (min(-usual, high - usual), high) if isfinite(high) else (-usual, usual)
