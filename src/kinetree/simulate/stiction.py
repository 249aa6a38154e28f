"""Accelerations with dry friction that holds: a joint at rest stays until the force suffices.

Sliding, Coulomb friction is a number times the sign of dq. At rest it is whatever holds the joint,
up to that number. A joint that the integrator has stopped (dq = 0 exactly, see Space.settle) is
therefore locked: its row and column leave M, and the force that holds it follows from

    f = tau - h - M ddq        (with ddq = 0 where locked)

Joints whose |f| exceeds what friction can give are released, with friction against the way that
they will go, and the rest is solved again. RELEASES rounds of this are written one after the other,
without a branch, so that the compiled loop can run them on all lanes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.algorithms.factor import factor, solve
from kinetree.algorithms.inputs import zeros
from kinetree.algorithms.lean.inverse_dynamics import recursion
from kinetree.algorithms.lean.mass_matrix import composite, forward_dynamics
from kinetree.algorithms.lean.model import LeanModel
from kinetree.algorithms.lean.motion import step
from kinetree.arrays import Array
from kinetree.model import Model
from kinetree.scalars import absolute, sign, where

RELEASES = 3  # joints that leave rest in the same instant because others did are rare


def dry_friction(model: Model) -> dict[int, tuple[Any, Any]]:
    """Degrees of freedom with Coulomb friction: what it gives against dq > 0 and dq < 0."""
    found: dict[int, tuple[Any, Any]] = {}
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


def rubbing(model: Model, varied: Sequence[str] = ()) -> tuple[int, ...]:
    """Degrees of freedom with Coulomb friction; all where a simulation varies friction."""
    return tuple(range(model.n)) if "friction" in varied else tuple(dry_friction(model))


def accelerations(
    lean: LeanModel, q: Array, dq: Array, tau: Array, F_ext: Array | None = None
) -> Array:
    """ddq, (n,), of a robot whose dry friction holds what is at rest."""
    dry = dry_friction(lean.model)
    if not dry:
        return forward_dynamics(lean, q, dq, tau, F_ext)
    steps = [step(link, q) for link in lean.links]
    b = tau - recursion(lean, steps, dq, zeros(lean.model.n), F_ext)  # no Coulomb part at rest
    M = np.array(composite(lean, steps), dtype=object)
    locked: dict[int, Any] = {d: 1 - absolute(sign(dq[d])) for d in dry}
    for _ in range(min(RELEASES, len(dry))):
        ddq = solve_locked(lean.model, M, b, locked)
        f = b - M @ ddq
        for d, (plus, minus) in dry.items():
            excess = where(f[d], f[d] - plus, -f[d] - minus)
            leaves = locked[d] * where(excess, 1, 0)
            slip = where(f[d], plus, -minus)
            b = b - np.eye(lean.model.n, dtype=int)[d] * (leaves * slip)
            locked[d] = locked[d] - leaves
    return solve_locked(lean.model, M, b, locked)


def solve_locked(model: Model, M: Array, b: Array, locked: dict[int, Any]) -> Array:
    """M ddq = b with ddq = 0 for the joints whose `locked` is 1 and not 0."""
    n = model.n
    free = [1 - locked[k] if k in locked else 1 for k in range(n)]
    A = [[M[i][j] * (free[i] * free[j]) for j in range(n)] for i in range(n)]
    for k, lock in locked.items():
        A[k][k] = A[k][k] + lock
    names = [f"joint {name!r}" for name in model.dof_names]
    right = np.array([b[k] * free[k] for k in range(n)])
    return solve(factor(np.array(A, dtype=object), names), right)
