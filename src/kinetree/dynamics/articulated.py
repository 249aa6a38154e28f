"""Forward dynamics by articulated bodies: work that grows in proportion to the number of joints.

The robot is cut into groups of links. Seen from the link that carries it, a group is one body whose
parts may move: pushed along a twist (w, l), it answers with the momentum

    n = I w + H l,    f = H^T w + m l

where I, H and m are (3, 3). With the group's own mass matrix M, the momenta P of its unit rates on
the carrying link, the inertia B of the group with all joints locked, and joint forces r that are
left for accelerations, the link feels the inertia B - P M^-1 P^T and the wrench P M^-1 r. A group
of one link is the articulated body of Featherstone, and the whole robot as one group is the mass
matrix by composite bodies. Groups between these two cost least for most trees (`grouping.py`).

Wrenches are those of the motion with ddq = 0, so the accelerations found here are the changes from
that motion: dx of a link is dx of its parent and A ddq of its joint, without terms of velocity.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.grouping import Group
from kinetree.dynamics.textbook.mass_factor import mass_names
from kinetree.dynamics.tree import JointTransform, Pair, Tree, TreeLink, plus
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments, mirrored
from kinetree.spatial.matrices import (
    Factor,
    check_pivot,
    factor,
    is_zero,
    solve_inward,
    solve_outward,
)
from kinetree.spatial.se3 import split


@dataclass(frozen=True, eq=False)
class Articulated:
    """Inertia of a body whose parts may move: I and m symmetric, H any, (3, 3) each."""

    I: Array
    H: Array
    m: Array

    def __add__(self, other: "Articulated") -> "Articulated":
        return Articulated(self.I + other.I, self.H + other.H, self.m + other.m)

    def momentum(self, w: Array, l: Array) -> Pair:
        """Linear and angular momentum for a twist (w, l) at the frame's origin."""
        return self.H.T @ w + self.m @ l, self.I @ w + self.H @ l

    def inward(self, to: JointTransform) -> "Articulated":
        """The same in the parent's frame, whose origin is at -p."""
        I, m = to.symmetric_inward(self.I), to.symmetric_inward(self.m)
        H = to.matrix_inward(self.H)
        shifted = H + _cross_columns(to.p, m)
        # I - H [p] - ([shifted] [p])^T, whose halves are equal in exact arithmetic
        first, second = _cross_rows(H, to.p), _cross_rows(shifted, to.p)
        return Articulated(mirrored(I - first - second.T), shifted, m)

    def without(self, columns: Sequence[Pair], over: Sequence[Pair]) -> "Articulated":
        """Subtract x y^T for each pair of momenta x and y, which is symmetric."""
        I, H, m = self.I, self.H, self.m
        for (f, n), (f_d, n_d) in zip(columns, over, strict=True):
            I, m = mirrored(I - np.outer(n, n_d)), mirrored(m - np.outer(f, f_d))
            H = H - np.outer(n, f_d)
        return Articulated(I, H, m)


Body = Moments | Articulated


def articulated(body: Body) -> Articulated:
    """A rigid body as one whose parts could move."""
    if isinstance(body, Articulated):
        return body
    m = np.array([[body.m if a == b else 0 for b in range(3)] for a in range(3)])
    return Articulated(body.inertia, skew(body.h), m)


def added(x: Body | None, y: Body) -> Body:
    """Two bodies as one."""
    if x is None:
        return y
    if isinstance(x, Moments) and isinstance(y, Moments):
        return x + y
    return articulated(x) + articulated(y)


def combined(x: Articulated, y: Articulated, wrench: Pair, other: Pair) -> tuple[Articulated, Pair]:
    """Two bodies on one link, and their wrenches, as one."""
    return x + y, plus(wrench, other)


@dataclass(frozen=True, eq=False)
class Hinge:
    """The eliminated joint of one link: momentum U of its unit rate over D, force over D, and D."""

    over: Pair
    rate: Scalar
    D: Scalar


@dataclass(frozen=True, eq=False)
class Joints:
    """The eliminated joints of a group: the factor of M, the columns L^-T P^T, and L^-T r."""

    M: Factor
    P: list[Pair]
    r: Array


Beyond = list[tuple[Body, Pair] | None]  # body and wrench of what hangs on each link


def check_hinges(tree: Tree, groups: Sequence[Group], joints: Sequence[Hinge | Joints]) -> None:
    """Raise if a joint moves no inertia; symbols and traced scalars are not judged.

    D is compared with the inertia of all links beyond the joint as one body, whose rounding it has.
    """
    hinges = [(group, x.D) for group, x in zip(groups, joints, strict=True) if isinstance(x, Hinge)]
    if not hinges or not isinstance(hinges[0][1], float):
        return
    bodies, names = tree.composite_bodies(), mass_names(tree.model)
    for group, D in reversed(hinges):  # a joint that fails spoils all that are eliminated after it
        link = tree.links[group.links[0]]
        whole = _along_axis(link, bodies[group.links[0]]) + _of_drives(tree, group)
        check_pivot(D, whole, names[group.dofs[0]])


