"""Linear least squares over joints of different noise: ordinary, weighted, robust.

With residuals r = y - W beta of joint j in units of its noise, u = r / sigma_j, beta solves
sum of w psi(u) = 0 over rows w of W / sigma_j, with psi(u) = u, or with Huber's psi, which is
clipped at 1.345. The covariance of beta is the sandwich A^-1 B A^-1: A is the sum of
psi'(u) w w^T, B the covariance of the sum above. In B the errors of all joints and of all times may
be correlated (`noise`).

Rows come in blocks, each a stretch without a gap, and are read once for every round. What least
squares needs of them is a triangle for each joint, R with [W y]^T [W y] = R^T R, which is updated
block by block: a recording of any length takes the memory of one block.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError, SingularityError
from kinetree.identify import constants as const
from kinetree.identify.noise import (
    Noise,
    fit_noise,
    leverage_of,
    padded,
    pieces,
    summed_covariance,
)

Method = Literal["ordinary", "weighted", "robust"]
METHODS: tuple[Method, ...] = get_args(Method)
Blocks = Iterable[tuple[Array, Array]]  # W, (k, n, r), and y, (k, n), of stretches; read repeatedly


@dataclass(frozen=True, eq=False)
class Fit:
    """beta, (r,), with its covariance, (r, r).

    sigma: noise of each joint, (n,). residual: y - W beta, (T, n). weights: of the rows' squares,
    (T, n). condition: of W with columns of unit length. noise: of the residual, in units of sigma
    and clipped if the fit is robust. breaks: lengths of the stretches of rows. uneven: entries of
    beta whose errors come in lumps, so that their intervals are too narrow; see `calibration`.
    """

    beta: Array
    covariance: Array
    sigma: Array
    residual: Array
    weights: Array
    condition: float
    noise: Noise
    breaks: tuple[int, ...]
    uneven: tuple[int, ...] = ()

    @property
    def standard_error(self) -> Array:
        """Standard error of each entry of beta, (r,)."""
        return np.sqrt(np.diag(self.covariance))


def fit(
    W: Array,
    y: Array,
    method: Method = "weighted",
    *,
    breaks: Sequence[int] | None = None,
    forces: Array | float = 1.0,
    errors: bool = True,
) -> Fit:
    """Least squares of y, (T, n), on W, (T, n, r).

    `breaks` are the lengths of stretches between which there are gaps; None: no gaps. `forces` are
    units of the rows, (n,), which make moments and forces comparable. Without `errors` there is no
    covariance, and the noise is white.
    """
    lengths = [len(W)] if breaks is None else list(breaks)
    return fit_blocks(
        list(zip(pieces(W, lengths), pieces(y, lengths), strict=True)), method, forces, errors
    )


def fit_blocks(
    blocks: Blocks, method: Method = "weighted", forces: Array | float = 1.0, errors: bool = True
) -> Fit:
    """Least squares of the rows of some blocks; see `fit`."""
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}.")
    R, T = triangles(blocks)
    n, r = len(R), R.shape[-1] - 1
    if T * n <= r:
        raise InputError(
            f"{T} samples of {n} joints for {r} parameters; expected more equations than unknowns."
        )
    one = np.broadcast_to(np.asarray(forces, float), (n,))
    R = R / one[:, None, None]
    lengths = np.linalg.norm(R[..., :r], axis=(0, 1))
    if np.any(lengths == 0):
        raise SingularityError(
            f"column {int(np.argmin(lengths))} of the regressor is zero throughout the recording: "
            "nothing excites that parameter. Record a motion that excites it."
        )
    R = R / np.append(lengths, 1.0)
    condition = float(np.linalg.cond(R[..., :r].reshape(-1, r)))
    if not condition <= const.WORST_CONDITION:
        raise SingularityError(
            f"the recording does not separate the {r} parameters (condition {condition:.1e}); "
            "expected a motion of all joints. `kinetree.identify.excite` plans one."
        )
    scaled: Blocks = Scaled(blocks, lengths, one)
    if T * n * (r + 1) <= const.KEPT_NUMBERS:
        scaled = list(scaled)  # every round reads them
    beta, sigma = from_triangles(R, T, method)
    residual, breaks = residuals(scaled, beta)
    y_size = float(np.sqrt(np.max((R[..., -1] ** 2).sum(axis=-1) / T)))
    if method == "robust":
        beta, residual, sigma = _robust(scaled, beta, residual, y_size)
    elif method == "weighted":
        sigma = _noise(residual, y_size, r, method)
    w = row_weights(residual / sigma, method) / sigma**2
    covariance, noise = np.full((r, r), np.nan), Noise((np.zeros(0),) * n, np.eye(n))
    if errors:
        covariance, noise = _sandwich(scaled, residual / sigma, sigma, method, breaks)
    scale = 1 / lengths
    spread = sigma if method != "ordinary" else _noise(residual, y_size, r, method)
    return Fit(
        beta * scale, covariance * np.outer(scale, scale), spread * one, residual * one, w / one**2,
        condition, noise, breaks,
    )  # fmt: skip


@dataclass(frozen=True)
class Scaled:
    """Blocks with columns divided by `lengths`, (r,), and rows by `one`, (n,)."""

    blocks: Blocks
    lengths: Array
    one: Array

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        for W, y in self.blocks:
            yield W / (self.one[:, None] * self.lengths), y / self.one


def triangles(blocks: Blocks) -> tuple[Array, int]:
    """R of each joint's rows [W y], (n, r + 1, r + 1), and the number of rows."""
    R, T = np.zeros((0, 0, 0)), 0
    for W, y in blocks:
        rows = np.concatenate([W, y[..., None]], axis=-1).transpose(1, 0, 2)
        R, T = stacked(rows if T == 0 else np.concatenate([R, rows], axis=1)), T + len(y)
    return R, T


