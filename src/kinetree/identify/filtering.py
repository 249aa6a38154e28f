"""Rates and accelerations of measured positions: a zero-phase low-pass on a sine series.

A signal on [0, T] is a cubic with its values and curvatures at the ends, plus a series of
sin(k pi t / T). Each term is weighted by the gain of a Butterworth filter of order N that runs
forward and backward,

    gain(f) = 1 / (1 + (f / cutoff)^(2 N)),

which shifts no phase, and differentiated exactly. The series has the wrong fourth derivative at
the ends, which disturbs it there. So close to an end the signal is a sum of Legendre polynomials x
that minimises

    integral of (x - measured)^2 + (10th derivative of x)^2 / (2 pi 0.85 cutoff)^20,

a low-pass as well, without conditions at the ends. The noise of accelerations increases towards an
end all the same: within 0.75 / cutoff they are not reliable (`margin`).
"""

from itertools import pairwise
from math import ceil

import numpy as np
from numpy.polynomial import legendre

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.identify import constants as const


def smooth(
    x: Array, dt: float, cutoff: float, order: int = const.BUTTERWORTH_ORDER
) -> tuple[Array, Array, Array]:
    """x, dx/dt and d2x/dt2, (T, ...), of samples dt seconds apart, low-passed at `cutoff`, Hz.

    Columns are filtered one by one, in blocks that overlap by more than the memory of the filter.
    This bounds the memory, and the length of a block has no large prime factor, which would make
    its Fourier transform slow.
    """
    check_cutoff(cutoff, dt)
    columns = x.reshape(len(x), -1)
    found = np.empty((3, *columns.shape))
    for k in range(columns.shape[1]):
        own = np.ascontiguousarray(columns[:, k])
        for start, length, a, b in blocks(len(x), const.FILTER_MEMORY / (cutoff * dt)):
            part = _smooth_column(own[start : start + length], dt, cutoff, order)
            found[:, a:b, k] = part[:, a - start : b - start]
    if cutoff * dt <= const.COARSE_CUTOFF:
        _improve_ends(found, columns, dt, cutoff)
    q, dq, ddq = found.reshape(3, *x.shape)
    return q, dq, ddq


