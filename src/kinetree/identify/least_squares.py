"""Linear least squares over joints of different noise: ordinary, weighted, robust.

With residuals r = y - W beta of joint j in units of its noise, u = r / sigma_j, beta solves
sum of w psi(u) = 0 over rows w of W / sigma_j, with psi(u) = u, or with Huber's psi, which is
clipped at 1.345. The covariance of beta is the sandwich A^-1 B A^-1: A is the sum of
psi'(u) w w^T, B the covariance of the sum above. In B the errors of all joints may be correlated,
and those of samples as far apart as correlation is found, at most `lag` (Newey and West 1987:
Bartlett's weights keep B positive).
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, SingularityError

Method = Literal["ordinary", "weighted", "robust"]
METHODS: tuple[Method, ...] = get_args(Method)
HUBER = 1.345  # 95% as efficient as least squares when there are no outliers
ROUNDS = 50
WORST = 1e6  # largest condition that can be solved


@dataclass(frozen=True, eq=False)
class Fit:
    """beta, (r,), with its covariance, (r, r).

    sigma: noise of each joint, (n,). residual: y - W beta, (T, n). weights: of the rows' squares,
    (T, n). condition: of W with columns of unit length.
    """

    beta: Array
    covariance: Array
    sigma: Array
    residual: Array
    weights: Array
    condition: float

    @property
    def standard_error(self) -> Array:
        """Standard error of each entry of beta, (r,)."""
        return np.sqrt(np.diag(self.covariance))


def fit(
    W: Array, y: Array, method: Method = "weighted", *, lag: int = 0, forces: Array | float = 1.0
) -> Fit:
    """Least squares of y, (T, n), on W, (T, n, r).

    `forces` are units of the rows, (n,), which make moments and forces comparable.
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
    lengths = np.linalg.norm(W.reshape(-1, r), axis=0)
    if np.any(lengths == 0):
        raise SingularityError(
            f"column {int(np.argmin(lengths))} of the regressor is zero throughout the recording: "
            "nothing excites that parameter. Record a motion that excites it."
        )
    X = W / lengths
    flat = X.reshape(-1, r)
    squares = np.linalg.eigvalsh(flat.T @ flat)
    condition = float(np.sqrt(squares[-1] / max(float(squares[0]), 1e-300)))
    if condition > WORST:
        raise SingularityError(
            f"the recording does not separate the {r} parameters (condition {condition:.1e}); "
            "expected a motion of all joints. `kinetree.identify.excite` plans one."
        )
    beta, sigma, w = _solve(X, y, method)
    residual = y - X @ beta
    covariance = _sandwich(X, residual, sigma, method, lag)
    scale = 1 / lengths
    return Fit(
        beta * scale, covariance * np.outer(scale, scale), _noise(residual, y, r, method) * one,
        residual * one, w / one**2, condition,
    )  # fmt: skip


def _solve(X: Array, y: Array, method: Method) -> tuple[Array, Array, Array]:
    """beta, the noise by which rows are divided, and the weights of their squares."""
    n, r = X.shape[1:]
    sigma, w = np.ones(n), np.ones(y.shape)
    beta = _weighted(X, y, w)
    if method == "ordinary":
        return beta, sigma, w
    for _ in range(ROUNDS):
        residual = y - X @ beta
        sigma, w = row_weights(residual, y, r, method)
        old, beta = beta, _weighted(X, y, w)
        if np.abs(beta - old).max() <= 1e-8 * np.abs(beta).max():
            break
    return beta, sigma, w


def row_weights(residual: Array, y: Array, r: int, method: Method) -> tuple[Array, Array]:
    """Noise of each joint, (n,), and weights of squares, (T, n), of r parameters' residual."""
    if method == "ordinary":
        return np.ones(y.shape[1]), np.ones(y.shape)
    sigma = _noise(residual, y, r, method)
    w = 1 / np.broadcast_to(sigma**2, y.shape)
    if method == "robust":
        w = w * np.minimum(1, HUBER / np.maximum(np.abs(residual / sigma), 1e-300))
    return sigma, w


def _weighted(X: Array, y: Array, w: Array) -> Array:
    """Normal equations of unit columns, and again for their residual, to recover lost digits."""
    rows = (X * w[..., None]).reshape(-1, X.shape[-1])
    flat, target = X.reshape(rows.shape), y.ravel()
    G = rows.T @ flat
    beta = np.linalg.solve(G, rows.T @ target)
    return beta + np.linalg.solve(G, rows.T @ (target - flat @ beta))


def triangle(X: Array, y: Array, w: Array) -> Array:
    """R of the weighted rows [X y], (r + 1, r + 1): all that least squares needs."""
    root = np.sqrt(w)
    rows = np.concatenate([X * root[..., None], (y * root)[..., None]], axis=-1)
    return np.asarray(np.linalg.qr(rows.reshape(-1, X.shape[-1] + 1), mode="r"))


def _noise(residual: Array, y: Array, r: int, method: Method) -> Array:
    """Standard deviation of each joint's residual; by the median if there may be outliers."""
    T, n = residual.shape
    if method == "robust":
        sigma = 1.4826 * np.median(np.abs(residual), axis=0)
    else:
        sigma = np.sqrt((residual**2).sum(axis=0) / (T - r / n))
    return np.maximum(sigma, max(1e-14 * float(np.abs(y).max()), 1e-150))  # rounding at least


def _sandwich(X: Array, residual: Array, sigma: Array, method: Method, lag: int) -> Array:
    """Covariance of beta, (r, r), with correlated errors; see the head of this file."""
    T, n, r = X.shape
    u, slope = residual / sigma, np.ones(residual.shape)
    if method == "robust":
        slope = (np.abs(u) < HUBER).astype(float)
        u = np.clip(u, -HUBER, HUBER)
    rows = X / sigma[:, None]
    flat = rows.reshape(-1, r)
    A = (rows * slope[..., None]).reshape(-1, r).T @ flat
    memory = _memory(u, lag)
    B = (u.T @ u / T @ rows).reshape(-1, r).T @ flat
    for k in range(1, 2 * memory + 1):
        C = u[:-k].T @ u[k:] / T  # between a row and the one k later
        part = (rows[:-k].transpose(0, 2, 1) @ (C @ rows[k:])).sum(axis=0)
        B = B + (1 - k / (2 * memory + 1)) * (part + part.T)
    bread = np.linalg.inv(A)
    found = bread @ B @ bread * (T * n / (T * n - r))
    return (found + found.T) / 2


def _memory(u: Array, lag: int) -> int:
    """Samples until the errors of all joints are uncorrelated, at most `lag`.

    They count as uncorrelated if T independent samples show as much correlation by chance.
    """
    T = len(u)
    size = np.maximum((u * u).sum(axis=0), 1e-300)
    for k in range(1, min(lag, T // 4) + 1):
        if np.all((u[:-k] * u[k:]).sum(axis=0) / size < 3 / np.sqrt(T)):
            return k - 1
    return min(lag, T // 4)
