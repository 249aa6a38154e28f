"""Solve the symmetric systems of constrained dynamics, in straight-line code.

For rows of full rank the matrix A of J M^-1 J^T (or J J^T) is positive definite, and A x = b has
one solution. In a singular position of the mechanism A loses rank, and a division by zero would
follow. Therefore a small part of the typical diagonal is added, mu_i = EPS s_i, and its effect is
taken away again by a fixed number K of proximal steps (the method of multipliers; Carpentier,
Budhiraja and Mansard 2021 use it for contacts),

    x_k = x_(k-1) + (A + mu)^-1 (b - A x_(k-1)),    x_0 = 0,   k = 1 ... K

Scale rows and columns by 1/sqrt(s_i), so that mu becomes EPS times the identity, and let sigma be
an eigenvalue of the scaled A. The error of the component of x along its eigenvector is multiplied
by EPS / (sigma + EPS) in every step, so after K steps

    x_K = x (1 - (EPS / (sigma + EPS))^K)

With EPS = 2^-36 (1.5e-11) and K = 3, the relative error is below 1e-14 where sigma > 7e-7, below
1e-6 where sigma > 1.5e-9, and the component is damped towards zero as sigma vanishes. The steps
are iterative refinement too: they remove the rounding errors of the factor. Exact numbers
(SymPy, mpmath, fractions) are solved without mu, once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import SingularityError
from kinetree.spatial.matrices import Factor, factor, is_zero, solve

EPS = 2.0**-36
STEPS = 3


class Proximal:
    """A symmetric positive matrix A, (m, m), factored once for any number of right sides.

    Args:
        A: the matrix.
        scales: typical values of its diagonal, (m,).
        names: names of its rows, for messages.
    """

    def __init__(self, A: Array, scales: Sequence[float], names: Sequence[str]) -> None:
        self.A = A
        self.rounds = has_floats(A)
        raised = A
        if self.rounds:
            mu = [[EPS * s if i == j else 0 for j in range(len(A))] for i, s in enumerate(scales)]
            raised = A + np.array(mu, dtype=object).reshape(A.shape)
        self.factor: Factor = factor(raised, [f"constraint row {name!r}" for name in names])

    def solve(self, b: Array) -> Array:
        """X of A x = b; b is (m,) or (m, k)."""
        x = solve(self.factor, b)
        for _ in range(STEPS - 1 if self.rounds else 0):
            x = x + solve(self.factor, b - self.A @ x)
        return x


def has_floats(*arrays: Array) -> bool:
    """Return True for numbers that round: floats of any size, and traced scalars."""
    kinds = {type(x) for a in arrays for x in np.ravel(np.asarray(a, dtype=object))}
    return any(
        issubclass(k, float | np.floating) or k.__module__.startswith("kinetree") for k in kinds
    )


def gram(J: Array, weights: Sequence[Any]) -> Array:
    """J diag(weights) J^T, (m, m), symmetric to the last digit; exact zeros of J are skipped."""
    m = len(J)
    rows = [{d: x for d, x in enumerate(row) if not is_zero(x)} for row in J]
    scaled = [{d: x * weights[d] for d, x in row.items()} for row in rows]
    half = [
        [
            sum((scaled[i][d] * rows[j][d] for d in sorted(scaled[i].keys() & rows[j].keys())), 0)
            for j in range(i + 1)
        ]
        for i in range(m)
    ]
    full = [[half[max(i, j)][min(i, j)] for j in range(m)] for i in range(m)]
    return np.array(full, dtype=object).reshape(m, m)


def solve_general(B: Array, C: Array) -> Array:
    """X of B X = C for a square B without symmetry, (k, k), and C (k, c).

    Numbers that round are solved by the normal equations B^T B X = B^T C, which need no choice of
    pivots, and two steps of refinement with the residual of the equations themselves. Exact numbers
    are eliminated with the first entry that is not zero as pivot.
    """
    if not has_floats(B):
        return _eliminate(B, C)
    ones = [1] * len(B)
    normal = factor(gram(B.T, ones), [f"dependent rate {k}" for k in range(len(B))])
    X = solve(normal, B.T @ C)
    for _ in range(STEPS - 1):
        X = X + solve(normal, B.T @ (C - B @ X))
    return X


def _eliminate(B: Array, C: Array) -> Array:
    """Gauss-Jordan elimination over exact numbers."""
    rows = [[*b, *c] for b, c in zip(B.tolist(), C.tolist(), strict=True)]
    k = len(rows)
    for i in range(k):
        pivot = next((r for r in range(i, k) if not _vanishes(rows[r][i])), None)
        if pivot is None:
            raise SingularityError(
                "the dependent rates do not follow from the independent ones at this position; "
                "choose other independent joints, robot.constrained(..., independent=[...])."
            )
        rows[i], rows[pivot] = rows[pivot], rows[i]
        head = [x / rows[i][i] for x in rows[i]]
        rows = [
            head if r == i else [x - row[i] * y for x, y in zip(row, head, strict=True)]
            for r, row in enumerate(rows)
        ]
    return np.array([row[k:] for row in rows], dtype=object).reshape(C.shape)


def _vanishes(x: Any) -> bool:
    simplified = x.simplify() if hasattr(x, "simplify") else x
    return bool(simplified == 0)
