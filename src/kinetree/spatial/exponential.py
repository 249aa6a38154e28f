"""Exponential of matrices of numbers, any leading axes."""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError

# coefficients of Pade's approximant of degree 13, whose error is below rounding for norms up to 5.4
PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
LARGEST = 5.371920351148152


def exponential(X: Array) -> Array:
    """Matrix exponential, (..., k, k), by scaling and squaring (Higham, 2005)."""
    norm = float(np.abs(X).sum(-2).max(initial=0))
    if not np.isfinite(norm):
        raise InputError("the matrix to be exponentiated has entries that are not finite.")
    halvings = max(0, int(np.ceil(np.log2(norm / LARGEST)))) if norm > 0 else 0
    Y = X / 2.0**halvings
    one = np.eye(X.shape[-1])
    Y2 = Y @ Y
    Y4 = Y2 @ Y2
    Y6 = Y4 @ Y2
    b = PADE
    high = Y6 @ (b[13] * Y6 + b[11] * Y4 + b[9] * Y2)
    odd = Y @ (high + b[7] * Y6 + b[5] * Y4 + b[3] * Y2 + b[1] * one)
    even = Y6 @ (b[12] * Y6 + b[10] * Y4 + b[8] * Y2)
    even = even + b[6] * Y6 + b[4] * Y4 + b[2] * Y2 + b[0] * one
    E = np.linalg.solve(even - odd, even + odd)
    for _ in range(halvings):
        E = E @ E
    return E
