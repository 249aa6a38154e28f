"""Spectra of measured motion: the noise floor, and the cutoff that separates motion from noise.

The power of a motion falls steeply with frequency (f^-6 or more for positions, because
accelerations are bounded), that of sensor noise is flat or falls slowly (quantisation, jitter of
the clock, noise that was filtered by the maker). The floor of a joint is the first stretch of two
octaves above the motion whose level is a straight line in log-log axes that falls no faster than
f^-2.6. Medians over bands of a sixth of an octave give the levels, so single lines (mains hum, a
tone of an encoder) do not count, and neither does the far end of the spectrum, which interpolation
and the filters of makers pull down.

With the power S of the motion and N of the noise, a zero-phase low-pass of gain g leaves the error

    E(cutoff) = sum over f of w(f) ((1 - g)^2 S + g^2 N)

in the accelerations, w = (2 pi f)^4 for positions, (2 pi f)^2 for rates, 1 for accelerations. The
cutoff minimises the sum of log E over the joints: every joint has one vote, whatever its noise,
and a notch between harmonics of the motion does not end the band.

Bands are no narrower than `BAND_FREQUENCIES` / duration, and the window spreads lines of the motion
over as much. So the cutoff of a recording of 6 s may lie 0.8 Hz above the best one, and
accelerations have up to twice the smallest error; in simulated motions of 12 s they had at most 1.3
times that.
"""

from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.identify import constants as const
from kinetree.identify.filtering import good_length, response
from kinetree.present.charts import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Bands:
    """Power of measured columns in bands of frequency, and its part that is noise.

    Args:
        f: centres of the bands, (B,), Hz.
        count: number of frequencies in each band, (B,).
        power: sum of the power in each band, (B, n).
        floor: power of the noise per frequency, (B, n); zeros: no noise was found.
        last: number of the last band with motion, (n,).
        derivative: 0 for positions, 1 for rates, 2 for accelerations.
    """

    f: Array
    count: Array
    power: Array
    level: Array
    floor: Array
    last: Array
    derivative: int

    @property
    def noise(self) -> Array:
        """Power of the noise in each band, (B, n)."""
        return self.floor * self.count[:, None]

    @property
    def motion(self) -> Array:
        """Power of the motion in each band, (B, n)."""
        below = np.arange(len(self.f))[:, None] <= self.last
        return np.where(below, np.maximum(self.power - self.noise, 0), 0)

    @property
    def weight(self) -> Array:
        """Factor from power to the power of the accelerations, (B, 1)."""
        return (2 * np.pi * self.f[:, None]) ** (2 * (2 - self.derivative))


