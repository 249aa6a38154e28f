"""One step: accelerations of a robot with friction, loops and contacts.

A step of length h asks for the accelerations a with which dq_next = dq + h a. With M_h the matrix
of the step, which is M, or M with the slopes of stiff forces (step_slopes.py),

    M_h a = tau - h(q, dq) + J^T lambda + X^T r / h

lambda are the forces of the constraints, J a = -gamma, and r the impulses of the rows: dry friction
and stops of joints, and contacts, which are solved together (row_forces.py). Without rows and
constraints this is forward dynamics.

**Dry friction** is that of the end of the step. It brakes at most with `braking` / h, so that a
joint that stops is at rest at the end of a step, within each stage of a method of several.

**Forces of inertia.** Coriolis, centrifugal and gyroscopic forces c(q, dq) do no work beside the
change of M. With c of the beginning of a step a tumbling body gains energy, 19 times its own in 15
s at 30 rad/s; with c of the mean rates it would gain none, and the motion is that of a reversible
method, whose energy does not drift. The mean rates follow from the accelerations they lead to:

    c_1 = c(dq),   c_2 = c(dq + h a(c_1) / 2),   c_3 = c(dq + h a(c_2) / 2)
    c = (c_2 + c_3) / (2 + 2 rho^6),   rho^2 = |c_3 - c_2|^2 / |c_2 - c_1|^2, both by M^-1

rho is about half the angle by which a body turns within a step, relative to itself, and the work of
c is of order rho^6. Where rho is not small, as next to the gimbal lock of a light wrist, c_1, c_2
and c_3 do not converge, and c fades: a body then keeps its rates, and gains no energy.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array, StateLike, known, scalar
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import Kkt
from kinetree.dynamics.constraints.stepping import closing
from kinetree.dynamics.contacts.points import book_places
from kinetree.dynamics.dry_friction import (
    dry_dofs,
    dry_levels,
    slip,
    smooth_bias,
)
from kinetree.dynamics.forward_dynamics import forward_dynamics
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.actuation import check_step_drives, drive_forces, drive_gains
from kinetree.dynamics.joints.friction import frictionless
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.joints.motors import motor_rates
from kinetree.dynamics.joints.tangents import body_turning
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.methods import METHODS, Method, check_contact_method, take_stages
from kinetree.dynamics.row_forces import row_forces, stopped_joints
from kinetree.dynamics.rows import TINY, FrictionRow
from kinetree.dynamics.state import StateSpace
from kinetree.dynamics.step_slopes import StepSlopes
from kinetree.dynamics.step_system import Step, StepSystem, stiffened
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.inputs import TipWrench, Wrenches, coordinates, rates, zeros
from kinetree.model.labelled import labelled
from kinetree.scalars import Scalar, absolute, where


@labelled(("nq",), ("n",))
def step(
    model: Model,
    q: StateLike,
    dq: StateLike,
    tau: StateLike,
    dt: Scalar,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    method: str = "semi_implicit_euler",
    gains: Gains | None = None,
) -> tuple[Array, Array]:
    """The state after one step of length dt: q, (nq,), and dq, (n,), over any scalars.

    Joints stop at their limits, but with "euler" and "rk4".

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        tau: joint forces, (n,), N m or N, constant in the step.
        dt: length of the step, a number, s.
        F_ext: wrenches onto the links, constant in their axes, (links, 6), N m and N; None: none.
        F_tip: wrench of the tool onto the world, (6,), N m and N, as in `inverse_dynamics`.
        method: "euler" (q moves with the old dq), "semi_implicit_euler" (with the new dq),
            "time_stepping" (the same, with forces of inertia at the mean rates), "rk4" (of order
            4), "implicit" (semi-implicit, with friction and springs at the end of the step) or
            "implicitfast" (with friction at the end of the step).
        gains: slopes of tau that implicit methods take into account, of which "implicitfast" reads
            kd; None: 0.

    Returns:
        q_next: joint positions after the step, (nq,), rad or m.
        dq_next: joint rates after the step, (n,), rad/s or m/s.
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")
    check_step_drives(model)
    check_contact_method(model, method)
    stages, space, items = METHODS[method], StateSpace(model, dry=dry_dofs(model)), placed(model)
    places = book_places(model)
    dt = scalar(dt, "dt")
    number = known(np.asarray(dt))
    if number is not None and number <= 0:
        raise InputError(f"dt is {dt}; expected the length of a step above 0, s.")
    tau, x = rates(model, tau, "tau"), [coordinates(model, q), rates(model, dq, "dq")]

    def rate(x: Array) -> Array:
        q, dq, _ = space.split(x)
        tree = book_tree(model, q, F_ext, F_tip)
        forces = drive_forces(model, dq, tau)
        slopes = drive_gains(model, dq, tau, gains) if stages.implicit else None
        step = Step(tree, q, dq, forces, dt, items, places, slopes, stops=True)
        return step_rate(stages, step)[0]

    close = closing(model, lambda q: book_tree(model, q), items) if items else None
    end = take_stages(stages, space, dt, np.concatenate(x), rate, close)
    return end[: model.nq], end[model.nq :]


