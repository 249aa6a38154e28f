"""Rates and accelerations of measured motion: a zero-phase low-pass and a spline.

Positions pass a Butterworth filter forward and backward, whose gain is 1 / (1 + (f / cutoff)^8)
without a shift of phase; the quintic spline through what is left has the rates and accelerations.

With the power S of the motion and N of the noise, a low-pass of gain g leaves the error

    E(cutoff) = sum over f of w(f) ((1 - g)^2 S + g^2 N),   w = (2 pi f)^(4 - 2 d)

in the accelerations, for derivatives d of the positions. Of the columns q, dq and ddq that a file
has, each joint takes the one with the smallest error; the cutoff has the smallest product of them.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.errors import InputError
from kinetree.identify.checks import least_motion, named
from kinetree.identify.clock import Samples
from kinetree.model import Model

ORDER = 4  # of the filter: steep enough for motion and noise an octave apart, with short ends
HIGHEST_CUTOFF = 0.25  # times the sampling frequency: above it, the ends are poor


def smooth(x: Array, dt: float, cutoff: float) -> tuple[Array, Array, Array]:
    """x, dx/dt and d2x/dt2, (T, n), of samples dt seconds apart, low-passed at `cutoff`, Hz.

    A cubic with the values and curvatures at both ends is taken off before the filter, so that the
    odd continuation beyond the ends is smooth.
    """
    from scipy import interpolate, signal

    check_cutoff(cutoff, dt)
    t = dt * np.arange(len(x))
    trend = _end_cubic(x, dt, cutoff)
    y = x - trend
    pad = min(len(x) - 1, ceil(6 / (cutoff * dt)))  # the memory of the filter
    long = np.concatenate([-y[pad:0:-1], y, -y[-2 : -pad - 2 : -1]])
    sos = signal.butter(ORDER, cutoff, fs=1 / dt, output="sos")
    filtered = signal.sosfiltfilt(sos, long, axis=0, padlen=0)[pad : pad + len(x)] + trend
    spline = interpolate.make_interp_spline(t, filtered, k=5)
    return filtered, spline(t, 1), spline(t, 2)


def _end_cubic(x: Array, dt: float, cutoff: float) -> Array:
    """The cubic over time with the values and curvatures that x, (T, n), has at both ends."""
    count = min(len(x), max(8, round(1 / (cutoff * dt))))
    u = np.linspace(0, 1, count)
    length = (count - 1) * dt
    first, last = (np.polynomial.polynomial.polyfit(u, part, 5)
                   for part in (x[:count], x[::-1][:count]))  # fmt: skip
    T = dt * (len(x) - 1)
    s = np.linspace(0, 1, len(x))[:, None]
    a, b = (2 * c[2] / length**2 * T * T / 6 for c in (first, last))
    ends = first[0] + s * (last[0] - first[0])
    return ends + a * s * (1 - s) * (s - 2) + b * s * (s * s - 1)


def margin(dt: float, cutoff: float) -> int:
    """Number of samples at each end whose accelerations are not reliable."""
    return ceil(1 / (cutoff * dt) * (1 - 1e-9)) + 5  # of the filter, and of the spline


def check_cutoff(cutoff: float, dt: float) -> None:
    """Raise InputError unless a cutoff is between zero and half the sampling frequency."""
    if not 0 < cutoff < 0.5 / dt:
        raise InputError(
            f"cutoff is {cutoff:g} Hz; expected above 0 and below {0.5 / dt:g} Hz, half the "
            f"sampling frequency of {1 / dt:g} Hz."
        )


@dataclass(frozen=True, eq=False)
class Rates:
    """The way from measured columns to rates and accelerations.

    Args:
        sources: column that gives the accelerations of each degree of freedom, "q", "dq" or "ddq";
            rates come from dq unless that is "q".
        cutoff: of the low-pass, Hz; None: rates and accelerations are used as recorded.
        notes: on the choice.
    """

    sources: tuple[str, ...]
    cutoff: float | None
    notes: tuple[str, ...] = ()


def choose_rates(model: Model, samples: Samples, cutoff: float | None) -> Rates:
    """Choose the columns and the cutoff from samples at even times."""
    t, q, dq, ddq, _ = samples
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    if cutoff is not None:
        check_cutoff(cutoff, dt)
    tried = _cutoffs(len(t), dt) if cutoff is None else np.array([cutoff])
    still, notes = np.zeros(model.n, bool), list[str]()
    if model.n == model.nq:
        still = np.ptp(q, axis=0) < least_motion(natural_units(model))
        dq, notes = _plausible_rates(model, (t, q, dq), still)
    columns = [q if model.n == model.nq else None, dq, ddq]
    shape = (model.n, len(tried))
    errors, noise = np.full((3, *shape), np.inf), np.ones((3, model.n))
    for d, x in enumerate(columns):
        if x is not None:
            errors[d], noise[d] = _errors(x, dt, d, tried)
            empty = ~x.any(axis=0) & ~still  # drivers write zeros for what they do not measure
            errors[d][empty], noise[d][empty] = np.inf, 1
    exact = 1e-4  # share of noise in the power of recorded rates that need no filter
    if cutoff is None and ddq is not None and (noise[1:] < exact).all():
        return Rates(("ddq",) * model.n, None, tuple(notes))
    best = errors.min(axis=2) * np.array([1.0, 1.1, 1.1])[:, None]  # positions unless others win
    source = best.argmin(axis=0)
    own = errors[source, np.arange(model.n)]
    moving = ~still & (own.max(axis=1) > 0)
    votes = np.log(np.maximum(own[moving], 1e-300)).sum(axis=0)
    chosen = float(tried[votes.argmin()]) if moving.any() else float(tried[-1])
    return Rates(tuple(("q", "dq", "ddq")[k] for k in source), chosen, tuple(notes))


def _plausible_rates(
    model: Model, columns: tuple[Array, Array, Array | None], still: Array
) -> tuple[Array | None, list[str]]:
    """Recorded rates, zero where they are no slopes of q, and a note on those."""
    t, q, dq = columns
    if dq is None:
        return None, []
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    steps = max(1, round(0.1 * natural_units(model).time / dt))  # noise of slopes is small then
    if len(t) <= 2 * steps:
        return dq, []
    slope = (q[steps:] - q[:-steps]) / (steps * dt)
    mean = np.cumsum(np.vstack([np.zeros(model.n), (dq[1:] + dq[:-1]) / 2]), axis=0)
    mean = (mean[steps:] - mean[:-steps]) / steps
    off = np.sqrt(((slope - mean) ** 2).mean(axis=0)) > 0.1 * np.sqrt((slope**2).mean(axis=0))
    off &= ~still
    if not off.any():
        return dq, []
    names = [model.dof_names[k] for k in np.flatnonzero(off)]
    return np.where(off, 0, dq), [f"dq of {named(names)} is not the slope of q: rates from q"]


def _cutoffs(count: int, dt: float) -> Array:
    """Cutoffs to choose from for `count` samples, Hz, a sixth of an octave apart."""
    most = HIGHEST_CUTOFF / dt
    least = min(10 / (count * dt), most)  # a tenth is left out at each end
    return np.geomspace(least, most, 1 + ceil(6 * np.log2(most / least)))


def _errors(x: Array, dt: float, derivative: int, tried: Array) -> tuple[Array, Array]:
    """E of columns x, (T, n), at cutoffs, (n, cutoffs), and the share of noise in them, (n,)."""
    window = np.sin(np.pi * (np.arange(len(x)) + 0.5) / len(x)) ** 4  # little leaks upward
    f = np.fft.rfftfreq(len(x), dt)[1:]
    f = f[f < 0.4 / dt]  # filters of makers pull down the end
    power = np.abs(np.fft.rfft(x * window[:, None], axis=0)[1 : len(f) + 1]) ** 2
    weight = (2 * np.pi * f[:, None]) ** (4 - 2 * derivative)
    motion, noise = np.empty_like(power), np.empty(x.shape[1])
    for k in range(x.shape[1]):
        last, noise[k] = _noise_floor(f, power[:, k], weight[:, 0])
        motion[:, k] = np.where(f <= last, np.maximum(power[:, k] - noise[k], 0), 0)
    gain = 1 / (1 + (f[:, None] / tried) ** (2 * ORDER))
    weighted = weight * motion
    error = weighted.T @ (1 - gain) ** 2 + noise[:, None] * (weight.T @ gain**2)
    error += 1e-8 * weighted.sum(axis=0)[:, None]  # a lower one is not worth a higher cutoff
    return error, noise * weight.sum() / np.maximum(weighted.sum(axis=0), 1e-300)


def _noise_floor(f: Array, power: Array, weight: Array) -> tuple[float, float]:
    """The end of the motion's band, Hz, and the power of the noise at each frequency.

    The power of accelerations falls with frequency as far as the motion reaches, and rises above,
    where it is noise. Means over an octave bridge the gaps between the harmonics of a motion.
    """
    total = np.r_[0, np.cumsum(power)]
    ends = np.searchsorted(f, 2 * f, side="right")
    level = (total[ends] - total[:-1]) / (ends - np.arange(len(f)))
    bent = level * np.sqrt(weight * weight[ends - 1])  # in the middle of the octave
    first = int(np.argmax(level * f**2))  # the rates have most of their power there
    while True:
        lowest = np.minimum.accumulate(bent[first:])
        rises = np.flatnonzero(bent[first:] > 100 * lowest)  # a notch in the motion rises less
        end = first + (int(rises[0]) if len(rises) else len(f) - 1 - first)
        at = first + int(np.argmin(bent[first : end + 1]))
        later = np.flatnonzero(level[at + 1 :] > 30 * level[at])  # noise does not: a wide notch
        if not len(later):
            return float(f[at]), float(level[at])
        first = at + 1 + int(later[-1])


def apply_rates(model: Model, samples: Samples, rates: Rates) -> Samples:
    """q, dq and ddq, low-passed, with tau as it is."""
    t, q, dq, ddq, tau = samples
    assert rates.cutoff is not None  # samples that are used as recorded are not filtered
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    source = np.array(rates.sources)
    speed, bend, smoothed = np.zeros((len(t), model.n)), np.zeros((len(t), model.n)), q
    if model.n == model.nq:
        smoothed, speed, bend = smooth(q, dt, rates.cutoff)
        still = np.ptp(smoothed, axis=0) < least_motion(natural_units(model))
        speed[:, still] = bend[:, still] = 0  # noise, whose sign would be taken for friction
    from_rates = source != "q"
    if dq is not None and from_rates.any():
        slow, slope = smooth(dq, dt, rates.cutoff)[:2]
        speed[:, from_rates] = slow[:, from_rates]
        bend[:, source == "dq"] = slope[:, source == "dq"]
    if ddq is not None and (own := source == "ddq").any():
        bend[:, own] = smooth(ddq, dt, rates.cutoff)[0][:, own]
    return t, smoothed, speed, bend, tau
