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


def smooth(x: Array, dt: float, cutoff: float, order: int = ORDER) -> tuple[Array, Array, Array]:
    """x, dx/dt and d2x/dt2, (T, ...), of samples dt seconds apart, low-passed at `cutoff`, Hz."""
    check_cutoff(cutoff, dt)
    (trend, slope, bend), b = _sine_series(x, dt)
    f = frequencies(len(x), dt)
    gain = (1 / (1 + (f / cutoff) ** (2 * order))).reshape(-1, *[1] * (x.ndim - 1))
    w = (2 * np.pi * f).reshape(gain.shape)
    return (
        trend + _sines(b * gain),
        slope + _cosines(b * gain * w),
        bend - _sines(b * gain * w * w),
    )


def low_pass(x: Array, dt: float, cutoff: float, order: int = ORDER) -> Array:
    """x, (T, ...), low-passed at `cutoff`, Hz."""
    return smooth(x, dt, cutoff, order)[0]


def frequencies(count: int, dt: float) -> Array:
    """Frequencies of the series, Hz, (count - 2,)."""
    return np.arange(1, count - 1) / (2 * (count - 1) * dt)


def choose_cutoff(x: Array, dt: float) -> float:
    """The frequency above which there is only noise, Hz, common to all columns of x (T, n).

    The mean power of the upper half of the spectrum is the noise. The signal ends at the last
    frequency whose power, averaged over seven neighbours, is ten times the noise; the cutoff is a
    quarter higher.
    """
    f = frequencies(len(x), dt)
    power = _sine_series(x.reshape(len(x), -1), dt)[1] ** 2
    # a joint that never moves has nothing above the floor
    floor = np.maximum(power[len(f) // 2 :].mean(axis=0), 1e-30 * power.max(axis=0))
    floor = np.where(floor > 0, floor, 1.0)
    window = np.ones(7) / 7
    level = np.stack([np.convolve(p, window, "same") for p in (power / floor).T], axis=1)
    above = np.flatnonzero((level > 10).any(axis=1))
    last = f[above[-1]] if above.size else f[0]
    return float(min(max(1.25 * last, f[min(9, len(f) - 1)]), 0.4 / dt))


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
    s = np.linspace(0, 1, len(x)).reshape(-1, *[1] * (x.ndim - 1))
    T = dt * (len(x) - 1)
    bend0, bend1 = _curvature(x, dt), _curvature(x[::-1], dt)
    # the cubic with the curvatures bend0 and bend1 that is zero at both ends
    a, b = bend0 * T * T / 6, bend1 * T * T / 6
    trend = x[0] + s * (x[-1] - x[0]) + a * s * (1 - s) * (s - 2) + b * s * (s * s - 1)
    slope = (x[-1] - x[0] + a * (-3 * s * s + 6 * s - 2) + b * (3 * s * s - 1)) / T
    bend = bend0 * (1 - s) + bend1 * s
    y = x - trend
    odd = np.concatenate([y, -y[-2:0:-1]])
    return (trend, slope, bend), (-np.fft.rfft(odd, axis=0).imag / (len(x) - 1))[1:-1]


def _curvature(x: Array, dt: float) -> Array:
    """d2x/dt2 at the first sample, from a polynomial of degree 5 through the first samples."""
    count = max(16, len(x) // 20)
    s = np.linspace(0, 1, count)
    fit = np.linalg.lstsq(np.vander(s, 6, increasing=True), x[:count].reshape(count, -1), None)[0]
    return (2 * fit[2] / ((count - 1) * dt) ** 2).reshape(x.shape[1:])


def _sines(b: Array) -> Array:
    edge = np.zeros((1, *b.shape[1:]))
    spectrum = np.concatenate([edge, -1j * b * (len(b) + 1), edge])
    return np.fft.irfft(spectrum, n=2 * (len(b) + 1), axis=0)[: len(b) + 2]


def _cosines(b: Array) -> Array:
    edge = np.zeros((1, *b.shape[1:]))
    spectrum = np.concatenate([edge, b * (len(b) + 1) + 0j, edge])
    return np.fft.irfft(spectrum, n=2 * (len(b) + 1), axis=0)[: len(b) + 2]
