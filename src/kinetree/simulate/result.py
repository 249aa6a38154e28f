"""Outcome: the arrays that a loop leaves; how they become a motion, or a SimulationError.

The same code serves the CPU and the GPU: `xp` is the module of the arrays, NumPy or CuPy; arrays on
the GPU stay there.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.regularity import weakest
from kinetree.dynamics.impulses import TOLERANCE
from kinetree.dynamics.joints.presliding import bristles
from kinetree.dynamics.row_forces import stopped_joints
from kinetree.errors import argument, warn
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.inputs import on_cpu
from kinetree.simulate.limits import CLOSURE, CONTACT, SimulationError, Violation
from kinetree.simulate.options import STEP_LAW, Run
from kinetree.simulate.setup import NEARLY_SINGULAR, Setup, singular_words

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Records (R, B, size) by name, of q, dq, ddq, tau and z, and the violations on the way.

    There is no record of tau if it is constant, and none of z if the controller has no state.
    times: of all evaluations, (E,). kept: numbers of those that are recorded, (R,). first,
    (B, watched): number of the evaluation at which something was wrong for the first time, or -1;
    amount: the number found there. What is watched are the entries of x, then the margins.
    counts: of steps and events, for `meta`.
    """

    records: dict[str, Array]
    first: Array
    amount: Array
    times: Array
    kept: Array
    counts: Mapping[str, Any] = field(default_factory=dict)
    xp: ModuleType = np


def record_rows(count: int, every: int) -> tuple[Array, Array]:
    """The row of the records for each evaluation, -1 for none, and the evaluations recorded."""
    kept = np.unique([*range(0, count, every), count - 1])
    rows = np.full(count, -1)
    rows[kept] = np.arange(len(kept))
    return rows, kept


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
    left = [v for v in noted if v.quantity in run.ending and v.by is not None]
    ends = sorted([*lost, *broken, *left], key=lambda v: v.t)
    if ends and (run.ending or broken or not setup.batch):
        before = _finite_rows(outcome, int(np.searchsorted(t, ends[0].t, "left")))
        error = SimulationError(explanation(run, setup, outcome, ends, before))
        error.violations = tuple(ends) if _is_limit(ends[0]) else ()
        error.trajectory = record(before) if before else None
        raise error
    if lost:
        _hold_lost(outcome, {_row(setup, v.rollout) for v in lost})
        if run.limits == "ignore":
            count = len({v.rollout for v in lost})
            warn(
                f"{count} of {len(outcome.first)} rollouts do not stay finite, the first at "
                f"{lost[0]}; they are recorded at rest from there on. Take a smaller dt."
            )
    if run.limits == "record" or (run.limits == "stop" and noted):
        meta["violations"] = tuple(noted)
    return record(len(t))


def _is_limit(violation: Violation) -> bool:
    """Return True if a limit was left; False for a number or an equation that is lost."""
    return violation.by is not None and violation.quantity != CLOSURE


def _row(setup: Setup, rollout: tuple[int, ...]) -> int:
    """The number of a rollout."""
    return int(np.ravel_multi_index(rollout, setup.batch)) if setup.batch else 0


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
    rows = np.unravel_index(on_cpu(chosen), setup.batch) if setup.batch else ()
    first, amount = on_cpu(outcome.first[chosen]), on_cpu(outcome.amount[chosen])
    listed: list[Violation] = []
    for b, j in np.argwhere(first >= 0):
        t, rollout = float(outcome.times[first[b, j]]), tuple(int(axis[b]) for axis in rows)
        if j < size:
            listed.append(Violation(t, *_state_entry(setup, int(j)), None, rollout))
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


def _hold_lost(outcome: Outcome, rows: Collection[int]) -> None:
    """Let rollouts of a batch that ran away stand still where they were last finite."""
    for b in rows:
        end = len(outcome.kept)
        for x in outcome.records.values():
            finite = outcome.xp.isfinite(x[:end, b]).all(-1)
            end = end if bool(finite.all()) else int(finite.argmin())
        for name, x in outcome.records.items():
            x[end:, b] = x[end - 1, b] if end and name in ("q", "z") else 0


def explanation(
    run: Run, setup: Setup, outcome: Outcome, ends: Sequence[Violation], before: int
) -> str:
    """Why a simulation ended with some violations, and what to do; before: rows until then."""
    first, counts, model = ends[0], outcome.counts, run.model
    more = f" ({len(ends)} such events in all)" if len(ends) > 1 else ""
    last = on_cpu(outcome.records["q"][max(before - 1, 0), _row(setup, first.rollout)])
    cause = None if _is_limit(first) else singular_end(model, np.asarray(last, float))
    if cause is not None:
        advice = cause
    elif first.quantity == CLOSURE:
        advice = "Take smaller steps, and look for a position in which the mechanism is singular."
    elif _is_limit(first):
        advice = (
            f"{_within_limits(run, first)}{argument('limits', 'record')} goes on and lists every "
            f"violation, {argument('limits', 'ignore')} skips the check."
        )
    elif "jammed" in counts:
        where = f" in rollout {list(first.rollout)}" if first.rollout else ""
        return (
            f"the simulation ended near t = {counts['jammed']:.9g} s{where}, where steps became "
            "too short to go on: forces are stiff, jump back and forth, or change without end, "
            f"most at joint {counts['jammed_joint']!r}. Take {argument('method', 'Radau')} for "
            "stiff forces, and fixed steps for forces that jump; describe dry friction as the "
            "robot's own (with_friction), and let torque-speed curves end at zero force."
        )
    elif run.fixed is None:
        advice = "Look for forces that grow with the motion, and for masses near zero."
    else:
        advice = (
            "Take a smaller dt or another method ('implicit' for stiff forces, 'DOP853' or 'Radau' "
            "for steps that adapt), and look for forces that grow with the motion."
        )
    return f"the simulation ended at {first}{more}. {advice}"