def _along_axis(link: TreeLink, body: Body) -> Any:
    """Inertia of a body for unit acceleration of a link's joint of one degree of freedom."""
    axis = link.A[:, 0]
    f, n = body.momentum(axis[:3], axis[3:])
    return axis @ np.concatenate([n, f])


def _of_drives(tree: Tree, group: Group) -> Any:
    """Inertia that the drives beside the robot add to the one joint of a group."""
    drives = [tree.links[i] for i in group.links[1:]]
    return sum((_along_axis(x, x.body) for x in drives), start=0)


def hinge_inward(
    tree: Tree, group: Group, beyond: Beyond, own: Mapping[int, Pair], forces: Array
) -> tuple[Hinge, Body, Pair]:
    """Eliminate the joint of one link; return also its body and wrench for the parent.

    Along its own axis the joint passes on only what its armature resists, so that row of the
    inertia is U armature / D.
    """
    i = group.links[0]
    link, (body, wrench) = tree.links[i], _with_beyond(tree, beyond, own, i)
    axis = link.A[:, 0]
    f, n = body.momentum(axis[:3], axis[3:])
    armature = _of_drives(tree, group)
    D = axis @ np.concatenate([n, f]) + armature
    inverse = math.inf if is_zero(D) else 1 / D  # `check_hinges` names the joint
    over = f * inverse, n * inverse
    rate = (forces[group.dofs[0]] - axis @ np.concatenate([wrench[1], wrench[0]])) * inverse
    hinge = Hinge(over, rate, D)
    if link.parent == WORLD:
        return hinge, link.body, own[i]
    whole = articulated(body).without([(f, n)], [over])
    whole = _along(whole, axis, (f, n), armature * inverse)
    passed = plus(wrench, (f * rate, n * rate))
    return hinge, whole.inward(link.to), link.to.pair_inward(*passed)


def _with_beyond(tree: Tree, beyond: Beyond, own: Mapping[int, Pair], i: int) -> tuple[Body, Pair]:
    """Body and wrench of a link with what hangs on it."""
    body, there = tree.links[i].body, beyond[i]
    return (body, own[i]) if there is None else (added(there[0], body), plus(there[1], own[i]))


def _along(body: Articulated, A: Array, U: Pair, share: Scalar) -> Articulated:
    """The body whose row along a joint's axis is `share` of U, where the axis is one of z, l_z.

    Subtraction would leave rounding where nothing is left.
    """
    axes = [k for k in range(6) if not is_zero(A[k])]
    if axes not in ([2], [5]):
        return body
    f, n = U[0] * (share / A[axes[0]]), U[1] * (share / A[axes[0]])
    I, H, m = (x.tolist() for x in (body.I, body.H, body.m))
    for k in range(3):
        if axes == [2]:
            I[2][k] = I[k][2] = n[k]
            H[2][k] = f[k]
        else:
            m[2][k] = m[k][2] = f[k]
            H[k][2] = n[k]
    return Articulated(*(np.array(x) for x in (I, H, m)))


def hinge_outward(
    to: JointTransform, A: Array, over: Pair, rate: Scalar, change: Pair, carries: bool
) -> tuple[Scalar, Pair]:
    """The acceleration of a joint, and the change (a, alpha) of its link from its parent's."""
    a, alpha = outward(to, change)
    f, n = over
    rate = rate - (n @ alpha + f @ a)
    if not carries:
        return rate, change  # nothing needs how the link moves
    return rate, (a + A[3:, 0] * rate, alpha + A[:3, 0] * rate)


def outward(to: JointTransform, change: Pair) -> Pair:
    """The change (a, alpha) that the parent alone would give a link, in {i}."""
    a, alpha = change
    return to.outward(a + cross(alpha, to.p)), to.outward(alpha)


def group_inward(
    tree: Tree, group: Group, beyond: Beyond, own: Mapping[int, Pair], forces: Array
) -> tuple[Joints, Body, Pair]:
    """Eliminate the joints of a group by its mass matrix; return also its body and wrench.

    P, body and wrench are in the frame of the link that carries the group.
    """
    M, P, r, total, wrench = group_equations(tree, group, beyond, own, forces)
    L = factor(M, row_names(tree, group))
    z = solve_inward(L, r)
    if total is None:
        return Joints(L, [], z), Moments(0, zeros(3), np.zeros((3, 3), int)), wrench
    rows = solve_inward(L, np.array([[*f, *n] for f, n in P], dtype=object))
    columns = [(row[:3], row[3:]) for row in rows]
    over = [(f / D, n / D) for (f, n), D in zip(columns, L.D, strict=True)]
    body = articulated(total).without(columns, over)
    for (f, n), rate in zip(over, z, strict=True):
        wrench = plus(wrench, (f * rate, n * rate))
    return Joints(L, columns, z), body, wrench


