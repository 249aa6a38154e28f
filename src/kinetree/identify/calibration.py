"""Calibration of intervals by simulated twins of the noise.

Standard errors rest on a spectrum of the errors that is itself estimated, from residuals of which
the fit has taken its part. Over few periods of the motion it is rough: squared standard errors are
off by a factor of mean b and relative variance v, so that (beta - truth) / error is not normal, but
close to Student's t with 2 / v degrees of freedom over the root of b. Both depend on the rows of
each parameter. They are measured on twins: the same rows, new noise of the spectrum found, the same
projection, the same estimate of the spectrum. Standard errors are then scaled so that 1.96 of them
on either side cover 95 %.

A twin also shows how evenly errors contribute to a parameter. If those of the recording come in
lumps, because they depend on the motion, sums over blocks of rows vary more than in any twin, and
the interval of that parameter fails its test: it would be too narrow.
"""

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.least_squares import Blocks, Fit, Method
from kinetree.identify.noise import Noise, fit_noise, leverage_of, padded, pieces

Z = NormalDist().inv_cdf(0.975)


def calibrated(blocks: Blocks, found: Fit, method: Method) -> Fit:
    """The fit with standard errors that cover, and with the parameters whose errors are uneven.

    blocks: rows of the fit, columns of shapes included.
    """
    T, n = found.residual.shape
    if T > const.CALIBRATED_ROWS:
        return found
    unit = found.sigma if method != "ordinary" else found.weights[0] ** -0.5
    W = np.concatenate([W for W, _ in blocks]) / unit[:, None]
    r = W.shape[-1]
    length = np.linalg.norm(W, axis=(0, 1))
    Q, R = np.linalg.qr((W / length).reshape(-1, r))
    S = (Q @ np.linalg.inv(R).T).reshape(T, n, r)  # what an error at each row does to beta
    size = padded(max(found.breaks))
    leverage = leverage_of(pieces(Q.reshape(T, n, r), found.breaks), None, T, size)
    f, power = np.fft.rfftfreq(size), _power(S, found.breaks, size)
    true = np.tensordot(power, found.noise.density(f).T, 2)
    starts = np.arange(0, T, const.LUMP_ROWS)

    def lumps(e: Array) -> Array:
        sums = np.add.reduceat(np.einsum("tjk,tj->tk", S, e), starts)
        return (sums**2).sum(axis=0)

    rng = np.random.default_rng(const.TWIN_SEED)
    errors, uneven = np.empty((2, const.INTERVAL_TWINS, r))
    for k in range(const.INTERVAL_TWINS):
        e = _simulated(found.noise, found.breaks, size, rng).ravel()
        e = (e - Q @ (Q.T @ e)).reshape(T, n)
        own = fit_noise(e, found.breaks, leverage)
        errors[k] = np.tensordot(power, own.density(f).T, 2) / true
        uneven[k] = lumps(e)
    u = found.residual / unit
    here = lumps(np.clip(u, -const.HUBER, const.HUBER) if method == "robust" else u)
    mean = uneven.mean(axis=0)
    b, v = errors.mean(axis=0), errors.var(axis=0, ddof=1)
    wider = student(np.maximum(2 * b**2 / np.maximum(v, 1e-12), const.LEAST_FREEDOM)) / (
        Z * np.sqrt(b)
    )
    return replace(
        found,
        covariance=found.covariance * np.outer(wider, wider),
        uneven=tuple(np.flatnonzero(here / mean > (uneven / mean).max()).tolist()),
    )


def _power(S: Array, breaks: tuple[int, ...], size: int) -> Array:
    """Power of the influences S, (T, n, r), at each frequency, (r, size / 2 + 1, n)."""
    found = np.zeros((size // 2 + 1, *S.shape[1:]))
    for x in pieces(S, breaks):
        found += np.abs(np.fft.rfft(x, size, axis=0)) ** 2 / size
    found[1:-1] *= 2
    return found.transpose(2, 0, 1)


def _simulated(noise: Noise, breaks: tuple[int, ...], size: int, rng: np.random.Generator) -> Array:
    """Errors of the spectrum of a noise, (T, n); stretches are independent."""
    values, vectors = np.linalg.eigh(noise.innovations)
    mix = vectors * np.sqrt(np.maximum(values, 0))
    H = noise.gains(np.fft.rfftfreq(size)).T
    found: list[Array] = []
    for x in pieces(np.zeros(sum(breaks)), breaks):
        white = rng.normal(size=(size, len(mix))) @ mix.T
        found.append(np.fft.irfft(np.fft.rfft(white, axis=0) * H, size, axis=0)[: len(x)])
    return np.concatenate(found)


def student(nu: Array) -> Array:
    """97.5 % quantile of Student's t with nu degrees of freedom, by the series of Fisher."""
    z = Z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + terms[0] / nu + terms[1] / nu**2 + terms[2] / nu**3
