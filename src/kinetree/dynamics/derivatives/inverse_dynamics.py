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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.coriolis_matrix import (
    Matrix,
    Spread,
    link_velocities,
    moving_bodies,
    rigid,
)
from kinetree.dynamics.inverse_dynamics import (
    LinkMotion,
    joint_wrenches,
    link_motions,
)
from kinetree.dynamics.joints.friction import (
    friction_slopes,
    motor_friction_slopes,
)
from kinetree.dynamics.tree import Pair, Step, Tree
from kinetree.model.quantity import quantity
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments
from kinetree.spatial.twist import split


class Wrench(NamedTuple):
    """Force f and moment n about the origin of a frame."""

    f: Array
    n: Array


@dataclass(frozen=True, eq=False)
class Change:
    """The three vectors of the acceleration's change."""

    x: Array
    y: Array
    z: Array

    def power(self, f: Array, n: Array, Q: Array) -> Any:
        """Power of the change with momentum (f, n), and with Q = 2 sum of m dr x j."""
        return self.z @ f + self.y @ n + self.x @ Q

    def wrench(self, body: Moments, twice: Spread) -> Wrench:
        """Wrench that a composite body needs; `twice` has 2 sum m dr and 2 sum m r dr^T."""
        f, n = body.momentum(self.y, self.z)
        return Wrench(f + cross(self.x, twice.dh), n + self.x * twice.trace - twice.K.T @ self.x)


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


def displaced(found: Wrench, through: Wrench, w: Array, l: Array) -> Wrench:
    """The change seen from the parent: the wrench through the joint moves along with the link."""
    f = found.f + cross(w, through.f)
    return Wrench(f, found.n + cross(w, through.n) + cross(l, through.f))


Carried = tuple[Pair, Array, Pair]  # momentum (f, n), Q, and the wrench of a unit move
Changes = tuple[Change, Change]  # with position and with rate
# of an ancestor with a joint: its row by q and dq, and its column by q and dq
Entries = tuple[Any, Any, Any, Any]


def changes_of(motion: LinkMotion, w: Array, l: Array) -> tuple[Change, Change]:
    """The changes for a unit move and for a unit rate of a joint along (w, l)."""
    return position_change(motion, w, l), rate_change(motion, w, l)


def needed_wrench(change: Change, body: Moments, twice: Spread) -> Pair:
    """The wrench that a composite body needs for a change: f and n."""
    wrench = change.wrench(body, twice)
    return wrench.f, wrench.n


def beyond_joint(
    body: Moments, twice: Spread, moves: Pair, through: Pair, w: Array, l: Array
) -> Carried:
    """What the ancestors of a joint are given of a unit move and rate along (w, l)."""
    seen = displaced(Wrench(*moves), Wrench(*through), w, l)
    return body.momentum(w, l), twice.moment(w, l), (seen.f, seen.n)


def slopes_inward(
    to: Step, u: Array, carried: Carried, turns: Pair, A: Array, changes: Sequence[Changes]
) -> tuple[Carried, Pair, list[Entries]]:
    """The same on the parent, and the entries of its joint with each of the axes A.

    u: velocity of the link's origin from the parent's.
    """
    (f, n), Q, moves = carried
    f, n = to.pair_inward(f, n)
    Q = to.inward(Q) + cross(2 * u, f)
    carried, turns = ((f, n), Q, to.pair_inward(*moves)), to.pair_inward(*turns)
    axes = zip(A.T, changes, strict=True)
    return carried, turns, [_between(axis, change, carried, turns) for axis, change in axes]


def _between(A: Array, changes: Changes, carried: Carried, turns: Pair) -> Entries:
    (f, n), Q, moves = carried
    w, l = split(A)
    moved, turned = changes
    rows = w @ moves[1] + l @ moves[0], w @ turns[1] + l @ turns[0]
    return *rows, moved.power(f, n, Q), turned.power(f, n, Q)


