"""Outcome: the arrays that a loop leaves, and how a simulation ends.

It ends with a record of the motion, or with a SimulationError that names time, joint and reason.
The same code serves the CPU and the GPU: `xp` is the module of the arrays, NumPy or CuPy, and
arrays on the GPU stay there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from kinetree.algorithms.joints.tangents import integrate
from kinetree.algorithms.state import StateSpace
from kinetree.base.arrays import Array
from kinetree.simulate.core.closure import constraint_results, singular_end
from kinetree.simulate.core.forces import CHECKED, check_laws, not_finite, plain_states
from kinetree.simulate.core.limits import CLOSURE, Bound, SimulationError, Violation
from kinetree.simulate.core.setup import ADAPTIVE, Plan, Setup
from kinetree.simulate.core.signals import on_cpu

TRIED = 9  # times at which laws are tried where a run ended with numbers that are not finite
Record = TypeVar("Record")
# times (R,), arrays by field and meta -> Trajectory or GpuTrajectory
MakeRecord = Callable[[Array, dict[str, Any], dict[str, Any]], Record]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Records (R, B, size) by name, of q, dq, ddq, tau and z, and the violations on the way.

    There is no record of tau if it is constant, and none of z if the controller has no state.
    times: of all evaluations, (E,). kept: numbers of those that are recorded, (R,). first,
    (B, watched): number of the evaluation at which something was wrong for the first time, or -1;
    amount: the number found there. What is watched are the entries of x, then the margins.
    """

    records: dict[str, Array]
    first: Array
    amount: Array
    times: Array
    kept: Array
    xp: ModuleType = np

    def thinned(self, every: int) -> "Outcome":
        """The outcome with every so many rows of its records, and the last, as a copy."""
        _, rows = record_rows(len(self.kept), every)
        records = {name: np.ascontiguousarray(x[rows]) for name, x in self.records.items()}
        return replace(self, records=records, kept=self.kept[rows])


def record_rows(count: int, every: int) -> tuple[Array, Array]:
    """The row of the records for each evaluation, -1 for none, and the evaluations recorded."""
    kept = np.unique([*range(0, count, every), count - 1])
    rows = np.full(count, -1)
    rows[kept] = np.arange(len(kept))
    return rows, kept


def finish(
    space: StateSpace,
    setup: Setup,
    plan: Plan,
    outcome: Outcome,
    meta: dict[str, Any],
    make: MakeRecord[Record],
) -> Record:
    """Return the record, or raise a SimulationError with the part of it before.

    meta: how the motion was found; the violations that are to be listed are added to it. Before
    that, functions of the user are compared with what was compiled, at some states of the motion.
    """
    acting, external = setup.acting, setup.external
    check_laws(space.model, acting, external, setup.batch, checked_states(space, setup, outcome))
    t = outcome.times[outcome.kept]

    def record(count: int) -> Record:
        found = {
            name: x[:count].reshape(count, *setup.batch, x.shape[-1])
            for name, x in outcome.records.items()
        }
        state = _memory(space, setup, found)
        state |= constraint_results(space.model, found, outcome.xp)
        if "tau" not in found:
            found["tau"] = _constant_forces(setup, outcome, (count, *setup.batch, space.model.n))
        return make(t[:count], found, meta | state)

    noted = violations(space, plan.bounds, outcome, setup.batch)
    lost = [v for v in noted if v.by is None]
    broken = [v for v in noted if v.quantity == CLOSURE]  # no motion of the robot, whatever limits
    wrong = noted if plan.limits == "stop" else sorted(lost + broken, key=lambda v: v.t)
    if wrong and (plan.limits == "stop" or broken or not setup.batch):
        before = _finite_rows(outcome, int(np.searchsorted(t, wrong[0].t, "left")))
        limit = wrong[0].by is not None and wrong[0].quantity != CLOSURE
        rollout = int(np.ravel_multi_index(wrong[0].rollout, setup.batch)) if setup.batch else 0
        last = on_cpu(outcome.records["q"][max(before - 1, 0), rollout])
        cause = None
        if not limit:
            cause = _unbounded_law(space, setup, outcome, before, wrong[0].t, rollout)
            cause = cause or singular_end(space.model, np.asarray(last, float))
        error = SimulationError(explanation(wrong[0], meta, len(wrong), cause))
        error.violations = tuple(wrong) if limit else ()
        if before:
            error.trajectory = record(before)
        raise error
    if lost:
        _hold_lost(outcome, lost, setup.batch)
    if plan.limits == "record":
        meta["violations"] = tuple(noted)
    return record(len(t))


