"""How a lean link moves: vectors into the child and back, without ever forming a 3x3 product."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.lean.model import LeanLink
from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, REVOLUTE, SCREW_TYPES
from kinetree.model import joint_pose
from kinetree.scalars import cos, sin


@dataclass(frozen=True, eq=False)
class Turn:
    """Rotation about z by an angle, given as its cosine and sine."""

    c: Any
    s: Any

    def outward(self, x: Array) -> Array:
        """A vector of the unturned frame, seen from the turned one."""
        return np.array([self.c * x[0] + self.s * x[1], self.c * x[1] - self.s * x[0], x[2]])

    def inward(self, x: Array) -> Array:
        """A vector of the turned frame, seen from the unturned one."""
        return np.array([self.c * x[0] - self.s * x[1], self.s * x[0] + self.c * x[1], x[2]])


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rotation by a full matrix."""

    R: Array

    def outward(self, x: Array) -> Array:
        """A vector of the unturned frame, seen from the turned one."""
        return self.R.T @ x

    def inward(self, x: Array) -> Array:
        """A vector of the turned frame, seen from the unturned one."""
        return self.R @ x


@dataclass(frozen=True, eq=False)
class Step:
    """The way from the parent to a link at one position: constant R, then the joint's turn; p."""

    R: Array
    turn: Turn | Matrix | None
    p: Array

    def outward(self, x: Array) -> Array:
        """A vector of the parent, seen from the link."""
        x = self.R.T @ x
        return x if self.turn is None else self.turn.outward(x)

    def inward(self, x: Array) -> Array:
        """A vector of the link, seen from the parent."""
        return self.R @ (x if self.turn is None else self.turn.inward(x))


def step(link: LeanLink, q: Array) -> Step:
    """The step to a link; q is the whole vector of positions."""
    joint, place = link.joint, link.place
    own = q[list(joint.coords)]
    if link.kind not in SCREW_TYPES:
        T = joint_pose(joint, own)
        return Step(place.R, Matrix(T[:3, :3]), place.p + place.R @ T[:3, 3])
    z = place.R[:, 2]
    c_0, s_0 = place.turn
    if link.kind == PRISMATIC:
        turn = None if (c_0, s_0) == (1, 0) else Turn(c_0, s_0)
        return Step(place.R, turn, place.p + z * (own[0] * joint.scale + joint.offset))
    angle = own[0] * joint.scale
    c, s = compose((cos(angle), sin(angle)), (c_0, s_0))
    if joint.offset != 0:
        c, s = compose((c, s), (cos(joint.offset), sin(joint.offset)))
    p = place.p if link.kind == REVOLUTE else place.p + z * ((angle + joint.offset) * link.pitch)
    return Step(place.R, Turn(c, s), p)


def compose(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """Cosine and sine of the sum of two angles given by theirs."""
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def subspace(link: LeanLink) -> Array:
    """Twist of the link in its lean frame for unit rates, (6, k)."""
    if link.kind == PRISMATIC:
        return np.array([[0, 0, 0, 0, 0, 1]]).T * link.joint.scale
    if link.kind in SCREW_TYPES:
        return np.array([[0, 0, 1, 0, 0, link.pitch]]).T * link.joint.scale
    return link.joint.A
