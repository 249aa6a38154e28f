"""Forces of the rows of a step: dry friction and stops of joints, and contacts, solved together.

Stops keep a joint with limits between them: its rate w at the end of the step satisfies

    (lower - q) / h <= w <= (upper - q) / h

so that it stops at the limit itself, at once. A joint that is beyond a limit is led back by PUSH of
the distance in a step, at PUSH_SPEED at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.contacts.impacts import (
    PUSH,
    PUSH_SPEED,
    approach,
    contact_records,
    contact_rows,
    contact_sizes,
    impulses_with_rebound,
)
from kinetree.dynamics.contacts.points import curvatures, seated, touches
from kinetree.dynamics.dry_friction import CoulombPairs
from kinetree.dynamics.impulses import Problem, Response, Solution, solve_rows
from kinetree.dynamics.joints.motors import motor_rates
from kinetree.dynamics.joints.tangents import body_turning
from kinetree.dynamics.rows import TINY, FrictionRow, Row, Seat, StopRow
from kinetree.dynamics.step_system import Step, StepSystem
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Joint, Model
from kinetree.scalars import Scalar, maximum, where

FAR = 1e9  # rad/s or m/s: the bound of the rate of a joint with one limit, which is never reached


@dataclass(frozen=True, eq=False)
class RowForces:
    """Joint forces of the rows, (n,), friction and its impulse by degree of freedom, and results.

    results: those of `row_sizes`, in their order.
    """

    forces: Array
    dry: dict[int, tuple[FrictionRow, Scalar]]
    results: list[Array]


def stopped_joints(model: Model) -> list[Joint]:
    """Joints with a finite limit of their position."""
    own = [x for x in model.joints if x.follows is None and x.type in SCREW_TYPES]
    return [x for x in own if np.isfinite(x.limits.lower) or np.isfinite(x.limits.upper)]


def row_sizes(model: Model, *, dry: bool, stops: bool) -> dict[str, int]:
    """Names of the results of rows in a step and how many numbers they have, in their order.

    Those of contacts (`contact_sizes`), the forces of stops, N m or N, and the residual.
    """
    sizes = contact_sizes(model)
    stopped = stopped_joints(model) if stops else []
    sizes |= {"stop_forces": len(stopped)} if stopped else {}
    return sizes | ({"residual": 1} if sizes or dry else {})


def row_forces(
    at: Step, h: Scalar, dry: CoulombPairs, stopped: Sequence[Joint], system: StepSystem, a: Array
) -> RowForces:
    """The forces of all rows.

    h: the time in which friction may stop a joint, s. dry: levels of dry friction. stopped: joints
    with stops. system: the equations of the step. a: accelerations without rows, (n,).
    """
    model = at.model
    contacts = touches(at.tree, at.places) if at.places else []
    J, seats = seated(at.tree, contacts) if contacts else (np.zeros((0, model.n), int), [])
    friction, stops, J = _joint_carriers(model, dry, stopped, J)
    sparse = len(J) > sum(x.size for x in seats) and system.kkt is None
    response, block = system.response(J, sparse=sparse)
    before, free = J @ at.dq, J @ a
    rubbing = [
        FrictionRow(x, np.array([block(x.carrier)[0, 0] + TINY, -plus * h, minus * h]))
        for x, (plus, minus) in zip(friction, dry.values(), strict=True)
    ]
    stopping = [
        StopRow(x, np.array([block(x.carrier)[0, 0] + TINY, *_rates(joint, at.q, h)]))
        for x, joint in zip(stops, stopped, strict=True)
    ]
    rows = [*rubbing, *stopping]
    rates = np.array([(before + free * h)[x.seat.first] for x in rows])
    if contacts:
        speeds = before, free, J @ body_turning(model, at.dq)
        solution, records = _with_contacts(
            at, h, response, (contacts, seats, block), rows, rates, speeds
        )
    else:
        problem = Problem(response, rows, rates, smooth=True)
        solution, records = solve_rows(problem), []
    impulses = solution.impulses[len(solution.impulses) - len(rows) :]
    r_friction, r_stops = np.split(impulses, [len(rubbing)])
    sticking = dict(zip(dry, zip(rubbing, r_friction, strict=True), strict=True))
    results = [*records, r_stops / h, np.array([solution.residual])]
    return RowForces(J.T @ solution.carried / h, sticking, results)


def _joint_carriers(
    model: Model, dry: CoulombPairs, stopped: Sequence[Joint], J: Array
) -> tuple[list[Seat], list[Seat], Array]:
    """Places of friction and of stops among the carriers, and the rows of all carriers, (D, n)."""
    n, motors = model.n, motor_rates(model)
    unit, first = np.eye(n, dtype=int), len(J)
    carriers = [(unit if motors is None else motors.T)[d] for d in dry]
    friction = [Seat(first + k) for k in range(len(carriers))]
    own = dict(zip(dry, friction, strict=True)) if motors is None else {}
    stops: list[Seat] = []
    for joint in stopped:
        d = joint.dofs[0]
        if d not in own:
            own[d] = Seat(first + len(carriers))
            carriers.append(unit[d])
        stops.append(own[d])
    return friction, stops, np.concatenate([J, np.array(carriers).reshape(-1, n)]).astype(object)


def _rates(joint: Joint, q: Array, h: Scalar) -> tuple[Scalar, Scalar]:
    """Least and largest rate of a joint in a step, rad/s or m/s."""
    lower, upper = joint.limits.lower, joint.limits.upper
    x = q[joint.coords[0]]

    def bound(distance: Scalar) -> Scalar:
        """The rate that closes a distance, above 0 between the limits."""
        return where(distance, distance / h, maximum(distance * (PUSH / h), -PUSH_SPEED))

    low = -FAR if not np.isfinite(lower) else -bound(x - lower)
    return low, FAR if not np.isfinite(upper) else bound(upper - x)


def _with_contacts(
    at: Step,
    h: Scalar,
    response: Response,
    touching: tuple[Sequence[Any], Sequence[Seat], Any],
    joint_rows: Sequence[Row],
    rates: Array,
    speeds: tuple[Array, Array, Array],
) -> tuple[Solution, list[Array]]:
    """Impulses of contacts and joint rows, and the results of contacts."""
    of, (contacts, seats, block) = at.model.contacts, touching
    assert of is not None
    soft = 0 if of.compliance is None else of.compliance / (h * h)  # w_n + gap / h + soft r_n = 0
    blocks = [block(x.carrier) for x in seats]
    rows = [*contact_rows(contacts, seats, blocks, of.frictions, soft), *joint_rows]
    near = approach(of, contacts, seats, curvatures(at.tree, at.places, contacts, at.dq), speeds, h)
    smooth = of.compliance is not None
    solution = impulses_with_rebound(response, rows, near, rates, smooth=smooth)
    return solution, contact_records(contacts, rows, solution, h)
