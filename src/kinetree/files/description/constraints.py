"""Constraints between the parts of a robot: closed loops, held frames, coupled joints, rods.

Each record names the frames or joints that are tied together, and how. `Robot.constrained` takes
them by name and gives a robot whose forward and inverse dynamics honour them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from kinetree.core.arrays import ArrayLike
from kinetree.core.records import number
from kinetree.scalars import Scalar

__all__ = ["Couple", "Hold", "Loop", "Rod"]

LoopKind = Literal["point", "axis", "plane", "pose"]
HoldKind = Literal["point", "pose"]
AxisName = Literal["x", "y", "z"]


@dataclass(frozen=True)
class Loop:
    """A closed loop: two frames of different links that are joined.

    "point": the origins coincide (a ball joint, 3 equations). "axis": the origins and one axis of
    each frame coincide (a hinge, 5 equations). "plane": the planes through the origins,
    perpendicular to one axis of each frame, coincide (3 equations). "pose": the frames coincide
    (a weld, 6 equations).

    Args:
        frame_a: name of a frame; forces of the loop are given in its axes.
        frame_b: name of a frame of another link; the forces act on it, the opposite on frame_a.
        kind: "point", "axis", "plane" or "pose".
        axis: "x", "y" or "z" of both frames: the hinge of "axis", the normal of "plane".
    """

    frame_a: str
    frame_b: str
    kind: LoopKind = "point"
    axis: AxisName = "z"


@dataclass(frozen=True)
class Hold:
    """A frame that is held in {s}: its origin, or its whole pose.

    Args:
        frame: name of the frame.
        kind: "point" (3 equations) or "pose" (6 equations).
        at: position in {s}, shape (3,), m, or pose in {s}, shape (4, 4). Forces of the constraint
            act on the frame and are given in the axes of this pose.
    """

    frame: str
    kind: HoldKind
    at: ArrayLike


@dataclass(frozen=True)
class Couple:
    """A joint whose position is a polynomial of the positions of other joints (1 equation).

    q_joint = offset + sum over the others of c_1 q + c_2 q^2 + ... A joint that follows another one
    counts with the position at which it stands.

    Args:
        joint: name of a joint of one degree of freedom.
        by: {name of another joint: c_1, or (c_1, c_2, ...)}, in units of the joint (rad or m) per
            power of the unit of the other; {} keeps the joint at the offset.
        offset: constant part, rad or m.
    """

    joint: str
    by: Mapping[str, Scalar | Sequence[Scalar]]
    offset: Scalar = number("rad or m", default=0)


@dataclass(frozen=True)
class Rod:
    """A rigid rod without mass between the origins of two frames (1 equation).

    Args:
        frame_a: name of a frame.
        frame_b: name of a frame of another link.
        length: distance of the origins, m. The force of the rod is positive if it pushes.
    """

    frame_a: str
    frame_b: str
    length: Scalar = number("m (origins that coincide are a Loop of kind 'point')", "above 0")


Constraint = Loop | Hold | Couple | Rod


@dataclass(frozen=True)
class Constrained:
    """Constraints that a file has, by name, over the frames and joints of its tree.

    Args:
        constraints: by name.
        actuated: names of the joints with motors; None: all.
        near: positions of joints near which the constraints can be closed, by joint, as in q;
            joints that are not named are at zero.
    """

    constraints: Mapping[str, Constraint]
    actuated: tuple[str, ...] | None = None
    near: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])


def shifted(c: Sequence[float], r: float) -> list[float]:
    """Coefficients of p(x + r), lowest first, for those of p(x)."""
    p = np.polynomial.Polynomial(c)
    moved = p(np.polynomial.Polynomial([r, 1.0])).coef.tolist()
    return moved + [0.0] * (len(c) - len(moved))
