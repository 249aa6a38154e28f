"""Chain: the linear system of a motion's steps, and of its results, forward and backward.

Small changes x of the state and u of inputs follow x_{k+1} = A_k x_k + B_k u. With fixed steps the
states are the results; an adaptive method has its results inside its steps, y = P x_k + Q u.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.simulate.sensitivity_inputs import Input


@dataclass(frozen=True, eq=False)
class Inside:
    """Results inside steps: `step`, (T, B), in which each lies, P and Q that lead to it from there.

    P: (T, B, N, N). Q: by name (T, B, N, S, size), S as in Chain.B.
    """

    step: Array
    P: Array
    Q: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Chain:
    """A: (E, B, N, N), of E steps of B rollouts. B: by name (E, B, N, S, size).

    S counts the values of a signal that enter a step; it is 1 for constants.
    """

    A: Array
    B: Mapping[str, Array]
    inside: Inside | None = None

    def forward(self, given: Input, X: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Times (K,), rollouts (K,) and derivatives of results, (K, N, count, size), step by step.

        X: the derivative of the first state, (B, N, count, size); count samples of a signal.
        """
        rows = np.arange(len(X))
        if self.inside is None:
            yield np.zeros_like(rows), rows, X
        for k, A in enumerate(self.A):
            if self.inside is not None:
                t, b = np.nonzero(self.inside.step == k)
                Y = _times(self.inside.P[t, b], X[b])
                yield t, b, _spread(Y, given, k, b, self.inside.Q, (t, b))
            X = _spread(_times(A, X), given, k, rows, self.B, k)
            if self.inside is None:
                yield np.full_like(rows, k + 1), rows, X

    def backward(self, slopes: Array, totals: Mapping[Input, Array]) -> Array:
        """Slopes of a number by the first state, (B, N), from those by results, (T, B, N).

        Those by inputs are added to `totals`, each (B, count, size).
        """
        rows, back = np.arange(slopes.shape[1]), np.zeros(slopes.shape[1:])
        for k in reversed(range(len(self.A))):
            if self.inside is None:
                back = back + slopes[k + 1]
            for given, total in totals.items():
                _collect(total, given, k, rows, self.B[given.name][k], back)
            back = np.einsum("bij,bi->bj", self.A[k], back)
            if self.inside is not None:
                t, b = np.nonzero(self.inside.step == k)
                np.add.at(back, b, np.einsum("kij,ki->kj", self.inside.P[t, b], slopes[t, b]))
                for given, total in totals.items():
                    Q = self.inside.Q[given.name][t, b]
                    _collect(total, given, k, b, Q, slopes[t, b])
        return back if self.inside is not None else back + slopes[0]


def _times(A: Array, X: Array) -> Array:
    """A X, (K, N, count, size)."""
    return (A @ X.reshape(*X.shape[:2], X.shape[2] * X.shape[3])).reshape(X.shape)


def _samples(given: Input, k: int, rows: Array) -> list[tuple[Array, Array]]:
    """For each value that enters step k: the number of its first sample, (K,), and the share."""
    weights = given.weights
    if weights is None:
        return [(np.zeros_like(rows), np.zeros(len(rows)))]
    own = rows if weights.first.shape[-1] > 1 else np.zeros_like(rows)
    return list(zip(weights.first[k][:, own], weights.share[k][:, own], strict=True))


def _spread(
    X: Array,
    given: Input,
    k: int,
    rows: Array,
    by: Mapping[str, Array],
    at: int | tuple[Array, ...],
) -> Array:
    """X with what the inputs of step k add to it."""
    if given.name not in by:
        return X
    found, each = by[given.name][at], np.arange(len(rows))
    for i, (first, share) in enumerate(_samples(given, k, rows)):
        column, part = share[:, None, None], found[:, :, i]
        X[each, :, first] += part * (1 - column)
        if share.any():
            X[each, :, np.minimum(first + 1, X.shape[2] - 1)] += part * column
    return X


def _collect(total: Array, given: Input, k: int, rows: Array, B: Array, back: Array) -> None:
    """Add slopes by an input of step k; B: (K, N, S, size), back: (K, N)."""
    found = np.einsum("ki,kisj->ksj", back, B)
    for i, (first, share) in enumerate(_samples(given, k, rows)):
        np.add.at(total, (rows, first), found[:, i] * (1 - share[:, None]))
        if share.any():
            after = np.minimum(first + 1, total.shape[1] - 1)
            np.add.at(total, (rows, after), found[:, i] * share[:, None])
