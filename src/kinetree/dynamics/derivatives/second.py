"""Second derivatives of y . tau, with tau of inverse dynamics and weights y, by composite bodies.

y . tau is the sum of m v . a over mass points, with v the velocity of a point for the joint rates y
and a its acceleration. A change of joint b, seen from {b}, changes for points r beyond it, which
move at dr relative to the origin of {b},

    v by  eta + psi x r,        a by  z + y x r + 2 x x dr

with x, y, z as in inverse_dynamics.py. For a move of the joint along its axis (w, l), with (psi_p,
eta_p) the twist for rates y of a joint at rest, psi = psi_p x w and eta = eta_p x w + psi_p x l.
A rate or an acceleration of the joint does not change v.

The first derivative is F . eta + N . psi + P . z + L . y + Q . x, with the wrench (F, N) through
the joint, the momentum (P, L) for rates y, and Q = 2 sum of m dr x v. A change of an ancestor a
changes those five and, since it moves the parent of b, the changes of b themselves. All of it is
linear in the change of a: a `Covector` of b, which is carried inward and multiplied with the
changes of every ancestor. Every pair of joints is met once, for q and dq together.

The order of two moves matters between the axes of one joint alone. Singh, Russo, Wensing (2022)
have the full tensors in 6-vectors.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.coriolis_matrix import (
    MovingBodies,
    VelocityMoments,
    moving_bodies,
    rigid_velocities,
)
from kinetree.dynamics.derivatives.inverse_dynamics import Change, changes_of, displaced
from kinetree.dynamics.inverse_dynamics import LinkMotion, joint_wrenches, link_motions
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.tree import JointTransform, Pair, Tree, TreeLink
from kinetree.model.inputs import zeros
from kinetree.model.joint import is_plain
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments
from kinetree.spatial.matrices import dense
from kinetree.spatial.se3 import split

ARGUMENTS = ("q", "dq", "ddq")
Blocks = dict[tuple[str, str], Array]


@dataclass(frozen=True, eq=False)
class Momentum:
    """Of the velocities v for rates y, over a composite body: P, and K = sum of m r v^T.

    Q: 2 sum of m dr x v.
    """

    velocities: VelocityMoments
    Q: Array

    @property
    def pair(self) -> Pair:
        """P and L, the angular part, which is the axial vector of K."""
        K = self.velocities.K
        L = np.array([K[1, 2] - K[2, 1], K[2, 0] - K[0, 2], K[0, 1] - K[1, 0]])
        return self.velocities.dh, L

    def __add__(self, other: "Momentum") -> "Momentum":
        return Momentum(self.velocities + other.velocities, self.Q + other.Q)

    def inward(self, to: JointTransform, u: Array) -> "Momentum":
        """The same on the parent; u: velocity of the link's origin from there."""
        P = to.inward(self.velocities.dh)
        K = to.matrix_inward(self.velocities.K) + np.outer(to.p, P)
        return Momentum(VelocityMoments(P, K), to.inward(self.Q) + cross(2 * u, P))


@dataclass(frozen=True, eq=False)
class Covectors:
    """What an axis gives to changes of its ancestors: factors of eta and psi, z and y, and x.

    of_v, of_a, of_x: those of a unit move of the axis. turn_v, turn_x: those of a unit rate, which
    has none of z and y. momentum: that of an acceleration, which has none of x either.
    """

    of_v: Pair
    of_a: Pair
    of_x: Array
    turn_v: Pair
    turn_x: Array
    momentum: Pair

    def inward(self, to: JointTransform, u: Array) -> "Covectors":
        """The same on the parent; u: velocity of the link's origin from the parent's."""
        of_v, of_a, turn_v, momentum = (
            to.pair_inward(*x) for x in (self.of_v, self.of_a, self.turn_v, self.momentum)
        )
        of_x = to.inward(self.of_x) + cross(2 * u, of_a[0])
        return Covectors(of_v, of_a, of_x, turn_v, to.inward(self.turn_x), momentum)

    def entries(self, other: "JointChanges") -> tuple[Any, ...]:
        """Entries of a joint b, ours, with an axis a, of the same joint or of an ancestor.

        q_b, dq_b and ddq_b by q_a, q_b and dq_b by dq_a, and q_b by ddq_a.
        """
        (eta, psi), x = other.twist, other.move.x

        def of_twist(pair: Pair) -> Any:
            return eta @ pair[0] + psi @ pair[1]

        return (
            of_twist(self.of_v) + other.move.power(*self.of_a, self.of_x),
            of_twist(self.turn_v) + x @ self.turn_x,
            of_twist(self.momentum),
            other.rate.power(*self.of_a, self.of_x),
            other.rate.x @ self.turn_x,
            other.l @ self.of_a[0] + other.w @ self.of_a[1],
        )


@dataclass(frozen=True, eq=False)
class JointChanges:
    """The changes for a unit move, rate and acceleration of an axis; (eta, psi) of the move."""

    twist: Pair
    move: Change
    rate: Change
    w: Array
    l: Array


def joint_changes(link: TreeLink, motion: LinkMotion, parent: Pair) -> list[JointChanges]:
    """The changes for every axis of a link's joint; parent: twist of the parent for rates y."""
    psi_p, eta_p = link.to.twist_outward(*parent)
    found = []
    for axis, (move, rate) in zip(link.A.T, changes_of(link, motion), strict=True):
        w, l = split(axis)
        twist = cross(eta_p, w) + cross(psi_p, l), cross(psi_p, w)
        found.append(JointChanges(twist, move, rate, w, l))
    return found


