"""Bootstraps: how much an identification would differ had other stretches been recorded.

A recording is cut into blocks of consecutive samples; each holds its part of the normal equations,
A_k = W_k^T D W_k and b_k = W_k^T D y_k. A replicate draws as many blocks as there are, with
replacement, and solves (sum c_k A_k) beta = sum c_k b_k. Blocks keep errors together that belong
together in time, and weights D are those of the whole recording.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import SingularityError
from kinetree.model import Model
from kinetree.parallel.philox import words


class BootstrapStudy:
    """One row a replicate: the base parameters."""

    rows = 1

    def __init__(self, model: Model, seed: int, repeats: int, settings: Mapping[str, Any]) -> None:
        self.seed, self.A, self.b = seed, settings["A"], settings["b"]
        self.scale = settings["scale"]
        self.names = tuple(settings["names"])
        self.columns = tuple(f"beta:{name}" for name in self.names)
        blocks, r = self.b.shape
        self.seconds = 1e-9 * (r**3 + blocks * r * r)
        self.size = 8 * (4 * r * r + 2 * blocks)

    def warm(self) -> None:
        """The whole recording can be solved for."""
        factor_solve(self.A.sum(axis=0)[None], self.b.sum(axis=0)[None], self.names)

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, 1, columns)."""
        blocks, S = len(self.b), len(samples)
        chosen = (words(self.seed, "blocks", samples, blocks) % np.uint64(blocks)).astype(int)
        A, b = np.zeros((S, *self.A.shape[1:])), np.zeros((S, *self.b.shape[1:]))
        for k in range(blocks):  # one block after the other: the order of sums is part of the bits
            count = (chosen == k).sum(axis=1).astype(float)
            A += count[:, None, None] * self.A[k]
            b += count[:, None] * self.b[k]
        return (self.scale * factor_solve(A, b, self.names))[:, None]


def factor_solve(A: Array, b: Array, names: tuple[str, ...]) -> Array:
    """A^-1 b, (S, r), of positive matrices (S, r, r), by L D L^T.

    Element-wise operations alone: libraries of linear algebra sum in an order that depends on the
    batch and on the number of threads.
    """
    r = b.shape[-1]
    A, x = A.copy(), b.copy()
    size = np.abs(A.diagonal(axis1=1, axis2=2)).max(axis=1)
    for k in range(r):
        pivot = A[:, k, k]
        if not (pivot > 1e-13 * size).all():
            raise SingularityError(
                f"a replicate does not tell {names[k]} from the parameters before it; expected "
                "blocks that all excite it. Take longer blocks, or record a richer motion."
            )
        column = A[:, k + 1 :, k] / pivot[:, None]
        A[:, k + 1 :, k + 1 :] -= column[:, :, None] * A[:, None, k, k + 1 :]
        x[:, k + 1 :] -= column * x[:, k, None]
        A[:, k + 1 :, k] = column
    for k in reversed(range(r)):
        x[:, k] /= A[:, k, k]
    for k in reversed(range(r)):
        x[:, :k] -= A[:, k, :k] * x[:, k, None]
    return x