def _within_limits(run: Run, first: Violation) -> str:
    """The first thing to try where a joint leaves a limit; empty if nothing is known."""
    if first.t == 0 and first.quantity == "position":
        return "kt.dynamics.start_position(robot) is within the limits; "
    if first.quantity == "position" and run.limits == "stop":
        return f"{argument('method', STEP_LAW)} stops joints at their limits; "
    reference = getattr(run.controller, "reference", None)
    if reference is None or callable(reference) or isinstance(reference, Trajectory):
        return ""
    return "kt.motion.within_limits(robot, [q0, goal]) plans a reference within the limits; "


def report_unsolved(model: Model, noted: Sequence[Violation]) -> list[Violation]:
    """Log steps whose contacts are not solved, and return all other violations."""
    unsolved = [v for v in noted if v.quantity == CONTACT]
    if unsolved:
        log.warning(
            "kinetree simulated contacts, friction and stops of %s less exactly than to a residual "
            "of %g, first at %s. %s has it over time; take a smaller dt where it is not small.",
            model.name,
            TOLERANCE,
            unsolved[0],
            f"meta[{residual_name(model)!r}]",
        )
    return [v for v in noted if v.quantity != CONTACT]


def residual_name(model: Model) -> str:
    """The name of the residual of all rows in `meta`."""
    return "residual" if model.contacts is None else "contact_residual"


def row_results(model: Model, records: dict[str, Any]) -> dict[str, Any]:
    """Entries of `meta` of a robot whose steps have rows, which are taken out of the records.

    contact_forces and contact_points, (T, ..., 3), contact_gaps and contact_modes, (T, ...), all by
    the name of the contact; stop_forces, (T, ...), by the names of joints that a limit stops; and
    the residual, (T, ...).

    Args:
        model: the robot.
        records: records by name, (T, ..., size).
    """
    meta = dict[str, Any]()
    if "stop_forces" in records:
        forces = records.pop("stop_forces")
        joints = [(k, x.name) for k, x in enumerate(stopped_joints(model)) if forces[..., k].any()]
        meta["stop_forces"] = {name: forces[..., k] for k, name in joints}
    if "residual" in records:
        meta[residual_name(model)] = records.pop("residual")[..., 0]
    return meta | (_contact_results(model, records) if "contact_forces" in records else {})


def _contact_results(model: Model, records: dict[str, Any]) -> dict[str, Any]:
    """Those of contacts."""
    assert model.contacts is not None
    names, meta = model.contacts.names, dict[str, Any]()
    for name, size in (("contact_forces", 3), ("contact_points", 3), ("contact_gaps", 1)):
        x = records.pop(name)
        parts = {key: x[..., k * size : (k + 1) * size] for k, key in enumerate(names)}
        meta[name] = parts if size > 1 else {key: part[..., 0] for key, part in parts.items()}
    modes = records.pop("contact_modes").astype("int8")
    meta["contact_modes"] = {key: modes[..., k] for k, key in enumerate(names)}
    return meta


def singular_end(model: Model, q: Array) -> str | None:
    """The sentence for a simulation that ended next to a singular position; None elsewhere."""
    if model.constraints is None or not np.isfinite(q).all():
        return None
    name, pivot = weakest(model, q)
    if pivot > NEARLY_SINGULAR:
        return None
    return f"The mechanism was next to a singular position: {singular_words(name, pivot)}"


def constraint_results(model: Model, records: dict[str, Any], xp: ModuleType) -> Mapping[str, Any]:
    """Entries of `meta` of a constrained robot; `lam` and `Phi` are taken out of the records.

    Args:
        model: the robot.
        records: records by name, (T, ..., size).
        xp: module of the arrays.
    """
    if model.constraints is None:
        return {}
    lam, Phi = records.pop("lam"), records.pop("Phi")
    ends = np.cumsum([len(item.row_names) for item in model.constraints.items])
    parts = xp.split(lam, ends[:-1].tolist(), -1)
    names = [item.name for item in model.constraints.items]
    forces = dict(zip(names, parts, strict=True))
    return {"constraint_forces": forces, "closure": xp.abs(Phi).max(-1)}
