"""Checks of a recording by itself: units, times, rates, quaternions and wild samples.

Data that cannot be right (degrees for radians, milliseconds for seconds, rates that are not the
derivatives of the positions) raise an InputError. Data that are only odd give a note.
"""

from collections.abc import Iterable

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing
from kinetree.dynamics import difference
from kinetree.dynamics.natural_units import NaturalUnits, natural_units
from kinetree.errors import InputError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.identify.clock import gaps
from kinetree.model import Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.inputs import check_quaternions

BLOCK = 8192  # samples whose columns are computed together, which bounds the memory
STILL_RANGE = 1e-3  # rad, or times the robot's own length: a joint that moves less stands still


def named(names: Iterable[object]) -> str:
    """Quoted names for a sentence, the first eight of them."""
    return listing(names, 8)


def check_units(model: Model, q: Array, way_out: str) -> None:
    """Refuse positions that only make sense in degrees or millimetres.

    With limits: samples beyond them by more than a tenth of their range. Without limits: more than
    three turns.
    """
    bounds = bounds_of(model)
    x = positions(bounds, q)
    for k, name in enumerate(bounds.names):
        if bounds.coords[k] < 0:
            continue
        low, high, sliding = bounds.lower[k], bounds.upper[k], bounds.sliding[k]
        unit, factor = ("millimetres", 1000.0) if sliding else ("degrees", 180 / np.pi)
        first, last = float(x[:, k].min()), float(x[:, k].max())
        slack = 0.1 * (high - low)
        if np.isfinite(slack):
            outside = np.mean((x[:, k] < low - slack) | (x[:, k] > high + slack))
            if outside <= 0.01:
                continue
            fits = first / factor >= low - slack and last / factor <= high + slack
            fits &= sliding or last - first > 4 * np.pi  # few degrees would be no motion
            hint = "" if sliding else f" (see {way_out})"
            advice = f"It looks like {unit}; expected rad and m{hint}."
            raise InputError(
                f"q of {name!r} runs from {first:.4g} to {last:.4g}, {outside:.0%} of it beyond "
                f"the limits {low:.4g} to {high:.4g}. "
                + (advice if fits else "Check the order of the joints, zeros, units and limits.")
            )
        if last - first > 6 * np.pi and not sliding:
            raise InputError(
                f"q of {name!r} spans {last - first:.4g} rad, more than three turns. It looks "
                f"like degrees; expected rad (see {way_out})."
            )


def least_motion(units: NaturalUnits) -> Array:
    """Range of each degree of freedom below which it counts as still, (n,), rad or m."""
    return np.where(units.sliding, STILL_RANGE * units.length, STILL_RANGE)


def far_apart(model: Model, t: Array) -> float:
    """Median step of the samples, s, if it is so long that times are mostly ms, not s; else 0."""
    step = float(np.median(np.diff(t)))
    return step if step > 1.5 * natural_units(model).time else 0.0  # about 0.3 s of an arm


def check_times(model: Model, t: Array) -> None:
    """Refuse samples so far apart that no motion can be seen between them."""
    if step := far_apart(model, t):
        raise InputError(
            f"samples are {step:.3g} s apart, too far for rates and accelerations. Is t in ms? "
            "Expected s; or give dq and ddq with the recording."
        )


def remarks(model: Model, t: Array, q: Array, tau: Array) -> list[str]:
    """Notes on data that look odd and can still be used."""
    bounds, units, notes = bounds_of(model), natural_units(model), list[str]()
    steps = np.diff(t)
    if step := far_apart(model, t):
        notes.append(f"samples are {step:.3g} apart: is t in s, not in ms?")
    if count := len(gaps(t)):
        more = f", and {count - 1} shorter gaps" if count > 1 else ""
        at = t[int(steps.argmax())]
        notes.append(f"no samples for {steps.max():.3g} s after t = {at:.6g} s{more}")
    names = np.array(bounds.names, object)
    if np.any(flat := np.ptp(tau, axis=0) == 0):
        notes.append(f"tau of {named(names[flat])} never changes: was it measured?")
    x = positions(bounds, q)
    if np.any(still := (bounds.coords >= 0) & (np.ptp(x, axis=0) < least_motion(units))):
        verb = "hardly moves" if still.sum() == 1 else "hardly move"
        notes.append(
            f"{named(names[still])} {verb}: parameters that depend on that motion cannot be found"
        )
    return notes


def wild_samples(x: Array) -> tuple[Array, Array]:
    """Single samples of x, (T, n), far from the median of their neighbours, and these medians.

    Steps, such as those of Coulomb friction, move the median as well and are no wild samples.
    """
    from scipy import ndimage

    middle = ndimage.median_filter(x, size=(7, 1), mode="mirror")  # three wild ones in a row
    far = np.abs(x - middle)
    common = np.quantile(far, 0.9, axis=0) / 1.645  # standard deviation of what is no outlier
    least = 0.02 * np.ptp(middle, axis=0)  # short reversals of friction are no accident
    wild = far > 12 * np.maximum(common, least)  # slow noise reaches 9 by itself
    return wild & (wild.mean(axis=0) < 0.05), middle  # more than that is no accident


