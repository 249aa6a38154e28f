"""What may be wrong with a recording by itself: degrees, milliseconds, rates that are none."""

from collections.abc import Iterable

import numpy as np

from kinetree.algorithms.natural_units import NaturalUnits, natural_units
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.bounds import bounds_of, positions

DEGREE = 180 / np.pi
SLOW = 1.5  # of the robot's own time between samples, about 0.5 s: mostly these are ms
STILL = 1e-3  # rad, or of the robot's own length: a joint that goes no further does not move


def check_units(model: Model, q: Array, way_out: str) -> None:
    """Refuse positions that only make sense in degrees or millimetres.

    With limits: samples beyond them by more than a tenth of their range, which would all lie
    within after a change of unit. Without: more than three turns.
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
                raise InputError(
                    f"q of {name!r} runs from {found}, {outside:.0%} of it beyond the limits "
                    f"{low:.4g} to {high:.4g}. "
                    + (f"It looks like {unit}; expected rad and m (see {way_out})." if fits
                       else "Check the order of the joints, their zeros and the units.")
                )  # fmt: skip
        elif np.ptp(x[:, k]) > 6 * np.pi and not bounds.sliding[k]:
            raise InputError(
                f"q of {name!r} spans {np.ptp(x[:, k]):.4g} rad, more than three turns. It looks "
                f"like degrees; expected rad (see {way_out})."
            )


def least_motion(units: NaturalUnits) -> Array:
    """How far each degree of freedom goes before it counts as moving, (n,), rad or m."""
    return np.where(units.sliding, STILL * units.length, STILL)


def check_times(model: Model, t: Array) -> None:
    """Refuse samples so far apart that no motion can be seen between them."""
    step = float(np.diff(t).mean())
    if step > SLOW * natural_units(model).time:
        raise InputError(
            f"samples are {step:.3g} s apart, too far for rates and accelerations. Is t in ms? "
            "Expected s; or give dq and ddq with the recording."
        )


def gaps(t: Array) -> Array:
    """Numbers of the samples after which there is none for more than five mean steps."""
    steps = np.diff(t)
    return np.flatnonzero(steps > 5 * steps.mean())


def remarks(model: Model, t: Array, motion: tuple[Array, Array], tau: Array) -> list[str]:
    """What looks odd about a recording and does not forbid its use; motion is q and dq."""
    bounds, units, found = bounds_of(model), natural_units(model), []
    q, dq = motion
    steps = np.diff(t)
    if steps.mean() > SLOW * units.time:
        found.append(f"samples are {steps.mean():.3g} apart: is t in s, not in ms?")
    if count := len(gaps(t)):
        more = f", and {count - 1} shorter gaps" if count > 1 else ""
        at = t[int(steps.argmax())]
        found.append(f"no samples for {steps.max():.3g} s after t = {at:.6g} s{more}")
    names = np.array(bounds.names, object)  # plain str in messages
    for what, x, limit, doubt in (
        ("tau", tau, bounds.effort, "is it in N m (N)?"),
        ("dq", dq, bounds.velocity, "are t in s and q in rad (m)?"),
    ):
        reached = np.abs(x).max(axis=0)
        if np.any(far := np.isfinite(limit) & (reached > 1.5 * limit)):
            worst = int(np.argmax(np.where(far, reached / np.maximum(limit, 1e-300), 0)))
            found.append(
                f"{what} of {listing(names[far])} is far beyond its limit, {reached[worst]:.4g} of "
                f"{limit[worst]:.4g} for {names[worst]!r}: {doubt}"
            )
    held = (np.diff(tau, axis=0) == 0).mean(axis=0)
    if np.any(often := held > 0.2):
        share = f"up to {held.max():.0%}" if often.sum() > 1 else f"{held.max():.0%}"
        found.append(f"tau of {listing(names[often])} repeats itself in {share} of the samples")
    x = positions(bounds, q)
    if np.any(still := (bounds.coords >= 0) & (np.ptp(x, axis=0) < least_motion(units))):
        verb = "hardly moves" if still.sum() == 1 else "hardly move"
        found.append(f"{listing(names[still])} {verb}: what depends on that motion cannot be found")
    return found


def listing(names: Iterable[str], most: int = 8) -> str:
    """Names in quotes, the first few of them."""
    quoted = [f"'{name}'" for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more
