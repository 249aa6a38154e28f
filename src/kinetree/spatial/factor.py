"""M = L^T D L, from the leaves to the root, over any scalar kind and without filling zeros.

Rows are eliminated from the last to the first. A joint's row of M reaches only to its ancestors,
so in a tree no zero is ever filled (Featherstone); where rotors tie branches together, the few
entries that do fill are found beforehand by following the elimination.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import SingularityError
from kinetree.scalars import Scalar

Column = dict[int, Scalar]  # entries that are not zero by structure, by their rows


@dataclass(frozen=True, eq=False)
class Factor:
    """M = L^T D L: L[i][j] for j < i where it is not zero by structure, D its pivots."""

    L: list[Column]
    D: list[Scalar]


def factor(M: Array, names: Sequence[str]) -> Factor:
    """Factor a symmetric positive definite matrix; `names` are those of its rows, for the error.

    Only entries on and below the diagonal are read; an entry that is an exact integer 0 counts as
    zero by structure.
    """
    n = len(M)
    rows: list[Column] = [
        {j: M[i][j] for j in range(i + 1) if not is_zero(M[i][j])} for i in range(n)
    ]
    L: list[Column] = [{} for _ in range(n)]
    D: list[Scalar] = [0] * n
    for i in reversed(range(n)):
        pivot = rows[i].get(i, 0)
        check_pivot(pivot, M[i][i], names[i])
        D[i] = pivot
        L[i] = {j: entry / pivot for j, entry in rows[i].items() if j < i}
        for j, l_j in L[i].items():
            for k in L[i]:
                if k <= j:
                    rows[j][k] = rows[j].get(k, 0) - l_j * rows[i][k]
    return Factor(L, D)


def solve(M: Factor, b: Array) -> Array:
    """Solve M x = b for x."""
    x = list(b)
    for i in reversed(range(len(x))):
        for j, l in M.L[i].items():
            x[j] = x[j] - l * x[i]
    x = [x_i / d for x_i, d in zip(x, M.D, strict=True)]
    for i in range(len(x)):
        for j, l in M.L[i].items():
            x[i] = x[i] - l * x[j]
    return np.array(x).reshape(np.shape(b))


def is_zero(entry: Scalar) -> bool:
    """Return True for a plain number 0, which counts as zero by structure."""
    return isinstance(entry, int | float) and entry == 0


def check_pivot(pivot: Scalar, diagonal: Scalar, name: str) -> None:
    """Raise unless a pivot is positive; symbols and traced scalars are not judged."""
    if not isinstance(pivot, int | float):
        return
    if not pivot > 64 * np.finfo(float).eps * abs(float(diagonal)):
        raise SingularityError(
            f"the inertia seen by {name} is {pivot:.3g} (of {diagonal:.3g} on the diagonal); it "
            "must be positive. Give the links that it moves mass, or the joint armature."
        )


class InverseFactor:
    """M^-1 in factors: the columns u_a = L^-T e_a, and the same divided by D."""

    def __init__(self, M: Factor) -> None:
        self.M = M
        self.U = [eliminated(M, {a: 1}) for a in range(len(M.D))]
        self.over_D = [{k: u / M.D[k] for k, u in column.items()} for column in self.U]

    def times(self, B: Array) -> Array:
        """M^-1 B, (n, n)."""
        n = len(self.U)
        Y = [
            eliminated(self.M, {i: B[i, c] for i in range(n) if not is_zero(B[i, c])})
            for c in range(n)
        ]
        return np.array([[product(u, y) for y in Y] for u in self.over_D]).reshape(n, n)

    def matrix(self) -> Array:
        """M^-1, (n, n), symmetric to the last digit: mirrored entries are computed once."""
        n = len(self.U)
        half = [[product(self.over_D[a], self.U[b]) for b in range(a + 1)] for a in range(n)]
        rows = [[half[max(a, b)][min(a, b)] for b in range(n)] for a in range(n)]
        return np.array(rows).reshape(n, n)


def eliminated(M: Factor, b: Column) -> Column:
    """L^-T b: every row is eliminated from the rows of its ancestors."""
    x = dict(b)
    for i in reversed(range(len(M.D))):
        if i in x:
            for j, l in M.L[i].items():
                x[j] = x.get(j, 0) - l * x[i]
    return x


def product(u: Column, y: Column) -> Scalar:
    """Sum of products over the rows that both columns have."""
    return sum((u[k] * y[k] for k in sorted(u.keys() & y.keys())), start=0)
