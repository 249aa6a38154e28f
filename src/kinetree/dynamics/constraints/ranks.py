"""Ranks, least squares and null spaces by singular values, of which small ones count as zero."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kinetree.core.arrays import Array

# of the size of the equations: smaller singular values are those of equations that follow from
# others. Angles of files, rounded to 1.5708, leave 4e-6, a mechanism that can move by 1e-6 of its
# size more than 1e-3, and one that is always singular less than the square root of rounding
RANK = 1e-4
ALIKE = 1e-5  # rows whose distances differ by less are alike: the first one is chosen


class Singular(NamedTuple):
    """A = U diag(s) V^T without the singular values that count as zero: (m, r), (r,), (n, r)."""

    U: Array
    s: Array
    V: Array


def decomposed(A: Array, cutoff: float, least: float = 0.0) -> Singular:
    """The singular values of A, (m, n), above `cutoff` times the largest one, and above `least`."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > max(cutoff * s.max(initial=0), least)
    return Singular(U[:, kept], s[kept], Vt[kept].T)


def least_squares(A: Array, b: Array, cutoff: float, least: float = 0.0) -> Array:
    """The shortest x, (n,), for which |A x - b| is least; cutoff and least as above."""
    U, s, V = decomposed(A, cutoff, least)
    return V @ (U.T @ b / s)


def beside(Q: Array, x: Array) -> Array:
    """The part of x that is orthogonal to the orthonormal columns of Q."""
    return x - Q @ (Q.T @ x)


def farthest(samples: Sequence[Array], count: int) -> list[int]:
    """Choose rows, each time the one farthest from the span of those before, over all samples."""
    left, chosen = [np.array(A) for A in samples], list[int]()
    for _ in range(count):
        lengths = np.array([np.linalg.norm(A, axis=1) for A in left])
        scores = np.prod(np.maximum(lengths, 1e-12), axis=0)  # geometric means order them so
        scores[chosen] = 0
        best = int(np.flatnonzero(scores >= (1 - ALIKE) * scores.max())[0])
        chosen.append(best)
        for A in left:
            row = A[best] / max(float(np.linalg.norm(A[best])), 1e-300)
            A -= np.outer(A @ row, row)
    return chosen