def blocks(count: int, memory: float) -> list[tuple[int, int, int, int]]:
    """Blocks of samples: the first one, their number, and the samples a to b - 1 that are kept.

    Args:
        count: number of samples in all.
        memory: samples from the part that is kept to the ends of its block, at least, if these are
            not the ends of all samples.
    """
    if count <= const.FILTER_BLOCK:
        return [(0, count, 0, count)]
    margin = whole_above(memory)
    length = min(count - 1, max(const.FILTER_BLOCK, 16 * margin))
    length = 1 + good_length(length, up=False)
    parts = -(-(count - 2 * margin) // max(length - 2 * margin, 1)) if length < count else 1
    starts = np.linspace(0, count - length, max(parts, 1 + (length < count))).round().astype(int)
    edges = [0, *((starts[1:] + starts[:-1] + length) // 2).tolist(), count]
    return [
        (start, length, a, b)
        for start, (a, b) in zip(starts.tolist(), pairwise(edges), strict=True)
    ]


def _smooth_column(x: Array, dt: float, cutoff: float, order: int) -> Array:
    """x, dx/dt and d2x/dt2 of one column, (3, T)."""
    (trend, slope, bend), b = _sine_series(x, dt, cutoff)
    f = frequencies(len(x), dt)
    b *= response(f, cutoff, order)
    w = 2 * np.pi * f
    sines, cosines = _series(b, b * w)
    return np.stack([trend + sines, slope + cosines, bend - _series(b * w * w)[0]])


def _improve_ends(found: Array, x: Array, dt: float, cutoff: float) -> None:
    """Replace the series `found`, (3, T, k), of samples x, (T, k), close to the ends."""
    count = min(len(x), whole_above(const.END_WINDOW / (cutoff * dt)))
    length = dt * (count - 1)
    D = (
        2
        / length
        * np.stack([np.append(legendre.legder(c), 0) for c in np.eye(const.END_DEGREES)], axis=1)
    )
    # of each polynomial, by its integral
    size = np.sqrt(length / (2 * np.arange(const.END_DEGREES) + 1))
    bent = size[:, None] * np.linalg.matrix_power(
        D / (2 * np.pi * const.END_SHARE * cutoff), const.END_ORDER
    )
    edges = [*range(0, count, const.FILTER_BLOCK), count]  # blocks bound the memory
    for turn in (1, -1):  # samples and series from this end on
        own, series = x[::turn], found[:, ::turn]
        rows = np.zeros((0, const.END_DEGREES + x.shape[1]))
        for a, b in pairwise(edges):
            V = _polynomials(a, b, count)
            more = np.concatenate([rows, np.hstack([V, own[a:b]])])
            rows = np.asarray(np.linalg.qr(more, mode="r"))
        both = np.concatenate([np.sqrt(dt) * rows[:, : const.END_DEGREES], bent])
        scale = np.linalg.norm(both, axis=0)
        other = np.concatenate(
            [np.sqrt(dt) * rows[:, const.END_DEGREES :], np.zeros((len(bent), x.shape[1]))]
        )
        values = np.linalg.lstsq(both / scale, other, None)[0] / scale[:, None]
        for a, b in pairwise(edges):
            V = _polynomials(a, b, count)
            away = const.END_FADE[1] - cutoff * dt * np.arange(a, b)
            share = (
                np.clip(away / (const.END_FADE[1] - const.END_FADE[0]), 0, 1)[:, None]
                if count < len(x)
                else 1.0
            )
            c = values
            for k in range(3):
                series[k, a:b] += share * (V @ c - series[k, a:b])
                c = turn * D @ c  # time runs backwards from the last sample


def _polynomials(a: int, b: int, count: int) -> Array:
    """Legendre polynomials at samples a to b - 1 of `count` samples, (b - a, degrees)."""
    return legendre.legvander(2 * np.arange(a, b) / (count - 1) - 1, const.END_DEGREES - 1)


def response(f: Array, cutoff: float | Array, order: int = const.BUTTERWORTH_ORDER) -> Array:
    """Gain of the zero-phase low-pass at the frequencies f."""
    return 1 / (1 + (f / cutoff) ** (2 * order))


def low_pass(x: Array, dt: float, cutoff: float, order: int = const.BUTTERWORTH_ORDER) -> Array:
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
    return whole_above(
        (const.END_MARGIN if cutoff * dt <= const.COARSE_CUTOFF else 1.0) / (cutoff * dt)
    )


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


def _sine_series(x: Array, dt: float, cutoff: float) -> tuple[tuple[Array, Array, Array], Array]:
    """The cubic trend with its two derivatives, and coefficients of the sines on top of it."""
    if len(x) < 16:
        raise InputError(f"{len(x)} samples are too few to filter; expected 16 at least.")
    s = np.linspace(0, 1, len(x))
    T = dt * (len(x) - 1)
    bend0, bend1 = _curvature(x, dt, cutoff), _curvature(x[::-1], dt, cutoff)
    # the cubic with the curvatures bend0 and bend1 that is zero at both ends
    a, b = bend0 * T * T / 6, bend1 * T * T / 6
    trend = x[0] + s * (x[-1] - x[0]) + a * s * (1 - s) * (s - 2) + b * s * (s * s - 1)
    slope = (x[-1] - x[0] + a * (-3 * s * s + 6 * s - 2) + b * (3 * s * s - 1)) / T
    bend = bend0 * (1 - s) + bend1 * s
    y = x - trend
    odd = np.concatenate([y, -y[-2:0:-1]])
    return (trend, slope, bend), (-np.fft.rfft(odd).imag / (len(x) - 1))[1:-1]


def _curvature(x: Array, dt: float, cutoff: float) -> float:
    """d2x/dt2 at the first sample, from a polynomial of degree 5 through the first samples."""
    count = min(len(x), max(16, round(1 / (cutoff * dt))))
    s = np.linspace(0, 1, count)
    fit = np.linalg.lstsq(np.vander(s, 6, increasing=True), x[:count], None)[0]
    return float(2 * fit[2] / ((count - 1) * dt) ** 2)


def _series(sines: Array, cosines: Array | float = 0.0) -> tuple[Array, Array]:
    """Values of a series of sines and one of cosines, by one transform: its odd and even part."""
    count = len(sines) + 1
    spectrum = np.zeros(count + 1, complex)
    spectrum[1:-1].imag = -count * sines
    spectrum[1:-1].real = count * cosines
    both = np.fft.irfft(spectrum, n=2 * count)
    there, back = both[: count + 1], np.append(both[0], both[: count - 1 : -1])
    return (there - back) / 2, (there + back) / 2