def checked_states(
    space: StateSpace, setup: Setup, outcome: Outcome
) -> Iterator[tuple[float, int, Array]]:
    """Time, rollout and (q, dq, z of the controller) of some states, from the last to the first."""
    wrong = on_cpu(outcome.first[outcome.first >= 0])  # from there on there may be no numbers
    end = int(np.searchsorted(outcome.kept, int(wrong.min()), "right")) if len(wrong) else None
    count, rollouts = len(outcome.kept[:end]), len(setup.x0)
    actuation = setup.acting.actuation
    own = setup.extra - (0 if actuation is None else actuation.size)
    for k, row in enumerate(np.unique(np.linspace(0, count - 1, CHECKED).astype(int))[::-1]):
        b = k * (rollouts - 1) // (CHECKED - 1)
        parts = [on_cpu(outcome.records[name][row, b]) for name in ("q", "dq")]
        parts += [on_cpu(outcome.records["z"][row, b])[:own]] if own else []
        x = np.concatenate([np.asarray(part, float) for part in parts])
        if np.isfinite(x).all():
            yield float(outcome.times[outcome.kept[row]]), b, x


def _unbounded_law(
    space: StateSpace, setup: Setup, outcome: Outcome, before: int, end: float, rollout: int
) -> str | None:
    """The sentence about a law without finite results between the last finite row and the end.

    The state there is that row, moved on with its rates.
    """
    row, model = max(before - 1, 0), space.model
    parts = [outcome.records[x][row, rollout] for x in ("q", "dq", "ddq")]
    q, dq, ddq = (np.asarray(on_cpu(x), float) for x in parts)
    own = setup.extra - (0 if setup.acting.actuation is None else setup.acting.actuation.size)
    z = np.asarray(on_cpu(outcome.records["z"][row, rollout]), float)[:own] if own else np.zeros(0)
    start = float(outcome.times[outcome.kept[row]])
    times = np.linspace(start, end, TRIED)
    with np.errstate(all="ignore"):  # rates beyond the range of floats
        states = [
            (t, rollout, np.concatenate([integrate(model, q, dq * h), dq + ddq * h, z]))
            for t, h in zip(times.tolist(), (times - start).tolist(), strict=True)
        ]
    states = [x for x in states if np.isfinite(x[2]).all()]
    found = plain_states(model, setup.acting, setup.external, setup.batch, states)
    return not_finite(setup.acting, found) if found else None


def _memory(space: StateSpace, setup: Setup, found: dict[str, Any]) -> dict[str, Any]:
    """Entries of `meta` with controls, commands and states of controller, actuators and drives.

    They are taken out of the records.
    """
    meta, actuation, z = dict[str, Any](), setup.acting.actuation, found.pop("z", None)
    own = setup.extra - (0 if actuation is None else actuation.size)
    if z is not None and own:
        meta["controller_state"] = z[..., :own]
    if setup.sampling is not None and setup.sampling.controller.initial is not None:
        meta["controller_state"] = setup.sampling.final()
    if actuation is None:
        return meta
    if z is not None:
        meta |= actuation.named_parts(space.model, z[..., own:])
    if "controls" in found:
        u = found.pop("controls")
        meta["controls"] = {x: u[..., k] for k, x in enumerate(space.model.actuator_names)}
    if "command" in found:
        meta["command"] = found.pop("command")
    return meta


def _constant_forces(setup: Setup, outcome: Outcome, shape: tuple[int, ...]) -> Array:
    """Joint forces that were not recorded because they are constant."""
    xp, given = outcome.xp, setup.external.constants.get("tau")
    constant = xp.zeros(shape[-1]) if given is None else xp.asarray(given[0])
    return xp.broadcast_to(constant.astype(outcome.records["q"].dtype), shape)


