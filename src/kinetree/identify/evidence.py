"""Evidence for a cause of errors: the fit repeated with it, on rows of the fit and held-out rows.

A cause either adds columns E to the equations y = W beta, or changes their rows, y[order] = f W
beta. It is accepted if

- it is significant: E has factors phi whose Wald statistic phi^T Cov(phi)^-1 phi, with the
  autocorrelated noise of the fit, exceeds the chi^2 quantile of 1 % over the number of causes
  (Bonferroni); for changed rows, twice the gain of the log-likelihood does; and
- it lowers the root mean square error of some joint on held-out rows by at least 10 %.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.loops import motor_dofs
from kinetree.identify.noise import padded, pieces, summed_covariance
from kinetree.identify.recording import Recording
from kinetree.identify.rows import make_rows
from kinetree.identify.solve import Solved


@dataclass(frozen=True)
class Gain:
    """What an accepted cause explains.

    squares: decrease of all squared held-out errors, in units of the noise. effect: decrease of the
    error of the joint that gains most, N m or N. phi: factors of the added columns, (k,).
    """

    squares: float
    effect: float
    phi: Array


def _errors(left: Array) -> Array:
    return np.sqrt((left**2).mean(axis=0))


class Evidence:
    """Least squares of a result, and what changes of it give."""

    def __init__(self, solved: Solved, test: Recording, cutoff: float | None) -> None:
        self.solved, self.params = solved, solved.params
        self.kept = [k for k in solved.base.kept if k < self.params.p]
        self.train, self.test = solved.rows, make_rows(self.params, test, cutoff)
        self.W_train, self.W_test = (x.columns(self.kept) for x in (self.train, self.test))
        residual = solved.fit.residual
        self.sigma = np.maximum(np.sqrt((residual**2).mean(axis=0)), solved.fit.sigma)
        W, y = self.W_train / self.sigma[:, None], self.train.y / self.sigma
        self.A = np.einsum("tjr,tjs->jrs", W, W, optimize=True)
        self.b = np.einsum("tir,tj->ijr", W, y, optimize=True)  # rows of i, forces of j
        self.length = np.maximum(np.linalg.norm(W, axis=(0, 1)), 1e-300)
        self.Q, self.R = np.linalg.qr((W / self.length).reshape(-1, W.shape[-1]))
        self.beta = np.linalg.solve(self.R, self.Q.T @ y.ravel()) / self.length
        self.residual = y - W @ self.beta
        self.before = _errors(self.test.y - self.W_test @ self.beta)
        self.motors = motor_dofs(self.params.robot.model)
        count = len(self.motors)
        self.chance = 0.01 / (2 * count**2 + 4 * count + 2)  # of every cause: 1 % of all

    def _gain(self, left: Array, phi: Array) -> Gain | None:
        """The gain of held-out errors, (rows, n), that are left; None if it is too small."""
        before, after = self.before, _errors(left)
        better = before - after >= 0.1 * before
        better &= before > 1e-3 * _errors(self.test.y)  # smaller errors do not matter
        if not better.any():
            return None
        k = int(np.argmax(np.where(better, (before - after) / self.sigma, 0)))
        squares = float(((before**2 - after**2) / self.sigma**2).sum())
        return Gain(squares, float(before[k] - after[k]), phi) if squares > 0 else None

    def refit(self, order: Array, factor: Array) -> tuple[Array, float]:
        """beta of y[order] = factor W beta, and the part of the squares that it explains."""
        A = np.einsum("j,jrs->rs", factor**2, self.A) / np.outer(self.length, self.length)
        unit = factor * self.sigma[order] / self.sigma
        b = unit @ self.b[np.arange(len(order)), order] / self.length
        beta = np.linalg.lstsq(A, b, rcond=1e-11)[0]
        return beta / self.length, float(b @ beta)

    def changed(self, order: Array, factor: Array) -> Gain | None:
        """The gain by forces in another order, or by a factor of each joint; None: refused."""
        from scipy import stats

        beta, _ = self.refit(order, factor)
        after = _errors(self.train.y[:, order] - factor * (self.W_train @ beta))
        before = _errors(self.residual * self.sigma)
        share = np.clip(np.diag(self.solved.fit.noise.innovations), 0.01, 1)
        ratio = np.maximum(before, 1e-300) / np.maximum(after, 1e-300)
        likelihood = 2 * float((len(self.residual) * share * np.log(ratio)).sum())
        if likelihood < stats.chi2.isf(self.chance, 2):
            return None
        return self._gain(self.test.y[:, order] - factor * (self.W_test @ beta), factor)

    def added(self, E: Array, E_test: Array) -> Gain | None:
        """The gain by further columns, (rows, n, k) of the fit and held out; None: refused."""
        from scipy import stats

        X = (E / self.sigma[:, None]).reshape(-1, E.shape[-1])
        length = np.linalg.norm(X, axis=0)
        beside = X - self.Q @ (self.Q.T @ X)
        own = np.flatnonzero(np.linalg.norm(beside, axis=0) > 1e-3 * length)
        if not len(own):
            return None
        B = beside[:, own] / length[own]
        inverse = np.linalg.pinv(B.T @ B, rcond=1e-9)
        part = inverse @ B.T @ self.residual.ravel()
        noise = self.sigma / self.solved.fit.sigma  # its model is in units of that of the fit
        parts = pieces(B.reshape(*self.residual.shape, -1) / noise[:, None], self.train.breaks)
        meat = summed_covariance(parts, self.solved.fit.noise, padded(max(self.train.breaks)))
        V = np.linalg.pinv(inverse @ meat @ inverse, rcond=1e-9, hermitian=True)
        if not stats.chi2.sf(part @ V @ part, len(own)) < self.chance:
            return None
        phi = np.zeros(len(length))
        phi[own] = part / length[own]
        beta = self.beta - np.linalg.solve(self.R, self.Q.T @ (X @ phi)) / self.length
        return self._gain(self.test.y - self.W_test @ beta - E_test @ phi, phi)
