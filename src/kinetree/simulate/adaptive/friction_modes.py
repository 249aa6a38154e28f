"""Modes of dry friction, for adaptive steps: each joint slides one way, or is held.

Within a mode the equations of motion are smooth, so that a method of high order keeps its order. A
mode ends when the rate of a sliding joint reaches zero, or when the force on a held joint exceeds
its friction. Then the modes of all joints at rest are found together, such that forces and motions
agree (`consistent_modes`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import dry_dofs, dry_friction
from kinetree.dynamics.joints.presliding import without_bristle_friction
from kinetree.model import Model
from kinetree.simulate.limits import SimulationError

RELEASE_SLACK = 5e-10  # of the friction in both directions: a held joint is released so late


@dataclass(frozen=True, eq=False)
class DryFriction:
    """Entries of dq with dry friction, (d,), and the most it can give in each direction, (B, d)."""

    dofs: Array
    plus: Array
    minus: Array

    def margins(self, row: int, friction: Array) -> tuple[Array, Array, Array]:
        """Distances of friction (..., d) from the most in each direction, and the slack.

        Slack is the force beyond the most at which a held joint is released, (..., d).
        """
        plus, minus = self.plus[row], self.minus[row]
        slack = np.broadcast_to(RELEASE_SLACK * (plus + minus), friction.shape)
        return plus - friction, friction + minus, slack

    def guards(self, row: int, mode: Array, dq: Array, friction: Array, slow: float) -> Array:
        """Functions of states (K, ...) that are positive in a mode, (K, G), and end it at zero.

        A sliding joint has one: its rate, which may pass zero by `slow`. A held joint has two: the
        distances of its friction from the most that it can give in each direction.
        """
        held, slides = np.flatnonzero(mode == 0), np.flatnonzero(mode != 0)
        up, down, slack = (x[:, held] for x in self.margins(row, friction))
        rates = mode[slides] * dq[:, self.dofs[slides]] + slow
        return np.concatenate([rates, up + slack, down + slack], -1)

    def stopped(self, mode: Array, dq: Array) -> Array:
        """Sliding joints whose rate, an entry of dq (n,), has reached zero or passed it."""
        return self.dofs[(mode != 0) & (mode * dq[self.dofs] <= 0)]


def read_dry_friction(
    model: Model,
    varied: Sequence[str],
    changes: Sequence[Mapping[str, Any]],
    change: Callable[..., Model],
) -> DryFriction:
    """The dry friction of every rollout.

    Args:
        model: the robot.
        varied: data of the robot that change; with "friction" among them, every joint counts.
        changes: the inputs of each rollout, or of one for all.
        change: makes the robot of a rollout from its inputs.
    """
    dry = dry_dofs(model, varied)
    order = dict.fromkeys(d for joint in model.joints for d in joint.dofs if d in dry)
    dofs = np.array(list(order), int)
    rows = [dry_friction(without_bristle_friction(change(model, inputs))) for inputs in changes]
    pairs = [[row.get(d, (0.0, 0.0)) for d in order] for row in rows]
    pairs = np.array(pairs, float).reshape(len(rows), -1, 2)
    return DryFriction(dofs, pairs[..., 0], pairs[..., 1])


def consistent_modes(
    dry: DryFriction,
    row: int,
    dq: Array,
    evaluate: Callable[[Array], tuple[Array, Array]],
) -> Array:
    """Modes, (d,), in which forces and motions of all joints agree; for the rates of one rollout.

    Each joint at rest is either held by no more than its friction can give, or begins to move in
    the direction that its friction resists. For a positive definite mass matrix there is exactly
    one such motion. It is found by changing all joints that disagree; if that does not lower their
    number three times in a row, only the first of them is changed, which always ends (Judice and
    Pires, Computers & Operations Research 21, 1994).

    evaluate(mode) returns ddq and the friction of each joint.
    """
    still = dq[dry.dofs] == 0
    mode = np.where(still, 0.0, np.sign(dq[dry.dofs]))
    fewest, patience = len(mode) + 1, 3
    for _ in range(50 + 10 * len(mode)):
        ddq, friction = evaluate(mode)
        held = still & (mode == 0)
        above, below, slack = dry.margins(row, friction)
        up, down = held & (above < -slack / 2), held & (below < -slack / 2)
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
