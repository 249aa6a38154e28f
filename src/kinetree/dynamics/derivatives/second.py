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
    Matrix,
    Spread,
    link_velocities,
    moving_bodies,
    rigid,
)
from kinetree.dynamics.derivatives.inverse_dynamics import (
    Change,
    Wrench,
    changes_of,
    displaced,
)
from kinetree.dynamics.inverse_dynamics import (
    LinkMotion,
    joint_wrenches,
    link_motions,
)
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.tree import Pair, Step, Tree, TreeLink
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.model.joint import is_plain
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments
from kinetree.spatial.twist import split

ARGUMENTS = ("q", "dq", "ddq")
Blocks = dict[tuple[str, str], Array]


@dataclass(frozen=True, eq=False)
class Virtual:
    """Twist of link i for joint rates y, in {i}: that of a joint at rest, and the link's own."""

    psi_p: Array
    eta_p: Array
    psi: Array
    eta: Array


@dataclass(frozen=True, eq=False)
class Momentum:
    """Of the velocities v for rates y, over a composite body: P, and K = sum of m r v^T.

    Q: 2 sum of m dr x v.
    """

    spread: Spread
    Q: Array

    @property
    def pair(self) -> Pair:
        """P and L, the angular part, which is the axial vector of K."""
        K = self.spread.K
        L = np.array([K[1, 2] - K[2, 1], K[2, 0] - K[0, 2], K[0, 1] - K[1, 0]])
        return self.spread.dh, L


@dataclass(frozen=True, eq=False)
class Covector:
    """Factors of the changes of an ancestor: (of eta, psi), (of z, y), and of x."""

    of_v: Pair
    of_a: Pair
    of_x: Array


@dataclass(frozen=True, eq=False)
class JointChanges:
    """The changes for a unit move, rate and acceleration of an axis; (eta, psi) of the move."""

    twist: Pair
    move: Change
    rate: Change
    w: Array
    l: Array


def virtual_twist(to: Step, A: Array, parent: Virtual, rate: Array) -> Virtual:
    """The twist of a link for rates y, from that of its parent."""
    w, l = split(A @ rate)
    psi_p, eta_p = to.outward(parent.psi), to.outward(parent.eta + cross(parent.psi, to.p))
    return Virtual(psi_p, eta_p, psi_p + w, eta_p + l)


def joint_changes(motion: LinkMotion, virtual: Virtual, A: Array) -> JointChanges:
    """The changes for an axis A of a joint."""
    w, l = split(A)
    move, rate = changes_of(motion, w, l)
    eta = cross(virtual.eta_p, w) + cross(virtual.psi_p, l)
    return JointChanges((eta, cross(virtual.psi_p, w)), move, rate, w, l)


def rigid_momentum(body: Moments, twice: Spread, virtual: Virtual) -> Momentum:
    """Momentum of bodies that the rates y move as one; `twice` has 2 sum m dr, 2 sum m r dr^T."""
    h, psi, eta = body.h, virtual.psi, virtual.eta
    spread = Spread(eta * body.m + cross(psi, h), np.outer(h, eta) + body.Sigma @ skew(psi).T)
    return Momentum(spread, twice.moment(psi, eta))


def added_momentum(to: Step, u: Array, x: Momentum, parent: Momentum) -> Momentum:
    """A momentum added to that of the parent; u: velocity of the link's origin from there."""
    P = to.inward(x.spread.dh)
    spread = Spread(P, to.matrix_inward(x.spread.K) + np.outer(to.p, P))
    return Momentum(parent.spread + spread, parent.Q + to.inward(x.Q) + cross(2 * u, P))


def covectors(
    motion: LinkMotion, change: JointChanges, body: Moments, twice: Spread, through: Pair,
    momentum: Momentum,
) -> tuple[Covector, Covector, Pair]:  # fmt: skip
    """What a move, a rate and an acceleration of a joint give for a change of an ancestor.

    The last two have no factors of z and y, and the last none of x. The x-factor joins x . dQ with
    the terms of L that a turn of the parent adds: K^T x + x x L = K x.
    """
    (eta, psi), move, rate, w, l = change.twist, change.move, change.rate, change.w, change.l
    P, L = momentum.pair

    def spin(x: Array, c: Array) -> Array:
        return -2 * momentum.spread.moment(x, c)

    seen = displaced(move.wrench(body, twice), Wrench(*through), w, l)
    f, n = body.momentum(psi, eta)
    of_a = f + cross(w, P), n + cross(w, L) + cross(l, P)
    across = cross(motion.omega_p, l) + cross(w, motion.l)
    of_x = twice.moment(psi, eta) + spin(move.x, across) + cross(w, momentum.Q)
    needed = rate.wrench(body, twice)
    rates = Covector((needed.f, needed.n), (zeros(3), zeros(3)), spin(w, l))
    return Covector((seen.f, seen.n), of_a, of_x), rates, body.momentum(w, l)


def pass_covectors(
    to: Step, u: Array, move: Covector, rate: Covector, momentum: Pair
) -> tuple[Covector, Covector, Pair]:
    """The same on the parent; u: velocity of the link's origin from the parent's."""
    of_a = to.pair_inward(*move.of_a)
    of_x = to.inward(move.of_x) + cross(2 * u, of_a[0])
    moved = Covector(to.pair_inward(*move.of_v), of_a, of_x)
    turned = Covector(to.pair_inward(*rate.of_v), rate.of_a, to.inward(rate.of_x))
    return moved, turned, to.pair_inward(*momentum)


