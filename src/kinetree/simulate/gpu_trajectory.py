"""GpuTrajectory: what a simulation on a GPU leaves there, and what is said where it failed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kinetree.backends.cuda.toolkit import require_device
from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.simulate.ending import conclude, hold_lost, recorded
from kinetree.simulate.gpu_inputs import Given
from kinetree.simulate.loop import Outcome
from kinetree.simulate.space import Space
from kinetree.simulate.trajectory import Trajectory
from kinetree.simulate.watch import Bound, Violation, violations


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuTrajectory:
    """A motion whose arrays are CuPy's: q, (T, ..., nq); dq, ddq, tau, (T, ..., n); t is NumPy's.

    What the fields mean is said in `Trajectory`; `cpu()` is one.
    """

    t: Array
    q: Any
    dq: Any
    ddq: Any
    tau: Any
    model: Model
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Axes between time and joint; () for a single motion."""
        return self.q.shape[1:-1]

    def __len__(self) -> int:
        return len(self.t)

    def cpu(self) -> Trajectory:
        """The same motion in memory of the CPU."""
        q, dq, ddq, tau = (
            np.asarray(x.get(), float) for x in (self.q, self.dq, self.ddq, self.tau)
        )
        meta = {key: x.get() if hasattr(x, "get") else x for key, x in self.meta.items()}
        model = self.model
        return Trajectory(
            t=self.t, q=q, dq=dq, ddq=ddq, tau=tau, name=model.name, model=model, meta=meta
        )


def finish(
    space: Space,
    given: Given,
    outcome: Outcome,
    times: Array,
    kept: Array,
    bound: Sequence[Bound],
    limits: str,
    meta: dict[str, Any],
) -> GpuTrajectory:
    """The record, or the error that says when, where and why it ended; as on the CPU."""
    rows, noted = noted_rows(space, given, outcome, times, bound)

    def hold(lost: Sequence[Violation]) -> None:
        hold_rows(given, outcome, len(kept), rows, lost)

    def record(count: int) -> GpuTrajectory:
        found, more = recorded(outcome, count, given.batch, meta)
        if "tau" not in found:
            cp, n = require_device(), space.model.n
            own = given.feed.constants.get("tau")
            constant = cp.zeros(n) if own is None else cp.asarray(own[0])
            shape = (count, *given.batch, n)
            found["tau"] = cp.broadcast_to(constant.astype(given.x0.dtype), shape)
        return GpuTrajectory(t=times[kept[:count]], model=space.model, meta=more, **found)

    return conclude(outcome, noted, times[kept], given.batch, limits, meta, hold, record)


def noted_rows(
    space: Space, given: Given, outcome: Outcome, times: Array, bound: Sequence[Bound]
) -> tuple[Array, list[Violation]]:
    """The rollouts of which something was noted, and all of that; only they leave the GPU."""
    cp = require_device()
    chosen = cp.flatnonzero((outcome.first >= 0).any(axis=1))
    rows = cp.asnumpy(chosen)
    first, amount = cp.asnumpy(outcome.first[chosen]), cp.asnumpy(outcome.amount[chosen])
    found = violations(space, bound, times, first, amount, (len(rows),))

    def named(violation: Violation) -> Violation:
        number = rows[violation.rollout[0]]
        at = np.unravel_index(number, given.batch) if given.batch else ()
        return replace(violation, rollout=tuple(int(k) for k in at))

    return rows, [named(v) for v in found]


def hold_rows(
    given: Given, outcome: Outcome, count: int, rows: Array, lost: Sequence[Violation]
) -> None:
    """Rollouts of a batch that ran away stand still where they were last finite."""
    cp = require_device()
    place = {int(row): k for k, row in enumerate(rows)}
    own = [place[int(np.ravel_multi_index(v.rollout, given.batch))] for v in lost]
    few = {name: cp.asnumpy(x[:, cp.asarray(rows)]) for name, x in outcome.records.items()}
    part = Outcome(few, outcome.first, outcome.amount)
    found = [replace(v, rollout=(k,)) for v, k in zip(lost, own, strict=True)]
    hold_lost(part, count, found, (len(rows),))
    for name, x in few.items():
        outcome.records[name][:, cp.asarray(rows)] = cp.asarray(x)
