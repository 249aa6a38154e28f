"""Rank, least squares and null spaces of small matrices, with the same bits on every processor.

Whether a robot can be constrained, which rows are redundant and which joints are independent are
decided once, and must not depend on the machine. LAPACK and BLAS sum in an order that depends on
the processor, so everything that leads to such a decision is computed here by multiplication,
addition and square roots of whole rows, in a fixed order.

A matrix A, (m, n), is written as B Q with orthonormal rows Q, (k, n), by Gram and Schmidt's method:
the longest row is taken first, then each time the row that is farthest from those taken before,
until all others are shorter than a part of the first. Their lengths, the pivots, stand in for the
singular values: both decrease, and at a gap in one of them there is a gap in the other.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array


@dataclass(frozen=True, eq=False)
class RowSpace:
    """A = B Q up to the rows that count as zero.

    Q: orthonormal rows, (k, n). B: (m, k). rows: those of A in the order in which they were taken,
    so that B[rows] is lower triangular. pivots: their distances from the rows before, decreasing.
    """

    Q: Array
    B: Array
    rows: list[int]
    pivots: list[float]

    @property
    def rank(self) -> int:
        """Number of rows that are independent."""
        return len(self.rows)

    def across(self, x: Array) -> Array:
        """The part of a vector x, (n,), that is orthogonal to all rows."""
        return x - dots(self.Q.T, dots(self.Q, x)) if self.rank else x


def dots(A: Array, x: Array) -> Array:
    """Sums of A x over the last axis, in the order of the index; x is (n,) or has the shape of A.

    `np.add.accumulate` adds one term after the other by definition, which `np.sum` does not.
    """
    return np.add.accumulate(A * x, axis=-1)[..., -1]


def row_space(A: Array, cutoff: float, least: float = 0.0) -> RowSpace:
    """The space of the rows of A, (m, n).

    A: the matrix, of floats. cutoff: rows whose rest is shorter than this part of the longest row
    count as dependent. least: rows whose rest is shorter than this count as dependent too.
    """
    m, n = A.shape
    left = np.array(A, float)
    squares = dots(left, left)
    Q, B = np.zeros((min(m, n), n)), np.zeros((m, min(m, n)))
    rows: list[int] = []
    pivots: list[float] = []
    for k in range(min(m, n)):
        best = int(np.argmax(squares))
        size = float(np.sqrt(squares[best]))
        if not size > max(cutoff * (pivots[0] if pivots else 0.0), least):
            break
        Q[k] = left[best] / size
        # a mechanism of many loops has mostly zeros, which change no sum and are left out of them
        columns = np.flatnonzero(Q[k])
        inside = left[:, columns]
        touched = np.flatnonzero(inside.any(axis=1))
        block, unit = inside[touched], Q[k, columns]
        along = dots(block, unit)
        left[touched[:, None], columns] = block - along[:, None] * unit
        left[best] = 0
        changed = left[touched]
        changed = changed[:, changed.any(axis=0)]
        squares[touched] = dots(changed, changed) if changed.size else 0.0
        B[touched, k] = along
        rows.append(best)
        pivots.append(size)
    return RowSpace(Q[: len(rows)], B[:, : len(rows)], rows, pivots)


def least_squares(A: Array, b: Array, cutoff: float) -> Array:
    """The shortest x, (n,), for which |A x - b| is least, A taken as `row_space` sees it."""
    space = row_space(A, cutoff)
    if not space.rank:
        return np.zeros(A.shape[1])
    return dots(space.Q.T, _coefficients(space.B, b))


def outside(space: RowSpace, b: Array) -> Array:
    """The part of b, (m,), that no sum of the columns of A = B Q makes."""
    return b - dots(space.B, _coefficients(space.B, b)) if space.rank else b


def _coefficients(B: Array, b: Array) -> Array:
    """y with |B y - b| least, for columns of B that are independent: B = P^T C^T, C^T y = P b."""
    columns = row_space(B.T, 0.0)
    right, C = dots(columns.Q, b), columns.B
    y = np.zeros(B.shape[1])
    for k in reversed(range(columns.rank)):
        place = columns.rows[k]
        y[place] = right[k] / C[place, k]
        right = right - C[place] * y[place]
    return y
