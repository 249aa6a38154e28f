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
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments, mirrored
from kinetree.spatial.matrices import (
    Factor,
    check_pivot,
    factor,
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


@dataclass(frozen=True, eq=False)
class Joints:
    """The eliminated joints of a group: the factor of M, the columns L^-T P^T, and L^-T r."""

    M: Factor
    P: list[Pair]
    r: Array


Beyond = list[tuple[Body, Pair] | None]  # body and wrench of what hangs on each link


def solve_tree(
    tree: Tree, groups: Sequence[Group], own: Mapping[int, Pair], forces: Array
) -> Array:
    """ddq, (n,), of M ddq = forces - A^T wrenches, without M.

    groups: its groups, each behind the one that carries it. own: force and moment that each link
    itself needs at ddq = 0, without those beyond it. forces: joint forces less friction, springs
    and drives at ddq = 0, (n,).
    """
    changes = {WORLD: (zeros(3), zeros(3))}  # (a, alpha) of links
    rates: list[Any] = [0] * tree.model.n
    for group, joints in zip(groups, _eliminated(tree, groups, own, forces), strict=True):
        z = joints.r
        if joints.P:
            a, alpha = changes[group.carrier]
            pushed = [f @ a + n @ alpha for f, n in joints.P]
            z = np.array([x - y for x, y in zip(z, pushed, strict=True)])
        move_group(tree, group, solve_outward(joints.M, z), changes, rates)
    return np.array(rates)


def _eliminated(
    tree: Tree, groups: Sequence[Group], own: Mapping[int, Pair], forces: Array
) -> list[Joints]:
    """The eliminated joints of each group."""
    beyond: Beyond = [None] * len(tree.links)
    done: list[Joints] = []
    whole: Array | None = None  # M of floats
    for group in reversed(groups):
        joints, body, wrench = group_inward(tree, group, beyond, own, forces)
        done.append(joints)
        if isinstance(joints.M.D[0], float):
            if whole is None:
                whole = joint_inertia(tree, tree.each(lambda link, _: link.body))[0]
            # a pivot has the rounding of the inertia of all links beyond the joint
            for d, pivot, name in zip(group.dofs, joints.M.D, row_names(tree, group), strict=True):
                check_pivot(pivot, whole[d, d], name)
        if group.carrier != WORLD:
            there = beyond[group.carrier]
            if there is not None:
                body = articulated(there[0]) + articulated(body)
                wrench = plus(there[1], wrench)
            beyond[group.carrier] = body, wrench
    return done[::-1]


def _with_beyond(tree: Tree, beyond: Beyond, own: Mapping[int, Pair], i: int) -> tuple[Body, Pair]:
    """Body and wrench of a link with what hangs on it."""
    body, there = tree.links[i].body, beyond[i]
    return (body, own[i]) if there is None else (added(there[0], body), plus(there[1], own[i]))


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


def move_group(
    tree: Tree, group: Group, accelerations: Array, changes: dict[int, Pair], rates: list[Any]
) -> None:
    """Write accelerations of a group's joints, and the changes of its links that others need."""
    for d, rate in zip(group.dofs, accelerations, strict=True):
        rates[d] = rate

    def step(_: int, link: TreeLink, parent: Pair) -> Pair:
        alpha, a = link.to.twist_outward(parent[1], parent[0])
        twist = link.A @ np.array([rates[d] for d in link.dofs])
        return a + twist[3:], alpha + twist[:3]

    moving = [i for i in group.links if i in group.moving]
    moved = tree.outward(changes[group.carrier], step, moving)
    changes.update({i: moved[i] for i in moving})


def _cross_columns(p: Array, X: Array) -> Array:
    """[p] X, (3, 3)."""
    return np.array([cross(p, X[:, k]) for k in range(3)]).T


def _cross_rows(X: Array, p: Array) -> Array:
    """X [p], (3, 3): its row k is X[k] x p."""
    return np.array([cross(X[k], p) for k in range(3)])
