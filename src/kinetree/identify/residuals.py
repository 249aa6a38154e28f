"""Tests of the residual of a fit: whether it is autocorrelated, or a large part of the force."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of, rows_of
from kinetree.identify.findings import Finding, named, names_at
from kinetree.identify.least_squares import Fit
from kinetree.identify.noise import last_above
from kinetree.identify.recording import Recording


@dataclass(frozen=True)
class Autocorrelated:
    """A warning of such errors; `lasting`: the recording is too short for their intervals."""

    finding: Finding
    lasting: bool


def row_step(data: Recording, cutoff: float | None) -> float:
    """Time from one row of a fit to the next, s."""
    return max(x.step for x in bands_of(data, cutoff)) * data.dt


def error_spectrum(data: Recording, fit: Fit, cutoff: float | None) -> tuple[Array, Array]:
    """Frequencies, (k,), Hz, and the power density of the errors of the fit, (k, n).

    The frequencies are those that the low-pass of the fit leaves as they are. The density, in
    squared N m or N per Hz, is that of the autoregression from which intervals are computed.
    """
    band = max(bands_of(data, cutoff), key=lambda x: x.count)
    top = 0.5 * band.cutoff / data.dt if band.reach else 0.5 / data.dt
    f = np.linspace(0, top, const.SPECTRUM_POINTS)
    step = row_step(data, cutoff)
    return f, 2 * step * fit.noise.density(f * step).T * fit.sigma**2


def clipped_size(x: Array) -> Array:
    """Root mean square of rows, (n,), with outliers clipped."""
    most = const.WILD_ERROR * 1.4826 * np.median(np.abs(x), axis=0)
    return np.sqrt((np.minimum(np.abs(x), np.where(most > 0, most, np.inf)) ** 2).mean(axis=0))


def measured_size(data: Recording, cutoff: float | None) -> Array:
    """Root mean square of the measured forces after the low-pass of a fit, (n,)."""
    return np.sqrt((rows_of(bands_of(data, cutoff), data.tau) ** 2).mean(axis=0))


def autocorrelated(
    names: Sequence[str], data: Recording, fit: Fit, cutoff: float | None
) -> Iterator[Autocorrelated]:
    """Warnings of errors that are correlated over time, with frequency and duration."""
    f, density = error_spectrum(data, fit, cutoff)
    mean = density.mean(axis=0)
    peak = density.argmax(axis=0)
    ratio = density.max(axis=0) / np.where(mean > 0, mean, np.inf)
    least = const.NEGLIGIBLE_ERROR * measured_size(data, cutoff)
    coloured = (ratio > const.COLOURED_PEAK) & (clipped_size(fit.residual) > least)
    if not coloured.any():
        return
    half = np.cumsum(density, axis=0) / np.maximum(density.sum(axis=0), 1e-300)
    below = f[np.minimum((half < 0.5).sum(axis=0), len(f) - 1)]
    times = correlation_times(data, fit, cutoff)
    duration = data.dt * len(data)
    for slow in (True, False):
        at = coloured & ((f[peak] < 0.1 * f[-1]) == slow)
        for lasting in (False, True):
            own = at & ((const.COLOURED_DURATION * times > duration) == lasting)
            if not own.any():
                continue
            joints = names_at(names, own)
            values = below[own] if slow else f[peak][own]
            span = " to ".join(dict.fromkeys(f"{g(values):.2g}" for g in (np.min, np.max)))
            where = f"half of their power is below {span} Hz" if slow else f"strongest at {span} Hz"
            time = f"{float(times[own].max()):.2g} s"
            end = "Intervals take this into account" if not lasting else (
                f"The recording of {duration:.3g} s is too short for intervals")  # fmt: skip
            text = f"errors of {named(joints)} are coloured: {where}, correlated over {time}. {end}"
            yield Autocorrelated(Finding("coloured", joints, text), lasting)


def correlation_times(data: Recording, fit: Fit, cutoff: float | None) -> Array:
    """Time in which the correlation of the errors of each joint falls below 1/e, (n,), s."""
    rho = fit.noise.correlation(const.CORRELATED_ROWS)
    step = row_step(data, cutoff)
    return step * np.array([last_above(np.abs(x), np.exp(-1)) + 1 for x in rho])


def unexplained(names: Sequence[str], share: Array) -> Iterator[Finding]:
    """A warning of joints of whose force the result leaves a large share, (n,), unexplained."""
    if (off := share > const.LITTLE_EXPLAINED).any():
        joints = names_at(names, off)
        yield Finding(
            "unexplained", joints,
            f"errors of {named(joints)} are up to {share.max():.2g} of the measured force: it is "
            "noise, friction of a joint that sticks, or what the model lacks",
        )  # fmt: skip
