"""The equations of a step under constraints, factored once for all its right sides.

A step solves, with b its forces and w the accelerations of the constraints,

    M x - J^T y = b,     J x = w

with a matrix that need not be the mass matrix: an implicit step adds slopes of forces to it, which
may make it unsymmetric, and a joint that is held is stiff. Without constraints only M x = b is
left.

**Scales.** The rows of A = J M^-1 J^T shrink as slopes grow, so the part that is added to the
diagonal (solve.py) is measured by the diagonal of A itself, and not by that of a typical A. A row
that vanishes at a singular position still has FLOOR of the typical value.

**Unsymmetric matrices.** The symmetric part of A is positive where that of M is, so that A is
eliminated without exchanging rows; and A x = 0 has the same solutions as J^T x = 0 and as
A^T x = 0, so that the reasoning of solve.py on dependent rows applies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.dynamics import Kkt, eliminated_rows, row_names
from kinetree.dynamics.constraints.solve import (
    DEPENDENT_STEPS,
    EPS,
    STEPS,
    Proximal,
    dependent_part,
    has_floats,
    symmetric_product,
)
from kinetree.dynamics.impulses import Response
from kinetree.dynamics.rows import TINY
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.model import Model
from kinetree.spatial.matrices import (
    Factor,
    InverseFactor,
    factor,
    is_zero,
    mirrored_half,
    solve_inward,
    solve_outward,
    solve_unsymmetric,
)

HELD = 2.0**40  # of the inertia of a joint: the stiffness that holds it
FLOOR = 2.0**-18  # of a typical diagonal of A: the least scale of a row that vanishes
# of A_ii, added to it before A is inverted; rounds converge by this factor or faster
REGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class StepSystem:
    """M of a step, (n, n), and the constraints of the state with their accelerations.

    kkt: of the state; None without constraints. wanted: J x of its solved rows, (m,). symmetric:
    whether M is.
    """

    model: Model
    M: Array
    kkt: Kkt | None = None
    wanted: Array | None = None
    symmetric: bool = True

    @property
    def _of_state(self) -> bool:
        """Whether M is the mass matrix, which the constraints have factored."""
        return self.kkt is not None and self.M is self.kkt.matrix

    @cached_property
    def factor(self) -> Factor:
        """M = L^T D L."""
        if self.kkt is not None and self._of_state:
            return self.kkt.eliminated.M
        return factor_mass_matrix(self.model, self.M)

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        assert self.kkt is not None
        if self._of_state:
            return self.kkt.eliminated.Y, self.kkt.eliminated.Y_over_D
        return eliminated_rows(self.factor, self.kkt.J)

    @cached_property
    def _A(self) -> Proximal:
        """J M^-1 J^T of the constraints, factored."""
        kkt = self.kkt
        assert kkt is not None
        if self._of_state:
            return kkt.A
        G, over_D = self._rows
        A = symmetric_product(over_D, G)
        names = row_names(kkt.given, kkt.rows)
        return Proximal(A, self._scales(A), names, dependent=kkt.dependent)

    def _scales(self, A: Array) -> list[Any]:
        typical: Sequence[float] = () if self.kkt is None else self.kkt.given.scales
        return [x + FLOOR * s for x, s in zip(A.diagonal(), typical, strict=True)]

    def accelerate(self, b: Array) -> tuple[Array, Array]:
        """X and y, (n,) and (m,), for forces b, (n,)."""
        if not self.symmetric:
            return self._accelerate_unsymmetric(b)
        z = solve_inward(self.factor, b)
        if self.kkt is None:
            return solve_outward(self.factor, z), np.zeros(0)
        G, over_D = self._rows
        y = self._A.solve(self.wanted - over_D @ z)
        return solve_outward(self.factor, z + G.T @ y), y

    def _accelerate_unsymmetric(self, b: Array) -> tuple[Array, Array]:
        kkt = self.kkt
        if kkt is None:
            return solve_unsymmetric(self.M, b), np.zeros(0)
        columns = solve_unsymmetric(self.M, np.concatenate([kkt.J.T, b[:, None]], axis=1))
        P, x = columns[:, :-1], columns[:, -1]  # M^-1 J^T and M^-1 b
        A, right = kkt.J @ P, self.wanted - kkt.J @ x
        if not has_floats(A):
            y = solve_unsymmetric(A, right)
            return x + P @ y, y
        scales, count = self._scales(A), DEPENDENT_STEPS if kkt.dependent else STEPS
        part = dependent_part(A[0, 0] + scales[0]) if kkt.dependent else EPS
        mu = np.array([part * s for s in scales], dtype=object)
        raised = np.array(A, dtype=object)
        for i, added in enumerate(mu):
            raised[i, i] = raised[i, i] + added
        if kkt.dependent:  # without the part that A cannot reach, as in Proximal.reached
            left = right
            for _ in range(count):
                left = solve_unsymmetric(raised, left) * mu
            right = right - left
        y = solve_unsymmetric(raised, right)
        for _ in range(count - 1):
            y = y + solve_unsymmetric(raised, right - A @ y)
        return x + P @ y, y

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
            cross = self._rows[1] @ Y.T
            A = mirrored_half(A - cross.T @ self._A.solve(cross))
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
