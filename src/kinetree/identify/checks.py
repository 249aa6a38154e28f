"""Checks of a recording by itself: units, times, rates, quaternions and jumps.

Data that cannot be right (degrees for radians, milliseconds for seconds, rates that are not the
derivatives of the positions) raise an InputError. Data that are only odd give a note.
"""

from itertools import combinations

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.dynamics import difference
from kinetree.dynamics.natural_units import NaturalUnits, natural_units
from kinetree.errors import InputError
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.identify import constants as const
from kinetree.identify.clock import gaps
from kinetree.identify.findings import Finding, named
from kinetree.model import Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.inputs import check_quaternions

DEGREE = 180 / np.pi
TURN = 2 * np.pi
HINTS = {
    DEGREE: "degrees are suspected",
    1 / DEGREE: "degrees are suspected",
    1000: "milliseconds or millimetres are suspected",
    1e-3: "milliseconds or millimetres are suspected",
}


def check_units(model: Model, q: Array, way_out: str) -> None:
    """Refuse positions that only make sense in degrees or millimetres.

    With limits: samples beyond them by more than a tenth of their range, all of which would lie
    within after a change of unit. Without limits: more than three turns.
    """
    bounds = bounds_of(model)
    x = positions(bounds, q)
    for k, name in enumerate(bounds.names):
        unit, factor = ("millimetres", 1000.0) if bounds.sliding[k] else ("degrees", DEGREE)
        if bounds.coords[k] < 0:
            continue
        low, high = bounds.lower[k], bounds.upper[k]
        span = high - low
        if np.isfinite(span):
            slack = 0.1 * span
            outside = np.mean((x[:, k] < low - slack) | (x[:, k] > high + slack))
            least, most = x[:, k].min() / factor, x[:, k].max() / factor
            fits = least >= low - slack and most <= high + slack
            if outside > 0.01:
                found = f"{x[:, k].min():.4g} to {x[:, k].max():.4g}"
                hint = "" if bounds.sliding[k] else f" (see {way_out})"
                raise InputError(
                    f"q of {name!r} runs from {found}, {outside:.0%} of it beyond the limits "
                    f"{low:.4g} to {high:.4g}. "
                    + (f"It looks like {unit}; expected rad and m{hint}." if fits
                       else "Check the order of the joints, their zeros and the units.")
                )  # fmt: skip
        elif np.ptp(x[:, k]) > 6 * np.pi and not bounds.sliding[k]:
            raise InputError(
                f"q of {name!r} spans {np.ptp(x[:, k]):.4g} rad, more than three turns. It looks "
                f"like degrees; expected rad (see {way_out})."
            )


def least_motion(units: NaturalUnits) -> Array:
    """Range of each degree of freedom below which it counts as still, (n,), rad or m."""
    return np.where(units.sliding, const.STILL_RANGE * units.length, const.STILL_RANGE)


def check_times(model: Model, t: Array) -> None:
    """Refuse samples so far apart that no motion can be seen between them."""
    step = float(np.median(np.diff(t)))
    if step > const.LONGEST_STEP * natural_units(model).time:
        raise InputError(
            f"samples are {step:.3g} s apart, too far for rates and accelerations. Is t in ms? "
            "Expected s; or give dq and ddq with the recording."
        )


def remarks(model: Model, t: Array, motion: tuple[Array, Array], tau: Array) -> list[str]:
    """Notes on data that look odd and can still be used; `motion` is q and dq."""
    bounds, units, found = bounds_of(model), natural_units(model), list[str]()
    q, dq = motion
    steps = np.diff(t)
    if np.median(steps) > const.LONGEST_STEP * units.time:
        found.append(f"samples are {np.median(steps):.3g} apart: is t in s, not in ms?")
    if count := len(gaps(t)):
        more = f", and {count - 1} shorter gaps" if count > 1 else ""
        at = t[int(steps.argmax())]
        found.append(f"no samples for {steps.max():.3g} s after t = {at:.6g} s{more}")
    names = np.array(bounds.names, object)
    for what, x, limit, doubt in (
        ("tau", tau, bounds.effort, "is it in N m (N)?"),
        ("dq", dq, bounds.velocity, "are t in s and q in rad (m)?"),
    ):
        reached = np.abs(x).max(axis=0)
        if np.any(far := np.isfinite(limit) & (reached > 1.5 * limit)):
            worst = int(np.argmax(np.where(far, reached / np.maximum(limit, 1e-300), 0)))
            found.append(
                f"{what} of {named(names[far])} is far beyond its limit, "
                f"{reached[worst]:.4g} of {limit[worst]:.4g} for {names[worst]!r}: {doubt}"
            )
    found += _repeated(names, "q", positions(bounds, q)) + _repeated(names, "tau", tau)
    if np.any(flat := np.ptp(tau, axis=0) == 0):
        found.append(f"tau of {named(names[flat])} never changes: was it measured?")
    held = (np.diff(tau, axis=0) == 0).mean(axis=0)
    if np.any(often := (held > 0.2) & ~flat):
        share = f"up to {held.max():.0%}" if often.sum() > 1 else f"{held.max():.0%}"
        found.append(f"tau of {named(names[often])} repeats itself in {share} of the samples")
    x = positions(bounds, q)
    if np.any(still := (bounds.coords >= 0) & (np.ptp(x, axis=0) < least_motion(units))):
        verb = "hardly moves" if still.sum() == 1 else "hardly move"
        found.append(
            f"{named(names[still])} {verb}: parameters that depend on that motion cannot be found"
        )
    return found