def covectors(
    motion: LinkMotion,
    change: JointChanges,
    body: Moments,
    twice: VelocityMoments,
    through: Pair,
    momentum: Momentum,
) -> Covectors:
    """What an axis of a joint gives to a change of an ancestor.

    The x-factor joins x . dQ with the terms of L that a turn of the parent adds: K^T x + x x L =
    K x.
    """
    (eta, psi), move, rate, w, l = change.twist, change.move, change.rate, change.w, change.l
    P, L = momentum.pair

    def spin(x: Array, c: Array) -> Array:
        return -2 * momentum.velocities.moment(x, c)

    of_v = displaced(move.wrench(body, twice), through, w, l)
    f, n = body.momentum(psi, eta)
    of_a = f + cross(w, P), n + cross(w, L) + cross(l, P)
    across = cross(motion.omega_p, l) + cross(w, motion.l)
    of_x = twice.moment(psi, eta) + spin(move.x, across) + cross(w, momentum.Q)
    turn_v = rate.wrench(body, twice)
    return Covectors(of_v, of_a, of_x, turn_v, spin(w, l), body.momentum(w, l))


def tree_second_derivatives(tree: Tree, dq: Array, ddq: Array, y: Array) -> Blocks:
    """d^2(y . tau)/d a d b of the links and loads of a tree, (n, n) each.

    Keys are pairs of ARGUMENTS in their order; (dq, ddq) and (ddq, ddq) are zero and left out. The
    first index of (q, q) is that of the derivative that is taken first.
    """
    motions = link_motions(tree, dq, ddq)
    through, twice = joint_wrenches(tree, motions), moving_bodies(tree, dq, times=2)
    twists, still = tree.twists(y), (zeros(3), zeros(3))
    changes = tree.each(lambda x, i: joint_changes(x, motions[i], twists.get(x.parent, still)))
    momenta = momenta_beyond(tree, twice, twists, y)
    n = tree.model.n
    pairs = [("q", "q"), ("q", "dq"), ("q", "ddq"), ("dq", "dq")]
    found: Blocks = {pair: np.zeros((n, n), object) for pair in pairs}

    def add(first: str, second: str, row: int, column: int, value: Any) -> None:
        block = found[first, second]
        block[row, column] = block[row, column] + value

    def own(i: int, _: TreeLink) -> list[Covectors]:
        body = twice.bodies[i], twice.velocities[i], through[i], momenta[i]
        return [covectors(motions[i], change, *body) for change in changes[i]]

    def carry(i: int, link: TreeLink, x: Covectors) -> Covectors:
        return x.inward(link.to, twice.u[i])

    for at in tree.couplings(own, carry):
        for m, a in enumerate(tree.links[at.link].dofs):
            b, values = at.dof, at.x.entries(changes[at.link][m])
            add("q", "q", b, a, values[0])
            add("q", "dq", a, b, values[1])
            add("q", "ddq", a, b, values[2])
            if at.axis is None:
                add("q", "q", a, b, values[0])
                add("q", "dq", b, a, values[3])
                add("q", "ddq", b, a, values[5])
            if at.axis == m:
                add("dq", "dq", b, b, values[4])
            else:  # both orders of the axes of one joint are met, and half of their sum is right
                rates = values[4] if at.axis is None else values[4] * 0.5
                add("dq", "dq", b, a, rates)
                add("dq", "dq", a, b, rates)
    return {pair: dense(block) for pair, block in found.items()}


def momenta_beyond(
    tree: Tree, twice: MovingBodies, twists: dict[int, Pair], y: Array
) -> dict[int, Momentum]:
    """Momenta of all bodies beyond each joint; those that the rates y move as one are one body.

    A rate that is written as 0 moves none.
    """
    moves = tree.each(lambda link, _: not all(is_plain(y[d], 0) for d in link.dofs))
    bent = dict.fromkeys(moves, False)  # whether y moves a joint beyond the link
    tree.gathered(bent, lambda i, _, x, parent: parent or x or moves[i])
    momenta = tree.each(
        lambda link, i: _momentum(
            link.body, rigid_velocities(link.body, 2 * twice.omega[i]), twists[i]
        )
    )

    def onto(i: int, link: TreeLink, x: Momentum, parent: Momentum) -> Momentum:
        return parent + x.inward(link.to, twice.u[i])

    for i, _ in tree.inward(momenta, onto):
        if not bent[i]:
            momenta[i] = _momentum(twice.bodies[i], twice.velocities[i], twists[i])
    return momenta


def _momentum(body: Moments, twice: VelocityMoments, twist: Pair) -> Momentum:
    """Momentum of bodies that the rates y move as one; `twice` has 2 sum m dr, 2 sum m r dr^T."""
    psi, eta = twist
    K = np.outer(body.h, eta) + body.Sigma @ skew(psi).T
    velocities = VelocityMoments(eta * body.m + cross(psi, body.h), K)
    return Momentum(velocities, twice.moment(psi, eta))


def passive_power(tree: Tree, dq: Array, ddq: Array, y: Array) -> Any:
    """y . tau of what `tree_second_derivatives` leaves out: friction and springs."""
    tau = friction_forces(tree.model, dq)
    return y @ (tau if tree.springs is None else tau + tree.springs.at(dq))
