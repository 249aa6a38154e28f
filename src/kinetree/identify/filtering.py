"""Rates and accelerations of measured positions: a zero-phase low-pass on a sine series.

A signal on [0, T] is a cubic with its values and curvatures at the ends, plus a series of
sin(k pi t / T). Each term is weighted by the gain of a Butterworth filter of order N that runs
forward and backward,

    gain(f) = 1 / (1 + (f / cutoff)^(2 N)),

which shifts no phase, and differentiated exactly. Curvatures at the ends are less accurate than
inside: accelerations within about 1 / cutoff of the ends are not reliable (`margin`).
"""

from math import ceil

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError

ORDER = 4
LONG = 20_000  # samples: longer records are cut into halves of good lengths


def smooth(x: Array, dt: float, cutoff: float, order: int = ORDER) -> tuple[Array, Array, Array]:
    """x, dx/dt and d2x/dt2, (T, ...), of samples dt seconds apart, low-passed at `cutoff`, Hz.

    Columns are filtered one by one, which bounds the memory. A Fourier transform whose length has
    a large prime factor is slow: a long record of such a length is filtered twice, from the first
    sample and to the last one, and the halves are joined.
    """
    check_cutoff(cutoff, dt)
    columns = x.reshape(len(x), -1)
    found = np.empty((3, *columns.shape))
    length = 1 + good_length(len(x) - 1, up=False)
    half = len(x) // 2
    whole = len(x) <= LONG or length == len(x) or length - half < margin(dt, cutoff)
    for k in range(columns.shape[1]):
        own = np.ascontiguousarray(columns[:, k])
        if whole:
            found[:, :, k] = _smooth_column(own, dt, cutoff, order)
        else:
            found[:, :half, k] = _smooth_column(own[:length], dt, cutoff, order)[:, :half]
            late = _smooth_column(own[-length:], dt, cutoff, order)
            found[:, half:, k] = late[:, length - len(x) + half :]
    q, dq, ddq = found.reshape(3, *x.shape)
    return q, dq, ddq


def _smooth_column(x: Array, dt: float, cutoff: float, order: int) -> Array:
    """x, dx/dt and d2x/dt2 of one column, (3, T)."""
    (trend, slope, bend), b = _sine_series(x, dt)
    f = frequencies(len(x), dt)
    b = b * response(f, cutoff, order)
    w = 2 * np.pi * f
    return np.stack([trend + _sines(b), slope + _cosines(b * w), bend - _sines(b * w * w)])


def response(f: Array, cutoff: float | Array, order: int = ORDER) -> Array:
    """Gain of the zero-phase low-pass at the frequencies f."""
    return 1 / (1 + (f / cutoff) ** (2 * order))


def low_pass(x: Array, dt: float, cutoff: float, order: int = ORDER) -> Array:
    """x, (T, ...), low-passed at `cutoff`, Hz."""
    return smooth(x, dt, cutoff, order)[0]


def frequencies(count: int, dt: float) -> Array:
    """Frequencies of the series, Hz, (count - 2,)."""
    return np.arange(1, count - 1) / (2 * (count - 1) * dt)


def good_length(count: int, *, up: bool = True) -> int:
    """The nearest number from `count` up (or down) that has no prime factor above 7."""
    while True:
        rest = count
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return count
        count += 1 if up else -1


def margin(dt: float, cutoff: float) -> int:
    """Number of samples at each end whose accelerations are not reliable."""
    return whole_above(1 / (cutoff * dt))


def whole_above(x: float) -> int:
    """x rounded up, after removing rounding errors: 50 s / 0.5 s are 100 steps."""
    return ceil(x * (1 - 1e-9))


def check_cutoff(cutoff: float, dt: float) -> None:
    """Raise InputError unless a cutoff is between zero and half the sampling frequency."""
    if not 0 < cutoff < 0.5 / dt:
        raise InputError(
            f"cutoff is {cutoff:g} Hz; expected above 0 and below {0.5 / dt:g} Hz, half the "
            f"sampling frequency of {1 / dt:g} Hz."
        )


def _sine_series(x: Array, dt: float) -> tuple[tuple[Array, Array, Array], Array]:
    """The cubic trend with its two derivatives, and coefficients of the sines on top of it."""
    if len(x) < 16:
        raise InputError(f"{len(x)} samples are too few to filter; expected 16 at least.")
    s = np.linspace(0, 1, len(x))
    T = dt * (len(x) - 1)
    bend0, bend1 = _curvature(x, dt), _curvature(x[::-1], dt)
    # the cubic with the curvatures bend0 and bend1 that is zero at both ends
    a, b = bend0 * T * T / 6, bend1 * T * T / 6
    trend = x[0] + s * (x[-1] - x[0]) + a * s * (1 - s) * (s - 2) + b * s * (s * s - 1)
    slope = (x[-1] - x[0] + a * (-3 * s * s + 6 * s - 2) + b * (3 * s * s - 1)) / T
    bend = bend0 * (1 - s) + bend1 * s
    y = x - trend
    odd = np.concatenate([y, -y[-2:0:-1]])
    return (trend, slope, bend), (-np.fft.rfft(odd).imag / (len(x) - 1))[1:-1]


def _curvature(x: Array, dt: float) -> float:
    """d2x/dt2 at the first sample, from a polynomial of degree 5 through the first samples."""
    count = max(16, len(x) // 20)
    s = np.linspace(0, 1, count)
    fit = np.linalg.lstsq(np.vander(s, 6, increasing=True), x[:count], None)[0]
    return float(2 * fit[2] / ((count - 1) * dt) ** 2)


def _sines(b: Array) -> Array:
    spectrum = np.concatenate([[0], -1j * b * (len(b) + 1), [0]])
    return np.fft.irfft(spectrum, n=2 * (len(b) + 1))[: len(b) + 2]


def _cosines(b: Array) -> Array:
    spectrum = np.concatenate([[0], b * (len(b) + 1) + 0j, [0]])
    return np.fft.irfft(spectrum, n=2 * (len(b) + 1))[: len(b) + 2]
