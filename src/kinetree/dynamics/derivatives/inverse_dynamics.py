"""d tau / d q and d tau / d dq by composite bodies.

Let a point beyond joint b be at r from the origin of {b}, moving at dr relative to it. When the
joint moves by a unit twist (w, l) = A_k, or turns at a unit rate more, its acceleration changes,
seen from {b}, by

    z + y x r + 2 x x dr

position:  x = omega_p x w,  y = alpha_p x w + omega_p x x,
           z = a_p x w + alpha_p x l + omega_p x (omega_p x l) + 2 x x l'
rate:      x = w,            y = (omega_p + omega_b) x w,
           z = 2 omega_p x l + w x l' + w' x l

with (w', l') = A dq, the joint's own motion. Position means tangent coordinates: the pose of the
joint is multiplied from the right by the exponential of its twist, as in `integrate`.

Summed over mass points, the change needs the composite body (m, h, Sigma) and the spread of its
velocities, which are carried inward together. The entry of a row a beyond b is the power of the
change with the momentum of unit rate of a. That of a row a before b is the force at a of the wrench
that the change needs, to which the motion of the wrench through joint b is added. Unrelated joints
give exact zeros. Singh, Russo, Wensing (2022) have the same sums in 6-vectors.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.coriolis_matrix import VelocityMoments, moving_bodies
from kinetree.dynamics.inverse_dynamics import LinkMotion, joint_wrenches, link_motions
from kinetree.dynamics.joints.friction import friction_slopes
from kinetree.dynamics.tree import Pair, Tree, TreeLink
from kinetree.model.quantity import quantity
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments
from kinetree.spatial.matrices import dense
from kinetree.spatial.se3 import split


@dataclass(frozen=True, eq=False)
class Change:
    """The three vectors of the acceleration's change."""

    x: Array
    y: Array
    z: Array

    def power(self, f: Array, n: Array, Q: Array) -> Any:
        """Power of the change with momentum (f, n), and with Q = 2 sum of m dr x j."""
        return self.z @ f + self.y @ n + self.x @ Q

    def wrench(self, body: Moments, twice: VelocityMoments) -> Pair:
        """Wrench that a composite body needs; `twice` has 2 sum m dr and 2 sum m r dr^T."""
        f, n = body.momentum(self.y, self.z)
        return f + cross(self.x, twice.dh), n + self.x * twice.trace - twice.K.T @ self.x


def position_change(motion: LinkMotion, w: Array, l: Array) -> Change:
    """Change for a unit move of the joint along (w, l)."""
    omega, alpha = motion.omega_p, motion.alpha_p
    x = cross(omega, w)
    along = cross(alpha, l) + cross(omega, cross(omega, l))
    z = cross(motion.a_p, w) + along + 2 * cross(x, motion.l)
    return Change(x, cross(alpha, w) + cross(omega, x), z)


def rate_change(motion: LinkMotion, w: Array, l: Array) -> Change:
    """Change for a unit rate of the joint along (w, l)."""
    z = 2 * cross(motion.omega_p, l) + cross(w, motion.l) + cross(motion.w, l)
    return Change(w, cross(motion.omega_p, w) + cross(motion.omega, w), z)


def displaced(found: Pair, through: Pair, w: Array, l: Array) -> Pair:
    """The change seen from the parent: the wrench through the joint moves along with the link."""
    (f, n), (f_through, n_through) = found, through
    return f + cross(w, f_through), n + cross(w, n_through) + cross(l, f_through)


def changes_of(link: TreeLink, motion: LinkMotion) -> list[tuple[Change, Change]]:
    """The changes for a unit move and for a unit rate of every axis of a link's joint."""
    axes = [split(axis) for axis in link.A.T]
    return [(position_change(motion, w, l), rate_change(motion, w, l)) for w, l in axes]


@dataclass(frozen=True, eq=False)
class Carried:
    """What a joint gives its ancestors: momentum and Q of its unit rate, and two wrenches.

    moves, turns: the wrenches that the changes by a unit move and by a unit rate need.
    """

    momentum: Pair
    Q: Array
    moves: Pair
    turns: Pair


@quantity(
    "q dq ddq -> dtau_dq: n n, dtau_dv: n n",
    wrenches=True,
    weighs=True,
    instead="robot.inverse_dynamics_derivatives does; or use a robot without them",
    slope_of=("inverse_dynamics", ("q", "dq")),
)
def inverse_dynamics_derivatives(tree: Tree, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """Derivatives of `inverse_dynamics`; q is moved along tangent vectors of `integrate`.

    Returns:
        dtau_dq: d tau/d q [N m/rad or the like].
        dtau_dv: d tau/d dq [N m s/rad or the like].

    Example:
        >>> robot.inverse_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[0].round(3)
        array([[-51.414, -25.053],
               [-22.033, -14.584]])
    """
    n, motions = tree.model.n, link_motions(tree, dq, ddq)
    through = joint_wrenches(tree, motions)
    twice = moving_bodies(tree, dq, times=2)
    changes = tree.each(lambda link, i: changes_of(link, motions[i]))
    by_q, by_dq = (np.zeros((n, n), object) for _ in range(2))

    def add(link: TreeLink, column: int, moves: Pair, turns: Pair) -> None:
        for row, (w, l) in zip(link.dofs, map(split, link.A.T), strict=True):
            by_q[row, column] = by_q[row, column] + w @ moves[1] + l @ moves[0]
            by_dq[row, column] = by_dq[row, column] + w @ turns[1] + l @ turns[0]

    def own(i: int, link: TreeLink) -> list[Carried]:
        body, velocities, given = twice.bodies[i], twice.velocities[i], []
        for d, axis, of in zip(link.dofs, link.A.T, changes[i], strict=True):
            (w, l), (moves, turns) = split(axis), (x.wrench(body, velocities) for x in of)
            add(link, d, moves, turns)
            # ancestors also see the wrench through the joint move along with the link
            moves = displaced(moves, through[i], w, l)
            given.append(Carried(body.momentum(w, l), velocities.moment(w, l), moves, turns))
        return given

    def carry(i: int, link: TreeLink, x: Carried) -> Carried:
        f, n = link.to.pair_inward(*x.momentum)
        Q = link.to.inward(x.Q) + cross(2 * twice.u[i], f)
        moves, turns = (link.to.pair_inward(*pair) for pair in (x.moves, x.turns))
        return Carried((f, n), Q, moves, turns)

    for at in tree.couplings(own, carry):
        if at.axis is None:
            link, row, x = tree.links[at.link], at.dof, at.x
            add(link, row, x.moves, x.turns)
            for column, (moved, turned) in zip(link.dofs, changes[at.link], strict=True):
                by_q[row, column] = by_q[row, column] + moved.power(*x.momentum, x.Q)
                by_dq[row, column] = by_dq[row, column] + turned.power(*x.momentum, x.Q)
    return _with_passive_slopes(tree, dq, by_q, by_dq)


def _with_passive_slopes(tree: Tree, dq: Array, by_q: Array, by_dq: Array) -> tuple[Array, Array]:
    """Both matrices with the slopes of friction and springs."""
    by_q, by_dq = dense(by_q), dense(by_dq + friction_slopes(tree.model, dq))
    if tree.springs is not None:
        of_q, of_dq = tree.springs.slopes(dq)
        by_q, by_dq = by_q + of_q, by_dq + of_dq if tree.springs.damped else by_dq
    return by_q, by_dq
