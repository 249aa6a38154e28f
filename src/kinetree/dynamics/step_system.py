"""The equations of a step under constraints, factored once for all its right sides.

A step solves, with b its forces and w the accelerations of the constraints,

    M x - J^T y = b,     J x = w

with a matrix that need not be the mass matrix: an implicit step adds slopes of forces to it, and a
joint that is held is stiff. Without constraints only M x = b is left, and M may be unsymmetric.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.dynamics import Items, Kkt, eliminated_rows
from kinetree.dynamics.constraints.solve import symmetric_product
from kinetree.dynamics.contacts.points import Places
from kinetree.dynamics.impulses import Response
from kinetree.dynamics.joints.gains import Gains
from kinetree.dynamics.rows import TINY
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.scalars import Scalar
from kinetree.spatial.matrices import (
    Factor,
    InverseFactor,
    factor,
    is_zero,
    mirrored_half,
    solve,
    solve_unsymmetric,
)

HELD = 2.0**40  # of the inertia of a joint: the stiffness that holds it
# of A_ii, added to it before A is inverted; rounds converge by this factor or faster
REGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class Step:
    """What the rate of a step is computed from.

    Args:
        tree: of the position q, (nq,).
        dq: joint rates, (n,).
        tau: joint forces, (n,).
        h: length of the step, s.
        items, places: constraints and contacts in the frames of the tree.
        gains: slopes of tau, for an implicit method; None: tau is constant in the step.
        stops: limits of joints stop them, in a method that moves q with the new rates.
    """

    tree: Tree
    q: Array
    dq: Array
    tau: Array
    h: Scalar
    items: Items = ()
    places: Places = ()
    gains: Gains | None = None
    stops: bool = False

    @property
    def model(self) -> Model:
        """The robot."""
        return self.tree.model


@dataclass(frozen=True, eq=False)
class StepSystem:
    """M of a step, (n, n), and the constraints with it; kkt: None without constraints.

    symmetric: whether M is.
    """

    model: Model
    M: Array
    kkt: Kkt | None = None
    symmetric: bool = True

    def with_matrix(self, M: Array, *, symmetric: bool = True) -> "StepSystem":
        """The equations with another matrix."""
        kkt = None if self.kkt is None else self.kkt.with_matrix(M)
        return StepSystem(self.model, M, kkt, symmetric)

    @cached_property
    def factor(self) -> Factor:
        """M = L^T D L."""
        return factor_mass_matrix(self.model, self.M) if self.kkt is None else self.kkt.M

    def accelerate(self, b: Array) -> tuple[Array, Array]:
        """X and y, (n,) and (m,), for forces b, (n,)."""
        if self.kkt is not None:
            return self.kkt.accelerate(b)
        if self.symmetric:
            return solve(self.factor, b), np.zeros(0)
        return solve_unsymmetric(self.M, b), np.zeros(0)

    def response(self, J: Array, *, sparse: bool) -> tuple[Response, Callable[[slice], Array]]:
        """How impulses along rows J, (D, n), change rates, and the blocks of J M^-1 J^T.

        sparse: the joint rates are the unknowns of the solver, without constraints; else the
        velocities along J are.
        """
        Y, over_D = eliminated_rows(self.factor, J)
        if sparse:
            factored = self.factor if self.symmetric else None
            return Response(self.M, factored, J=J), lambda at: symmetric_product(over_D[at], Y[at])
        A = symmetric_product(over_D, Y)
        if self.kkt is not None:
            cross = self.kkt.Y_over_D @ Y.T
            A = mirrored_half(A - cross.T @ self.kkt.A.solve(cross))
        more = np.diag([A[i, i] * REGULAR + TINY for i in range(len(A))])
        inverse = InverseFactor(factor(A + more, None)).matrix() if len(A) else A
        return Response(inverse, A=A), lambda at: A[at, at]


def stiffened(
    M: Array, held: Mapping[int, Any], T: Array | None = None
) -> tuple[Array, dict[int, Any]]:
    """M with the stiffness of joints that are held, (n, n), and these stiffnesses.

    held: 1 for a joint that is held and 0 for one that is not. T: the rates that are held, by rows,
    (n, n); None: those of the joints.
    """
    n, stiff = len(M), {d: x * HELD * M[d][d] for d, x in held.items()}
    rows = np.eye(n, dtype=int) if T is None else T
    M = np.array(M, dtype=object)
    for d, x in stiff.items():
        dofs = [k for k in range(n) if not is_zero(rows[d, k])]
        for i in dofs:
            for j in dofs:
                M[i, j] = M[i, j] + x * (rows[d, i] * rows[d, j])
    return M, stiff