def _repeated(names: Array, what: str, x: Array) -> list[str]:
    """A note on columns that change, and are equal in all samples."""
    pairs = [
        f"{names[a]!r} and {names[b]!r}"
        for a, b in combinations(np.flatnonzero(np.ptp(x, axis=0)), 2)
        if np.abs(x[:, a] - x[:, b]).max() <= 1e-9 * np.ptp(x[:, a])  # filters round
    ]
    if not pairs:
        return []
    return [f"{what} of {'; of '.join(pairs)} is the same in every sample: is one of them missing?"]


def coarse(model: Model, q: Array) -> list[str]:
    """A note on measured positions with few different values: the steps of a coarse encoder."""
    bounds = bounds_of(model)
    x = positions(bounds, q)
    names, found = np.array(bounds.names, object), list[tuple[float, float, str]]()
    for k in np.flatnonzero(bounds.coords >= 0):
        span, values = np.ptp(x[:, k]), np.unique(x[:, k])
        steps = np.diff(values)
        steps = steps[steps > 1e-9 * span]  # rounding of one value
        if span < least_motion(natural_units(model))[k] or not 0 < len(steps) < const.COARSE_STEPS:
            continue
        quantum = steps.min()
        whole = np.abs(steps / quantum - np.rint(steps / quantum)) < 0.01
        if whole.mean() > 0.9 and span < const.COARSE_STEPS * quantum:
            found.append((span / quantum, quantum, names[k]))
    if not found:
        return []
    count, quantum, worst = min(found)
    return [
        f"q of {named([x[2] for x in found])} has coarse steps: the motion of {worst!r} "
        f"spans {count:.0f} of them, {quantum:.3g} each; slow accelerations cannot be seen"
    ]


def saturated(model: Model, tau: Array, dq: Array) -> tuple[Finding, ...]:
    """A finding on joint forces that stay at their largest value, or at the limit, while moving."""
    bounds, shares = bounds_of(model), dict[str, float]()
    for k, name in enumerate(bounds.names):
        x, limit = np.abs(tau[:, k]), bounds.effort[k]
        top = x.max()
        if top == 0 or np.ptp(tau[:, k]) == 0:
            continue
        at_top = (x == top) & (np.abs(dq[:, k]) > 0.01 * np.abs(dq[:, k]).max())
        at_limit = x >= 0.995 * limit if 0.995 * limit <= top <= 1.05 * limit else x < 0
        there = at_top | at_limit
        if there.mean() > const.SATURATED_SHARE and there.sum() >= const.SATURATED_SAMPLES:
            shares[name] = float(there.mean())
    if not shares:
        return ()
    worst = max(shares, key=lambda name: shares[name])
    text = (
        f"tau of {named(list(shares))} stays at its largest value, in {shares[worst]:.1%} "
        f"of the samples for {worst!r}: if the drive was saturated, remove these samples"
    )
    return (Finding("saturation", tuple(shares), text),)


def unit_quaternions(model: Model, q: Array) -> Array:
    """q with measured quaternions scaled to length 1; InputError if one is far from it."""
    check_quaternions(model, q, "the samples", const.QUATERNION_ROUNDED)
    found = q
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            own = list(joint.coords[:4])
            length = np.linalg.norm(q[:, own], axis=1)
            found = found.copy() if found is q else found
            # a second scaling would change last bits
            rounded = np.abs(length - 1) > const.QUATERNION_EXACT
            found[:, own] = q[:, own] / np.where(rounded, length, 1.0)[:, None]
    return found


def in_radians(
    model: Model, q: Array, rates: list[Array | None]
) -> tuple[Array, list[Array | None]]:
    """q and its rates with degrees converted to radians; lengths stay."""
    factor = np.where(bounds_of(model).sliding, 1.0, np.pi / 180)
    if model.n != model.nq:
        raise InputError(f"{model.name!r} has quaternions in q; give angles in radians.")
    return q * factor, [x if x is None else x * factor for x in rates]


def unwound(model: Model, q: Array) -> tuple[Array, list[str]]:
    """q with angles that were wrapped into one turn made continuous, and a note on them.

    A step from one sample to the next of a whole turn, to a quarter turn, is not a motion.
    """
    bounds = bounds_of(model)
    own = bounds.coords[(bounds.coords >= 0) & ~bounds.sliding]
    names = {int(k): name for name, k in zip(bounds.names, bounds.coords, strict=True)}
    found, wrapped = q, list[str]()
    for k in own.tolist():
        steps = np.diff(q[:, k])
        turns = np.abs(np.abs(steps) - TURN) < TURN / 4
        if turns.any():
            found = q.copy() if found is q else found
            found[1:, k] -= TURN * np.cumsum(np.where(turns, np.sign(steps), 0))
            wrapped.append(names[k])
    if not wrapped:
        return q, []
    return found, [f"q of {named(wrapped)} jumps by whole turns; it was unwound"]


