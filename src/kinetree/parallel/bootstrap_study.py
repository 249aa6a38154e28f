"""Bootstraps: how much an identification would differ if other stretches had been recorded.

A recording is cut into blocks of consecutive samples; each has its part of the normal equations,
A_k = W_k^T D W_k and b_k = W_k^T D y_k. A replicate draws as many blocks as there are, with
replacement, and solves (sum c_k A_k) beta = sum c_k b_k. Blocks keep errors together that are
correlated in time, and the weights D are those of the whole recording. Shapes of friction laws are
among the unknowns beta, with the derivatives of joint forces by them as columns of W.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Unpack

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError, SingularityError
from kinetree.identify import Identification
from kinetree.identify.equations import linear_rows
from kinetree.model import Model
from kinetree.parallel.philox import words
from kinetree.parallel.results import Results
from kinetree.parallel.run import Options, run_study


def bootstrap(
    found: Identification, n: int = 1000, *, block: int | None = None, **options: Unpack[Options]
) -> Results:
    """Base parameters of an identification, from recordings that are resampled in blocks.

    `results.quantiles("beta", (0.025, 0.975))` is a 95 % interval for each parameter. It does not
    assume that errors are normal, or independent within a block.

    Args:
        found: from `kinetree.identify.identify`.
        n: replicates.
        block: rows of equations in a block; None: twice the time over which errors are correlated,
            and at most 100 blocks.
        options: see `kinetree.parallel.Options`.
    """
    if not isinstance(found, Identification):
        raise InputError(f"found is {found!r}; expected the result of kinetree.identify.identify.")
    fit = found.fit
    W, y = linear_rows(found.sought, found.train, found.cutoff, found.base.kept, fit.beta)
    T = len(y)
    length = min(max(2 * fit.noise.memory(), -(-T // 100)), T // 8) if block is None else block
    blocks = T // length if isinstance(length, int) and length > 0 else 0
    if blocks < 8:
        raise InputError(f"block is {block!r} of {T} rows; expected 8 blocks or more.")
    scale = 1 / np.linalg.norm(W.reshape(-1, W.shape[-1]), axis=0)
    root = np.sqrt(fit.weights / fit.weights.max())
    X, z = W * scale * root[..., None], y * root
    cuts = np.linspace(0, T, blocks + 1).round().astype(int)
    parts = [(X[a:b].reshape(-1, X.shape[-1]), z[a:b].ravel()) for a, b in pairwise(cuts)]
    settings = {
        "A": np.array([x.T @ x for x, _ in parts]),
        "b": np.array([x.T @ y for x, y in parts]),
        "scale": scale,
        "names": [found.base.names[k] for k in found.base.kept],
    }
    return run_study("bootstrap", BootstrapStudy, found.prior, n, settings, options)


class BootstrapStudy:
    """One row for each replicate: the base parameters."""

    rows = 1

    def __init__(
        self,
        model: Model,
        seed: int,
        repeats: int,
        *,
        A: Array,
        b: Array,
        scale: Array,
        names: Sequence[str],
    ) -> None:
        self.seed, self.A, self.b, self.scale, self.names = seed, A, b, scale, tuple(names)
        self.columns = tuple(f"beta:{name}" for name in self.names)
        blocks, r = self.b.shape
        self.seconds = 1e-9 * (r**3 + blocks * r * r)
        self.size = 8 * (4 * r * r + 2 * blocks)

    def warm(self) -> None:
        """Raise SingularityError if even the whole recording cannot be solved for."""
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
    """A^-1 b, (S, r), of positive definite matrices (S, r, r), by L D L^T.

    Element-wise operations only: libraries of linear algebra sum in an order that depends on the
    batch and on the number of threads.
    """
    r = b.shape[-1]
    A, x = A.copy(), b.copy()
    size = np.abs(A.diagonal(axis1=1, axis2=2)).max(axis=1)
    for k in range(r):
        pivot = A[:, k, k]
        if not (pivot > 1e-13 * size).all():
            raise SingularityError(
                f"a replicate cannot separate {names[k]} from the parameters before it; expected "
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
