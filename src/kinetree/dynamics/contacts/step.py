"""One step of a robot with contacts: velocities, impulses and gaps at its end, solved at once.

A step of length h begins at (q, dq). Without contacts its rates would be v = dq + h a, with the
accelerations a of the method (dynamics/steps.py): of the constraints, with forces at the end of
the step if it is implicit. The impulses r of contacts and of joints with dry friction change them:

    dq_next = v + M^-1 J^T r,     w = J dq_next = A r + J v,     A = J M^-1 J^T

with M the matrix of the step. The conditions on r and w are those of solver.py, with

    w_n >= -gap / h - h c / 2      where the gap is open: it can close within the step, not more
    w_n >= PUSH |gap| / h - h c / 2    where a point is below the ground, up to PUSH_SPEED
    w_n >= -e (J dq)_n - h c / 2   where it hits the ground faster than the step itself makes it,
                                   at most -(J v)_n, beyond which energy would grow
    w_n >= -e (J v)_n              where it leaves and the impulses of others push it down, if this
                                   is less than -gap / h - h c / 2: Newton's law for all contacts

q then moves with dq_next. c is the second derivative of the gap for constant rates dq. Paths are
curved: for a point at distance l from an axis that turns at w, h^2 c / 2 is (h w)^2 l / 2, which is
0.1 mm for 0.1 m, 20 rad/s and h = 2 ms. A gap at the end of a step is wrong by the change of c.

A resting point stays at rest: Newton's restitution e counts for impacts faster than REBOUND times
the change of the velocity within the step, so that a ball comes to rest.

The rates of a free or planar joint are in the axes of its body, which turn. Here the velocities of
a step are those in the axes at its beginning, a + (0, w x v) their acceleration: the body moves
straight, and its momentum does not depend on its spin.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import tree_constraints
from kinetree.dynamics.constraints.dynamics import (
    Items,
    Kkt,
    eliminated_rows,
    symmetric_product,
)
from kinetree.dynamics.constraints.step_constraints import StepConstraints
from kinetree.dynamics.contacts.points import Places, Touch, curvatures, seated, touches
from kinetree.dynamics.contacts.solver import Problem, Seat, Solution, solve_contacts
from kinetree.dynamics.implicit import StepSlopes
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.joints.motors import motor_rates
from kinetree.dynamics.joints.tangents import body_turning, exp_quaternion, integrate
from kinetree.dynamics.state import StateSpace
from kinetree.dynamics.stiction import dry_levels, smooth_equations
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.files.description.contacts import Contacts
from kinetree.files.description.joints import FREE, PLANAR
from kinetree.model import Model
from kinetree.scalars import Scalar, absolute, cos, maximum, minimum, sin, where
from kinetree.spatial.matrices import is_zero, mirrored_half, solve_inward, solve_outward
from kinetree.spatial.so3 import quaternion_rotation

PUSH = 0.2  # of a penetration is undone in a step, so that points do not jump out of the ground
PUSH_SPEED = 0.1  # m/s, at most
REBOUND = 3  # changes of velocity in a step: a slower impact has no restitution
SLIPPING = 1 - 1e-6  # of the friction cone: a force beyond it is that of a slipping contact
PRESSING = 1e-6  # of the velocities into the ground: what stops less counts as open
OPEN, STICK, SLIP = 0, 1, 2  # modes of a contact

METHOD_NAMES = ("semi_implicit_euler", "implicit", "implicitfast")  # that steps with contacts take


def check_contact_method(model: Model, method: str) -> None:
    """Raise InputError if a robot with contacts cannot be stepped by this method."""
    if model.contacts is not None and method not in METHOD_NAMES:
        raise InputError(
            f"method is {method!r}, and {model.name!r} has contacts, which change velocities "
            f"within a step; expected one of {', '.join(METHOD_NAMES)}. "
            "robot.with_contacts(None) gives the robot without contacts."
        )


def check_smooth(model: Model) -> None:
    """Raise InputError if the contacts of a robot are rigid, whose steps have no derivatives."""
    if model.contacts is not None and model.contacts.compliance is None:
        raise InputError(
            f"{model.name!r} has rigid contacts, whose steps have no derivatives; expected "
            "contacts with a compliance, such as robot.with_contacts(feet, compliance=1e-6), m/N, "
            "or none."
        )


def contact_sizes(model: Model) -> dict[str, int]:
    """Names of the results of contacts in a step and how many numbers they have, in their order.

    Forces are those of the ground onto the robot in {s}, N; points are in {s}, m; gaps in m; modes
    OPEN, STICK or SLIP; the residual is that of the problem, relative.
    """
    if model.contacts is None:
        return {}
    m = len(model.contacts.points)
    return {
        "contact_forces": 3 * m, "contact_points": 3 * m, "contact_gaps": m, "contact_modes": m,
        "contact_residual": 1,
    }  # fmt: skip


class StepResponse:
    """Accelerations of a step, and their change by impulses along rows J, (N, n).

    A: (N, N), velocities along the rows for unit impulses. free: J a without impulses, (N,).
    """

    def __init__(
        self, model: Model, M: Array, b: Array, J: Array, constraints: StepConstraints | None
    ) -> None:
        self.factor = factor_mass_matrix(model, M)
        self.z = solve_inward(self.factor, b)
        self.Y, over_D = eliminated_rows(self.factor, J)
        self.A = symmetric_product(over_D, self.Y)
        self.lam: Array | None = None
        if constraints is not None:
            G, G_over_D = eliminated_rows(self.factor, constraints.J)
            tied = constraints.matrix(symmetric_product(G_over_D, G))
            cross = G_over_D @ self.Y.T
            self.G, self.shares = G, tied.solve(cross)
            self.lam = tied.solve(constraints.wanted - G_over_D @ self.z)
            self.A = mirrored_half(self.A - cross.T @ self.shares)
            self.z = self.z + G.T @ self.lam
            self.Y = self.Y - self.shares.T @ G
        self.free = over_D @ self.z

    def pushed(self, forces: Array) -> tuple[Array, Array | None]:
        """Accelerations with forces along the rows, (N,), and lambda of the constraints."""
        a = solve_outward(self.factor, self.z + self.Y.T @ forces)
        return a, None if self.lam is None else self.lam - self.shares @ forces


def contact_rate(
    tree: Tree,
    places: Places,
    items: Items,
    state: tuple[Array, Array],
    tau: Array,
    h: Scalar,
    gains: Gains | None = None,
    *,
    implicit: bool = False,
    positions: bool = False,
    T: Scalar | None = None,
) -> tuple[Array, Array]:
    """The rate (dq, (dq_next - dq) / h) of a step, (2n,), and its results in one row.

    These are the same acceleration once more if `implicit`, (n,), lambda and Phi of constraints,
    (2m,), then those of `contact_sizes`.

    Args:
        places, items: contacts and constraints in the frames of the tree.
        state: q, (nq,), and dq, (n,).
        tau: joint forces, (n,).
        h: length of the step, s.
        gains: slopes of tau, for an implicit method.
        implicit: friction has the force of the end of the step; positions: springs, too.
        T: time constant in which errors of the constraints decay, s; None: they stay.
    """
    model, (q, dq) = tree.model, state
    contacts = touches(tree, places)
    dry = dry_levels(model, dq)
    b, M = smooth_equations(tree, dq, tau)
    if implicit:
        slopes = StepSlopes.of(model, dq, gains, positions=positions, springs=tree.springs)
        if not slopes.symmetric:
            raise InputError(
                f"{model.name!r} has contacts and forces whose slopes are not symmetric, such as a "
                "controller that couples joints; an implicit step cannot take both. Use method "
                "'semi_implicit_euler'."
            )
        M, b = slopes.added(M, h), slopes.moved(b, dq, h)
    kkt = Kkt(tree, tree_constraints(tree, items, q, dq)) if items else None
    tied = None if kkt is None else StepConstraints.of(model, kkt, kkt.wanted(dq, T))
    rates = motor_rates(model)
    unit = np.eye(model.n, dtype=int) if rates is None else rates.T
    J, seats = seated(tree, contacts)
    J = np.concatenate([J, unit[list(dry.slide)]]).astype(object)
    step = StepResponse(model, M, b, J, tied)
    before, turning = J @ dq, J @ body_turning(model, dq)
    curves = curvatures(tree, places, contacts, dq)
    assert model.contacts is not None
    soft = model.contacts.compliance
    start = start_velocities(model.contacts, contacts, seats, curves, before, step.free, turning, h)
    problem = Problem(
        step.A,
        start[0],
        model.contacts.frictions,
        [(-plus * h, minus * h) for plus, minus in dry.slide.values()],
        seats,
        0 if soft is None else soft / (h * h),  # w_n + gap / h + softness r_n = 0
        smooth=soft is not None,
        rebound=start[1:] if any(not is_zero(e) for e in model.contacts.restitutions) else None,
        links=[x.link for x in contacts],
        trees=None if kkt else separate_trees(tree, [x.link for x in contacts], dry.slide),
    )
    solution = solve_contacts(problem)
    a, lam = step.pushed(solution.carried / h)
    results = [a] if implicit else []
    if kkt is not None and lam is not None:
        results += [kkt.shared(lam), kkt.all.Phi]
    return np.concatenate([dq, a]), np.concatenate(
        [*results, *recorded(contacts, problem, solution, h)]
    )


def separate_trees(tree: Tree, links: Sequence[int], dofs: Iterable[int]) -> list[int]:
    """Numbers, from 0 on, of the trees on the base that links and degrees of freedom belong to."""
    moved = {d: i for i, joint in enumerate(tree.model.joints) for d in joint.dofs}
    roots = [min(tree.path_inward(i)) for i in (*links, *(moved[d] for d in dofs))]
    numbers = {root: k for k, root in enumerate(dict.fromkeys(roots))}
    return [numbers[root] for root in roots]


def straight_step(space: StateSpace, h: Scalar, x: Array, k: Array) -> Array:
    """The state after a step with the rate k: rates first, then q moves with the new ones.

    Free and planar joints move straight, with their new rates in the axes before the step; the
    rates are then expressed in the axes after it.
    """
    model, n = space.model, space.model.n
    q, dq, z = space.split(x)
    new = space.settle(dq, dq + (k[n : 2 * n] + body_turning(model, dq)) * h)
    q_next, dq_next = list(integrate(model, q, new * h)), list(new)
    for joint in model.joints:
        if joint.type not in (FREE, PLANAR):
            continue
        at, v, way = joint.coords, new[list(joint.dofs)], joint.dofs
        if joint.type == FREE:
            moved = q[list(at[4:])] + quaternion_rotation(q[list(at[:4])]) @ (v[3:] * h)
            turned = quaternion_rotation(exp_quaternion(v[:3] * -h)) @ v[3:]
            q_next[at[4] : at[4] + 3], dq_next[way[3] : way[3] + 3] = moved, turned
            continue
        (c, s), (c_h, s_h) = ((cos(a), sin(a)) for a in (q[at[0]], v[0] * h))
        q_next[at[1]] = q[at[1]] + (c * v[1] - s * v[2]) * h
        q_next[at[2]] = q[at[2]] + (s * v[1] + c * v[2]) * h
        dq_next[way[1]], dq_next[way[2]] = c_h * v[1] + s_h * v[2], c_h * v[2] - s_h * v[1]
    return np.concatenate([q_next, dq_next, z + k[2 * n :] * h])


def start_velocities(
    of: Contacts,
    contacts: Sequence[Touch],
    seats: Sequence[Seat],
    curves: Sequence[Scalar],
    before: Array,
    free: Array,
    turning: Array,
    h: Scalar,
) -> tuple[Array, Array, Array]:
    """b and `rebound` of the problem, from the motion of all carriers without impulses.

    Args:
        curves: second derivatives of the gaps for constant rates.
        before: velocities before the step, (D,).
        free: their change by accelerations; turning: by free joints that move straight, (D,).
    """
    parts, moving, bounces = list[Any](), list[Any](), list[Any]()
    for at, seat, e, curve in zip(contacts, seats, of.restitutions, curves, strict=True):
        old, more = seat.velocities(before), seat.velocities(free + turning) * h
        b, close = old + more, at.gap / h
        if of.compliance is None:
            close = where(at.gap, close, maximum(close * PUSH, -PUSH_SPEED))
        hits = where(-(b[0] + at.gap / h), 1, 0)
        fast = where(-old[0] - absolute(more[0]) * REBOUND, 1, 0)
        stopped = minimum(close, 0)
        bent = (curve - seat.velocities(turning)[0]) * (h / 2)
        if is_zero(e):
            bounces.append(0)
        else:
            rebound = maximum(e * old[0], b[0] - bent)  # a faster one would gain energy
            bounces.append(where(hits * fast, minimum(rebound - stopped, 0), 0))
            close = where(e * b[0], maximum(close, e * b[0] - bent), close)
        parts += [b[0] + where(hits * fast, stopped, close) + bounces[-1] + bent, *b[1:]]
        moving += list(b)
    joints = len(before) - sum({x.first: x.rows.stop - x.first for x in seats}.values())
    rates = list((before + free * h)[len(before) - joints :])
    return np.array([*parts, *rates]), np.array(bounces), np.array([*moving, *rates])


def recorded(
    contacts: Sequence[Touch], problem: Problem, solution: Solution, h: Scalar
) -> list[Array]:
    """The results of contacts in a step, in the order of `contact_sizes`."""
    forces: list[Any] = []
    modes: list[Any] = []
    for k, (at, mu) in enumerate(zip(contacts, problem.friction, strict=True)):
        r = solution.impulses[3 * k : 3 * k + 3]
        most = mu * r[0] * SLIPPING
        slips = where(r[1] * r[1] + r[2] * r[2] - most * most, SLIP, STICK)
        slips = SLIP if is_zero(mu) else slips
        presses = r[0] * solution.weights[k] - solution.scale * PRESSING
        modes.append(where(presses, slips, OPEN))
        forces += list(at.axes.T @ r / h)
    points = np.concatenate([x.point for x in contacts])
    gaps = np.array([x.gap for x in contacts])
    return [np.array(forces), points, gaps, np.array(modes), np.array([solution.residual])]
