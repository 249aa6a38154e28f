"""Joint forces of elements with arms, and gains: slopes of joint forces, whose zeros cost nothing.

A spring, motor or actuator measures a length or angle x. Its arms are a = dx/dq. A force f along x
needs the joint forces a f, and a slope k of f the slopes k a a^T.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.model.joint import is_plain
from kinetree.spatial.matrices import is_zero

Arms = Mapping[int, Any]  # dx/dq of an element by degree of freedom


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


def arm_rate(arms: Arms, dq: Array) -> Any:
    """dx/dt = a . dq of an element with arms a."""
    parts: list[Any] = [dq[d] if is_plain(arm, 1) else dq[d] * arm for d, arm in arms.items()]
    return sum(parts[1:], parts[0]) if parts else 0


def arm_forces(n: int, forces: Iterable[tuple[Arms, Any]]) -> Array:
    """The sum of a f, (n,), of the forces f of elements with arms a."""
    tau: list[Any] = [0] * n
    for arms, force in forces:
        for d, arm in arms.items():
            tau[d] = tau[d] + force * arm
    return np.array(tau) if n else np.zeros(0, int)


def arm_gains(n: int, slopes: Iterable[tuple[Arms, Any]]) -> Array:
    """The sum of k a a^T, (n, n), of the slopes k of elements with arms a."""
    K = no_gains(n)
    for arms, slope in slopes:
        for i, a in arms.items():
            for j, b in arms.items():
                K[i, j] = K[i, j] + slope * (a * b)
    return K
