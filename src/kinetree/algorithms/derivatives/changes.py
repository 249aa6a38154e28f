"""How the acceleration of every point beyond a joint changes with its position and with its rate.

Beyond joint b let a point stand at r from the origin of {b}, moving at dr relative to it. When the
joint moves by a unit twist (w, l) = A_k, or turns at a unit rate more, its acceleration changes,
seen from {b}, by

    z + y x r + 2 x x dr

position:  x = omega_p x w,  y = alpha_p x w + omega_p x x,
           z = a_p x w + alpha_p x l + omega_p x (omega_p x l) + 2 x x l'
rate:      x = w,            y = (omega_p + omega_b) x w,
           z = 2 omega_p x l + w x l' + w' x l

with (w', l') = A dq, the joint's own motion. Position means tangent coordinates: the pose of the
joint is multiplied from the right by the exponential of its twist, as in `integrate`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kinetree.algorithms.derivatives.motion import LinkMotion
from kinetree.algorithms.lean.coriolis_matrix import Spread
from kinetree.algorithms.lean.mass_matrix import momentum
from kinetree.algorithms.lean.model import Moments
from kinetree.base.arrays import Array
from kinetree.spatial import cross


class Wrench(NamedTuple):
    """Force f and moment n about the origin of the frame at hand."""

    f: Array
    n: Array


@dataclass(frozen=True, eq=False)
class Change:
    """The three vectors of the acceleration's change."""

    x: Array
    y: Array
    z: Array

    def meets(self, f: Array, n: Array, Q: Array) -> object:
        """Power of the change with momentum (f, n), and with Q = 2 sum of m dr x j."""
        return self.z @ f + self.y @ n + self.x @ Q


def position_change(motion: LinkMotion, w: Array, l: Array) -> Change:
    """Of a unit move of the joint along (w, l)."""
    omega, alpha = motion.omega_p, motion.alpha_p
    x = cross(omega, w)
    along = cross(alpha, l) + cross(omega, cross(omega, l))
    z = cross(motion.a_p, w) + along + 2 * cross(x, motion.l)
    return Change(x, cross(alpha, w) + cross(omega, x), z)


def rate_change(motion: LinkMotion, w: Array, l: Array) -> Change:
    """Of a unit rate of the joint along (w, l)."""
    z = 2 * cross(motion.omega_p, l) + cross(w, motion.l) + cross(motion.w, l)
    return Change(w, cross(motion.omega_p, w) + cross(motion.omega, w), z)


def wrench_of(change: Change, body: Moments, twice: Spread) -> Wrench:
    """What the change asks of a composite body; `twice` has 2 sum m dr and 2 sum m r dr^T."""
    f, n = momentum(body, change.y, change.z)
    K, x = twice.K, change.x
    trace = K[0, 0] + K[1, 1] + K[2, 2]
    return Wrench(f + cross(x, twice.dh), n + x * trace - K.T @ x)


def displaced(found: Wrench, through: Wrench, w: Array, l: Array) -> Wrench:
    """The change seen from the parent: the wrench through the joint moves along with the link."""
    f = found.f + cross(w, through.f)
    return Wrench(f, found.n + cross(w, through.n) + cross(l, through.f))
