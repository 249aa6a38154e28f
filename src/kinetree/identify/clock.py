"""Times of the samples of a recording: held, dropped and jittered rows, and an even grid.

A logger that is faster than the robot's controller writes rows that repeat the positions of the
row before, within motion: held samples. One that is slower, or late, drops rows. The times that it
writes are often those of the logger, not those of the measurement: jitter of 0.1 ms at 1 rad/s is
an error of 1e-4 rad, far above that of an encoder.

Robots measure at even steps. If the positions advance from row to row by whole numbers of a step
at the speed of the motion, these numbers give the times of the measurements. They are used if
positions are smoother over them than over the times of the file.
"""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.identify import constants as const
from kinetree.identify.filtering import smooth
from kinetree.identify.spectrum import choose_cutoff

Samples = tuple[Array, Array, Array | None, Array | None, Array]  # t, q, dq, ddq, tau


def take(samples: Samples, rows: slice | Array) -> Samples:
    """The samples of some rows."""
    t, q, dq, ddq, tau = samples
    return (
        t[rows], q[rows], None if dq is None else dq[rows], None if ddq is None else ddq[rows],
        tau[rows],
    )  # fmt: skip


def held_rows(t: Array, q: Array) -> Array:
    """Whether each row repeats the positions of the row before within motion, (T,).

    A robot at rest repeats positions too. The jump that follows held rows is larger than the steps
    of an encoder, and as fast as the motion before and after it, or as long as the steps before and
    after it, if the rows are few. A robot that starts from rest has neither.
    """
    held = np.zeros(len(t), bool)
    repeats = np.r_[False, (q[1:] == q[:-1]).all(axis=1)]
    starts = np.flatnonzero(~repeats)  # of runs of equal rows
    if not repeats.any() or len(starts) < 4:
        return held
    x, time = q[starts], t[starts]
    jump = np.abs(np.diff(x, axis=0))
    speed = jump / np.diff(time)[:, None]
    quantum = np.array([y[y > 0].min() if y.any() else np.inf for y in jump.T])
    around, beside = np.zeros_like(jump), np.zeros_like(jump)
    around[1:-1] = np.minimum(speed[:-2], speed[2:])  # one of them may be a jump of its own
    beside[1:-1] = np.minimum(jump[:-2], jump[2:])
    short = (np.diff(starts) <= const.SHORT_HOLD + 1)[:, None]
    goes_on = (speed > const.CATCH_UP_SPEED * around) | (
        short & (jump > const.CATCH_UP_LENGTH * beside)
    )
    moving = goes_on & (jump > const.JUMP_QUANTA * quantum) & (around > 0)
    within = np.r_[moving.any(axis=1), False]  # of each run
    length = np.diff(np.r_[starts, len(t)])
    for end, beside_it in ((0, 1), (-1, -2)):  # the ends have no steps before or after them
        within[end] = within[beside_it] and length[end] <= length[beside_it] + 1
    run = np.cumsum(~repeats) - 1
    return repeats & within[run]


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
    most = const.GAP_STEPS * usual
    return most if cutoff is None else min(max(const.GAP_PERIODS / cutoff, 1.5 * usual), most)


def measured_times(t: Array, q: Array) -> Array | None:
    """Times of the measurements, counted in even steps; None: those of the file are better.

    Rows with the time of the row before are held samples too.
    """
    steps = np.diff(t)
    if np.ptp(steps) <= const.UNEVEN_STEP * steps.mean() or len(t) < const.TIMED_ROWS:
        return None
    if _even_steps(t) is not None:
        return None  # even, with rows missing
    period = float(np.median(steps))
    period = _fit(np.rint((t - t[0]) / period), t)[1]
    even = t
    for _ in range(const.TIME_ROUNDS):  # better times give better speeds, which give better times
        steps_taken = _steps(t, even, q, period)
        if steps_taken is None:
            return None
        start, period = _fit(steps_taken, t)
        even = start + period * steps_taken
    if np.median(np.abs(even - t)) > const.LATE_PERIODS * period:
        return None
    new = np.r_[True, np.diff(even) > 0]
    given, found = (np.median(np.abs(left_out(x[new], q[new])), axis=0) for x in (t, even))
    moves = given > 0
    if not moves.any():
        return None
    ratio = np.exp(np.log(np.maximum(found[moves] / given[moves], 1e-6)).mean())
    return even if ratio < const.BETTER_TIMES else None


