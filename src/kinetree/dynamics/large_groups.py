"""Forward dynamics of large groups of joints: their mass matrix and its factor, piece by piece.

Rotors far from their joints can tie a hundred joints into one group (`grouping.py`), whose joints
are eliminated together. Written as single operations, the mass matrix of the group takes seconds
to record. Here each step of the sum is a `piece`: a function that is recorded once and called for
every link. The factor is made of tiles (`tiles.py`).

The column of M of a degree of freedom e is the momentum of its unit rate, on its way from the links
that e moves, and from the links that carry its rotors, to the base of the group (`group.carrier`).
Every joint on the way takes the part of that momentum along its axes, an entry of M. The entry
stands on both sides of the diagonal; where the momentum of a rotor of e passes the joint of e
itself, the two are one entry, so that it gets the part twice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.pieces import piece
from kinetree.dynamics.articulated import (
    Articulated,
    Beyond,
    Body,
    Joints,
    added,
    articulated,
    body_inward,
)
from kinetree.dynamics.grouping import Group
from kinetree.dynamics.tiles import TILE, factor_in_tiles, tiled
from kinetree.dynamics.tree import Pair, Step, Tree, plus
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.spatial.inertia import Moments

Columns = dict[int, Array]  # momentum (n, f) by degree of freedom, (6,) each


def large_group_inward(
    tree: Tree, group: Group, beyond: Beyond, own: Mapping[int, Pair], forces: Array
) -> tuple[Joints, Body, Pair]:
    """Eliminate the joints of a large group; `articulated.group_inward` does it for small ones.

    Args:
        tree: the robot at a position.
        group: the joints, and the link that carries them all.
        beyond: body and wrench that each link carries from joints that were eliminated before.
        own: wrench of each link's own motion.
        forces: joint forces less what is known of them, (n,).

    Returns:
        What the way outward needs of the joints, and the body and wrench that the carrier feels.
    """
    place = {d: k for k, d in enumerate(group.dofs)}
    size, inside = len(place), set(group.links)
    M: list[list[Any]] = [[0] * size for _ in range(size)]
    left = [forces[d] for d in group.dofs]  # forces less those of the bodies
    bodies: dict[int, tuple[Body, Pair]] = {i: (tree.links[i].body, own[i]) for i in group.links}
    columns: dict[int, Columns] = {i: {} for i in (group.carrier, *group.links)}
    total: tuple[Body, Pair] | None = None
    for i in reversed(group.links):
        link, places = tree.links[i], [place[d] for d in tree.links[i].dofs]
        if (carried := beyond[i]) is not None:
            bodies[i] = united(*carried, *bodies[i])
        block, started, pushing = link_columns(link.A, *bodies[i])
        for a, row in enumerate(places):
            left[row] = left[row] - pushing[a]
            for b, column in enumerate(places):
                M[row][column] = M[row][column] + block[a, b]
        to = None if link.parent <= WORLD else link.to
        passed: Columns = {}
        arrived = columns.pop(i)
        for names in _chunks(list(arrived)):
            X = np.array([arrived[e] for e in names]).T
            entries, Y = pass_link(to, link.A, X)
            passed |= dict(zip(names, Y.T, strict=True))
            for a, row in enumerate(places):
                for e, entry in zip(names, entries[a], strict=True):
                    M[row][e] = M[row][e] + entry
                    M[e][row] = M[e][row] + entry
        _, Y = pass_link(to, link.A, started)
        for e, y in [*passed.items(), *zip(places, Y.T, strict=True)]:
            if to is not None:
                _start(columns[link.parent], e, y)
        if to is not None:
            handed = pass_body(to, *bodies[i])
            if link.parent in inside:
                bodies[link.parent] = united(*bodies[link.parent], *handed)
            else:
                total = handed if total is None else united(*total, *handed)
    return _eliminated(np.array(M, dtype=object), columns[group.carrier], np.array(left), total)


def _start(columns: Columns, e: int, momentum: Array) -> None:
    columns[e] = columns[e] + momentum if e in columns else momentum


def _chunks(names: Sequence[int]) -> list[Sequence[int]]:
    """Names by TILE, those left over singly, so that there are two kinds of pieces."""
    whole = len(names) - len(names) % TILE
    starts = range(0, whole, TILE)
    return [*(names[k : k + TILE] for k in starts), *([x] for x in names[whole:])]


def _eliminated(
    M: Array, columns: Columns, r: Array, total: tuple[Body, Pair] | None
) -> tuple[Joints, Body, Pair]:
    """Factor M, and hand on what the carrier feels."""
    L = factor_in_tiles(M)
    if total is None:
        z = L.solve_inward(r[:, None])[:, 0]
        nothing = Moments(0, zeros(3), np.zeros((3, 3), int)), (zeros(3), zeros(3))
        return Joints(L, [], z), *nothing
    P = [columns.get(e, zeros(6)) for e in range(len(r))]
    rows = L.solve_inward(np.array([[*p[3:], *p[:3], x] for p, x in zip(P, r, strict=True)]))
    body, wrench = articulated(total[0]), total[1]
    for part, D in zip(tiled(rows), L.D, strict=True):
        body, wrench = without_joints(body, wrench, part, D)
    return Joints(L, [(row[:3], row[3:6]) for row in rows], rows[:, 6]), body, wrench


@piece
def united(x: Body, wrench: Pair, y: Body, other: Pair) -> tuple[Body, Pair]:
    """Two bodies on one link, and their wrenches, as one."""
    return added(x, y), plus(wrench, other)


@piece
def link_columns(A: Array, body: Body, wrench: Pair) -> tuple[Array, Array, Array]:
    """A joint's own block of M, (k, k), momenta of its rates, (6, k), and its forces, (k,)."""
    momenta = [body.momentum(A[:3, k], A[3:, k]) for k in range(A.shape[1])]
    columns = np.array([[*n, *f] for f, n in momenta]).T
    return A.T @ columns, columns, A.T @ np.concatenate([wrench[1], wrench[0]])


@piece
def pass_link(to: Step | None, A: Array, columns: Array) -> tuple[Array, Array]:
    """Momenta on a joint's axes, (k, m), and the same momenta on the parent, (6, m)."""
    if to is None:
        return A.T @ columns, columns
    pairs = [to.pair_inward(x[3:], x[:3]) for x in columns.T]
    return A.T @ columns, np.array([[*n, *f] for f, n in pairs]).T


@piece
def pass_body(to: Step, body: Body, wrench: Pair) -> tuple[Body, Pair]:
    """A link's body and wrench in the parent's frame."""
    return body_inward(body, to), to.pair_inward(*wrench)


@piece
def without_joints(
    body: Articulated, wrench: Pair, rows: Array, D: Array
) -> tuple[Articulated, Pair]:
    """The body and wrench that the carrier feels, less a tile of joints that may move."""
    columns = [(row[:3], row[3:6]) for row in rows]
    over = [(f / d, n / d) for (f, n), d in zip(columns, D, strict=True)]
    for (f, n), row in zip(over, rows, strict=True):
        wrench = plus(wrench, (f * row[6], n * row[6]))
    return body.without(columns, over), wrench