def row_names(tree: Tree, group: Group) -> list[str]:
    """Names for messages of the rows of a group's mass matrix."""
    names = mass_names(tree.model)
    return [names[d] for d in group.dofs]


def group_equations(
    tree: Tree, group: Group, beyond: Beyond, own: Mapping[int, Pair], forces: Array
) -> tuple[Array, list[Pair], Array, Body | None, Pair]:
    """The mass matrix of a group, P, the forces left for accelerations, its body and its wrench."""
    loaded = {i: _with_beyond(tree, beyond, own, i) for i in group.links}
    bodies = {i: body for i, (body, _) in loaded.items()}
    pushed = {i: wrench for i, (_, wrench) in loaded.items()}
    nothing = zeros(3), zeros(3)
    if group.carrier != WORLD:
        pushed[group.carrier] = nothing
    wrenches = tree.gathered_pairs(lambda _, i: pushed[i], pushed)
    left = forces - tree.joint_forces({i: wrenches[i] for i in group.links})
    M, total, columns = joint_inertia(tree, bodies, group.carrier)
    P = dict.fromkeys(group.dofs, nothing)
    for d, momentum in columns:
        P[d] = plus(P[d], momentum)
    dofs = list(group.dofs)
    carried = wrenches.get(group.carrier, nothing)
    return M[np.ix_(dofs, dofs)], [*P.values()], left[dofs], total, carried


def joint_inertia(
    tree: Tree, bodies: Mapping[int, Body], carrier: int = WORLD
) -> tuple[Array, Body | None, list[tuple[int, Pair]]]:
    """M of the joints of some links, (n, n), zero elsewhere, from the bodies on these links.

    Also the composite body and the momenta of unit rates, by degree of freedom, on the link that
    carries them all; none where that is WORLD. M is an array of objects, so that entries of
    unrelated joints stay integers 0, which factors take as zeros by structure.
    """
    beyond: dict[int, Body | None] = {**bodies}
    if carrier != WORLD:
        beyond[carrier] = None
    tree.gathered(beyond, _body_onto)

    def unit_momenta(i: int, link: TreeLink) -> list[Pair]:
        body = None if i == carrier else beyond[i]
        return [] if body is None else [body.momentum(w, l) for w, l in map(split, link.A.T)]

    def carry(_: int, link: TreeLink, momentum: Pair) -> Pair:
        return link.to.pair_inward(*momentum)

    M = np.zeros((tree.model.n, tree.model.n), dtype=object)
    carried: list[tuple[int, Pair]] = []
    for at in tree.couplings(unit_momenta, carry, beyond):
        link, column, (f, n) = tree.links[at.link], at.dof, at.x
        if at.link == carrier:
            carried.append((column, at.x))
            continue
        entries = zip(link.dofs, link.A.T @ np.concatenate([n, f]), strict=True)
        # the other half of the joint's own block follows from its own columns
        for a, (row, entry) in enumerate(entries):
            if at.axis is None or a <= at.axis:
                M[row, column] = M[row, column] + entry
            if at.axis is None or a < at.axis:
                M[column, row] = M[column, row] + entry
    return M, beyond.get(carrier), carried


def _body_onto(_: int, link: TreeLink, body: Body | None, parent: Body | None) -> Body | None:
    if body is None:
        return parent
    inward = link.to.body_inward(body) if isinstance(body, Moments) else body.inward(link.to)
    return added(parent, inward)


def group_outward(
    tree: Tree, group: Group, joints: Joints, changes: dict[int, Pair], rates: list[Any]
) -> None:
    """Write the accelerations of a group's joints and the changes (a, alpha) of its links."""
    z = joints.r
    if joints.P:
        a, alpha = changes[group.carrier]
        pushed = [f @ a + n @ alpha for f, n in joints.P]
        z = np.array([x - y for x, y in zip(z, pushed, strict=True)])
    if isinstance(joints.M, Factor):
        accelerations = solve_outward(joints.M, z)
    else:
        accelerations = joints.M.solve_outward(z[:, None])[:, 0]
    move_group(tree, group, accelerations, changes, rates)


def move_group(
    tree: Tree, group: Group, accelerations: Array, changes: dict[int, Pair], rates: list[Any]
) -> None:
    """Write accelerations of a group's joints, and the changes of its links that others need."""
    for d, rate in zip(group.dofs, accelerations, strict=True):
        rates[d] = rate
    for i in group.links:
        link = tree.links[i]
        if not group.carries(i):
            continue  # no other group needs how this link moves
        a, alpha = outward(link.to, changes[link.parent])
        twist = link.A @ np.array([rates[d] for d in link.dofs])
        changes[i] = a + twist[3:], alpha + twist[:3]


def _cross_columns(p: Array, X: Array) -> Array:
    """[p] X, (3, 3)."""
    return np.array([cross(p, X[:, k]) for k in range(3)]).T


def _cross_rows(X: Array, p: Array) -> Array:
    """X [p], (3, 3): its row k is X[k] x p."""
    return np.array([cross(X[k], p) for k in range(3)])
