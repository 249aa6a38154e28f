"""How a simulation ends: with the arrays of its motion, or with a SimulationError."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.presliding import bristles
from kinetree.errors import argument, warn
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.closure import constraint_results, singular_end
from kinetree.simulate.core.limits import CLOSURE, SimulationError, Violation
from kinetree.simulate.core.outcome import Outcome
from kinetree.simulate.core.run import ADAPTIVE_METHODS, STEP_LAW, Run
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.signals import on_cpu
from kinetree.simulate.core.touching import report_unsolved, row_results

Record = TypeVar("Record")
# times (R,), arrays by field and meta -> Trajectory or GpuTrajectory
MakeRecord = Callable[[Array, dict[str, Any], dict[str, Any]], Record]


def recorded(
    run: Run, setup: Setup, outcome: Outcome, note: str | None, make: MakeRecord[Record]
) -> Record:
    """Return the record, or raise a SimulationError with the part of it before.

    note: why forces come from Python. Violations that are to be listed are in its meta.
    """
    meta = setup.described(run, note, outcome.counts)
    t = outcome.times[outcome.kept]

    def record(count: int) -> Record:
        arrays = {
            name: x[:count].reshape(count, *setup.batch, x.shape[-1])
            for name, x in outcome.records.items()
        }
        state = _memory(setup, arrays)
        state |= constraint_results(setup.model, arrays, outcome.xp)
        state |= row_results(setup.model, arrays)
        if "tau" not in arrays:
            arrays["tau"] = _constant_forces(setup, outcome, (count, *setup.batch, setup.model.n))
        return make(t[:count], arrays, meta | state)

    noted = report_unsolved(setup.model, violations(run, setup, outcome))
    lost = [v for v in noted if v.by is None]
    broken = [v for v in noted if v.quantity == CLOSURE]  # no motion of the robot, whatever limits
    wrong = noted if run.ends_at_limits else sorted(lost + broken, key=lambda v: v.t)
    if wrong and (run.ends_at_limits or broken or not setup.batch):
        first = wrong[0]
        before = _finite_rows(outcome, int(np.searchsorted(t, first.t, "left")))
        limit, cause = first.by is not None and first.quantity != CLOSURE, None
        if not limit:
            rollout = int(np.ravel_multi_index(first.rollout, setup.batch)) if setup.batch else 0
            last = on_cpu(outcome.records["q"][max(before - 1, 0), rollout])
            cause = singular_end(setup.model, np.asarray(last, float))
        error = SimulationError(explanation(first, meta, len(wrong), cause, way_out(run, first)))
        error.violations = tuple(wrong) if limit else ()
        if before:
            error.trajectory = record(before)
        raise error
    if lost:
        _hold_lost(outcome, lost, setup.batch)
        if run.limits == "ignore":
            lost_rollouts = len({v.rollout for v in lost})
            warn(
                f"{lost_rollouts} of {len(outcome.first)} rollouts do not stay finite, the first "
                f"at {lost[0]}; they are recorded at rest from there on. Take a smaller dt "
                "or another method, such as 'implicit'."
            )
    if run.limits == "record" or (run.stops and noted):
        meta["violations"] = tuple(noted)
    return record(len(t))


def _memory(setup: Setup, arrays: dict[str, Any]) -> dict[str, Any]:
    """Entries of `meta` with controls, commands and states of controller, friction and drives.

    They are taken out of the records.
    """
    meta, actuation, z = dict[str, Any](), setup.acting.actuation, arrays.pop("z", None)
    size = setup.controller_size
    if z is not None and size:
        meta["controller_state"] = z[..., :size]
    if setup.sampling is not None and setup.sampling.controller.initial is not None:
        meta["controller_state"] = setup.sampling.final()
    rubbing = bristles(setup.model)
    if z is not None and rubbing:
        meta["friction_state"] = {x.name: z[..., size + k] for k, x in enumerate(rubbing)}
        size += len(rubbing)
    if actuation is None:
        return meta
    if z is not None:
        meta |= actuation.named_parts(setup.model, z[..., size:])
    if "controls" in arrays:
        u = arrays.pop("controls")
        meta["controls"] = {x: u[..., k] for k, x in enumerate(setup.model.actuator_names)}
    if "command" in arrays:
        meta["command"] = arrays.pop("command")
    return meta


def _constant_forces(setup: Setup, outcome: Outcome, shape: tuple[int, ...]) -> Array:
    """Joint forces that were not recorded because they are constant."""
    xp, tau = outcome.xp, setup.external.constants.get("tau")
    constant = xp.zeros(shape[-1]) if tau is None else xp.asarray(tau.constant)
    return xp.broadcast_to(constant.astype(outcome.records["q"].dtype), shape)


def violations(run: Run, setup: Setup, outcome: Outcome) -> list[Violation]:
    """All violations, the earliest first; only rollouts that have any leave the GPU."""
    chosen, size = outcome.xp.flatnonzero((outcome.first >= 0).any(axis=1)), setup.space.size
    rows = on_cpu(chosen)
    first, amount = on_cpu(outcome.first[chosen]), on_cpu(outcome.amount[chosen])
    listed: list[Violation] = []
    for b, j in np.argwhere(first >= 0):
        t = float(outcome.times[first[b, j]])
        at = np.unravel_index(rows[b], setup.batch) if setup.batch else ()
        rollout = tuple(int(k) for k in at)
        if j < size:
            joint, quantity = _state_entry(setup, int(j))
            listed.append(Violation(t, joint, quantity, None, rollout))
        else:
            bound, by = run.bounds[j - size], -float(amount[b, j])
            listed.append(Violation(t, bound.joint, bound.quantity, by, rollout, bound.unit))
    return sorted(listed, key=lambda v: (v.t, v.rollout))


def _state_entry(setup: Setup, j: int) -> tuple[str, str]:
    """Joint and quantity of an entry of the state."""
    nq, n = setup.model.nq, setup.model.n
    if j < nq:
        return setup.model.coordinate_names[j], "position"
    if j < nq + n:
        return setup.model.dof_names[j - nq], "velocity"
    return f"entry {j - nq - n} of the state of controller, friction, actuators and drives", "value"


def _finite_rows(outcome: Outcome, count: int) -> int:
    """Count the finite rows among the first `count`, accelerations and forces included."""
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


def way_out(run: Run, first: Violation) -> str:
    """The first thing to try where a limit ends a simulation; empty if nothing is known."""
    if first.t == 0 and first.quantity == "position":
        return "kt.dynamics.start_position(robot) is within the limits; "
    if first.quantity == "position" and run.limits == "stop":
        return f"{argument('method', STEP_LAW)} stops joints at their limits; "
    reference = getattr(run.controller, "reference", None)
    if reference is None or callable(reference) or isinstance(reference, Trajectory):
        return ""
    return "kt.motion.within_limits(robot, [q0, goal]) plans a reference within the limits; "


def explanation(
    first: Violation, meta: Mapping[str, Any], count: int, cause: str | None = None, way: str = ""
) -> str:
    """Why a simulation ended, and what to do.

    cause: the sentence for a law or a position. way: begins the advice if a limit was exceeded.
    """
    more = f" ({count} such events in all)" if count > 1 else ""
    if cause is not None:
        way = cause
    elif first.quantity == CLOSURE:
        way = "Take smaller steps, and look for a position in which the mechanism is singular."
    elif first.by is not None:
        way += (
            f"{argument('limits', 'record')} goes on and lists every violation, "
            f"{argument('limits', 'ignore')} skips the check."
        )
    elif "jammed" in meta:
        return _endless(meta, first.rollout)
    elif meta["method"] in ADAPTIVE_METHODS:
        way = "Look for forces that grow with the motion, and for masses near zero."
    else:
        way = (
            "Take a smaller dt or another method ('implicit' for stiff forces, 'DOP853' or 'Radau' "
            "for steps that adapt), and look for forces that grow with the motion."
        )
    return f"the simulation ended at {first}{more}. {way}"


def _endless(meta: Mapping[str, Any], rollout: tuple[int, ...]) -> str:
    """Why steps became too short to go on, and what to do."""
    where = f" in rollout {list(rollout)}" if rollout else ""
    return (
        f"the simulation ended near t = {meta['jammed']:.9g} s{where}, where steps became too "
        "short to go on: forces are stiff, jump back and forth, or change without end, most at "
        f"joint {meta['jammed_joint']!r}. Take {argument('method', 'Radau')} for stiff forces, and "
        "fixed steps for forces that jump; describe dry friction as the robot's own "
        "(with_friction), and let torque-speed curves end at zero force."
    )