def violations(
    space: StateSpace, bounds: Sequence[Bound], outcome: Outcome, batch: tuple[int, ...]
) -> list[Violation]:
    """All violations, the earliest first; only rollouts that have any leave the GPU."""
    chosen = outcome.xp.flatnonzero((outcome.first >= 0).any(axis=1))
    rows = on_cpu(chosen)
    first, amount = on_cpu(outcome.first[chosen]), on_cpu(outcome.amount[chosen])
    found: list[Violation] = []
    for b, j in np.argwhere(first >= 0):
        t = float(outcome.times[first[b, j]])
        rollout = tuple(int(k) for k in np.unravel_index(rows[b], batch)) if batch else ()
        if j < space.size:
            joint, quantity = _state_entry(space, int(j))
            found.append(Violation(t, joint, quantity, None, rollout))
        else:
            bound = bounds[j - space.size]
            by = -float(amount[b, j])
            found.append(Violation(t, bound.joint, bound.quantity, by, rollout, bound.unit))
    return sorted(found, key=lambda v: (v.t, v.rollout))


def _state_entry(space: StateSpace, j: int) -> tuple[str, str]:
    """Joint and quantity of an entry of the state."""
    nq, n = space.model.nq, space.model.n
    if j < nq:
        return space.model.coordinate_names[j], "position"
    if j < nq + n:
        return space.model.dof_names[j - nq], "velocity"
    return f"entry {j - nq - n} of the state of controller, actuators and drives", "value"


def _finite_rows(outcome: Outcome, count: int) -> int:
    """How many of the first `count` rows are finite, accelerations and forces included."""
    for x in outcome.records.values():
        finite = outcome.xp.isfinite(x[:count]).all((1, 2))
        count = count if finite.all() else int(finite.argmin())
    return count


def _hold_lost(outcome: Outcome, lost: Sequence[Violation], batch: tuple[int, ...]) -> None:
    """Let rollouts of a batch that ran away stand still where they were last finite."""
    xp, records = outcome.xp, outcome.records
    rows = np.unique([np.ravel_multi_index(v.rollout, batch) for v in lost])
    at, count = xp.asarray(rows), len(outcome.kept)
    finite = np.ones((count, len(rows)), bool)
    for x in records.values():
        finite &= on_cpu(xp.isfinite(x[:, at]).all(-1))
    end = np.where(finite.all(0), count, finite.argmin(0))
    number = np.arange(count)[:, None]
    last = xp.asarray(np.minimum(number, np.maximum(end - 1, 0)))
    for name, x in records.items():
        part = x[:, at]
        if name in ("q", "z"):
            part = part[last, xp.asarray(np.arange(len(rows)))]
            part[xp.asarray(np.broadcast_to(end == 0, finite.shape))] = 0
        else:
            part[xp.asarray(number >= end)] = 0
        x[:, at] = part


def explanation(
    first: Violation, meta: Mapping[str, Any], count: int, cause: str | None = None
) -> str:
    """Why a simulation ended, and what to do; cause: the sentence for a law or a position."""
    more = f" ({count} such events in all)" if count > 1 else ""
    if cause is not None:
        way = cause
    elif first.quantity == CLOSURE:
        way = "Take smaller steps, and look for a position in which the mechanism is singular."
    elif first.by is not None:
        way = 'limits="record" goes on and lists every violation, limits="ignore" does not look.'
    elif "jammed" in meta:
        return _endless(meta, first.rollout)
    elif meta["method"] == ADAPTIVE:
        way = "Look for forces that grow with the motion, and for masses near zero."
    else:
        way = "Take a smaller dt or method='dop853', and look for forces that grow with the motion."
    return f"the simulation ended at {first}{more}. {way}"


def _endless(meta: Mapping[str, Any], rollout: tuple[int, ...]) -> str:
    """Why steps became too short to go on, and what to do."""
    joint, force = meta["jammed_joint"], meta["jammed_drive"]
    if force:
        way = (
            "The joint has the last speed of the torque-speed curve of its drive, beyond which the "
            f"force falls from {force} to 0. Let the curve end at zero force, or take method='rk4'."
        )
    else:
        way = (
            "Describe dry friction as the robot's own (with_friction), make the law smooth about "
            "its switch, or take method='rk4'."
        )
    where = f" in rollout {list(rollout)}" if rollout else ""
    return (
        f"the simulation ended near t = {meta['jammed']:.9g} s{where}, where steps became too "
        f"short to go on: forces jump back and forth, or change without end, most at joint "
        f"{joint!r}. {way}"
    )
