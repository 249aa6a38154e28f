"""Modes of dry friction, for adaptive steps: each joint slides one way, or is held.

Within a mode the equations of motion are smooth, so that a method of high order keeps its order. A
mode ends when the rate of a sliding joint reaches zero, or when the force on a held joint exceeds
its friction. Then the modes of all joints at rest are found together, such that forces and motions
agree (`consistent_modes`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.dry_friction import dry_friction
from kinetree.dynamics.joints.presliding import without_bristle_friction
from kinetree.model import Model
from kinetree.simulate.limits import SimulationError

RELEASE_SLACK = 5e-10  # of the friction in both directions: a held joint is released so late


@dataclass(frozen=True, eq=False)
class DryFriction:
    """Entries of dq with dry friction, and the most it can give in each direction, each (d,)."""

    dofs: Array
    plus: Array
    minus: Array

    def margins(self, friction: Array) -> tuple[Array, Array, Array]:
        """Distances of friction (..., d) from the most in each direction, and the slack.

        Slack is the force beyond the most at which a held joint is released, (..., d).
        """
        slack = np.broadcast_to(RELEASE_SLACK * (self.plus + self.minus), friction.shape)
        return self.plus - friction, friction + self.minus, slack

    def guards(self, mode: Array, dq: Array, friction: Array, slow: float) -> Array:
        """Functions of states (K, ...) that are positive in a mode, (K, G), and end it at zero.

        A sliding joint has one: its rate, which may pass zero by `slow`. A held joint has two: the
        distances of its friction from the most that it can give in each direction.
        """
        held, slides = np.flatnonzero(mode == 0), np.flatnonzero(mode != 0)
        up, down, slack = (x[:, held] for x in self.margins(friction))
        rates = mode[slides] * dq[:, self.dofs[slides]] + slow
        return np.concatenate([rates, up + slack, down + slack], -1)

    def stopped(self, mode: Array, dq: Array) -> Array:
        """Sliding joints whose rate, an entry of dq (n,), has reached zero or passed it."""
        return self.dofs[(mode != 0) & (mode * dq[self.dofs] <= 0)]


def read_dry_friction(model: Model, dofs: tuple[int, ...]) -> DryFriction:
    """The dry friction of a robot at some degrees of freedom, zero where it has none."""
    levels = dry_friction(without_bristle_friction(model))
    pairs = np.array([levels.get(d, (0.0, 0.0)) for d in dofs], float).reshape(-1, 2)
    return DryFriction(np.array(dofs, int), *pairs.T)


def consistent_modes(
    dry: DryFriction, dq: Array, evaluate: Callable[[Array], tuple[Array, Array]]
) -> Array:
    """Modes, (d,), in which forces and motions of all joints agree.

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
        above, below, slack = dry.margins(friction)
        up, down = held & (above < -slack / 2), held & (below < -slack / 2)
        disagree = np.flatnonzero(up | down | (still & (mode * ddq[dry.dofs] < 0)))
        if not len(disagree):
            return mode
        if len(disagree) < fewest:
            fewest, patience = len(disagree), 3
        elif patience > 0:
            patience -= 1
        else:
            disagree = disagree[:1]
        new = np.where(up, 1.0, np.where(down, -1.0, 0.0))
        mode = mode.copy()
        mode[disagree] = new[disagree]
    raise SimulationError(
        f"no motion was found in which the dry friction of joints {dry.dofs[still].tolist()} "
        "(entries of dq) agrees with their forces; expected a positive definite mass matrix. Look "
        "for links of no mass or of extreme masses."
    )