def jumps(model: Model, t: Array, q: Array) -> list[str]:
    """A note on samples far off the cubic through their four neighbours: filters spread them."""
    units = natural_units(model)
    least = np.where(units.positions, const.JUMP_LEAST * units.length, const.JUMP_LEAST)
    names, rows = list[str](), set[int]()
    for k, name in enumerate(model.coordinate_names):  # one by one, which bounds the memory
        x = np.ascontiguousarray(q[:, k])
        rest = np.zeros(len(x))
        rest[2:-2] = np.abs(x[2:-2] - (4 * (x[1:-3] + x[3:-1]) - x[:-4] - x[4:]) / 6)
        common = np.quantile(rest, 0.9)  # noise, and steps of an encoder
        wild = np.flatnonzero(
            rest > max(const.JUMP_RATIO * common, const.JUMP_SHARE * np.ptp(x), least[k])
        )
        # a jump moves the cubics of its neighbours too
        near = np.clip(wild[:, None] + np.arange(-2, 3), 0, len(x) - 1)
        wild = wild[rest[wild] == rest[near].max(axis=1, initial=0)].tolist()
        names += [name] * bool(wild)
        rows |= set(wild)
    if not rows:
        return []
    return [
        f"q of {named(names)} jumps in {counted(len(rows), 'sample')}, the first at "
        f"t = {t[min(rows)]:.6g} s: if that is not a motion, remove them from the recording"
    ]


def check_given_rates(model: Model, t: Array, q: Array, dq: Array, ddq: Array | None) -> None:
    """Refuse dq that is not the rate of q, and ddq that is not the rate of dq.

    Slopes over a twentieth of the record have little noise; the factor that fits them to the mean
    rates in between is 1, unless units or times are wrong. Joints that stand still are skipped.
    """
    twentieth = max(1, round(0.05 * (t[-1] - t[0]) / np.diff(t).mean()))
    steps, way_out = twentieth, "Leave dq out to have it computed."
    if model.n == model.nq:
        slope = (q[steps:] - q[:-steps]) / (t[steps:] - t[:-steps])[:, None]
        mean = _means(t, dq, np.arange(len(t) - steps), steps)
    else:
        steps = max(1, steps // 4)  # short enough for turns about changing axes
        way_out = "Expected (omega, v) in the base's own axes, and quaternions as (w, x, y, z)."
        at = np.unique(np.linspace(0, len(t) - steps - 1, const.COMPARED_PAIRS).astype(int))
        turns = np.array([difference(model, q[k], q[k + steps]) for k in at])
        slope = turns / (t[at + steps] - t[at])[:, None]
        mean = _means(t, dq, at, steps)
    way = np.abs(slope).max(axis=0) * steps * np.diff(t).mean()
    moves = way > least_motion(natural_units(model))
    _compare(model, slope, mean, moves, ("dq", "q"), way_out)
    if ddq is not None:
        steps = twentieth
        slope = (dq[steps:] - dq[:-steps]) / (t[steps:] - t[:-steps])[:, None]
        mean = _means(t, ddq, np.arange(len(t) - steps), steps)
        _compare(model, slope, mean, moves, ("ddq", "dq"), "Leave ddq out to have it computed.")


def _means(t: Array, rate: Array, at: Array, steps: int) -> Array:
    """Mean rates from each of the samples `at` to the sample some steps later."""
    pieces = (rate[1:] + rate[:-1]) / 2 * np.diff(t)[:, None]
    area = np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum(pieces, axis=0)])
    return (area[at + steps] - area[at]) / (t[at + steps] - t[at])[:, None]


def _compare(
    model: Model, slope: Array, mean: Array, moves: Array, names: tuple[str, str], way_out: str
) -> None:
    """Raise InputError if the mean rates of a moving joint are not the slopes."""
    what, of = names
    for k in np.flatnonzero(moves):
        moved, given = float(slope[:, k] @ slope[:, k]), float(mean[:, k] @ mean[:, k])
        if moved == 0 or given == 0:
            continue
        common = float(slope[:, k] @ mean[:, k])
        factor = common / moved
        if common**2 < 0.5 * moved * given or not 0.5 < factor < 2:
            hints = [f"; {hint}" for x, hint in HINTS.items() if 0.7 < abs(factor) / x < 1.4]
            hints += ["; the sign is reversed"] if factor < 0 else [""]
            raise InputError(
                f"{what} of {model.dof_names[k]!r} is not the rate of its {of}: it is "
                f"{factor:.3g} times the slope of {of} over t{hints[0]}. {way_out}"
            )
