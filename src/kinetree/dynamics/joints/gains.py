"""Gains: slopes of joint forces by positions and rates, (n, n), whose zeros cost nothing."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.spatial.matrices import is_zero


@dataclass(frozen=True, eq=False)
class Gains:
    """Slopes of the joint forces tau, such as the gains of servos.

    kp: -d tau/d q, (n, n), N m/rad or N/m, q along tangent vectors. kd: -d tau/d dq, (n, n),
    N m s/rad or N s/m. Entries that are integers 0 cost nothing. symmetric: both are; only the
    entries on and below the diagonals are read then.
    """

    kp: Array
    kd: Array
    symmetric: bool = True

    @staticmethod
    def of_joints(kp: Array | None, kd: Array | None) -> "Gains":
        """Gains of each joint by itself, (n,) each; None: no gain."""
        n = max((len(x) for x in (kp, kd) if x is not None), default=0)
        by_position, by_rate = (no_gains(n) if x is None else diagonal(x) for x in (kp, kd))
        return Gains(by_position, by_rate)

    def plus(self, other: "Gains") -> "Gains":
        """The sum of two gains."""
        symmetric = self.symmetric and other.symmetric
        return Gains(self.kp + other.kp, self.kd + other.kd, symmetric=symmetric)

    def without(self, dofs: Collection[int]) -> "Gains":
        """The gains of the other degrees of freedom: the forces of `dofs` have no slope."""
        kp, kd, rows = self.kp.copy(), self.kd.copy(), list(dofs)
        kp[rows] = kd[rows] = 0
        others = (x[i, j] for x in (kp, kd) for i in range(len(x)) for j in rows if i != j)
        return Gains(kp, kd, symmetric=self.symmetric and all(map(is_zero, others)))


def no_gains(n: int) -> Array:
    """A matrix of integers 0, (n, n)."""
    return diagonal(np.array([0] * n, object))


def diagonal(x: Array) -> Array:
    """The matrix with x on its diagonal, (n, n), and integers 0 elsewhere."""
    matrix = np.full((len(x), len(x)), 0, object)
    np.fill_diagonal(matrix, x)
    return matrix