def _steps(t: Array, even: Array, q: Array, period: float) -> Array | None:
    """Number of periods from the first row to each row, (T,); None: the motion does not show it.

    The time between two rows is the advance of the positions over the speed, of all joints
    together in units of their noise. Rows of slow motion, and those near the ends, where speeds are
    not reliable, are placed by the times t of the file; `even` are better times, if known.
    """
    grid = even[0] + period * np.arange(int((even[-1] - even[0]) / period) + 1)
    x = np.stack([np.interp(grid, even, y) for y in q.T], axis=1)
    cutoff = choose_cutoff(x, period)
    rates = smooth(x, period, cutoff)[1]
    del x
    middle = (even[1:] + even[:-1]) / 2
    inside = np.minimum(middle - even[0], even[-1] - middle) > 1 / cutoff
    noise = np.array([np.median(np.abs(np.diff(y, 2))) for y in q.T]) / (0.6745 * np.sqrt(6))
    noise = np.maximum(noise, 1e-9 * np.ptp(q, axis=0))
    used = noise > 0
    if not used.any():
        return None
    size, taken = np.full(len(middle), 1e-300), np.zeros(len(middle))
    for k in np.flatnonzero(used):
        rate = np.interp(middle, grid, rates[:, k]) / noise[k]
        size += rate * rate
        taken += rate * (np.diff(q[:, k]) / noise[k])
    taken /= size * period
    sure = (np.sqrt(2 / size) < const.SURE_STEPS * period) & inside
    near = np.rint(taken)
    sure &= (np.abs(taken - near) < np.minimum(const.WHOLE_STEPS + 0.03 * near, 0.45)) & (near >= 0)
    if np.count_nonzero(np.diff(sure)) > const.MOST_CHANGES:
        sure[:] = False
    return _placed(t, np.where(sure, near, 1).astype(int), sure, period)


def _placed(t: Array, number: Array, sure: Array, period: float) -> Array:
    """Number of periods to each row, (T,), from those between rows, (T - 1,), where they are sure.

    Other rows follow the times t. Single times may be late: those of many rows after them decide
    how many periods all of them took.
    """
    total = np.r_[0, np.cumsum(number)]
    edges = np.flatnonzero(np.diff(np.r_[True, sure, True].astype(int))).reshape(-1, 2)
    ends = [*edges[1:, 0], len(t) - 1]
    shift, done = 0, 0
    for (a, b), end in zip(edges, ends, strict=True):  # not sure from row a to row b
        total[done : a + 1] += shift
        before = slice(max(0, a - const.PLACING_ROWS), a + 1)
        offset = np.median(t[before] - period * total[before])
        own = np.rint((t[a + 1 : b + 1] - offset) / period).astype(int)
        if b < len(t) - 1:
            after = slice(b, min(b + const.PLACING_ROWS, end) + 1)
            late = np.median(t[after] - period * total[after]) - offset
            own[-1] = total[b] + int(np.rint(late / period))
            own = np.minimum(own, own[-1] - np.arange(len(own))[::-1])
        climb = np.arange(1, len(own) + 1)  # every row takes a step at least
        own = np.maximum.accumulate(np.maximum(own - climb, total[a])) + climb
        shift, done = int(own[-1] - total[b]), b + 1
        total[a + 1 : b + 1] = own
    total[done:] += shift
    return total


def jitter_of(errors: Array, rates: Array) -> float:
    """Standard deviation of the times of samples, s; 0 if the errors of positions do not show it.

    A sample that is late by d has the error dq d in the position of every joint. So the product of
    errors of two joints is, in the mean, that of their rates times the variance of d, while errors
    of encoders are independent.

    Args:
        errors: measured less smooth positions, shape (T, n), rad or m.
        rates: joint rates, shape (T, n), rad/s or m/s.
    """
    size = np.sqrt((errors**2).mean(axis=0))
    moves = (size > 0) & rates.any(axis=0)
    e, v = errors[:, moves] / size[moves], rates[:, moves] / size[moves]
    limit = np.quantile(np.abs(e), 0.99, axis=0) if e.size else 1.0
    e = np.clip(e, -limit, limit)  # jumps are not jitter
    # sums over pairs of different joints
    both, squares = e * v, (v * v).sum(axis=1) ** 2 - (v**4).sum(axis=1)
    products = both.sum(axis=1) ** 2 - (both**2).sum(axis=1)
    total, spread = float(products.sum()), float(np.sqrt((products**2).sum()))
    if total <= const.JITTER_Z * spread or not squares.any():
        return 0.0
    variance = total / float(squares.sum())
    shares = variance * (v**2).mean(axis=0)
    return float(np.sqrt(variance)) if shares.max(initial=0) > const.JITTER_SHARE else 0.0


