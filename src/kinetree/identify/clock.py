"""Times of the samples of a recording: held rows, gaps, and an even grid.

A logger that is faster than the robot's controller writes rows that repeat the positions of the
row before within motion: held samples, which are removed. Between gaps, samples at uneven times are
interpolated to even steps.
"""

import numpy as np

from kinetree.core.arrays import Array

Samples = tuple[Array, Array, Array | None, Array | None, Array]  # t, q, dq, ddq, tau
UNEVEN_STEP = 1e-3  # of a step: times that differ by more are resampled before filtering


def take(samples: Samples, rows: slice | Array) -> Samples:
    """The samples of some rows."""
    t, q, dq, ddq, tau = samples
    rate, bend = (None if x is None else x[rows] for x in (dq, ddq))
    return t[rows], q[rows], rate, bend, tau[rows]


def held_rows(q: Array) -> Array:
    """Whether each row repeats the positions of the row before within motion, (T,).

    A robot at rest repeats positions too, and so does a coarse encoder: only short runs count,
    after which some joint jumps by more than three of its smallest steps.
    """
    repeats = np.r_[False, (q[1:] == q[:-1]).all(axis=1)]
    starts = np.flatnonzero(~repeats)  # of runs of equal rows
    if not repeats.any() or len(starts) < 4:
        return np.zeros(len(q), bool)
    jump = np.abs(np.diff(q[starts], axis=0))
    quantum = np.array([x[x > 0].min() if x.any() else np.inf for x in jump.T])
    moving = np.r_[(jump > 3 * quantum).any(axis=1), False]
    short = np.diff(np.r_[starts, len(q)]) <= 6  # five held rows; more are a pause
    return repeats & (moving & short)[np.cumsum(~repeats) - 1]


def gaps(t: Array, cutoff: float | None = None) -> Array:
    """Numbers of the samples that are followed by none for more than `longest_step`."""
    return np.flatnonzero(np.diff(t) > longest_step(t, cutoff))


def longest_step(t: Array, cutoff: float | None = None) -> float:
    """Longest time between samples that is interpolated, s: ten steps.

    Args:
        t: times, (T,), s.
        cutoff: of a low-pass, Hz: it is a fifth of its period at most, too.
    """
    usual = float(np.quantile(np.diff(t), 0.75))
    most = 10 * usual
    return most if cutoff is None else min(max(0.2 / cutoff, 1.5 * usual), most)


def is_even(t: Array) -> bool:
    """Whether all steps are equal."""
    steps = np.diff(t)
    return bool(np.ptp(steps) <= UNEVEN_STEP * steps.mean())


def evenly(samples: Samples) -> tuple[Samples, str]:
    """The samples of one stretch at even times, and a note; "" if they were even."""
    from scipy import interpolate

    t = samples[0]
    if is_even(t):
        return samples, ""
    period = float(np.median(np.diff(t)))
    grid = t[0] + period * np.arange(int((t[-1] - t[0]) / period * (1 + 1e-12)) + 1)
    q, dq, ddq = (None if x is None else interpolate.CubicSpline(t, x)(grid) for x in samples[1:4])
    # joint forces step where friction changes its sign: cubics would overshoot
    tau = np.stack([np.interp(grid, t, x) for x in samples[4].T], axis=1)
    assert q is not None
    return (grid, q, dq, ddq, tau), "steps of time are uneven, or samples are missing: resampled"
