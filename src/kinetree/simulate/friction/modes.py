"""Dry friction between events: each joint slides one way or sticks, and modes change at once.

Within a mode the equations are smooth, so that a method of high order keeps its order. A sliding
joint whose rate reaches zero, and a held one whose force exceeds its friction, end the mode; then
the modes of all joints at rest are found together, so that forces and motions agree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.scalars import absolute
from kinetree.simulate.core.limits import SimulationError
from kinetree.simulate.friction.stiction import (
    dry_friction,
    rubbing,
    slip,
    solve_in,
    without_dry_friction,
)

SLACK = 5e-10  # of the friction both ways together: a held joint is released that much late


def accelerations_in_mode(tree: Tree, dq: Array, tau: Array, mode: Array) -> tuple[Array, Array]:
    """ddq, (n,), and the friction of each joint that has any, (d,).

    mode, (d,): 1 and -1 for the way a joint slides, 0 for one that is held.
    """
    model = tree.model
    dry = dry_friction(model)
    smooth = replace(tree, model=without_dry_friction(model))
    b = tau - tree_inverse_dynamics(smooth, dq, zeros(model.n))
    M = tree_mass_matrix(tree)
    way = dict(zip(dry, mode, strict=True))
    ddq, rest = solve_in(model, M, b, dry, way, zeros(model.n))
    held = {d: 1 - absolute(way[d]) for d in dry}
    friction = [slip(pair, way[d]) + held[d] * rest[d] for d, pair in dry.items()]
    return ddq, np.array(friction)


@dataclass(frozen=True, eq=False)
class Dry:
    """Which entries of dq have dry friction, and how much it can give, (B, d) each way."""

    dofs: Array
    plus: Array
    minus: Array

    def slack(self, row: int) -> Array:
        """Force beyond the most that friction can give at which a held joint is released, (d,)."""
        return SLACK * (self.plus[row] + self.minus[row])

    def guards(self, row: int, mode: Array, dq: Array, friction: Array, slow: float) -> Array:
        """Functions of states (K, ...) that are positive in a mode, (K, G), and end it at zero.

        A sliding joint has one: its rate, which may pass zero by `slow`. A held one has two: how
        far its friction is from the most that it can give either way.
        """
        held, slack = np.flatnonzero(mode == 0), self.slack(row)
        slides = np.flatnonzero(mode != 0)
        f = friction[:, held]
        return np.concatenate(
            [
                mode[slides] * dq[:, self.dofs[slides]] + slow,
                self.plus[row, held] - f + slack[held],
                f + self.minus[row, held] + slack[held],
            ],
            -1,
        )

    def stopped(self, mode: Array, dq: Array) -> Array:
        """Sliding joints whose rate, (n,), has reached zero or passed it."""
        return self.dofs[(mode != 0) & (mode * dq[self.dofs] <= 0)]


def dry_of(
    model: Model,
    varied: Sequence[str],
    changes: Sequence[Mapping[str, Any]],
    change: Callable[..., Model],
) -> Dry:
    """The numbers of every rollout; `changes` is what each was given, or one for all.

    varied: data of the robot that change; where friction is among them, zeros rub as well.
    """
    rub = rubbing(model, varied)
    order = dict.fromkeys(d for joint in model.joints for d in joint.dofs if d in rub)
    dofs = np.array(list(order), int)
    rows = [dry_friction(change(model, given)) for given in changes]
    pairs = [[row.get(d, (0.0, 0.0)) for d in order] for row in rows]
    pairs = np.array(pairs, float).reshape(len(rows), -1, 2)
    return Dry(dofs, pairs[..., 0], pairs[..., 1])


def consistent_modes(
    dry: Dry,
    row: int,
    dq: Array,
    evaluate: Callable[[Array], tuple[Array, Array]],
) -> Array:
    """Modes, (d,), in which forces and motions of all joints agree; for the rates of one rollout.

    Of the joints at rest, each is either held by no more than its friction can give, or moves the
    way that its friction resists. For a positive definite mass matrix there is exactly one such
    motion. It is found by changing all joints that disagree, and where that does not lower their
    number three times in a row, only the first of them, which always ends (Judice and Pires,
    Computers & Operations Research 21, 1994).

    evaluate(mode) gives ddq and the friction of each joint.
    """
    still = dq[dry.dofs] == 0
    mode = np.where(still, 0.0, np.sign(dq[dry.dofs]))
    slack = dry.slack(row) / 2
    fewest, patience = len(mode) + 1, 3
    for _ in range(50 + 10 * len(mode)):
        ddq, friction = evaluate(mode)
        held = still & (mode == 0)
        up = held & (friction > dry.plus[row] + slack)
        down = held & (friction < -dry.minus[row] - slack)
        back = still & (mode * ddq[dry.dofs] < 0)
        wrong = np.flatnonzero(up | down | back)
        if not len(wrong):
            return mode
        if len(wrong) < fewest:
            fewest, patience = len(wrong), 3
        elif patience > 0:
            patience -= 1
        else:
            wrong = wrong[:1]
        new = np.where(up, 1.0, np.where(down, -1.0, 0.0))
        mode = mode.copy()
        mode[wrong] = new[wrong]
    raise SimulationError(
        f"no motion was found in which the dry friction of joints {dry.dofs[still].tolist()} "
        "(entries of dq) agrees with their forces; expected a positive definite mass matrix. Look "
        "for links of no mass or of extreme masses."
    )
