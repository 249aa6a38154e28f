"""StepLog: a record of the steps that an adaptive run accepts."""

from dataclasses import dataclass, field

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.sliding import Dry


@dataclass(frozen=True, eq=False)
class Steps:
    """S accepted steps: rollout and number within it, t, h and the next break, all (S,).

    done, due: results before and after the step. x: where it begins, (S, x). modes: of joints with
    dry friction, (S, d). cut: whether dry friction ended it early.
    """

    rollout: Array
    number: Array
    t: Array
    h: Array
    until: Array
    done: Array
    due: Array
    x: Array
    modes: Array
    cut: Array

    def results(self, part: Array, count: int) -> tuple[Array, Array]:
        """Of the results in some steps: which of these steps, and the number of the result."""
        done, due = (np.minimum(x[part], count) for x in (self.done, self.due))
        which = np.repeat(np.arange(len(part)), due - done)
        start = np.cumsum(due - done) - (due - done)
        return which, done[which] + np.arange(len(which)) - start[which]


@dataclass(eq=False)
class StepLog:
    """Collects the accepted steps of an integration."""

    parts: list[tuple[Array, ...]] = field(default_factory=list)

    def __call__(
        self,
        rows: Array,
        t: Array,
        h: Array,
        until: Array,
        due: Array,
        x: Array,
        modes: Array,
        cut: Array,
    ) -> None:
        """One accepted step of some rollouts."""
        self.parts.append((rows, t, h, until, due, x, modes, cut))

    def steps(self, count: int) -> Steps:
        """All steps of so many rollouts, in the order in which they were taken."""
        rollout, t, h, until, due, *rest = (
            np.concatenate(x) for x in zip(*self.parts, strict=True)
        )
        number, done = np.zeros_like(due), np.ones_like(due)
        for row in range(count):
            own = np.flatnonzero(rollout == row)
            number[own] = np.arange(len(own))
            done[own[1:]] = due[own[:-1]]
        return Steps(rollout, number, t, h, until, done, due, *rest)


def check_complete(steps: Steps, batch: tuple[int, ...], count: int, results: int) -> None:
    """Refuse rollouts that ran away, which a simulation of a batch lets stand still instead."""
    reached, due = np.zeros(count), np.ones(count, int)
    np.maximum.at(reached, steps.rollout, steps.t + steps.h)
    np.maximum.at(due, steps.rollout, steps.due)
    lost = np.flatnonzero(due < results)
    if len(lost):
        row = lost[np.argmin(reached[lost])]
        where = [int(k) for k in np.unravel_index(row, batch)] if batch else []
        raise InputError(
            f"rollout {where} is not finite after t = {reached[row]:.6g} s, where the simulation "
            "lets it stand still; a motion that ran away has no derivatives. Leave the rollout out."
        )


def check_smooth(model: Model, steps: Steps, dry: Dry) -> None:
    """Refuse steps in which dry friction holds a joint, or that end because it stops one."""
    dofs, dq = dry.dofs, steps.x[:, model.nq : model.nq + model.n]
    rough = (dry.plus != 0) | (dry.minus != 0)
    leaves = (dq[:, dofs] == 0) & rough[steps.rollout]
    bad = (steps.modes == 0) | leaves | steps.cut[:, None]
    if bad.any():
        i = int(np.argmax(bad.any(-1)))
        slowest = np.abs(dq[i, dofs]) + np.where(bad[i], 0, np.inf)
        raise InputError(
            f"joint {model.dof_names[dofs[np.argmin(slowest)]]!r} stands still or is stopped by "
            f"its Coulomb friction after t = {steps.t[i]:.6g} s, where its motion has no "
            "derivative. Start with dq0 that is not 0, end before it rests, or take the Coulomb "
            'friction out of the robot. Where "friction" is only asked for, method="rk4" passes '
            "through rest."
        )
