"""How a simulation ends: with a record, or with the error that says when, where and why.

The same on a CPU and on a GPU, whose arrays stay where they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from kinetree.base.arrays import Array
from kinetree.simulate.core.fixed_steps import ADAPTIVE, Outcome
from kinetree.simulate.core.limits import SimulationError, Violation

Record = TypeVar("Record")


def conclude(
    outcome: Outcome,
    noted: Sequence[Violation],
    t: Array,
    batch: tuple[int, ...],
    limits: str,
    meta: dict[str, Any],
    hold: Callable[[Sequence[Violation]], None],
    record: Callable[[int], Record],
) -> Record:
    """The record, or a SimulationError with the part of it before.

    Args:
        outcome: what the loop left.
        noted: limits that were passed and numbers that are none, the earliest first.
        t: times of the records, (R,).
        batch: leading axes of the rollouts.
        limits: "stop", "record" or "ignore".
        meta: says how; takes the violations that are to be listed.
        hold: stops the rollouts of a batch that ran away.
        record: makes a record of so many rows.
    """
    lost = [v for v in noted if v.by is None]
    wrong = noted if limits == "stop" else lost
    if wrong and (limits == "stop" or not batch):
        error = SimulationError(explanation(wrong[0], meta, len(wrong)))
        before = finite_rows(outcome, int(np.searchsorted(t, wrong[0].t, "left")))
        if before:
            error.trajectory = record(before)
        raise error
    if lost:
        hold(lost)
    if limits == "record":
        meta["violations"] = tuple(noted)
    return record(len(t))


def recorded(
    outcome: Outcome, count: int, batch: tuple[int, ...], meta: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first `count` rows by name, (count, *batch, ...), and what the record says about them."""
    found = {
        name: x[:count].reshape(count, *batch, x.shape[-1]) for name, x in outcome.records.items()
    }
    state = {"controller_state": found.pop("z")} if "z" in found else {}
    return found, meta | state


def finite_rows(outcome: Outcome, count: int) -> int:
    """How many of the first `count` rows hold numbers, accelerations and forces included."""
    for x in outcome.records.values():
        finite = np.isfinite(x[:count]).all((1, 2))
        count = count if finite.all() else int(np.argmin(finite))
    return count


def hold_lost(outcome: Outcome, count: int, lost: Sequence[Violation], batch: Any) -> None:
    """Rollouts of a batch that ran away stand still where they were last finite."""
    records = outcome.records
    for b in {int(np.ravel_multi_index(v.rollout, batch)) for v in lost}:
        finite = np.ones(count, bool)
        for x in records.values():
            finite &= np.isfinite(x[:, b]).all(-1)
        end = count if finite.all() else int(np.argmin(finite))
        for name, x in records.items():
            x[end:, b] = x[end - 1, b] if name in ("q", "z") and end else 0


def explanation(first: Violation, meta: Mapping[str, Any], count: int) -> str:
    """Why a simulation ended, and the way out."""
    more = f" ({count} such events in all)" if count > 1 else ""
    if first.by is not None:
        way = 'limits="record" goes on and lists every violation, limits="ignore" does not look.'
    elif "stuck" in meta:
        way = (
            f"Near t = {meta['stuck']:.9g} s the steps became too short to go on: forces jump back "
            "and forth there, or change without end. Describe dry friction as the robot's own "
            "(with_friction), make the law smooth about its switch, or take method='rk4'."
        )
    elif meta["method"] == ADAPTIVE:
        way = "Look for forces that grow with the motion, and for masses near zero."
    else:
        way = "Take a smaller dt or method='dop853', and look for forces that grow with the motion."
    return f"the simulation ended at {first}{more}. {way}"