def _fit(x: Array, y: Array) -> tuple[float, float]:
    """Start and slope of the line y over x by least squares."""
    mean = x.mean(), y.mean()
    slope = float((x - mean[0]) @ (y - mean[1]) / ((x - mean[0]) @ (x - mean[0])))
    return float(mean[1] - slope * mean[0]), slope


def evenly(samples: Samples) -> tuple[Samples, list[str]]:
    """The samples of one stretch at even times, and notes on it.

    Rows that are there stay as they are where their times are even: only missing rows are
    interpolated. Each column is interpolated by straight lines or by cubics, whichever predicts
    its samples better from their neighbours: noise makes cubics overshoot.
    """
    t = samples[0]
    steps = np.diff(t)
    if np.ptp(steps) <= const.UNEVEN_STEP * steps.mean():
        return samples, []
    regular = _even_steps(t)
    if regular is None:
        period = float(np.median(steps))
        grid = t[0] + period * np.arange(int((t[-1] - t[0]) / period) + 1)
        at, note = t, "steps of time are uneven; resampled"
    else:
        whole, period = regular
        grid = t[0] + period * np.arange(int(whole[-1]) + 1)
        at = t[0] + period * whole
        note = f"{counted(len(grid) - len(t), 'missing sample')} between others interpolated"
    found = [x if x is None else _interpolated(at, x, grid) for x in samples[1:]]
    q, dq, ddq, tau = found
    assert q is not None and tau is not None
    return (grid, q, dq, ddq, tau), [note]


def _even_steps(t: Array) -> tuple[Array, float] | None:
    """Numbers of periods to each row, (T,), and the period, if times are even with rows missing."""
    usual = float(np.median(np.diff(t)))
    # the usual step is several periods if most rows are missing
    for share in range(1, const.STEP_SHARES + 1):
        period = float((t[-1] - t[0]) / np.rint((t[-1] - t[0]) * share / usual))
        whole: Array = np.rint((t - t[0]) / period)
        near = np.abs(t - t[0] - whole * period).max() < 10 * const.UNEVEN_STEP * period
        if near and bool(np.all(np.diff(whole) >= 1)):
            return whole, period
    return None


def left_out(t: Array, x: Array) -> Array:
    """Samples minus the cubic through their four neighbours in time, (T - 4, n)."""
    near = [t[k : len(t) - 4 + k] for k in (0, 1, 3, 4)]
    weights = _weights(near, t[2:-2])
    rest = x[2:-2].copy()
    for weight, k in zip(weights, (0, 1, 3, 4), strict=True):
        rest -= weight[:, None] * x[k : len(t) - 4 + k]
    return rest


def _interpolated(t: Array, x: Array, grid: Array) -> Array:
    """Columns x at the times of a grid, by straight lines or cubics."""
    share = ((t[2:-2] - t[1:-3]) / (t[3:-1] - t[1:-3]))[:, None]
    straight = x[2:-2] - (1 - share) * x[1:-3] - share * x[3:-1]
    cubic = left_out(t, x)
    curved = (cubic**2).sum(axis=0) < (straight**2).sum(axis=0)
    found = np.empty((len(grid), x.shape[1]))
    left = np.clip(np.searchsorted(t, grid, side="right") - 2, 0, len(t) - 4)
    weights = _weights([t[left + k] for k in range(4)], grid) if curved.any() else []
    for k in range(x.shape[1]):
        if curved[k]:
            found[:, k] = sum(w * x[left + i, k] for i, w in enumerate(weights))
        else:
            found[:, k] = np.interp(grid, t, x[:, k])
    return found


def _weights(nodes: list[Array], at: Array) -> list[Array]:
    """Weights of the polynomial through values at the nodes, evaluated at other times."""
    found: list[Array] = []
    for k, own in enumerate(nodes):
        weight = np.ones_like(at)
        for i, other in enumerate(nodes):
            if i != k:
                weight *= (at - other) / (own - other)
        found.append(weight)
    return found