@quantity(
    "q dq ddq -> dtau_dq: n n, dtau_dv: n n",
    meaning=(
        "d tau/d q",
        "d tau/d dq",
    ),
    unit=(
        "N m/rad or the like",
        "N m s/rad or the like",
    ),
    formula="d tau/d q, d tau/d dq",
    wrenches=True,
    weighs=True,
    instead="robot.inverse_dynamics_derivatives does; or use a robot without them",
    slope_of=("inverse_dynamics", ("q", "dq")),
)
def inverse_dynamics_derivatives(tree: Tree, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """Derivatives of `inverse_dynamics`; q is moved along tangent vectors of `integrate`.

    Example:
        >>> robot.inverse_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[0].round(3)
        array([[-51.414, -25.053],
               [-22.033, -14.584]])
    """
    return _Slopes(tree, dq, ddq).matrices()


class _Slopes:
    """The two matrices as they are built up, joint by joint from the leaves inward."""

    def __init__(self, tree: Tree, dq: Array, ddq: Array) -> None:
        n = tree.model.n
        tree = tree.with_loads_in_frames()
        self.tree, self.dq, self.ddq = tree, dq, ddq
        motions = link_motions(tree, dq, ddq)
        self.omega, self.u = link_velocities(tree, dq)
        self.through = joint_wrenches(tree, motions)
        self.changes = [
            tuple(changes_of(motions[i], *split(A)) for A in link.A.T)
            for i, link in enumerate(tree.links)
        ]  # of every degree of freedom of every joint, with position and with rate
        self.by_q: Matrix = [[0] * n for _ in range(n)]
        self.by_dq: Matrix = [[0] * n for _ in range(n)]

    def matrices(self) -> tuple[Array, Array]:
        """Fill in all entries."""
        tree = self.tree
        for i, (spread, body) in moving_bodies(tree, self._spreads(), self.u, times=2):
            for k in range(len(tree.links[i].dofs)):
                self._add_joint(i, k, body, spread)
        for d, slope in enumerate(friction_slopes(tree.model, self.dq)):
            self.by_dq[d][d] = self.by_dq[d][d] + slope
        by_q, by_dq = self._with_springs()
        if tree.model.motors:
            by_dq = by_dq + motor_friction_slopes(tree.model, self.dq)
        return by_q, by_dq

    def _with_springs(self) -> tuple[Array, Array]:
        """Both matrices with the slopes of springs."""
        n, springs = self.tree.model.n, self.tree.springs
        by_q, by_dq = (np.array(x).reshape(n, n) for x in (self.by_q, self.by_dq))
        if springs is None:
            return by_q, by_dq
        of_q, of_dq = springs.slopes(self.dq)
        return by_q + of_q, by_dq + of_dq if springs.damped else by_dq

    def _spreads(self) -> dict[int, Spread]:
        """Twice the spread of every link's own points."""
        return self.tree.each(lambda link, i: rigid(link.body, 2 * self.omega[i]))

    def _add_joint(self, i: int, k: int, body: Moments, twice: Spread) -> None:
        """Add the entries of degree of freedom k of joint i with its own and all ancestors'."""
        by_q, by_dq, link = self.by_q, self.by_dq, self.tree.links[i]
        column, (w, l) = link.dofs[k], split(link.A[:, k])
        moves, turns = (needed_wrench(change, body, twice) for change in self.changes[i][k])
        for a, row in enumerate(link.dofs):
            w_a, l_a = split(link.A[:, a])
            by_q[row][column] = by_q[row][column] + w_a @ moves[1] + l_a @ moves[0]
            by_dq[row][column] = by_dq[row][column] + w_a @ turns[1] + l_a @ turns[0]
        # ancestors also see the wrench through the joint move along with the link
        carried = beyond_joint(body, twice, moves, self.through[i], w, l)
        for j in self.tree.path_inward(i)[:-1]:  # the last one hangs on the base
            to, p = self.tree.links[j].to, self.tree.links[j].parent
            above = self.tree.links[p]
            given = above.A, self.changes[p]
            carried, turns, found = slopes_inward(to, self.u[j], carried, turns, *given)
            for other, entries in zip(above.dofs, found, strict=True):
                by_q[other][column] = by_q[other][column] + entries[0]
                by_dq[other][column] = by_dq[other][column] + entries[1]
                by_q[column][other] = by_q[column][other] + entries[2]
                by_dq[column][other] = by_dq[column][other] + entries[3]
