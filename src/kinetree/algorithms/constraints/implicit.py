"""Implicit steps under constraints: stiff forces at the end of a step, on the constraints.

An implicit step has M_h = M + h (D + kd) + h^2 (K + kp) in the place of M (algorithms/implicit.py).
Its acceleration a = (dq_next - dq) / h and the forces of the constraints in the step satisfy

    M_h a - J^T lambda = tau - b(q, dq) - h (K + kp) dq,     J a + gamma = 0

which is the system of constrained forward dynamics with another matrix: a is the acceleration that
the constraints allow nearest to that of the free step. The end of the step is then moved onto the
constraints as with explicit methods (stepping.py).

The rows of A_h = J M_h^-1 J^T shrink as slopes grow, so the part that is added to the diagonal
(solve.py) is measured by the diagonal of A_h itself, and not by that of a typical J M^-1 J^T. A row
that vanishes at a singular position still has FLOOR of the typical value.

Slopes of a law need not be symmetric, and then neither is A_h. Its symmetric part is positive where
that of M_h is, so that it is eliminated without exchanging rows; and A_h x = 0 has the same
solutions as J^T x = 0 and as A_h^T x = 0, so that what solve.py says of dependent rows holds here.

The record has the acceleration and the forces of the constraints now, without the step: ddq and
lambda of constrained forward dynamics.
"""

import numpy as np

from kinetree.algorithms.constraints.closures import tree_constraints
from kinetree.algorithms.constraints.dynamics import Items, Kkt, own_scales
from kinetree.algorithms.constraints.solve import (
    DEPENDENT_EPS,
    DEPENDENT_STEPS,
    EPS,
    STEPS,
    has_floats,
)
from kinetree.algorithms.implicit import Gains, StepSlopes
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar
from kinetree.spatial.matrices import solve_unsymmetric

State = tuple[Array, Array]  # q, (nq,), and dq, (n,)


def implicit_constrained_rate(
    tree: Tree,
    items: Items,
    state: State,
    tau: Array,
    h: Scalar,
    gains: Gains | None = None,
    *,
    positions: bool = True,
    T: Scalar | None = None,
) -> tuple[Array, Array]:
    """The rate (dq, a) of a step, (2n,), and (ddq, lambda, Phi) now, (n + 2m,).

    Args:
        tree: the robot at q.
        items: its constraints in the frames of the tree.
        state: joint positions and rates.
        tau: joint forces at the beginning of the step, (n,).
        h: length of the step, s.
        gains: the slopes of tau; None: tau is constant in the step.
        positions: springs and kp count, not only damping and kd.
        T: time constant in which errors of the constraints decay, s; None: they stay.
    """
    q, dq = state
    found = tree_constraints(tree, items, q, dq)
    now = Kkt(tree, found)
    wanted = now.wanted(dq, T)
    b = tau - tree_inverse_dynamics(tree, dq, zeros(tree.model.n))
    ddq, lam = now.accelerate(b, wanted)
    slopes = StepSlopes.of(tree.model, dq, gains, positions=positions)
    M_h, ahead = slopes.added(now.matrix, h), slopes.moved(b, dq, h)
    if slopes.symmetric:
        a = Kkt(tree, found, M_h).accelerate(ahead, wanted)[0]
    else:
        a = accelerate_unsymmetric(M_h, now, ahead, wanted)
    return np.concatenate([dq, a]), np.concatenate([ddq, now.shared(lam), found.Phi])


def accelerate_unsymmetric(M_h: Array, kkt: Kkt, force: Array, wanted: Array) -> Array:
    """X of M_h x - J^T y = force, J x = wanted, (n,), for M_h that is not symmetric.

    Args:
        M_h: a matrix with a positive symmetric part, (n, n).
        kkt: the constraints; its own M is not read.
        force: (n,).
        wanted: (m,).
    """
    J = kkt.J
    columns = solve_unsymmetric(M_h, np.concatenate([J.T, force[:, None]], axis=1))
    P, free = columns[:, :-1], columns[:, -1]  # M_h^-1 J^T and M_h^-1 force
    A, b = J @ P, wanted - J @ free
    if not has_floats(A):
        return free + P @ solve_unsymmetric(A, b)
    part, count = (DEPENDENT_EPS, DEPENDENT_STEPS) if kkt.dependent else (EPS, STEPS)
    mu = np.array([part * s for s in own_scales(A, kkt.given.scales)], dtype=object)
    raised = np.array(A, dtype=object)
    for i, x in enumerate(mu):
        raised[i, i] = raised[i, i] + x
    if kkt.dependent:  # the part of b that A cannot reach, as in Proximal.reached
        left = b
        for _ in range(count):
            left = solve_unsymmetric(raised, left) * mu
        b = b - left
    y = solve_unsymmetric(raised, b)
    for _ in range(count - 1):
        y = y + solve_unsymmetric(raised, b - A @ y)
    return free + P @ y
