"""Matrices: the factor M = L^T D L over any scalar kind, its inverse, and the exponential.

The rows of M are eliminated from the last to the first, from the leaves of a robot to its root. A
joint's row of M reaches only to its ancestors, so in a tree no zero is ever filled (Featherstone).
Where rotors tie branches together, the few entries that do fill are found beforehand by following
the elimination.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError, SingularityError
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
    z = list(b)
    for i in reversed(range(len(z))):
        for j, l in M.L[i].items():
            z[j] = z[j] - l * z[i]
    return np.array(z).reshape(np.shape(b))


def solve_outward(M: Factor, z: Array) -> Array:
    """L^-1 D^-1 z, the second half of `solve`."""
    x = [z_i / d for z_i, d in zip(z, M.D, strict=True)]
    for i in range(len(x)):
        for j, l in M.L[i].items():
            x[i] = x[i] - l * x[j]
    return np.array(x).reshape(np.shape(z))


def mirrored_half(X: Array) -> Array:
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


# coefficients of X to X^3, X^4 to X^6, X^7 to X^9 and X^10 to X^12 in the series of exp(X) - 1
SERIES = np.array([1 / math.factorial(k) for k in range(1, 13)]).reshape(4, 3)
# norms up to which what follows X^3, X^6, X^9 and X^12 is below rounding beside X^2 / 2, with which
# the block of forces on positions begins: ((k + 1)! / 2 2^-54) to the power of 1 / (k - 1)
LARGEST = [(math.factorial(k + 1) * 2.0**-55) ** (1 / (k - 1)) for k in (3, 6, 9, 12)]
CHUNK = 64  # matrices whose powers stay in the cache


def exponential(X: Array) -> Array:
    """Matrix exponential by its series, scaling and squaring, each matrix for itself.

    Args:
        X: shape (..., k, k + m): the first k rows of square matrices whose other m rows are zero.

    Returns:
        The first k rows of their exponentials, shape (..., k, k + m).
    """
    E = np.array(X, float)
    exponentiate(E.reshape(-1, *X.shape[-2:]))
    return E


def exponentiate(X: Array) -> None:
    """Write the exponentials of matrices, (N, k, k + m) as in `exponential`, in their place."""
    if not np.isfinite(X).all():
        raise InputError("the matrix to be exponentiated has entries that are not finite.")
    N, k, width = X.shape
    units, norms = _balance(X[..., :k])
    halvings = np.maximum(np.frexp(norms / LARGEST[-1])[1], 0)
    lasts = np.searchsorted(LARGEST[:-1], norms)
    across = np.ones((N, width))
    across[:, :k] = units
    room = np.empty((3 + len(SERIES)) * min(CHUNK, N) * k * width)
    kinds = sorted({*zip(halvings.tolist(), lasts.tolist(), strict=True)})
    for times, last in kinds:
        alike = np.flatnonzero((halvings == times) & (lasts == last)) if kinds[1:] else None
        for start in range(0, N if alike is None else len(alike), CHUNK):
            chunk = slice(start, start + CHUNK)
            chunk = chunk if alike is None else alike[chunk]
            scales = across[chunk, None, :] / units[chunk, :, None]
            Y = X[chunk]
            Y *= scales
            if times:
                Y *= 2.0**-times
            Y = _squared(Y, times, SERIES[: last + 1], room)
            Y /= scales
            X[chunk] = Y
    X.reshape(N, k * width)[:, : k * (width + 1) : width + 1] += 1


def _balance(X: Array) -> tuple[Array, Array]:
    """Units u of the variables, powers of two, (N, k), and the norms of X_ij u_j / u_i, (N,).

    A unit is the fourth root of the sum of a row over that of its column: positions and rates of a
    system of second order [0, 1; K, D] then differ by the root of K, and so do the norms. Units
    are 1 where others would not make the norm smaller. A norm is the largest sum of a row.
    """
    sizes, ones = np.abs(X), np.ones(X.shape[-1])
    rows, columns = sizes @ ones, ones @ sizes
    units = np.ldexp(1.0, (np.frexp(rows)[1] - np.frexp(columns)[1] + 2) // 4)
    plain = np.maximum.reduce(rows, -1, initial=0)
    norms = np.maximum.reduce((sizes @ units[..., None])[..., 0] / units, -1, initial=0)
    units[norms >= plain] = 1
    return units, np.minimum(norms, plain)


def _squared(X: Array, times: int, series: Array, room: Array) -> Array:
    """exp(2^times X) - 1 of the first rows of matrices, (m, k, k + l), with small norms.

    Y = exp(X) - 1 is squared as (1 + Y)^2 - 1 = 2 Y + Y Y, so that a small Y keeps its digits.

    Args:
        X: the rows; they are overwritten.
        times: squarings.
        series: rows of SERIES.
        room: for three powers and the parts of the series, each as large as X.
    """
    k, count = X.shape[-2], 3 + len(series)
    flat = room[: count * X.size].reshape(count, X.size)
    powers, parts = (x.reshape(-1, *X.shape) for x in (flat[:3], flat[3:]))
    powers[0] = X
    np.matmul(X[..., :k], X, out=powers[1])
    np.matmul(X[..., :k], powers[1], out=powers[2])
    np.matmul(series, flat[:3], out=flat[3:])
    Y, product = parts[-1], X
    for part in parts[-2::-1]:
        Y = np.matmul(powers[2][..., :k], Y, out=product)
        part += Y
        Y = part
    for _ in range(times):
        np.matmul(Y[..., :k], Y, out=product)
        Y *= 2
        Y += product
    return Y
