"""Rates and accelerations of a recording: which measured columns give them, and how filtered.

Accelerations come from positions differentiated twice, from recorded rates differentiated once, or
from recorded accelerations, for each joint by itself: the column whose noise and loss in the band
of the motion make the smallest error (`kinetree.identify.spectrum`). Makers filter the rates that
they report, which delays them against the positions; the delay is measured, and rates that are
late are shifted, or computed from positions where these are good enough.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.identify import constants as const
from kinetree.identify.checks import least_motion
from kinetree.identify.clock import Samples
from kinetree.identify.filtering import check_cutoff, low_pass, margin, smooth
from kinetree.identify.findings import named
from kinetree.identify.spectrum import (
    Bands,
    Spectrum,
    bands,
    candidates,
    column,
    common_cutoff,
    errors,
    spectrum,
)
from kinetree.model import Model


@dataclass(frozen=True, eq=False)
class Rates:
    """The way from measured columns to rates and accelerations.

    Args:
        rate: column that gives the rates of each degree of freedom, "q" or "dq", (n,).
        acceleration: column that gives its acceleration, "q", "dq" or "ddq", (n,).
        lag: of recorded rates behind the positions, (n,), s, to be removed.
        spectrum: with the cutoff; None: rates and accelerations are used as recorded.
        notes: on the choice.
    """

    rate: tuple[str, ...]
    acceleration: tuple[str, ...]
    lag: Array
    spectrum: Spectrum | None
    notes: tuple[str, ...] = ()


def choose_rates(model: Model, samples: Samples, cutoff: float | None) -> Rates:
    """Choose the columns and the cutoff from samples at even times."""
    t, q, dq, ddq, _ = samples
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    given = [q if model.n == model.nq else None, dq, ddq]
    found = [None if x is None else bands(x, dt, k) for k, x in enumerate(given)]
    tried = candidates(len(t), dt) if cutoff is None else np.array([cutoff])
    if cutoff is not None:
        check_cutoff(cutoff, dt)
    error = [
        np.full((model.n, len(tried)), np.inf) if x is None else errors(x, tried) for x in found
    ]
    empty, notes = _empty(model, samples)
    for k in (1, 2):
        error[k][empty[k - 1]] = np.inf
    best = np.array([x.min(axis=1) for x in error])  # of q, dq, ddq
    still = np.zeros(model.n, bool)
    if model.n == model.nq:  # noise of joints at rest has no part in the choice of the cutoff
        still = np.ptp(q, axis=0) < least_motion(natural_units(model))
        still &= not still.all()
    rate = np.where(best[1] <= const.RATES_AS_GOOD * best[0], 1, 0)
    rough = common_cutoff(_chosen(error, rate, still), tried)
    lag = np.zeros(model.n)
    if dq is not None and model.n == model.nq:
        late, scale = _lags(model, dt, (q, dq), rough)
        rate, lag, more = _judged(model, best, rate, late, scale)
        notes += more
    least = np.minimum(best[0], best[1])
    acceleration = np.where(best[2] <= const.RATES_AS_GOOD * least, 2, rate)
    clean = _clean(found[1]) and _clean(found[2]) and not lag.any() and bool((rate == 1).all())
    if clean and dq is not None and ddq is not None:
        return Rates(("dq",) * model.n, ("ddq",) * model.n, lag, None)
    chosen = common_cutoff(_chosen(error, acceleration, still), tried)
    own = [column(_given(found, k), i) for i, k in enumerate(acceleration)]
    names = ("q", "dq", "ddq")
    lost = np.array([bool(x.noise.any()) and not x.motion.any() for x in own])
    if lost.any():
        found_names = _names(np.array(model.dof_names, object), lost)
        notes.append(f"the motion of {found_names} is not visible above the noise")
    return Rates(
        tuple(names[k] for k in rate),
        tuple(names[k] for k in acceleration),
        lag,
        spectrum(own, dt, chosen, tuple(model.dof_names)),
        (*notes, *_reasons(model, given, acceleration, best)),
    )


def _empty(model: Model, samples: Samples) -> tuple[Array, list[str]]:
    """Whether dq and ddq are all zero, (2, n), although positions change; and notes on that.

    Drivers that do not measure rates write zeros.
    """
    _, q, dq, ddq, _ = samples
    if model.n != model.nq:
        return np.zeros((2, model.n), bool), []
    moves = np.ptp(q, axis=0) > least_motion(natural_units(model))
    empty = np.array([moves if x is None else moves & ~x.any(axis=0) for x in (dq, ddq)])
    names, notes = np.array(model.dof_names, object), list[str]()
    for what, x, own in (("dq", dq, empty[0]), ("ddq", ddq, empty[1])):
        if x is not None and own.any():
            notes.append(f"{what} of {_names(names, own)} is zero although q changes; not used")
    return empty, notes


def apply_rates(model: Model, samples: Samples, rates: Rates) -> Samples:
    """q, dq and ddq, low-passed, with tau as it is."""
    t, q, dq, ddq, tau = samples
    assert rates.spectrum is not None  # samples that are used as recorded are not filtered
    cutoff = rates.spectrum.cutoff
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    speed, bend = np.zeros((2, len(t), model.n))
    smoothed = q
    if model.n == model.nq:
        smoothed, speed, bend = smooth(q, dt, cutoff)
        still = np.ptp(smoothed, axis=0) < least_motion(natural_units(model))
        still &= np.array(rates.rate) == "q"
        speed[:, still] = bend[:, still] = 0  # noise, whose sign would be taken for friction
    for k in range(model.n):
        if dq is not None and "dq" in (rates.rate[k], rates.acceleration[k]):
            own = shifted(dq[:, k], dt, rates.lag[k])
            slow, slope, _ = smooth(own, dt, cutoff)
            if rates.rate[k] == "dq":
                speed[:, k] = slow
            if rates.acceleration[k] == "dq":
                bend[:, k] = slope
        if ddq is not None and rates.acceleration[k] == "ddq":
            bend[:, k] = low_pass(ddq[:, k], dt, cutoff)
    return t, smoothed, speed, bend, tau


def shifted(x: Array, dt: float, lag: float) -> Array:
    """x, (T,), `lag` seconds later in the record, between samples by straight lines."""
    if lag == 0:
        return x
    at = np.arange(len(x)) + lag / dt
    return np.interp(at, np.arange(len(x)), x)


def _given(found: list[Bands | None], k: int) -> Bands:
    own = found[k]
    assert own is not None  # columns that are missing have an infinite error
    return own


def _chosen(error: list[Array], source: Array, still: Array) -> Array:
    """Errors of the chosen column of each degree of freedom, (n, cutoffs); 0 if it is `still`."""
    found = np.array([error[k][i] for i, k in enumerate(source)])
    return np.where(still[:, None], 0.0, found)


def _clean(found: Bands | None) -> bool:
    """Whether the noise of a column is negligible without a filter."""
    if found is None:
        return False
    noise, motion = found.noise.sum(axis=0), found.motion.sum(axis=0)
    return bool((noise <= const.CLEAN_RATES * motion).all())


def _lags(
    model: Model, dt: float, motion: tuple[Array, Array], cutoff: float
) -> tuple[Array, Array]:
    """Lag, s, and scale of recorded rates against the slopes of q; 0 and 1 where not visible.

    The scale is NaN where rates are not the slopes of q, whatever their lag and scale.

    Rates that are `lag` late are s (v - lag a) to first order, with v and a from the positions;
    least squares give s and the lag, and shifting repeats it for large ones.
    """
    q, dq = motion
    cut = margin(dt, cutoff)
    lag, scale = np.zeros(model.n), np.ones(model.n)
    if len(q) <= 4 * cut:
        return lag, scale
    inner = slice(cut, len(q) - cut)
    v, a = (x[inner] for x in smooth(q, dt, cutoff)[1:])
    moves = np.ptp(q, axis=0) > least_motion(natural_units(model))
    independent = max(2 * cutoff * dt * len(v), 4)
    for k in np.flatnonzero(moves):
        given = low_pass(dq[:, k], dt, cutoff)
        sizes = float(v[:, k] @ v[:, k]), float(a[:, k] @ a[:, k])
        if min(sizes) == 0 or not given.any():
            continue
        found, factor, rest = 0.0, 1.0, given[inner]
        for _ in range(4):
            own = shifted(given, dt, found)[inner]
            factor, slope = np.linalg.lstsq(np.stack([v[:, k], a[:, k]], 1), own, None)[0]
            rest = own - factor * v[:, k] - slope * a[:, k]
            found -= slope / factor if factor else 0.0
            if abs(found) > cut * dt:  # not a lag
                break
        if abs(found) > cut * dt or rest @ rest > const.OTHER_RATES**2 * sizes[0]:
            scale[k] = np.nan
            continue
        noise = np.sqrt(rest @ rest / len(rest) / independent * len(rest))
        frequency = np.sqrt(sizes[1] / sizes[0])  # rad/s
        if abs(found) * frequency > const.VISIBLE_LAG and abs(
            found
        ) > const.SURE_RATES * noise / np.sqrt(sizes[1]):
            lag[k] = found
        if abs(factor - 1) > max(const.VISIBLE_LAG, const.SURE_RATES * noise / np.sqrt(sizes[0])):
            scale[k] = factor
    return lag, scale


def _judged(
    model: Model, best: Array, rate: Array, late: Array, scale: Array
) -> tuple[Array, Array, list[str]]:
    """Columns of the rates, lags to remove, and notes, given lags and scales of dq."""
    names = np.array(model.dof_names, object)
    notes: list[str] = []
    other = np.isnan(scale) & (best[0] <= const.POSITIONS_WORSE * best[1])  # q would show it
    if other.any():
        notes.append(f"dq of {_names(names, other)} is not the slope of q: rates from positions")
    off = (scale != 1) & ~np.isnan(scale)
    if off.any():
        worst = int(np.where(off, np.abs(scale - 1), 0).argmax())
        notes.append(
            f"dq of {_names(names, off)} is not the slope of q to scale, "
            f"{scale[worst]:.4g} times for {names[worst]!r}: rates from positions"
        )
    rate = np.where(off | other, 0, rate)
    visible = (late != 0) & ~off
    shift = visible & (rate == 1) & (best[0] > const.POSITIONS_WORSE * best[1])
    for own, remedy in ((shift, "it was shifted"), (visible & ~shift, "rates from positions")):
        if own.any():
            worst = int(np.where(own, np.abs(late), 0).argmax())
            word = "behind" if late[worst] > 0 else "ahead of"
            notes.append(
                f"dq of {_names(names, own)} is {word} the slope of q, by "
                f"{abs(late[worst]):.3g} s for {names[worst]!r}: {remedy}"
            )
    return np.where(visible & ~shift, 0, rate), np.where(shift, late, 0.0), notes


def _names(names: Array, chosen: Array) -> str:
    """The chosen names in a sentence."""
    return "all joints" if chosen.all() and len(chosen) > 1 else named(names[chosen])


def _reasons(
    model: Model, given: list[Array | None], acceleration: Array, best: Array
) -> list[str]:
    """Notes on recorded rates that were not used, with their errors."""
    found: list[str] = []
    names = np.array(model.dof_names, object)
    for k, what in ((1, "dq"), (2, "ddq")):
        unused = acceleration < k
        if given[k] is None or not unused.any():
            continue
        used = np.array([best[j, i] for i, j in enumerate(acceleration)])
        ratio = np.sqrt(best[k] / np.maximum(used, 1e-300))
        better = unused & (ratio > 1) & np.isfinite(ratio)
        if better.any():
            low, high = ratio[better].min(), ratio[better].max()
            times = f"{low:.2g}" if high < 1.05 * low else f"{low:.2g} to {high:.2g}"
            source = "positions" if (acceleration[better] == 0).all() else "positions or dq"
            found.append(
                f"accelerations of {_names(names, better)} from {source}: those from "
                f"recorded {what} have {times} times their error"
            )
    return found
