"""Accelerations with dry friction that stops joints and holds them, for fixed steps.

The Coulomb friction of a sliding joint is a number times the sign of dq. Integrated with fixed
steps, that makes a stopping joint chatter about zero. Here friction may stop a joint but not turn
it around: a joint that would pass zero within the time 1/stop, about a step, is bound to
ddq = -stop dq instead (ddq = 0 at rest), and the friction that this needs follows from

    f = tau - h - M ddq

with everything else in motion. A joint whose |f| exceeds the most that friction can give is
released, with friction against the direction in which it will slide. A released joint that then
would not slide that way is bound again, and the accelerations are solved again. Up to ROUNDS of
this are written one after the other, without a branch, so that the compiled loop can run them on
all lanes of a vector register.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algorithms.forward_dynamics import tree_forward_dynamics
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar, absolute, sign, where
from kinetree.spatial.matrices import is_symmetric, solve, solve_unsymmetric

# by degree of freedom: the friction against dq > 0 and against dq < 0
CoulombPairs = dict[int, tuple[Any, Any]]
ROUNDS = 7  # enough for all of 12,000 random releases of up to 7 joints at once


def dry_friction(model: Model) -> CoulombPairs:
    """Degrees of freedom with Coulomb friction, and the friction against dq > 0 and dq < 0."""
    found: CoulombPairs = {}
    for joint in model.joints:
        pair = joint.friction.coulomb
        if all(isinstance(c, int | float) and c == 0 for c in pair):
            continue
        if joint.scale < 0:
            pair = pair[::-1]
        for d in joint.dofs:
            plus, minus = found.get(d, (0, 0))
            size = abs(joint.scale)
            found[d] = plus + pair[0] * size, minus + pair[1] * size
    return found


def dry_dofs(model: Model, varied: Sequence[str] = ()) -> tuple[int, ...]:
    """Degrees of freedom with Coulomb friction; all of them if a simulation varies friction."""
    return tuple(range(model.n)) if "friction" in varied else tuple(dry_friction(model))


def accelerations(tree: Tree, dq: Array, tau: Array, stop: Scalar = 0) -> Array:
    """ddq, (n,), of a robot whose dry friction stops and holds joints; stop: 1/s, about 1 / dt."""
    model = tree.model
    dry = dry_friction(model)
    if not dry:
        return tree_forward_dynamics(tree, dq, tau)
    b, M = smooth_equations(tree, dq, tau)
    way, goal = slide_or_hold(model, M, b, dry, dq, stop)
    return solve_in(model, M, b, dry, way, goal)[0]


def smooth_equations(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """tau - h, (n,), without Coulomb friction, and M, (n, n)."""
    n = tree.model.n
    smooth = replace(tree, model=without_dry_friction(tree.model))
    return tau - tree_inverse_dynamics(smooth, dq, zeros(n)), tree_mass_matrix(tree)


def slide_or_hold(
    model: Model, M: Array, b: Array, dry: CoulombPairs, dq: Array, stop: Scalar
) -> tuple[dict[int, Any], Array]:
    """The way in which each joint with dry friction slides, 0 if it is bound, and to which ddq."""
    unit = np.eye(model.n, dtype=int)
    sliding = sum(unit[d] * slip(pair, dq[d]) for d, pair in dry.items())
    ddq = solve_bound(model, M, b - sliding, {}, dq)
    goal, way = dq * -stop, dict[int, Any]()
    for d in dry:  # 0 if the joint is bound, else the direction in which it slides
        passes = dq[d] * (dq[d] * stop + ddq[d])
        way[d] = where(passes, sign(dq[d]), 0)
    moves = dict(way)
    for _ in range(min(len(dry) + 2, ROUNDS) if len(dry) > 1 else 1):
        ddq, rest = solve_in(model, M, b, dry, way, goal)
        for d, (plus, minus) in dry.items():
            released = where(rest[d] - plus, 1, where(-rest[d] - minus, -1, 0))
            kept = where(-way[d] * (ddq[d] - goal[d]), 0, way[d])
            turned = where(absolute(way[d]), kept, released)
            way[d] = where(absolute(moves[d]), way[d], turned)
    return way, goal


def solve_in(
    model: Model, M: Array, b: Array, dry: CoulombPairs, way: dict[int, Any], goal: Array
) -> tuple[Array, Array]:
    """ddq, and the friction that binds the joints whose `way` is 0; the others slide that way."""
    unit = np.eye(model.n, dtype=int)
    held = {d: 1 - absolute(way[d]) for d in dry}
    b = b - sum(unit[d] * slip(pair, way[d]) for d, pair in dry.items())
    ddq = solve_bound(model, M, b, held, goal)
    return ddq, b - M @ ddq


def slip(pair: tuple[Any, Any], way: Scalar) -> Scalar:
    """Friction of a sliding joint, with the sign of `way`; 0 if `way` is 0."""
    return where(way, pair[0], where(-way, -pair[1], 0))


def without_dry_friction(model: Model) -> Model:
    """The robot without Coulomb friction in its joints."""
    joints = [
        replace(joint, friction=replace(joint.friction, coulomb=(0, 0))) for joint in model.joints
    ]
    return model.replace(joints=tuple(joints))


def solve_bound(model: Model, M: Array, b: Array, bound: dict[int, Any], goal: Array) -> Array:
    """Solve M ddq = b with ddq = goal for the joints whose `bound` is 1 and not 0."""
    n = model.n
    free = [1 - bound[k] if k in bound else 1 for k in range(n)]
    A = [[M[i][j] * (free[i] * free[j]) for j in range(n)] for i in range(n)]
    fixed = [bound[k] * goal[k] if k in bound else 0 for k in range(n)]
    right = np.array([(b[k] - M[k] @ np.array(fixed)) * free[k] + fixed[k] for k in range(n)])
    for k, held in bound.items():
        A[k][k] = A[k][k] + held
    A = np.array(A, dtype=object)
    return solve_equations(model, A, right, symmetric=is_symmetric(M))


def solve_equations(model: Model, M: Array, b: Array, *, symmetric: bool | None = None) -> Array:
    """Solve M x = b, (n,); M need not be symmetric: a step with the slopes of a law is not."""
    if is_symmetric(M) if symmetric is None else symmetric:
        return solve(factor_mass_matrix(model, M), b)
    return solve_unsymmetric(M, b)
