"""M x = f without M: joints are eliminated group by group inward, and found outward.

`articulated.py` has the step of each group. M^-1 of a robot whose joints can be eliminated one by
one is the accelerations of unit forces. Such a force at joint i is passed inward: a joint j on the
way, with the momentum U of its unit rate and D = A^T U, is left the force r = -A^T F of the wrench
F that arrives, and passes on F + U r / D. M^-1 is symmetric, so the way outward ends at joint i: a
pair of joints takes two steps of some 40 operations, a factor of M two thirds of the number of
joints.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.pieces import is_recording, piece
from kinetree.dynamics.articulated import (
    Beyond,
    Hinge,
    Joints,
    articulated,
    check_hinges,
    combined,
    group_inward,
    group_outward,
    hinge_inward,
    hinge_outward,
)
from kinetree.dynamics.grouping import TILED_DOFS, Group
from kinetree.dynamics.tree import Pair, Step, Tree
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar


def solve_tree(
    tree: Tree, groups: Sequence[Group], own: Mapping[int, Pair], forces: Array
) -> Array:
    """ddq, (n,), of M ddq = forces - A^T wrenches, without M.

    groups: its groups, each behind the one that carries it. own: force and moment that each link
    itself needs at ddq = 0, without those beyond it. forces: joint forces less friction, springs
    and drives at ddq = 0, (n,).
    """
    done, _ = eliminate_groups(tree, groups, own, forces)
    rates: list[Any] = [0] * tree.model.n
    move_groups(tree, groups, done, {WORLD: (zeros(3), zeros(3))}, rates)
    return np.array(rates)


def eliminate_groups(
    tree: Tree, groups: Sequence[Group], own: Mapping[int, Pair], forces: Array
) -> tuple[list[Hinge | Joints], Beyond]:
    """The eliminated joints of each group, and what hangs on each link; as in `solve_tree`."""
    beyond: Beyond = [None] * len(tree.links)
    done: list[Hinge | Joints] = []
    for group in reversed(groups):
        inward = hinge_inward if group.is_hinge else group_inward
        if is_recording() and len(group.dofs) >= TILED_DOFS:
            from kinetree.dynamics.large_groups import large_group_inward as inward
        with np.errstate(invalid="ignore"):  # infinity times zero, where D is 0
            eliminated, body, wrench = inward(tree, group, beyond, own, forces)
        done.append(eliminated)
        if group.carrier != WORLD:
            there = beyond[group.carrier]
            if there is not None:
                body, wrench = combined(articulated(there[0]), articulated(body), there[1], wrench)
            beyond[group.carrier] = body, wrench
    check_hinges(tree, groups, done[::-1])
    return done[::-1], beyond


def move_groups(
    tree: Tree, groups: Sequence[Group], done: Sequence[Hinge | Joints], changes: dict[int, Pair],
    rates: list[Any],
) -> None:  # fmt: skip
    """Write the accelerations of all joints, `rates`; changes (a, alpha) of links are added."""
    for group, eliminated in zip(groups, done, strict=True):
        if isinstance(eliminated, Hinge):
            i = group.links[0]
            link = tree.links[i]
            given = eliminated.over, eliminated.rate, changes[link.parent], group.carries(i)
            rates[group.dofs[0]], changes[i] = hinge_outward(link.to, link.A, *given)
        else:
            group_outward(tree, group, eliminated, changes, rates)


def accelerations_of_unit_forces(tree: Tree, groups: Sequence[Group]) -> Array:
    """M^-1, (n, n); each of the groups is a hinge."""
    n, rest = tree.model.n, (zeros(3), zeros(3))
    done, _ = eliminate_groups(tree, groups, dict.fromkeys(range(len(tree.links)), rest), zeros(n))
    hinges = [x for x in done if isinstance(x, Hinge)]
    found: list[list[Any]] = [[0] * n for _ in range(n)]
    for i, own in enumerate(tree.links):
        left = _forces_inward(tree, hinges, i)
        changes = {WORLD: rest}
        for j, link in enumerate(tree.links[: i + 1]):
            given = hinges[j].over, left.get(j, 0), changes[link.parent], j < i
            rate, changes[j] = hinge_outward(link.to, link.A, *given)
            row, column = link.dofs[0], own.dofs[0]
            found[row][column] = found[column][row] = rate
    return np.array(found, dtype=object).reshape(n, n)


def _forces_inward(tree: Tree, hinges: Sequence[Hinge], i: int) -> dict[int, Scalar]:
    """The rates that a unit force at joint i leaves to it and to its ancestors, by link."""
    left: dict[int, Scalar] = {}
    wrench: Pair | None = None
    for j in tree.path_inward(i):
        link = tree.links[j]
        to = None if link.parent == WORLD else link.to
        left[j], wrench = force_inward(to, link.A, hinges[j].over, hinges[j].D, wrench)
    return left


@piece
def force_inward(
    to: Step | None, A: Array, over: Pair, D: Scalar, wrench: Pair | None
) -> tuple[Scalar, Pair | None]:
    """The rate that a joint is left, and the wrench of its parent; None: a unit force here.

    to: None where the parent is the world.
    """
    if wrench is None:
        force, passed = 1, over
    else:
        f, n = wrench
        force = -(A[:, 0] @ np.concatenate([n, f]))
        passed = f + over[0] * force, n + over[1] * force
    return force / D, None if to is None else to.pair_inward(*passed)
