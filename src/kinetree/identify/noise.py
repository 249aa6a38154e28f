"""Errors of a fit as coloured noise: an autoregression for each joint, and the covariance it gives.

The errors u of joint j follow u_t = a_1 u_(t-1) + ... + a_p u_(t-p) + e_t. Innovations e of
different joints may be correlated, those of different times are not. With H_j(f) the gain from e to
u, the sum of errors times rows w has the covariance

    B = integral of z(f)^H Cov(e) z(f),   z_j(f) = conj(H_j(f)) w_j(f),

w(f) the Fourier transform of the rows. So correlation over any time is counted.

Errors are not observed, residuals are, and a fit of r parameters takes away most of the errors at
the frequencies of the motion. At each frequency a residual keeps the share 1 - h(f) of the power of
white noise, h(f) the leverage of the rows there; its spectrum is divided by that share before the
autoregression is fitted. Without this step intervals would be too narrow for slow noise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array

BLOCK = 2048  # rows that are transformed together: errors are not correlated over more


@dataclass(frozen=True, eq=False)
class Noise:
    """An autoregression for each joint.

    Args:
        coefficients: a_1 to a_p of each joint, n arrays.
        innovations: covariance of e, shape (n, n), in the squared units of the errors.
    """

    coefficients: tuple[Array, ...]
    innovations: Array

    def gains(self, f: Array) -> Array:
        """H, (n, k), at frequencies f, (k,), in periods per row, 0 to 0.5."""
        turns = np.exp(-2j * np.pi * f)
        return np.array([1 / np.polyval(np.r_[1, -a][::-1], turns) for a in self.coefficients])

    def whitened(self, x: Array) -> Array:
        """Innovations of a stretch of rows, (k, n): (k - p, n), p the largest order."""
        from scipy.signal import lfilter

        p = max(len(a) for a in self.coefficients)
        pairs = zip(self.coefficients, x.T, strict=True)
        return np.stack([np.asarray(lfilter(np.r_[1, -a], 1, u))[p:] for a, u in pairs], axis=1)


def pieces(x: Array, breaks: Iterable[int]) -> list[Array]:
    """Stretches of rows, (k, ...), of at most `BLOCK` rows; `breaks`: their lengths."""
    found: list[Array] = []
    start = 0
    for length in breaks:
        count = -(-length // BLOCK) or 1
        edges = np.linspace(start, start + length, count + 1).round().astype(int)
        found += [x[a:b] for a, b in pairwise(edges.tolist())]
        start += length
    return found


def padded(longest: int) -> int:
    """Length of transforms of stretches of at most so many rows: no two ends touch."""
    return 1 << max(4, (2 * min(longest, BLOCK)).bit_length())


def fit_noise(u: Array, breaks: Iterable[int], leverage: Array | float) -> Noise:
    """The autoregressions of residuals u, (T, n).

    Args:
        u: residuals, shape (T, n), in any unit.
        breaks: lengths of the stretches without a gap.
        leverage: share of the power of white noise that the fit has removed at each frequency,
            shape (n, size / 2 + 1), dimensionless; 0: negligible.
    """
    T, n = u.shape
    parts = pieces(u, breaks)
    size = padded(max(map(len, parts)))
    power = sum((np.abs(np.fft.rfft(x, size, axis=0)) ** 2 for x in parts), np.zeros((1, n))).T
    kept = np.maximum(0.2, 1 - np.broadcast_to(leverage, power.shape))
    spectrum = power / (T * kept)
    gamma = np.fft.irfft(spectrum, size, axis=1)
    most = min(24, T // 20, _common_length([len(x) for x in parts]) // 4)
    coefficients = tuple(_autoregression(x, most, T) for x in gamma)
    whiten = Noise(coefficients, np.eye(n)).whitened
    e = np.concatenate([whiten(x) for x in parts])
    size_e = np.sqrt(np.maximum((e**2).sum(axis=0), 1e-300))
    rho = (e.T @ e) / np.outer(size_e, size_e)
    # the variance is that of the whole autoregression, which has the residual's lost power
    pairs = zip(gamma, coefficients, strict=True)
    scale = np.sqrt([max(float(x[0] - a @ x[1 : len(a) + 1]), 0.0) for x, a in pairs])
    return Noise(coefficients, rho * np.outer(scale, scale))


def _common_length(lengths: list[int]) -> int:
    """Length of a stretch such that half of all rows lie in stretches as long, or longer."""
    order = np.sort(lengths)
    return int(order[np.searchsorted(np.cumsum(order), order.sum() / 2)])


def _autoregression(gamma: Array, most: int, T: int) -> Array:
    """Coefficients for autocovariances gamma by the recursion of Levinson and Durbin.

    The order is that of the smallest corrected Akaike criterion.
    """
    a, best = np.zeros(0), np.zeros(0)
    variance = float(gamma[0])
    if not variance > 0:
        return best
    least = T * np.log(variance)
    for p in range(1, most + 1):
        k = (gamma[p] - a @ gamma[p - 1 : 0 : -1]) / variance if p > 1 else gamma[1] / gamma[0]
        a = np.append(a - k * a[::-1], k)
        variance *= 1 - k * k
        if not variance > 0:
            break
        cost = T * np.log(variance) + 2 * p * T / max(T - p - 2, 1)
        if cost < least:
            least, best = cost, a
    return best


def leverage_of(rows: Iterable[Array], root: Array | None, T: int, size: int) -> Array:
    """Share of white noise that a fit removes at each frequency, (n, size / 2 + 1).

    Args:
        rows: weighted rows of the fit in stretches, each (k, n, r).
        root: P, (r, r), with P P^T the inverse of the sum of products of the rows; None: the
            identity.
        T: number of rows in all.
        size: length of the transforms.
    """
    found: Array | float = 0.0
    for X in rows:
        spectrum = np.fft.rfft(X if root is None else X @ root, size, axis=0)
        found = found + (np.abs(spectrum) ** 2).sum(axis=-1).T
    return np.asarray(found) / T


def summed_covariance(rows: Iterable[Array], noise: Noise, size: int) -> Array:
    """B, (r, r): covariance of the sum of errors times weighted rows, each stretch (k, n, r)."""
    f = np.fft.rfftfreq(size)
    H = noise.gains(f).conj().T[..., None]
    values, vectors = np.linalg.eigh(noise.innovations)
    mix = (vectors * np.sqrt(np.maximum(values, 0))).T
    twice = np.full(len(f), 2.0)
    twice[[0, -1]] = 1
    root = np.sqrt(twice / size)[:, None, None]
    B: Array | float = 0.0
    for X in rows:
        z = mix @ (np.fft.rfft(X, size, axis=0) * H * root)
        flat = z.reshape(-1, z.shape[-1])
        B = B + flat.real.T @ flat.real + flat.imag.T @ flat.imag
    return np.asarray(B)