def second_entries(
    move: Covector, rate: Covector, momentum: Pair, other: JointChanges
) -> tuple[Any, ...]:
    """Entries of a joint b with an axis a, its own or an ancestor's.

    q_b, dq_b and ddq_b by q_a, q_b and dq_b by dq_a, and q_b by ddq_a.
    """
    (eta, psi), x = other.twist, other.move.x

    def of_twist(pair: Pair) -> Any:
        return eta @ pair[0] + psi @ pair[1]

    def of_change(change: Change) -> Any:
        return change.power(*move.of_a, move.of_x)

    by_q = (
        of_twist(move.of_v) + of_change(other.move),
        of_twist(rate.of_v) + x @ rate.of_x,
        of_twist(momentum),
    )
    by_rate = of_change(other.rate), other.rate.x @ rate.of_x
    return *by_q, *by_rate, other.l @ move.of_a[0] + other.w @ move.of_a[1]


def tree_second_derivatives(tree: Tree, dq: Array, ddq: Array, y: Array) -> Blocks:
    """d^2(y . tau)/d a d b of the links and loads of a tree, (n, n) each.

    Keys are pairs of ARGUMENTS in their order; (dq, ddq) and (ddq, ddq) are zero and left out. The
    first index of (q, q) is that of the derivative that is taken first.
    """
    tree = tree.with_loads_in_frames()
    motions = link_motions(tree, dq, ddq)
    omega, u = link_velocities(tree, dq)
    through = joint_wrenches(tree, motions)
    virtual = virtual_twists(tree, y)
    changes = [
        [joint_changes(motions[i], virtual[i], A) for A in link.A.T]
        for i, link in enumerate(tree.links)
    ]
    n = tree.model.n
    found: dict[tuple[str, str], Matrix] = {
        pair: [[0] * n for _ in range(n)]
        for pair in [("q", "q"), ("q", "dq"), ("q", "ddq"), ("dq", "dq")]
    }
    spreads = {i: rigid(link.body, 2 * omega[i]) for i, link in enumerate(tree.links)}
    links = enumerate(tree.links)
    momenta = {i: rigid_momentum(link.body, spreads[i], virtual[i]) for i, link in links}
    parents = [tree.links[i].parent for i in moved_links(tree, y)]
    bent = {i for parent in parents for i in tree.path_inward(parent)}  # y moves a joint beyond
    for i, (twice, body) in moving_bodies(tree, spreads, u, times=2):
        if i not in bent:
            momenta[i] = rigid_momentum(body, twice, virtual[i])
        for k in range(len(tree.links[i].dofs)):
            carried = covectors(motions[i], changes[i][k], body, twice, through[i], momenta[i])
            _add_joint(tree, found, changes, u, (i, k), carried)
        link = tree.links[i]
        if link.parent > WORLD:
            above = momenta[link.parent]
            momenta[link.parent] = added_momentum(link.to, u[i], momenta[i], above)
    return {pair: np.array(block).reshape(n, n) for pair, block in found.items()}


def moved_links(tree: Tree, y: Array) -> list[int]:
    """Links whose joints a rate of y moves; a rate that is written as 0 moves none."""
    links = enumerate(tree.links)
    return [i for i, link in links if not all(is_plain(y[d], 0) for d in link.dofs)]


def virtual_twists(tree: Tree, y: Array) -> dict[int, Virtual]:
    """The twist of every link for joint rates y; the base is at rest."""

    def step(i: int, link: TreeLink, parent: Virtual) -> Virtual:
        return virtual_twist(link.to, link.A, parent, y[list(link.dofs)])

    return tree.outward(Virtual(zeros(3), zeros(3), zeros(3), zeros(3)), step)


def _add_joint(
    tree: Tree, found: dict[tuple[str, str], Matrix], changes: list[list[JointChanges]],
    u: dict[int, Array], axis: tuple[int, int], carried: tuple[Covector, Covector, Pair],
) -> None:  # fmt: skip
    """Add the entries of an axis with those of its own joint and with all ancestors'."""
    (i, k), links = axis, tree.links
    b = links[i].dofs[k]

    def add(first: str, second: str, row: int, column: int, value: Any) -> None:
        block = found[first, second]
        block[row][column] = block[row][column] + value

    for j in tree.path_inward(i):
        for m, a in enumerate(links[j].dofs):
            values = second_entries(*carried, changes[j][m])
            add("q", "q", b, a, values[0])
            add("q", "dq", a, b, values[1])
            add("q", "ddq", a, b, values[2])
            if i != j:
                add("q", "q", a, b, values[0])
                add("q", "dq", b, a, values[3])
                add("q", "ddq", b, a, values[5])
            if axis == (j, m):
                add("dq", "dq", b, b, values[4])
            else:  # both orders of the axes of one joint are met, and half of their sum is right
                rates = values[4] * 0.5 if i == j else values[4]
                add("dq", "dq", b, a, rates)
                add("dq", "dq", a, b, rates)
        if links[j].parent > WORLD:
            carried = pass_covectors(links[j].to, u[j], *carried)


def passive_power(tree: Tree, dq: Array, ddq: Array, y: Array) -> Any:
    """y . tau of what `tree_second_derivatives` leaves out: friction and springs."""
    tau = friction_forces(tree.model, dq)
    return y @ (tau if tree.springs is None else tau + tree.springs.at(dq))
