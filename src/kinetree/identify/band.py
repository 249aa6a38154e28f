"""One zero-phase low-pass for both sides of the equations, with as few rows as its band needs.

Joint forces are linear in the unknowns, tau = Y x, so every weighted sum of samples of both sides
is an equation as well. Row r is the sum of samples around t_r with the weights of a finite kernel,

    k(s) = sinc(2 cutoff s) (Kaiser window of half length 2 / cutoff),

divided by their sum: a low-pass whose gain falls from 1 to 0 between 0.5 and 1.5 times the cutoff.
Filtering one side alone would bias the unknowns; filtering both alike removes noise beyond the
motion and nothing else. At the ends of a stretch the kernel is cut, on both sides alike. Rows are
1 / (2 cutoff) apart: samples in between repeat what the band already has, and errors of closer rows
would be alike.

The kernel is finite, so rows are computed block by block, in bounded memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify.rates import check_cutoff
from kinetree.identify.recording import Recording


@dataclass(frozen=True)
class Band:
    """The filter of one stretch of evenly spaced samples.

    Args:
        first: index of the stretch's first sample.
        count: number of its samples.
        reach: half length of the kernel in samples; 0: no filter, every sample is a row.
        step: samples from one row to the next.
        cutoff: in periods per sample.
    """

    first: int
    count: int
    reach: int = 0
    step: int = 1
    cutoff: float = 0.5

    @property
    def start(self) -> int:
        """Sample of the first row, counted from the stretch's first sample."""
        return (self.count - 1) % self.step // 2

    @property
    def rows(self) -> int:
        """Number of rows."""
        return (self.count - 1 - self.start) // self.step + 1

    def window(self, a: int, b: int) -> tuple[int, int]:
        """First sample, and the one after the last, that rows a to b - 1 of the stretch need."""
        low = max(0, self.start + a * self.step - self.reach)
        high = min(self.count, self.start + (b - 1) * self.step + self.reach + 1)
        return self.first + low, self.first + high

    def weights(self, a: int, b: int) -> Array:
        """Weights of the samples of `window` in rows a to b - 1, (b - a, samples), sum 1."""
        low, high = (x - self.first for x in self.window(a, b))
        first = self.start + a * self.step
        shape = self.reach, self.step, self.cutoff, b - a, low - first, high - first
        return _weights(*shape)


@lru_cache(maxsize=64)
def _weights(reach: int, step: int, cutoff: float, rows: int, low: int, high: int) -> Array:
    """Weights of samples low to high - 1, counted from the first row, in some rows."""
    s = np.arange(-reach, reach + 1)
    kernel = np.sinc(2 * cutoff * s) * np.i0(6.0 * np.sqrt(1 - (s / (reach + 1)) ** 2))
    weights = np.zeros((rows, high - low))
    for k in range(rows):
        a, b = max(low, k * step - reach), min(high, k * step + reach + 1)
        cut = kernel[a - k * step + reach : b - k * step + reach]
        weights[k, a - low : b - low] = cut / cut.sum()
    weights.setflags(write=False)
    return weights


def bands_of(data: Recording, cutoff: float | None = None) -> tuple[Band, ...]:
    """The filters of the stretches of a recording.

    Joint forces have higher frequencies than the motion: products of rates, and friction that
    changes its sign. So their band is five times as wide as that of the motion, up to 50 Hz: above
    it, a recording has many more rows and hardly more to tell.

    Args:
        data: the recording.
        cutoff: frequency of the low-pass, Hz; None: as wide as that of the recording's rates
            asks for, or no filter if those were recorded, or if every sample would be a row.
    """
    if cutoff is None and data.cutoff is not None:
        wide = max(data.cutoff, min(5.0 * data.cutoff, 50.0))
        cutoff = wide if wide < 0.2 / data.dt else None  # five samples in a period
    edges = [0, *np.flatnonzero(np.diff(data.t) > 1.5 * data.dt) + 1, len(data)]
    return tuple(_band(data.t, int(a), int(b), cutoff) for a, b in pairwise(edges))


def _band(t: Array, a: int, b: int, cutoff: float | None) -> Band:
    """The filter of samples a to b - 1, which have a step of their own."""
    if cutoff is None or b - a < 2:
        return Band(a, b - a)
    dt = float((t[b - 1] - t[a]) / (b - 1 - a))
    check_cutoff(cutoff, dt)
    reach = max(1, round(2 / (cutoff * dt)))
    step = max(1, int(0.5 / (cutoff * dt) * (1 + 1e-9)))  # 3.9999999999 counts as 4
    return Band(a, b - a, reach, step, cutoff * dt)


def blocks_of(bands: tuple[Band, ...], size: int) -> Iterator[tuple[Band, int, int]]:
    """Blocks of at most `size` samples: a band, its first row and the one after the last."""
    for band in bands:
        length = max(1, (size - 2 * band.reach) // band.step)
        for a in range(0, band.rows, length):
            yield band, a, min(a + length, band.rows)


def filtered(band: Band, a: int, b: int, samples: Array) -> Array:
    """Rows a to b - 1 of a stretch, (b - a, ...), from the samples of its `window`, (k, ...)."""
    if band.reach == 0:
        return samples
    flat, low = samples.reshape(len(samples), -1), band.window(a, b)[0]
    result = np.empty((b - a, flat.shape[1]))
    for c in range(a, b, 48):
        d = min(c + 48, b)
        first, last = band.window(c, d)
        np.matmul(band.weights(c, d), flat[first - low : last - low], out=result[c - a : d - a])
    return result.reshape(b - a, *samples.shape[1:])


def rows_of(bands: tuple[Band, ...], x: Array) -> Array:
    """All rows, (rows, ...), of samples x, (T, ...), with the filters of their recording."""
    return np.concatenate(
        [filtered(band, 0, band.rows, x[slice(*band.window(0, band.rows))]) for band in bands]
    )


def in_band(data: Recording, x: Array, cutoff: float | None = None) -> Array:
    """Rows, (rows, ...), of samples x, (T, ...), of a recording; cutoff as in `bands_of`."""
    return rows_of(bands_of(data, cutoff), x)
