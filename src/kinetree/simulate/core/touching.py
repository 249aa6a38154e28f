"""Contacts in a simulation: the method that steps them, the residual that is watched, results."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.dynamics.contacts.start import check_gaps, start_gaps
from kinetree.dynamics.impulses import TOLERANCE
from kinetree.dynamics.methods import Method
from kinetree.dynamics.row_forces import stopped_joints
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.core.limits import CONTACT, Bound, Violation
from kinetree.simulate.core.outcome import result_places

log = logging.getLogger(__name__)

LONGEST_STEP = 0.05  # s: in it a robot that has fallen by 0.2 m moves 0.1 m
FORCES = "contact_forces"
ROUNDING = 1.001  # of the tolerance: of a residual that is just solved


class ForceMeans:
    """Records of every so many steps, with the means of the contact forces between them."""

    def __init__(
        self, times: Array, rows: Array, forces: int, steps: list[Array], records: list[Array]
    ) -> None:
        """times, rows: of all evaluations; forces: the number of their field.

        steps: records of all evaluations of a call. records: those that are left.
        """
        self.rows, self.forces, self.steps, self.records = rows, forces, steps, records
        self.row = np.maximum.accumulate(rows)  # of the interval of an evaluation
        h = np.append(np.diff(times), 1.0)  # the last evaluation has a row of its own
        self.shares = h / np.bincount(self.row, h)[self.row]
        records[forces][...] = 0

    def add(self, part: slice) -> None:
        """Take over the evaluations of a call."""
        means, forces = self.records[self.forces], self.steps[self.forces]
        for i, k in enumerate(range(part.start, part.stop)):
            row = int(self.row[k])
            means[row] += forces[i] * float(self.shares[k])
            if self.rows[k] >= 0:
                for record, steps in zip(self.records, self.steps, strict=True):
                    if record is not means:
                        record[row] = steps[i]

    def finish(self, count: int) -> None:
        """Make the last interval of a run that ended after so many evaluations a mean."""
        row = int(self.row[count - 1])
        self.records[self.forces][row] /= float(self.shares[:count][self.row[:count] == row].sum())


def residual_bounds(
    model: Model, method: Method | None, varied: Sequence[str], *, stops: bool
) -> tuple[Bound, ...]:
    """The residual of the rows of a step as a bounded entry of y; none without rows.

    varied: data of the robot that change. stops: limits of joints stop them.
    """
    places = (
        {} if method is None else result_places(model, method, None, stops=stops, varied=varied)
    )
    if "residual" not in places:
        return ()
    at = places["residual"].start
    return (Bound("contacts", CONTACT, at, float("-inf"), TOLERANCE * ROUNDING, ""),)


def check_contact_step(model: Model, step: float) -> None:
    """Raise InputError if a step, s, is too long for a robot with contacts."""
    if model.contacts is not None and step > LONGEST_STEP:
        raise InputError(
            f"dt is {step:g} s, and {model.name!r} has contacts, which stop a robot up to a step "
            f"above the ground; expected {LONGEST_STEP:g} s at most, better 0.001 to 0.005 s."
        )


def report_unsolved(model: Model, noted: Sequence[Violation]) -> list[Violation]:
    """Log steps whose contacts are not solved, and return all other violations."""
    unsolved = [v for v in noted if v.quantity == CONTACT]
    if unsolved:
        log.warning(
            "kinetree simulated contacts, friction and stops of %s less exactly than to a residual "
            "of %g, first at %s. %s has it over time; take a smaller dt where it is not small.",
            model.name, TOLERANCE, unsolved[0], f"meta[{residual_name(model)!r}]",
        )  # fmt: skip
    return [v for v in noted if v.quantity != CONTACT]


def check_ground(model: Model, q0: Array, parameters: Mapping[str, ArrayLike]) -> None:
    """Raise InputError if contacts start inside the ground.

    Args:
        model: the robot.
        q0: positions, (..., nq).
        parameters: of the run, among which may be the ground.
    """
    if model.contacts is not None:
        free = tuple(name for name in parameters if name == "ground")
        data = [parameters[name] for name in free]
        points, gaps, _ = kernel(model, "contact_points", free=free)(q0, *data)
        gaps = gaps if free else start_gaps(model.contacts.ground, points, gaps)
        check_gaps(model, np.asarray(gaps))


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
