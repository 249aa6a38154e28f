"""Simulated twins of a recording: which gains of hypotheses noise alone can explain.

The rows of a result are whitened by the spectrum of the errors that no hypothesis explains
(`noise`). Then e, the errors of the fit, are independent numbers of variance 1 less their part in
the columns of W, if the model is right. A hypothesis with columns D gains

    G = |U^T e|^2,   U an orthonormal basis of D less its part in W,

which is chi-squared with as many degrees of freedom as U has columns. z is the same on the scale of
a standard normal number (Wilson and Hilferty). Hypotheses overlap, so their largest z is compared
with that of twins: the robot found, the same motion, and new noise of the same spectrum. In 1 % of
the twins any of them exceeds the limit. Twins do not have errors of filtered rates, so an accepted
hypothesis also has a likelihood that is worth its unknowns, by the criterion of Schwarz.

G is divided by the variance of U^T e over blocks of rows, in terms of that of independent rows:
errors that come in lumps, as where friction changes its sign, are no evidence. The part of e that D
explains does not count there, or no fault would be larger than the number of blocks allows. Where
even a plausible fault would exceed the limit by less than `TEST_POWER`, the recording cannot
decide.

A fault phi moves beta by v phi, v = W^+ D. Intervals allow for clocks and zeros that are not found:
the covariance gets v v^T times the mean of phi^2, given the recording. Beforehand, phi has the
deviation P of `ALLOWED_FAULT`; with s its standard error, z = phi / s and c = P^2 / (P^2 + s^2),
that is c s^2 (1 + c z^2). Where the recording can decide, phi = 0 is as likely beforehand, and the
mean is less by its share: the odds are sqrt(1 - c) exp(c z^2 / 2). A zero that no force depends on
moves the frame of a link and counts as none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.hypotheses import (
    Explanation,
    Hypothesis,
    Rows,
    fitted,
    list_hypotheses,
    without_small_version,
)
from kinetree.identify.noise import fit_noise, leverage_of, padded, pieces

CONSEQUENCES = ("lag", "pattern", "coupled")  # what friction that is late at some joints looks like


@dataclass(frozen=True, eq=False)
class Examined:
    """What explains a recording better than the plain model, and what it cannot decide.

    Args:
        explanations: the accepted hypotheses, the first one with the largest gain.
        blind: hypotheses that a plausible fault would not make visible.
        limit: z above which a hypothesis is accepted.
        spread: covariance of beta by faults that are neither accepted nor excluded, (r, r).
    """

    explanations: tuple[Explanation, ...]
    blind: tuple[Hypothesis, ...]
    limit: float
    spread: Array


def examine(rows: Rows) -> Examined:
    """Test all hypotheses on a recording, one cause after the other."""
    hypotheses, first = list_hypotheses(rows), rows
    scan = _scan(rows, hypotheses)
    blind = tuple(
        x
        for x, error in zip(hypotheses, scan.errors, strict=True)
        if const.PLAUSIBLE_FAULT.get(x.kind, np.inf) < (scan.limit + const.TEST_POWER) * error
    )
    accepted = list[Explanation]()
    while True:
        chosen = _promising(hypotheses, scan.z, scan.limit)
        candidates = [fitted(rows, hypotheses[k], scan.errors[k]) for k in chosen]
        if not accepted:
            candidates += without_small_version(rows)
        # "misfit" is the word for what has no better name
        rank = {x: x.gain * (const.UNNAMED_GAIN if x.kind == "misfit" else 1) for x in candidates}
        best = max(candidates, key=lambda x: rank[x], default=None)
        if best is None or best.gain < max(
            [const.LEAST_GAIN, *(const.LATER_GAIN * x.gain for x in accepted)]
        ):
            break
        accepted.append(best)
        if len(accepted) == const.MOST_CAUSES or best.kind in (
            "gravity-compensated",
            "swapped-channels",
        ):
            break  # in the second case, columns were those of another motion or of other forces
        rows = best.rows
        hypotheses = [  # columns for small phi are enough beside the first cause
            replace(x, at=None)
            for x in hypotheses
            if (x.kind, x.dofs) != (best.kind, best.dofs)
            and not (best.kind == "misfit" and x.kind == "time-scale")
            and not (best.kind == "sticking" and x.kind in CONSEQUENCES and x.dofs[0] in best.dofs)
        ]
        scan = _scan(rows, hypotheses, scan.limit)
    r = len(first.solution[0])
    return Examined(tuple(accepted), blind, scan.limit, scan.spread[:r, :r])


def _promising(hypotheses: Sequence[Hypothesis], z: Array, limit: float) -> list[int]:
    """Indices of the accepted hypotheses with the largest z, one of each kind and joint."""
    found: dict[tuple[str, tuple[int, ...]], int] = {}
    for k in np.argsort(-z, kind="stable"):
        if z[k] > limit:
            found.setdefault((hypotheses[k].kind, hypotheses[k].dofs), int(k))
    return list(found.values())[: const.FITTED_HYPOTHESES]


@dataclass(frozen=True, eq=False)
class _Scan:
    """z of each hypothesis, standard errors of phi, the limit of z, and `Examined.spread`."""

    z: Array
    errors: Array
    limit: float
    spread: Array


def _scan(rows: Rows, hypotheses: Sequence[Hypothesis], limit: float | None = None) -> _Scan:
    """Test hypotheses; `limit`: None: found from twins."""
    r = rows.W.shape[-1]
    ends = np.cumsum([r + 1, *(x.D.shape[-1] for x in hypotheses)]).tolist()
    X = _whitened(rows, [rows.W, rows.y[..., None], *(x.D for x in hypotheses)])
    Q = orthonormal(X[:, :r])
    beside = _beside(Q, X[:, r:])
    seen = (beside**2).sum(axis=0) > const.BLIND_SHARE * (X[:, r:] ** 2).sum(axis=0)
    e, parts = beside[:, 0], [slice(a - r, b - r) for a, b in pairwise(ends)]
    errors = [1 / np.sqrt(max(float((beside[:, x.start] ** 2).sum()), 1e-300)) for x in parts]
    bases = [orthonormal(beside[:, x][:, seen[x]]) for x in parts]
    R = np.asarray(np.linalg.qr(np.concatenate([*bases, e[:, None]], axis=1), mode="r"))
    U, values, _ = np.linalg.svd(R[:, :-1], full_matrices=False)
    along = U[:, values > const.DEPENDENT_COLUMN * values.max(initial=0)].T @ R[:, -1]
    variance = float(e @ e - along @ along) / max(len(e) - Q.shape[1] - len(along), 1)
    scaled = e / np.sqrt(max(variance, 1e-300))
    n = rows.y.shape[1]
    squares = [_evidence(U, scaled, n) for U in bases]
    z = np.array([_normal(x) if len(x) else -np.inf for x in squares])
    if limit is None:
        twins = np.random.default_rng(const.TWIN_SEED).normal(size=(len(e), const.HYPOTHESIS_TWINS))
        largest = np.full(const.HYPOTHESIS_TWINS, -np.inf)
        for U in bases:
            if U.shape[1]:
                largest = np.maximum(largest, _normal((U.T @ twins) ** 2))
        limit = float(np.quantile(largest, 1 - const.FALSE_ALARMS))
    length = np.linalg.norm(X, axis=0)
    length = np.where(length > 0, length, 1)
    W, spread = X[:, :r] / length[:r], np.zeros((r, r))
    for x, part, error, square in zip(hypotheses, parts, errors, squares, strict=True):
        if (
            x.kind in const.ALLOWED_FAULT
            and x.D.shape[-1] == 1
            and (len(square) or x.kind == "time-scale")
        ):
            v = (
                np.linalg.lstsq(W, X[:, r + part.start], rcond=const.DEPENDENT_COLUMN**2)[0]
                / length[:r]
            )
            undecided = const.PLAUSIBLE_FAULT[x.kind] < (limit + const.TEST_POWER) * error
            size = _mean_square(float(square.sum()), error, const.ALLOWED_FAULT[x.kind], undecided)
            spread += size * np.outer(v, v)
    return _Scan(z, np.array(errors), limit, spread)


def _mean_square(evidence: float, s: float, P: float, undecided: bool) -> float:
    """Mean of phi^2, given evidence z^2 and the standard error s of phi; see the head."""
    c = P**2 / (P**2 + s**2)
    odds = np.sqrt(1 - c) * np.exp(min(evidence * c / 2, const.LARGEST_ODDS))
    return float((1.0 if undecided else odds / (1 + odds)) * c * s**2 * (1 + c * evidence))


def _evidence(U: Array, e: Array, n: int) -> Array:
    """Squares of U^T e, (k,), over their variance in terms of that of independent rows.

    Large errors are seldom alone: friction that changes its sign leaves several in a row. Sums over
    blocks of rows, beside the part that the hypothesis explains, show how much they vary.
    """
    along = U.T @ e
    if not len(along):
        return along
    rest = U * (e - U @ along)[:, None]
    sums = np.add.reduceat(rest, np.arange(0, len(e), const.LUMP_ROWS * n))
    return along**2 / max(1.0, float((sums**2).sum()) / len(along))


def _normal(squares: Array) -> Array:
    """Sums of k squares, (k, ...), on the scale of a standard normal number."""
    k = len(squares)
    return ((squares.sum(axis=0) / k) ** (1 / 3) - (1 - 2 / (9 * k))) / np.sqrt(2 / (9 * k))


def _whitened(rows: Rows, columns: Sequence[Array]) -> Array:
    """Columns W, y, D, ..., each (rows, n, k), as independent rows of variance 1, (rows', sum k).

    The noise is that of y beside all other columns.
    """
    sigma, (count, n) = rows.solution[1], rows.y.shape
    X = np.concatenate(columns, axis=-1) / sigma[:, None]
    at = columns[0].shape[-1]
    Q = orthonormal(np.delete(X, at, axis=-1).reshape(count * n, -1))
    u = _beside(Q, X[..., at].reshape(-1, 1)).reshape(count, n)
    # rows of the low-pass have next to no noise beyond its band, where columns are not reliable
    u = u + const.WHITE_FLOOR * u.std(axis=0) * np.random.default_rng(const.TWIN_SEED).normal(
        size=u.shape
    )
    size = padded(max(len(x) for x in pieces(u, rows.breaks)))
    stretches = pieces(Q.reshape(count, n, -1), rows.breaks)
    noise = fit_noise(u, rows.breaks, leverage_of(stretches, None, count, size))
    spread = noise.innovations + const.DEPENDENT_COLUMN * np.diag(
        np.diag(noise.innovations) + 1e-300
    )
    apart = np.linalg.inv(np.linalg.cholesky(spread))
    parts = [noise.whitened(part) for part in pieces(X, rows.breaks)]
    return np.einsum("ij,tjk->tik", apart, np.concatenate(parts)).reshape(-1, X.shape[-1])


def orthonormal(X: Array) -> Array:
    """An orthonormal basis of the columns of X, (N, k), without those that depend on others."""
    length = np.linalg.norm(X, axis=0)
    X = X[:, length > 0] / length[length > 0]
    if not X.shape[1]:
        return X
    Q, R = np.linalg.qr(X)
    U, values, _ = np.linalg.svd(R)
    return Q @ U[:, values > const.DEPENDENT_COLUMN * values[0]]


def _beside(Q: Array, X: Array) -> Array:
    """X, (N, k), less its part in the columns of Q; twice, which removes rounding."""
    for _ in range(2):
        X = X - Q @ (Q.T @ X)
    return X
