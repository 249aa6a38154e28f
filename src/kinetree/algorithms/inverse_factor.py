"""M^-1 B from M = L^T D L, column by column, without touching what is zero by structure.

With u_a = L^-T e_a and y_c = L^-T b_c, the entry of M^-1 B = L^-1 D^-1 L^-T B in row a, column c is

    sum over k of u_a[k] y_c[k] / D[k]

In a tree u_a reaches from joint a to its ancestors only, and so two columns meet at common
ancestors only. Substitution would go through all ancestors of a for every c.
"""

from typing import Any

import numpy as np

from kinetree.algorithms.factor import Factor, is_zero
from kinetree.base.arrays import Array

Column = dict[int, Any]  # the entries that are not zero by structure, by their rows


class InverseFactor:
    """The columns u_a, and the same over D."""

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
        return np.array([[meet(u, y) for y in Y] for u in self.over_D]).reshape(n, n)

    def matrix(self) -> Array:
        """M^-1, (n, n), symmetric to the last digit: an entry and its mirror image are one."""
        n = len(self.U)
        half = [[meet(self.over_D[a], self.U[b]) for b in range(a + 1)] for a in range(n)]
        rows = [[half[max(a, b)][min(a, b)] for b in range(n)] for a in range(n)]
        return np.array(rows).reshape(n, n)


def eliminated(M: Factor, b: Column) -> Column:
    """L^-T b: what stands in a row is handed on to its ancestors."""
    x = dict(b)
    for i in reversed(range(len(M.D))):
        if i in x:
            for j, l in M.L[i].items():
                x[j] = x.get(j, 0) - l * x[i]
    return x


def meet(u: Column, y: Column) -> Any:
    """Sum of products over the rows that both columns have."""
    return sum((u[k] * y[k] for k in sorted(u.keys() & y.keys())), start=0)