@dataclass(frozen=True)
class Line:
    """A straight line through the mean (x, y) of points; `misfit` is in units of their scatter."""

    x: float
    y: float
    slope: float
    error: float
    misfit: float

    def at(self, x: float) -> float:
        """y at x."""
        return self.y + self.slope * (x - self.x)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Spectrum of a recording's accelerations, and the cutoff that was chosen from it.

    Args:
        frequency: centres of the bands, (B,), Hz.
        level: median power density of the accelerations in each band, (B, n), (rad/s^2)^2/Hz or
            (m/s^2)^2/Hz.
        floor: that of the noise, shape (B, n), in the same units; zeros: no noise was found.
        cutoff: of the low-pass, Hz.
        band: frequency below which 99.99 % of the power of the accelerations lie, Hz, at most the
            cutoff.
        sources: column that gave the rates of each degree of freedom: "q", "dq" or "ddq".
        names: of the degrees of freedom.
    """

    frequency: Array
    level: Array
    floor: Array
    cutoff: float
    band: float
    sources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def bands(x: Array, dt: float, derivative: int = 0) -> Bands:
    """The bands of columns x, (T, n), sampled every dt seconds."""
    f, edges = _edges(len(x), dt)
    count = np.diff(edges)
    power, level = np.empty((2, len(count), x.shape[1]))
    window = np.sin(np.pi * (np.arange(len(x)) + 0.5) / len(x)) ** 4
    window /= np.sqrt(window @ window)
    for k in range(x.shape[1]):
        p = _periodogram(x[:, k], window)
        power[:, k] = np.add.reduceat(p[: edges[-1]], edges[:-1])
        level[:, k] = [np.median(p[a:b]) for a, b in pairwise(edges)]
    level /= np.log(2)  # the mean of the power of noise, from its median
    low, high = f[edges[:-1]], f[edges[1:] - 1]
    middle = np.sqrt(low * high)
    floor = np.stack([_floor(middle, count, *y, dt) for y in zip(power.T, level.T, strict=True)], 1)
    last = [_last(low, high, count, *y) for y in zip(power.T, floor.T, strict=True)]
    return Bands(middle, count, power, level, floor, np.array(last), derivative)


def errors(found: Bands, cutoffs: Array) -> Array:
    """Expected power of the error of the accelerations after each low-pass, (n, cutoffs)."""
    gain = response(found.f[:, None], cutoffs)
    motion, noise = found.weight * found.motion, found.weight * found.noise
    exact = const.EXACT_POWER * motion.sum(axis=0)[:, None]
    return motion.T @ (1 - gain) ** 2 + noise.T @ gain**2 + exact


def candidates(count: int, dt: float) -> Array:
    """Cutoffs to choose from for `count` samples, Hz, a twelfth of an octave apart."""
    least, most = const.LOWEST_CUTOFF / (count * dt), const.HIGHEST_CUTOFF / dt
    if least >= most:
        return np.array([most])
    return least * (most / least) ** np.linspace(0, 1, 1 + int(np.ceil(12 * np.log2(most / least))))


def choose_cutoff(x: Array, dt: float, derivative: int = 0) -> float:
    """The cutoff, Hz, with the smallest error of the accelerations, common to all columns of x.

    Args:
        x: measured positions, rates or accelerations, (T, n).
        dt: step between the samples, s.
        derivative: 0 for positions, 1 for rates, 2 for accelerations.
    """
    tried = candidates(len(x), dt)
    return common_cutoff(errors(bands(x, dt, derivative), tried), tried)


def common_cutoff(error: Array, tried: Array) -> float:
    """The cutoff with the smallest product of the errors of all columns; those at rest abstain."""
    moving = error.max(axis=1) > 0
    if not moving.any():
        return float(tried[0])
    return float(tried[np.log(np.maximum(error[moving], 1e-300)).sum(axis=0).argmin()])


def spectrum(found: list[Bands], dt: float, cutoff: float, names: tuple[str, ...]) -> Spectrum:
    """The Spectrum of the bands of each degree of freedom, one Bands with one column for each."""
    f = found[0].f
    to_density = 2 * dt  # one-sided
    level = np.hstack([x.level * x.weight for x in found]) * to_density
    floor = np.hstack([x.floor * x.weight for x in found]) * to_density
    band = f[0]
    for x in found:
        power = (x.motion * x.weight)[:, 0]
        if power.sum() > 0:
            inside = np.cumsum(power) < (1 - const.BAND_POWER) * power.sum()
            band = max(band, f[min(int(inside.sum()), len(f) - 1)])
    sources = tuple(("q", "dq", "ddq")[x.derivative] for x in found)
    return Spectrum(f, level, floor, cutoff, float(min(band, cutoff)), sources, names)


def column(found: Bands, k: int) -> Bands:
    """The bands of one column."""
    own = slice(k, k + 1)
    return Bands(
        found.f, found.count, found.power[:, own], found.level[:, own], found.floor[:, own],
        found.last[own], found.derivative,
    )  # fmt: skip


def _edges(count: int, dt: float) -> tuple[Array, Array]:
    """Frequencies, Hz, and the numbers at which the bands begin and end."""
    length = good_length(count)
    f = np.arange(length // 2 + 1) / (length * dt)
    edges, top = [1], len(f) - 1
    while edges[-1] < top:
        end = max(
            edges[-1] + const.BAND_FREQUENCIES,
            int(np.ceil(edges[-1] * 2 ** (1 / const.BANDS_PER_OCTAVE))),
        )
        edges.append(top if top - end < const.BAND_FREQUENCIES else end)
    return f, np.array(edges)


def _periodogram(x: Array, window: Array) -> Array:
    """Power over frequency after a window; the leakage of a fourth power of sines falls fast."""
    count = len(x)
    s = np.linspace(-1, 1, count)
    y = x - x.mean()
    y -= s * ((s @ y) / (s @ s))
    y *= window
    found = np.fft.rfft(y, n=good_length(count))
    return found.real**2 + found.imag**2


def _floor(f: Array, count: Array, power: Array, level: Array, dt: float) -> Array:
    """Power of the noise per frequency in each band, (B,); zeros if the motion fills the band."""
    largest = (power / count).max()
    if largest == 0:
        return np.zeros(len(f))
    log, x = np.log(np.maximum(level, 1e-300)), np.log(f)
    weight = 1 / np.sqrt(const.BAND_SCATTER**2 + 4 / count)
    top = const.TOP_FREQUENCY * 0.5 / dt

    def line(j: int) -> Line | None:
        """The straight line over the octaves above band j."""
        own = np.flatnonzero((f >= f[j]) & (f <= min(top, 1.01 * 2**const.STRAIGHT_OCTAVES * f[j])))
        if len(own) < 4 or f[own[-1]] < 1.8 * f[j]:
            return None
        return _line(x[own], log[own], weight[own])

    for j in range(int((power / count).argmax()) + 1, len(f)):
        found = line(j)
        if found is None:
            break
        start = found.at(x[j])
        # below the motion by far, or flat (or rising) to the end: motion is never that fast
        rest = log[j : int(np.searchsorted(f, top))]
        low = start < np.log(const.MOTION_POWER * largest)
        lasting = (
            top > 2**const.STRAIGHT_OCTAVES * f[j]
            and np.quantile(rest, 0.05) > start - const.LASTING_NOISE
        )
        if (
            found.slope > -const.STEEPEST_NOISE
            and found.misfit < const.STRAIGHT_MISFIT
            and (low or lasting)
        ):
            return _extended(f, log, j, line(int(np.searchsorted(f, 2 * f[j]))) or found)
    return np.zeros(len(f))


def _extended(f: Array, log: Array, j: int, line: Line) -> Array:
    """The floor in all bands: the level itself from an octave above band j, a line below that.

    The first octave may still have motion, so the line is that of the octaves above it, flat unless
    it surely falls; below band j, where the motion hides the noise, it is flat.
    """
    at = min(int(np.searchsorted(f, 2 * f[j])), len(f) - 1)
    slope = line.slope if line.slope < -2 * line.error else 0.0
    found = line.y + slope * (np.log(np.maximum(f, f[j])) - line.x)
    half = const.BANDS_PER_OCTAVE // 2
    for i in range(at, len(f)):
        found[i] = np.median(log[max(at, i - half) : i + half + 1])
    return np.exp(found)


def _line(x: Array, y: Array, weight: Array) -> Line:
    """The straight line through points by weighted least squares."""
    w = weight**2
    mean = float(w @ x / w.sum()), float(w @ y / w.sum())
    spread = float(w @ (x - mean[0]) ** 2)
    slope = float(w @ ((x - mean[0]) * (y - mean[1]))) / spread
    misfit = float(np.mean(w * (y - mean[1] - slope * (x - mean[0])) ** 2))
    return Line(*mean, slope, 1 / np.sqrt(spread), misfit)


def _last(low: Array, high: Array, count: Array, power: Array, floor: Array) -> int:
    """Number of the last band with motion: contiguous from below, or with much of the power."""
    if not power.any():
        return 0
    visible = power > floor * count * (1 + 3 * np.sqrt(2 / count))
    over = np.where(visible, power - floor * count, 0)
    if not over.any():
        return 0
    last = int(np.flatnonzero(over > const.MOTION_POWER * over.max())[-1])
    for i in range(last + 1, len(power)):
        if visible[i] and low[i] <= high[last] * const.MOTION_GAP:
            last = i
    return last


@typed
def plot_spectrum(found: Spectrum, path: str | PathLike[str] | None = None) -> "Figure":
    """Draw the accelerations' spectrum of every joint, its noise floor and the cutoff.

    Args:
        found: `Recording.spectrum`.
        path: path of the picture to write; None: it is only returned. Needs the extra `plot`.
    """
    figure = new_figure(9, 5.5)
    axes = figure.subplots()
    names = found.names or tuple(f"joint {k + 1}" for k in range(found.level.shape[1]))
    for k, name in enumerate(names):
        label = f"{name} ({found.sources[k]})" if found.sources else name
        (line,) = axes.loglog(found.frequency, np.sqrt(found.level[:, k]), label=label)
        if found.floor[:, k].any():
            axes.loglog(
                found.frequency, np.sqrt(found.floor[:, k]), ":", color=line.get_color(), lw=1
            )
    axes.axvline(found.cutoff, color="black", lw=1)
    axes.annotate(
        f"cutoff {found.cutoff:.3g} Hz", (found.cutoff, 0.02), rotation=90, ha="right",
        xycoords=("data", "axes fraction"),
    )  # fmt: skip
    axes.set_xlabel("frequency, Hz")
    axes.set_ylabel("acceleration, rad/s² or m/s² per √Hz")
    axes.set_title("Measured motion (solid) and noise floor (dotted)")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small")
    if path is not None:
        figure.savefig(path, dpi=120)
    return figure
