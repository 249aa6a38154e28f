"""M x = f without M: joints are eliminated group by group inward, and found outward.

`articulated.py` has the step of each group.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
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
from kinetree.dynamics.grouping import Group
from kinetree.dynamics.tree import Pair, Tree
from kinetree.model import WORLD
from kinetree.model.inputs import zeros


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