def unit_quaternions(model: Model, q: Array) -> Array:
    """q with measured quaternions scaled to length 1; InputError if one is far from it."""
    check_quaternions(model, q, "the samples", 1e-2)  # few digits in a file, or a filter
    scaled = q.copy()
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            own = list(joint.coords[:4])
            length = np.linalg.norm(q[:, own], axis=1)
            exact = np.abs(length - 1) <= 4e-16  # a second scaling would change last bits
            scaled[:, own] = q[:, own] / np.where(exact, 1.0, length)[:, None]
    return scaled


def in_radians(
    model: Model, q: Array, rates: list[Array | None]
) -> tuple[Array, list[Array | None]]:
    """q and its rates with degrees converted to radians; lengths stay."""
    if model.n != model.nq:
        raise InputError(f"{model.name!r} has quaternions in q; give angles in radians.")
    factor = np.where(bounds_of(model).sliding, 1.0, np.pi / 180)
    return q * factor, [x if x is None else x * factor for x in rates]


def unwound(model: Model, q: Array) -> tuple[Array, list[str]]:
    """q with angles that were wrapped into one turn made continuous, and a note on them.

    A step from one sample to the next of a whole turn, to a quarter turn, is not a motion.
    """
    bounds = bounds_of(model)
    x, wrapped = q.copy(), list[str]()
    for name, k, sliding in zip(bounds.names, bounds.coords.tolist(), bounds.sliding, strict=True):
        if k < 0 or sliding:
            continue
        steps = np.diff(q[:, k])
        turns = np.abs(np.abs(steps) - 2 * np.pi) < np.pi / 2
        if turns.any():
            x[1:, k] -= 2 * np.pi * np.cumsum(np.where(turns, np.sign(steps), 0))
            wrapped.append(name)
    note = f"q of {named(wrapped)} jumps by whole turns; it was unwound"
    return x, [note] if wrapped else []


def check_given_rates(model: Model, t: Array, q: Array, dq: Array, ddq: Array | None) -> None:
    """Refuse dq that is not the rate of q, and ddq that is not the rate of dq.

    Slopes over a stretch of the record have little noise; the factor that fits them to the mean
    rates in between is 1, unless units or times are wrong. Joints that stand still are skipped.
    """
    plain = model.n == model.nq
    share = 0.05 if plain else 0.0125  # short enough for turns about changing axes
    steps = max(1, round(share * (t[-1] - t[0]) / np.diff(t).mean()))
    at = np.unique(np.linspace(0, len(t) - steps - 1, 200).astype(int))
    way_out = "Leave it out to have it computed."
    if not plain:
        way_out = "Expected (omega, v) in the base's own axes, and quaternions as (w, x, y, z)."
    duration = (t[at + steps] - t[at])[:, None]
    change = np.array([difference(model, q[k], q[k + steps]) for k in at])
    moves = np.abs(change).max(axis=0) > least_motion(natural_units(model))
    for what, of, rate, slope in (
        ("dq", "q", dq, change / duration),
        ("ddq", "dq", ddq, (dq[at + steps] - dq[at]) / duration),
    ):
        if rate is None:
            continue
        area = np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(t)[:, None], axis=0)
        area = np.concatenate([np.zeros((1, model.n)), area])
        mean = (area[at + steps] - area[at]) / duration
        moved, given = (slope**2).sum(axis=0), (mean**2).sum(axis=0)
        common = (slope * mean).sum(axis=0)
        factor = common / np.maximum(moved, 1e-300)
        off = (common**2 < 0.5 * moved * given) | (factor < 0.5) | (factor > 2)
        for k in np.flatnonzero(off & moves & (moved > 0) & (given > 0)):
            sign = "; the sign is reversed" if factor[k] < 0 else ""
            raise InputError(
                f"{what} of {model.dof_names[k]!r} is not the rate of its {of}: it is "
                f"{factor[k]:.3g} times the slope of {of} over t{sign}. Are the units rad (m) and "
                f"s? {way_out}"
            )


def wild_forces(names: tuple[str, ...], tau: Array) -> tuple[Array, list[str]]:
    """Joint forces, (T, n), with wild samples replaced by the median around them, and a note."""
    wild, middle = wild_samples(tau)
    if not wild.any():
        return tau, []
    own = [name for k, name in enumerate(names) if wild[:, k].any()]
    note = (
        f"outliers: {counted(int(wild.sum()), 'sample')} of tau of {named(own)} far from the "
        "samples around were replaced by their median"
    )
    return np.where(wild, middle, tau), [note]
