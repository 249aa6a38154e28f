"""Matrices: the factor M = L^T D L over any scalar kind, and its inverse.

The rows of M are eliminated from the last to the first, from the leaves of a robot to its root. A
joint's row of M reaches only to its ancestors, so in a tree no zero is ever filled (Featherstone).
Where rotors tie branches together, the few entries that do fill are found beforehand by following
the elimination.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import SingularityError
from kinetree.scalars import Scalar

Column = dict[int, Scalar]  # entries that are not zero by structure, by their rows


@dataclass(frozen=True, eq=False)
class Factor:
    """M = L^T D L: L[i][j] for j < i where it is not zero by structure, D its pivots."""

    L: list[Column]
    D: list[Scalar]


def factor(M: Array, names: Sequence[str] | None) -> Factor:
    """Factor a symmetric positive definite matrix; `names` are those of its rows, for the error.

    Without names pivots are not judged. Only entries on and below the diagonal are read; an entry
    that is an exact integer 0 counts as zero by structure.
    """
    n = len(M)
    rows: list[Column] = [
        {j: M[i][j] for j in range(i + 1) if not is_zero(M[i][j])} for i in range(n)
    ]
    L: list[Column] = [{} for _ in range(n)]
    D: list[Scalar] = [0] * n
    for i in reversed(range(n)):
        pivot = rows[i].get(i, 0)
        if names is not None:
            check_pivot(pivot, M[i][i], names[i])
        D[i] = pivot
        L[i] = {j: entry / pivot for j, entry in rows[i].items() if j < i}
        for j, l_j in L[i].items():
            for k in L[i]:
                if k <= j:
                    rows[j][k] = rows[j].get(k, 0) - l_j * rows[i][k]
    return Factor(L, D)


def solve(M: Factor, b: Array) -> Array:
    """Solve M x = b for x, (n,) or (n, k)."""
    return solve_outward(M, solve_inward(M, b))


def solve_inward(M: Factor, b: Array) -> Array:
    """z = L^-T b, the first half of `solve`."""
    z = eliminated(M, dict(enumerate(b)))
    return np.array([z[i] for i in range(len(b))]).reshape(np.shape(b))


def solve_outward(M: Factor, z: Array) -> Array:
    """L^-1 D^-1 z, the second half of `solve`."""
    x = [z_i / d for z_i, d in zip(z, M.D, strict=True)]
    for i in range(len(x)):
        for j, l in M.L[i].items():
            x[i] = x[i] - l * x[j]
    return np.array(x).reshape(np.shape(z))


def mirrored_half(X: Array | Sequence[Sequence[Scalar]]) -> Array:
    """X with the entries below the diagonal mirrored above it, (n, n).

    The entries above the diagonal are then computed by no code that is compiled.
    """
    n = len(X)
    rows = [[X[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    return np.array(rows, dtype=object).reshape(n, n)


def dense(X: Array) -> Array:
    """An array of objects as one of numbers, where all are."""
    return np.array(X.tolist()).reshape(X.shape)


def is_symmetric(M: Array) -> bool:
    """Return True if mirrored entries are equal numbers or the same node of a trace."""
    rows = [[getattr(x, "node", x) for x in row] for row in M]
    return rows == [list(column) for column in zip(*rows, strict=True)]


def solve_unsymmetric(M: Array, b: Array) -> Array:
    """Solve M x = b for x, (n,); M need not be symmetric, but its symmetric part be positive.

    Rows are eliminated from the last to the first as in `factor`, and not exchanged: that is
    accurate if x^T M x > 0 for all x, and a traced scalar has no size by which to exchange rows.
    """
    n = len(M)
    rows: list[Column] = [{j: M[i][j] for j in range(n) if not is_zero(M[i][j])} for i in range(n)]
    x = list(b)
    for i in reversed(range(n)):
        pivot = rows[i].get(i, 0)
        check_elimination(pivot, M[i][i], i)
        for j in range(i):
            if i in rows[j]:
                share = rows[j][i] / pivot
                x[j] = x[j] - share * x[i]
                for k, entry in rows[i].items():
                    if k < i:
                        rows[j][k] = rows[j].get(k, 0) - share * entry
    for i in range(n):
        for j, entry in rows[i].items():
            if j < i:
                x[i] = x[i] - entry * x[j]
        x[i] = x[i] / rows[i][i]
    return np.array(x).reshape(np.shape(b))


def check_elimination(pivot: Scalar, diagonal: Scalar, i: int) -> None:
    """Raise if a pivot is 0 to rounding; symbols and traced scalars are not judged."""
    if not isinstance(pivot, int | float):
        return
    if not abs(pivot) > 64 * np.finfo(float).eps * abs(float(diagonal)):
        raise SingularityError(
            f"row {i} of the matrix has the pivot {pivot:.3g} (of {diagonal:.3g} on the diagonal); "
            "expected a matrix whose symmetric part is positive definite. An implicit step has one "
            "if dt is short for forces that push joints away; take a shorter dt."
        )


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
        return dense(mirrored_half(half))


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