def stacked(rows: Array) -> Array:
    """R of each joint's rows, (n, k, c): (n, c, c), with rows of zeros if k is smaller than c."""
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    if R.shape[1] < R.shape[2]:
        R = np.concatenate([R, np.zeros((len(R), R.shape[2] - R.shape[1], R.shape[2]))], axis=1)
    return R


def from_triangles(R: Array, T: int, method: Method) -> tuple[Array, Array]:
    """beta, (r,), and the noise of each joint, (n,), of triangles of T rows; weighted if robust."""
    n, r = len(R), R.shape[-1] - 1
    sigma = np.ones(n)
    largest = float(np.sqrt(np.max((R[..., -1] ** 2).sum(axis=-1) / T)))
    beta = _least(R, sigma)
    for _ in range(0 if method == "ordinary" else const.FIT_ROUNDS):
        rest = (R[..., :r] @ beta - R[..., -1]).reshape(n, -1)
        sigma = np.sqrt((rest**2).sum(axis=1) / max(T - r / n, 1))
        sigma = np.maximum(sigma, _rounding(largest))
        old, beta = beta, _least(R, sigma)
        if np.abs(beta - old).max() <= 1e-10 * np.abs(beta).max():
            break
    return beta, sigma


def _least(R: Array, sigma: Array) -> Array:
    """Least squares of triangles (n, r + 1, r + 1), each divided by its noise."""
    flat = (R / sigma[:, None, None]).reshape(-1, R.shape[-1])
    X, z = flat[:, :-1], flat[:, -1]
    G = X.T @ X
    beta = np.linalg.solve(G, X.T @ z)
    for _ in range(2):  # normal equations lose digits, which their residual gives back
        beta = beta + np.linalg.solve(G, X.T @ (z - X @ beta))
    return beta


def residuals(blocks: Blocks, beta: Array) -> tuple[Array, tuple[int, ...]]:
    """y - W beta of all rows, (T, n), and the lengths of the blocks."""
    parts = [y - W @ beta for W, y in blocks]
    return np.concatenate(parts), tuple(len(x) for x in parts)


