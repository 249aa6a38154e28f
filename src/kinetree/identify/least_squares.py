"""Linear least squares over joints of different noise: ordinary, weighted, robust.

With residuals r = y - W beta of joint j in units of its noise, u = r / sigma_j, beta solves
sum of w psi(u) = 0 over rows w of W / sigma_j, with psi(u) = u, or with Huber's psi, which is
clipped at 1.345. The covariance of beta is the sandwich A^-1 B A^-1: A is the sum of
psi'(u) w w^T, B the covariance of the sum above. In B the errors of all joints and of all times may
be correlated (`noise`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError, SingularityError
from kinetree.identify.base import WORST_CONDITION
from kinetree.identify.noise import Noise, fit_noise, leverage_of, padded, pieces, summed_covariance

Method = Literal["ordinary", "weighted", "robust"]
METHODS: tuple[Method, ...] = get_args(Method)
HUBER = 1.345  # 95 % as efficient as least squares when there are no outliers


@dataclass(frozen=True, eq=False)
class Fit:
    """beta, (r,), with its covariance, (r, r).

    sigma: noise of each joint, (n,). residual: y - W beta, (T, n). condition: of W with columns of
    unit length. noise: of the residual, in units of sigma and clipped if the fit is robust.
    weights: of the rows' squares, (T, n).
    """

    beta: Array
    covariance: Array
    sigma: Array
    residual: Array
    weights: Array
    condition: float
    noise: Noise

    @property
    def standard_error(self) -> Array:
        """Standard error of each entry of beta, (r,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def innovation(self) -> Array:
        """Standard deviation of the errors that no earlier row predicts, (n,), N m or N."""
        gain = np.abs(self.noise.gains(np.fft.rfftfreq(1024))) ** 2
        return self.sigma / np.sqrt(gain.mean(axis=1))


def fit(
    W: Array,
    y: Array,
    method: Method = "weighted",
    *,
    breaks: Sequence[int] | None = None,
    forces: Array | float = 1.0,
) -> Fit:
    """Least squares of y, (T, n), on W, (T, n, r).

    Args:
        W: columns.
        y: the other side.
        method: kind of weights.
        breaks: lengths of stretches between which there are gaps; None: no gaps.
        forces: units of the rows, (n,), which make moments and forces comparable.
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}.")
    T, n, r = W.shape
    if T * n <= r:
        raise InputError(
            f"{T} samples of {n} joints for {r} parameters; expected more equations than unknowns."
        )
    one = np.broadcast_to(np.asarray(forces, float), (n,))
    W, y = W / one[:, None], y / one
    length = np.maximum(np.linalg.norm(W, axis=(0, 1)), 1e-300)
    W = W / length
    triangle = np.linalg.qr(W.reshape(-1, r), mode="r")
    condition = float(np.linalg.cond(triangle))
    if not condition <= WORST_CONDITION:
        raise SingularityError(
            f"the recording does not separate the {r} parameters (condition {condition:.1e}); "
            "expected a motion of all joints. `kinetree.identify.excite` plans one."
        )
    weights = np.ones((T, n))
    beta, sigma, settled = np.zeros(r), np.ones(n), False
    for _ in range(50):  # about ten are enough
        old, (beta, error) = beta, _weighted(W, y, weights)
        residual = y - W @ beta
        sigma = noise_size(residual, r, method, float(np.abs(y).max(initial=0)))
        settled = bool(np.all(np.abs(beta - old) <= 1e-4 * error))
        if method == "ordinary" or settled:
            break
        weights = row_weights(residual / sigma, method) / sigma**2
    residual, lengths = y - W @ beta, [T] if breaks is None else list(breaks)
    unit = sigma if method != "ordinary" else np.full(n, float(np.sqrt((sigma**2).mean())))
    covariance, noise = _sandwich(W / unit[:, None], residual / unit, method, lengths)
    return Fit(
        beta / length, covariance / np.outer(length, length), unit * one, residual * one,
        weights / one**2, condition, noise,
    )  # fmt: skip


def _weighted(W: Array, y: Array, weights: Array) -> tuple[Array, Array]:
    """beta, (r,), of weighted least squares, and its standard error for noise of size 1, (r,)."""
    scale = np.sqrt(weights)
    X, z = (W * scale[..., None]).reshape(-1, W.shape[-1]), (y * scale).ravel()
    inverse = np.linalg.inv(X.T @ X)
    beta = inverse @ (X.T @ z)
    for _ in range(2):  # digits that the normal equations have lost
        beta = beta + inverse @ (X.T @ (z - X @ beta))
    return beta, np.sqrt(np.maximum(np.diag(inverse), 0))


def row_weights(u: Array, method: Method) -> Array:
    """Weights of the squares of residuals in units of their noise, (T, n)."""
    if method != "robust":
        return np.ones(u.shape)
    return np.minimum(1, HUBER / np.maximum(np.abs(u), 1e-300))


def noise_size(residual: Array, r: int, method: Method, largest: float) -> Array:
    """Standard deviation of each joint's residual, (n,); by the median if there may be outliers."""
    T, n = residual.shape
    freedom = max(T - r / n, 1)
    sigma = np.sqrt((residual**2).sum(axis=0) / freedom)
    if method == "robust":  # more than a tenth: forces that are mostly zero have no median
        usual = 1.4826 * np.median(np.abs(residual), axis=0) * np.sqrt(T / freedom)
        sigma = np.maximum(usual, 0.1 * sigma)
    return np.maximum(sigma, max(1e-14 * largest, 1e-150))  # rounding of joint forces


def _sandwich(W: Array, u: Array, method: Method, breaks: list[int]) -> tuple[Array, Noise]:
    """Covariance of beta, (r, r), with correlated errors, and their model; see the head.

    W, u: rows and residuals in units of the noise.
    """
    slope = np.ones(u.shape)
    if method == "robust":  # a parameter of clipped rows alone still has an error
        slope = np.where(np.abs(u) < HUBER, 1.0, 1e-9)
        u = np.clip(u, -HUBER, HUBER)
    T = len(u)
    bread = np.linalg.inv(np.einsum("tjr,tj,tjs->rs", W, slope, W, optimize=True))
    parts = pieces(W, breaks)
    size = padded(max(map(len, parts)))
    values, vectors = np.linalg.eigh((bread + bread.T) / 2 * float(slope.mean()))
    root = vectors * np.sqrt(np.maximum(values, 0))
    noise = fit_noise(u, breaks, leverage_of(parts, root, T, size))
    covariance = bread @ summed_covariance(parts, noise, size) @ bread
    used = float(slope.mean())  # few rows: Huber's correction, 1 without clipping
    covariance *= (1 + W.shape[-1] / u.size * (1 - used) / used) ** 2
    return (covariance + covariance.T) / 2, noise
