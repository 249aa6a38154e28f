"""Equations of a step under constraints: any matrix, with joints that are bound.

A step under constraints solves

    M x - J^T y = b,     J x = w

with a matrix that need not be the mass matrix: an implicit step adds slopes of forces to it, which
may make it unsymmetric; and joints that dry friction holds are taken out of it (stiction.py).

**Scales.** The rows of A = J M^-1 J^T shrink as slopes grow, so the part that is added to the
diagonal (solve.py) is measured by the diagonal of A itself, and not by that of a typical A. A row
that vanishes at a singular position still has FLOOR of the typical value.

**Unsymmetric matrices.** The symmetric part of A is positive where that of M is, so that A is
eliminated without exchanging rows; and A x = 0 has the same solutions as J^T x = 0 and as
A^T x = 0, so that the reasoning of solve.py on dependent rows applies.

**Bound joints.** x of a bound joint is given, its equation is left out, and its columns of J move
to the right side. The rows of J stay independent if the bound joints belong to a choice of
independent joints of the mechanism. All of this is multiplication by 0 and 1, without a branch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.dynamics import Eliminated, Kkt, row_names
from kinetree.dynamics.constraints.solve import (
    DEPENDENT_STEPS,
    EPS,
    STEPS,
    Proximal,
    dependent_part,
    has_floats,
)
from kinetree.dynamics.textbook.mass_factor import mass_names
from kinetree.model import Model
from kinetree.spatial.matrices import (
    is_symmetric,
    is_zero,
    solve_unsymmetric,
)

FLOOR = 2.0**-18  # of a typical diagonal of A: the least scale of a row that vanishes


@dataclass(frozen=True, eq=False)
class StepConstraints:
    """J x = wanted for the solved rows of the constraints of a robot, with any matrix of a step.

    J: (m, n). wanted: (m,). typical: diagonal of A at typical positions, (m,). names: of the rows.
    dependent: rows depend on each other in a way that changes with the position.
    """

    model: Model
    J: Array
    wanted: Array
    typical: Sequence[float]
    names: Sequence[str]
    dependent: bool

    @staticmethod
    def of(model: Model, kkt: Kkt, wanted: Array) -> "StepConstraints":
        """The solved rows of a state with their right side, (m,)."""
        names = row_names(kkt.given, kkt.rows)
        return StepConstraints(model, kkt.J, wanted, kkt.given.scales, names, kkt.dependent)

    def bound(self, free: Sequence[Any], fixed: Array) -> "StepConstraints":
        """The constraints that joints with a given x leave to the others.

        free: 0 for a joint that is bound and 1 for the others, (n,). fixed: x of joints that are
        bound, 0 for the others, (n,).
        """
        J = [[x if is_zero(x) else x * f for x, f in zip(row, free, strict=True)] for row in self.J]
        wanted = self.wanted - self.J @ fixed
        return replace(self, J=np.array(J, dtype=object).reshape(self.J.shape), wanted=wanted)

    def solve(self, M: Array, b: Array, *, symmetric: bool | None = None) -> tuple[Array, Array]:
        """X and y, (n,) and (m,); `symmetric`: M is, if that is known."""
        if not (is_symmetric(M) if symmetric is None else symmetric):
            return self._solve_unsymmetric(M, b)
        whole = Eliminated(mass_names(self.model), M, self.J)
        return whole.solve(self.matrix(whole.A), b, self.wanted)

    def matrix(self, A: Array) -> Proximal:
        """A = J M^-1 J^T, (m, m), of the matrix M of a step, factored."""
        return Proximal(A, self._scales(A), self.names, dependent=self.dependent)

    def _solve_unsymmetric(self, M: Array, b: Array) -> tuple[Array, Array]:
        columns = solve_unsymmetric(M, np.concatenate([self.J.T, b[:, None]], axis=1))
        P, x = columns[:, :-1], columns[:, -1]  # M^-1 J^T and M^-1 b
        A, right = self.J @ P, self.wanted - self.J @ x
        if not has_floats(A):
            y = solve_unsymmetric(A, right)
            return x + P @ y, y
        scales, count = self._scales(A), DEPENDENT_STEPS if self.dependent else STEPS
        part = dependent_part(A[0, 0] + scales[0]) if self.dependent else EPS
        mu = np.array([part * s for s in scales], dtype=object)
        raised = np.array(A, dtype=object)
        for i, added in enumerate(mu):
            raised[i, i] = raised[i, i] + added
        if self.dependent:  # without the part that A cannot reach, as in Proximal.reached
            left = right
            for _ in range(count):
                left = solve_unsymmetric(raised, left) * mu
            right = right - left
        y = solve_unsymmetric(raised, right)
        for _ in range(count - 1):
            y = y + solve_unsymmetric(raised, right - A @ y)
        return x + P @ y, y

    def _scales(self, A: Array) -> list[Any]:
        return [x + FLOOR * s for x, s in zip(A.diagonal(), self.typical, strict=True)]
