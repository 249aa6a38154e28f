"""Accelerations with dry friction that stops joints and holds them, for fixed steps.

The dry friction of a sliding joint is a level times the sign of dq. Integrated with fixed steps,
that makes a stopping joint chatter about zero. Here friction may stop a joint but not turn
it around: a joint that would pass zero within the time 1/stop, about a step, is bound to
ddq = -stop dq instead (ddq = 0 at rest), and the friction that this needs follows from

    f = tau - h - M ddq

with everything else in motion. A joint whose |f| exceeds the most that friction can give is
released, with friction against the direction in which it will slide. A released joint that then
would not slide that way is bound again, and the accelerations are solved again. Up to
RELEASE_ROUNDS of this are written one after the other, without a branch, so that the compiled loop
can run them on all lanes of a vector register.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.step_constraints import StepConstraints
from kinetree.dynamics.forward_dynamics import forward_dynamics
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.friction import (
    sliding_friction,
    static_friction,
)
from kinetree.dynamics.joints.motors import motor_rates, with_motor_friction
from kinetree.dynamics.joints.presliding import without_bristle_friction
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.files.description.friction import Friction
from kinetree.model import Model
from kinetree.model.friction import is_zero
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar, absolute, sign, where
from kinetree.spatial.matrices import is_symmetric, solve, solve_unsymmetric

# by degree of freedom: the friction against dq > 0 and against dq < 0
CoulombPairs = dict[int, tuple[Any, Any]]
RELEASE_ROUNDS = 7  # enough for all of 12,000 random releases of up to 7 joints at once


@dataclass(frozen=True, eq=False)
class DryLevels:
    """Dry friction in a state: the most that keeps a joint at rest, and that of sliding."""

    hold: CoulombPairs
    slide: CoulombPairs


def dry_levels(model: Model, dq: Array) -> DryLevels:
    """Dry friction of the joints at rates dq, (n,)."""
    hold = slide = dry_friction(model)
    if any(x.friction.stribeck is not None for x in (*model.joints, *model.motors)):
        slide = dry_friction(model, dq)
    return DryLevels(hold, slide)


def dry_friction(model: Model, dq: Array | None = None) -> CoulombPairs:
    """Degrees of freedom with dry friction, and the friction against dq > 0 and dq < 0 by itself.

    A motor with dry friction has the place of one of its joints (`MotorRates`).

    dq: joint rates, (n,); None: at rest, where it is static friction.
    """
    levels: CoulombPairs = {}
    for joint in model.joints:
        for d in joint.dofs:
            pair = static_friction(joint.friction)
            if dq is not None:
                pair = sliding_friction(joint.friction, dq[d] * joint.scale)
            if is_zero(pair):
                continue
            if joint.scale < 0:
                pair = pair[::-1]
            plus, minus = levels.get(d, (0, 0))
            size = abs(joint.scale)
            levels[d] = plus + pair[0] * size, minus + pair[1] * size
    rates = motor_rates(model)
    for d, motor in {} if rates is None else rates.places.items():
        pair = static_friction(motor.friction)
        levels[d] = pair if dq is None else sliding_friction(motor.friction, motor.rate(dq))
    return levels


def dry_dofs(model: Model, varied: Sequence[str] = ()) -> tuple[int, ...]:
    """Degrees of freedom whose dry friction sticks; all if a simulation varies friction.

    Those with presliding alone do not stick.
    """
    if "friction" not in varied:
        return tuple(dry_friction(without_bristle_friction(model)))
    sticking = {d for x in model.joints if x.friction.presliding is None for d in x.dofs}
    return tuple(d for d in range(model.n) if d in sticking)


def accelerations(tree: Tree, dq: Array, tau: Array, stop: Scalar = 0) -> Array:
    """ddq, (n,), of a robot whose dry friction stops and holds joints; stop: 1/s, about 1 / dt."""
    model = tree.model
    dry = dry_levels(model, dq)
    if not dry.slide:
        return forward_dynamics(tree, dq, tau)
    b, M = smooth_equations(tree, dq, tau)
    way, goal = slide_or_hold(model, M, b, dry, dq, stop)
    return solve_in(model, M, b, dry.slide, way, goal)[0]


def smooth_equations(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """tau - h, (n,), without dry friction, and M, (n, n)."""
    n = tree.model.n
    smooth = replace(tree, model=without_dry_friction(tree.model))
    return tau - inverse_dynamics(smooth, dq, zeros(n)), mass_matrix(tree)


def slide_or_hold(
    model: Model,
    M: Array,
    b: Array,
    dry: DryLevels,
    dq: Array,
    stop: Scalar,
    constraints: StepConstraints | None = None,
) -> tuple[dict[int, Any], Array]:
    """The way in which each joint with dry friction slides, 0 if it is bound, and to which ddq.

    constraints: those of a robot that has some.
    """
    if (rates := motor_rates(model)) is not None:
        (M, b), dq = rates.equations(M, b), rates.T @ dq
    unit = np.eye(model.n, dtype=int)
    sliding = sum(unit[d] * slip(pair, dq[d]) for d, pair in dry.slide.items())
    ddq, _ = solve_bound(model, M, b - sliding, {}, dq, constraints)
    goal, way = dq * -stop, dict[int, Any]()
    for d in dry.slide:  # 0 if the joint is bound, else the direction in which it slides
        passes = dq[d] * (dq[d] * stop + ddq[d])
        way[d] = where(passes, sign(dq[d]), 0)
    moves = dict(way)
    count = len(dry.slide)
    for _ in range(min(count + 2, RELEASE_ROUNDS) if count > 1 else 1):
        ddq, rest = solve_in(model, M, b, dry.slide, way, goal, constraints, turned=True)
        for d, (plus, minus) in dry.hold.items():
            released = where(rest[d] - plus, 1, where(-rest[d] - minus, -1, 0))
            kept = where(-way[d] * (ddq[d] - goal[d]), 0, way[d])
            turned = where(absolute(way[d]), kept, released)
            way[d] = where(absolute(moves[d]), way[d], turned)
    return way, goal


def solve_in(
    model: Model,
    M: Array,
    b: Array,
    slide: CoulombPairs,
    way: dict[int, Any],
    goal: Array,
    constraints: StepConstraints | None = None,
    *,
    turned: bool = False,
) -> tuple[Array, Array]:
    """ddq, and the friction that binds the joints whose `way` is 0; the others slide that way.

    way, goal and the friction are those of motors where motors have dry friction. turned: M, b and
    the result are, too (`MotorRates.equations`).
    """
    rates = None if turned else motor_rates(model)
    if rates is not None:
        M, b = rates.equations(M, b)
    unit = np.eye(model.n, dtype=int)
    held = {d: 1 - absolute(way[d]) for d in slide}
    b = b - sum(unit[d] * slip(pair, way[d]) for d, pair in slide.items())
    ddq, carried = solve_bound(model, M, b, held, goal, constraints)
    friction = (b if carried is None else b + carried) - M @ ddq
    return ddq if rates is None else rates.T_inv @ ddq, friction


def slip(pair: tuple[Any, Any], way: Scalar) -> Scalar:
    """Friction of a sliding joint, with the sign of `way`; 0 if `way` is 0."""
    return where(way, pair[0], where(-way, -pair[1], 0))


def without_dry_friction(model: Model) -> Model:
    """The robot without Coulomb and Stribeck friction in its joints and motors."""

    def smooth(friction: Friction) -> Friction:
        return replace(friction, coulomb=(0, 0), stribeck=None)

    joints = tuple(replace(x, friction=smooth(x.friction)) for x in model.joints)
    return with_motor_friction(model.replace(joints=joints), smooth)


def solve_bound(
    model: Model,
    M: Array,
    b: Array,
    bound: dict[int, Any],
    goal: Array,
    constraints: StepConstraints | None = None,
) -> tuple[Array, Array | None]:
    """Solve M ddq = b with ddq = goal for the joints whose `bound` is 1 and not 0.

    The second result is J^T lambda, (n,), of the constraints; None without any.
    """
    n = model.n
    free = [1 - bound[k] if k in bound else 1 for k in range(n)]
    A = [[M[i][j] * (free[i] * free[j]) for j in range(n)] for i in range(n)]
    fixed = [bound[k] * goal[k] if k in bound else 0 for k in range(n)]
    right = np.array([(b[k] - M[k] @ np.array(fixed)) * free[k] + fixed[k] for k in range(n)])
    for k, held in bound.items():
        A[k][k] = A[k][k] + held
    A = np.array(A, dtype=object)
    if constraints is None:
        return solve_equations(model, A, right, symmetric=is_symmetric(M)), None
    ddq, lam = constraints.bound(free, np.array(fixed)).solve(A, right, symmetric=is_symmetric(M))
    return ddq, constraints.J.T @ lam


def solve_equations(model: Model, M: Array, b: Array, *, symmetric: bool | None = None) -> Array:
    """Solve M x = b, (n,); M need not be symmetric: a step with the slopes of a law is not."""
    if is_symmetric(M) if symmetric is None else symmetric:
        return solve(factor_mass_matrix(model, M), b)
    return solve_unsymmetric(M, b)