def _robust(
    blocks: Blocks, beta: Array, residual: Array, largest: float
) -> tuple[Array, Array, Array]:
    """beta, residual and noise with Huber's weights, one pass over the rows for each round.

    The noise is that of the round before.
    """
    r = len(beta)
    sigma = np.ones(residual.shape[1])
    settled = const.FIT_SETTLED[len(residual) > const.MANY_ROWS]
    newton, least = False, np.inf
    for k in range(const.FIT_ROUNDS):
        free = k < const.FREE_ROUNDS
        sigma = _noise(residual, largest, r, "robust") if free else sigma
        G: Array | float = 0.0
        g: Array | float = 0.0
        cost, parts = 0.0, list[Array]()
        for W, y in blocks:
            rest = y - W @ beta
            u = np.abs(rest / sigma)
            w = row_weights(u, "robust") / sigma**2
            slope = np.where(u < const.HUBER, w, const.CLIPPED_SLOPE * w) if newton else w
            rows = (W * np.sqrt(slope)[..., None]).reshape(-1, r)
            G = G + rows.T @ rows
            g = g + W.reshape(-1, r).T @ (w * rest).ravel()
            cost += float((np.minimum(u, const.HUBER) * (2 * u - np.minimum(u, const.HUBER))).sum())
            parts.append(rest)
        residual = np.concatenate(parts)
        # steps of Newton are few once the noise stays; a step that fails is followed by a safe one
        newton, least = not free and cost <= least, cost if not free else np.inf
        step = np.linalg.solve(np.asarray(G), np.asarray(g))
        beta = beta + step
        errors = np.sqrt(np.maximum(np.diag(np.linalg.inv(np.asarray(G))), 0))
        if np.all(np.abs(step) <= np.maximum(settled * errors, 1e-14 * np.abs(beta))):
            break
    return beta, residuals(blocks, beta)[0], sigma


def row_weights(u: Array, method: Method) -> Array:
    """Weights of the squares of residuals in units of their noise, (T, n)."""
    if method != "robust":
        return np.ones(u.shape)
    return np.minimum(1, const.HUBER / np.maximum(np.abs(u), 1e-300))


def weights_of(residual: Array, y: Array, r: int, method: Method) -> Array:
    """Weights of the squares of rows, (T, n), from the residual of r parameters, (T, n)."""
    if method == "ordinary":
        return np.ones(y.shape)
    sigma = _noise(residual, float(np.abs(y).max(initial=0)), r, method)
    return row_weights(residual / sigma, method) / sigma**2


def _noise(residual: Array, largest: float, r: int, method: Method) -> Array:
    """Standard deviation of each joint's residual; by the median if there may be outliers."""
    T, n = residual.shape
    if method == "robust":
        sigma = 1.4826 * np.median(np.abs(residual), axis=0) * np.sqrt(T / max(T - r / n, 1))
    else:
        sigma = np.sqrt((residual**2).sum(axis=0) / max(T - r / n, 1))
    return np.maximum(sigma, _rounding(largest))


def _rounding(largest: float) -> float:
    """Least noise: rounding of joint forces of this size."""
    return max(1e-14 * largest, 1e-150)


def _root(S: Array) -> Array:
    """P with P P^T = S, of a symmetric matrix whose eigenvalues are not negative."""
    values, vectors = np.linalg.eigh(S)
    return vectors * np.sqrt(np.maximum(values, 0))


def _sandwich(
    blocks: Blocks, u: Array, sigma: Array, method: Method, breaks: tuple[int, ...]
) -> tuple[Array, Noise]:
    """Covariance of beta, (r, r), with correlated errors, and their model; see the head."""
    slope = np.ones(u.shape)
    if method == "robust":
        slope = np.where(np.abs(u) < const.HUBER, 1.0, const.CLIPPED_SLOPE)
        u = np.clip(u, -const.HUBER, const.HUBER)
    A: Array | float = 0.0
    at = 0
    for W, y in blocks:
        own = (W / sigma[:, None]).reshape(-1, W.shape[-1])
        A = A + (own * slope[at : at + len(y)].reshape(-1, 1)).T @ own
        at += len(y)
    bread = np.linalg.inv(np.asarray(A))
    T, (r, size) = len(u), (len(bread), padded(max(breaks)))

    def rows() -> Iterator[Array]:
        for W, _ in blocks:
            yield from pieces(W / sigma[:, None], [len(W)])

    leverage: Array | float = 0.0
    if r > const.NEGLIGIBLE_LEVERAGE * T:
        share = float(slope.mean())  # rows as they count in the fit, clipped or not
        leverage = leverage_of(rows(), _root((bread + bread.T) / 2 * share), T, size)
    noise = fit_noise(u, breaks, leverage)
    found = bread @ summed_covariance(rows(), noise, size) @ bread
    return (found + found.T) / 2, noise