def step_rate(method: Method, s: Step) -> tuple[Array, Array]:
    """Rate (dq, a) of a state, (2n,), and its results in one row.

    These are ddq of an implicit method, (n,); lambda and Phi of constraints, (2m,); and those of
    rows (`row_sizes`). ddq and lambda are those of the state; of the step if it has rows.
    """
    dry = dry_levels(s.model, s.dq)
    stopped = stopped_joints(s.model) if s.stops and method.impulsive else ()
    bound = bool(dry or s.places or stopped)
    if not (method.implicit or s.items or bound):
        return np.concatenate([s.dq, _free_accelerations(method, s)]), zeros(0)
    now, b = _equations(s)
    system, ahead = _ahead(method, s, now, b)
    if method.mean_rates:
        start = ahead
        ahead = start - _mean_rates(s, lambda c: system.accelerate(start - c)[0])
    a, y = system.accelerate(ahead)
    ddq, results = a, list[Array]()
    if bound:
        h = s.h / method.braking
        rows = row_forces(s, h, dry, stopped, system, a)
        a, y = system.accelerate(ahead + rows.forces)
        ddq = a = _at_rest(s, a, rows.dry, h)
        results = rows.results
    elif method.implicit:
        ddq, y = now.accelerate(b)
    if now.kkt is not None:
        results = [now.kkt.shared(y), now.kkt.all.Phi, *results]
    results = [ddq, *results] if method.implicit else results
    return np.concatenate([s.dq, a]), np.concatenate([zeros(0), *results])


def _at_rest(s: Step, a: Array, dry: Mapping[int, tuple[FrictionRow, Scalar]], h: Scalar) -> Array:
    """Accelerations, (n,), that stop joints whose friction holds them, without a rounding."""
    motors = motor_rates(s.model)
    rates, turned = (s.dq, a) if motors is None else (motors.T @ s.dq, motors.T @ a)
    for d, (row, r) in dry.items():
        holds = row.holds(r, rates[d] + turned[d] * h)
        stopping = where(absolute(rates[d]), rates[d] / -h, 0)
        if motors is None:
            a = np.array([where(holds, stopping, x) if k == d else x for k, x in enumerate(a)])
        else:
            a = a + motors.T_inv[:, d] * ((stopping - turned[d]) * holds)
    return a


def rate_in_mode(s: Step, mode: Array) -> tuple[Array, Array]:
    """ddq, (n,), and friction (d,), lambda and Phi (2m,) where the mode of each joint is given.

    mode: 1 or -1 for the direction in which a joint slides, 0 for a joint that is held, (d,).
    """
    now, b = _equations(s)
    dry, motors = dry_levels(s.model, s.dq), motor_rates(s.model)
    slipping = {d: slip(pair, x) for (d, pair), x in zip(dry.items(), mode, strict=True)}
    held = {d: 1 - absolute(x) for d, x in zip(dry, mode, strict=True)}
    T = np.eye(s.model.n, dtype=int) if motors is None else motors.T
    M, stiff = stiffened(now.M, held, T)
    b = b - sum(T[d] * x for d, x in slipping.items())
    ddq, y = now.with_matrix(M).accelerate(b)
    turned = T @ ddq
    friction = [x + stiff[d] * turned[d] for d, x in slipping.items()]
    still = np.array([held.get(d, 0) * x for d, x in enumerate(turned)])
    ddq = ddq - (still if motors is None else motors.T_inv @ still)
    results = [np.array(friction)]
    results += [] if now.kkt is None else [now.kkt.shared(y), now.kkt.all.Phi]
    return ddq, np.concatenate(results)


def _free_accelerations(method: Method, s: Step) -> Array:
    """Forward dynamics of a robot without rows and constraints."""
    tau = s.tau
    if method.mean_rates:
        tau = tau - _mean_rates(s, lambda c: forward_dynamics(s.tree, s.dq, tau - c))
    return forward_dynamics(s.tree, s.dq, tau)


def _mean_rates(s: Step, accelerate: Callable[[Array], Array]) -> Array:
    """Forces of inertia at the mean rates of the step less those at its beginning, (n,).

    accelerate: ddq for such a difference. Rates are those of free joints that move straight.
    """
    bare, model = replace(s.tree, model=frictionless(s.model), springs=None), s.model
    turning = body_turning(model, s.dq)

    def inertia(dq: Array) -> Array:
        return inverse_dynamics(bare, dq, -body_turning(model, dq))

    now = inertia(s.dq)

    def difference(a: Array) -> Array:
        return inertia(s.dq + (a + turning) * (s.h / 2)) - now

    start = accelerate(zeros(model.n))
    first = difference(start)
    middle = accelerate(first)
    second = difference(middle)
    later = second - first
    square = (later @ (middle - accelerate(second))) / (first @ (start - middle) + TINY)
    slow = 1 / (1 + square * square * square)
    return (first + second) * (slow / 2) - now * (1 - slow)


def _equations(s: Step) -> tuple[StepSystem, Array]:
    """The equations of the state, and its forces without dry friction, (n,)."""
    kkt = Kkt(s.tree, tree_constraints(s.tree, s.items, s.q, s.dq)) if s.items else None
    b = s.tau - smooth_bias(s.tree, s.dq)
    if kkt is None:
        return StepSystem(s.model, mass_matrix(s.tree)), b
    return StepSystem(s.model, kkt.matrix, kkt), b


def _ahead(method: Method, s: Step, now: StepSystem, b: Array) -> tuple[StepSystem, Array]:
    """The equations of the step, and its forces, (n,)."""
    if not method.implicit:
        return now, b
    positions, springs = method.positions, s.tree.springs
    slopes = StepSlopes.of(s.model, s.dq, s.gains, positions=positions, springs=springs)
    if not slopes.symmetric and (s.items or s.places):
        raise InputError(
            f"{s.model.name!r} has {'contacts' if s.places else 'constraints'} and forces whose "
            "slopes are not symmetric, such as a controller that couples joints; an implicit step "
            "cannot take both. Use method 'semi_implicit_euler'."
        )
    system = now.with_matrix(slopes.added(now.M, s.h), symmetric=slopes.symmetric)
    return system, slopes.moved(b, s.dq, s.h)
