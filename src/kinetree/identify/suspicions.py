"""What may be wrong with a recording: degrees, milliseconds, rates that are none, signs."""

from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.bounds import bounds_of, positions

DEGREE = 180 / np.pi


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


def gaps(t: Array) -> Array:
    """Numbers of the samples after which there is none for more than five mean steps."""
    steps = np.diff(t)
    return np.flatnonzero(steps > 5 * steps.mean())


def check_given_rates(model: Model, t: Array, x: Array, rate: Array, what: str, of: str) -> None:
    """Refuse rates that are a multiple of the derivative of what they belong to.

    Slopes over a twentieth of the record have little noise; the factor that fits them to the mean
    rates in between is 1, unless units or times are wrong.
    """
    steps = max(1, round(0.05 * (t[-1] - t[0]) / np.diff(t).mean()))
    slope = (x[steps:] - x[:-steps]) / (t[steps:] - t[:-steps])[:, None]
    area = np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum(
        (rate[1:] + rate[:-1]) / 2 * np.diff(t)[:, None], axis=0)])  # fmt: skip
    mean = (area[steps:] - area[:-steps]) / (t[steps:] - t[:-steps])[:, None]
    for k, name in enumerate(model.dof_names):
        moved = float(slope[:, k] @ slope[:, k])
        if moved == 0 or not np.any(mean[:, k]):
            continue
        common, told = float(slope[:, k] @ mean[:, k]), float(mean[:, k] @ mean[:, k])
        factor = common / moved
        if common**2 < 0.5 * moved * told or not 0.5 < factor < 2:
            raise InputError(
                f"{what} of {name!r} is not the rate of its {of}: it is {factor:.3g} times the "
                f"slope of {of} over t{_hint(factor)}. Leave {what} out to have it computed."
            )


def remarks(model: Model, t: Array, q: Array, tau: Array) -> list[str]:
    """What looks odd about a recording and does not forbid its use."""
    bounds, found = bounds_of(model), []
    steps = np.diff(t)
    if steps.mean() > 0.5:
        found.append(f"samples are {steps.mean():.3g} apart: is t in s, not in ms?")
    if count := len(gaps(t)):
        more = f", and {count - 1} shorter gaps" if count > 1 else ""
        at = t[int(steps.argmax())]
        found.append(f"no samples for {steps.max():.3g} s after t = {at:.6g} s{more}")
    x = positions(bounds, q)
    for k, name in enumerate(bounds.names):
        limit = bounds.effort[k]
        if np.isfinite(limit) and np.abs(tau[:, k]).max() > 1.5 * limit:
            found.append(
                f"tau of {name!r} reaches {np.abs(tau[:, k]).max():.4g}, its limit is {limit:.4g}: "
                "is it in N m (N)?"
            )
        held = np.mean(np.diff(tau[:, k]) == 0)
        if held > 0.2:
            found.append(f"tau of {name!r} repeats itself in {held:.0%} of the samples")
        if bounds.coords[k] >= 0 and np.ptp(x[:, k]) < 1e-3:
            found.append(f"{name!r} hardly moves: what depends on its motion cannot be found")
    return found


def check_sense(model: Model, measured: Array, expected: Array) -> list[str]:
    """Measured joint forces against those of the robot as it was described: signs and units."""
    found = []
    for k, name in enumerate(model.dof_names):
        a, b = measured[:, k], expected[:, k]
        size: Any = float(np.sqrt((a @ a) * (b @ b)))
        if size == 0:
            continue
        agreement, ratio = float(a @ b) / size, float(np.sqrt((a @ a) / (b @ b)))
        if agreement < -0.7:
            found.append(f"tau of {name!r} opposes the robot's own: is its sign turned over?")
        elif agreement > 0.7 and not 0.02 < ratio < 50:
            found.append(f"tau of {name!r} is {ratio:.3g} times the robot's own: is it in N m (N)?")
    return found


def _hint(factor: float) -> str:
    size = abs(factor)
    for value, text in (
        (DEGREE, "degrees are suspected"),
        (1 / DEGREE, "degrees are suspected"),
        (1000, "milliseconds or millimetres are suspected"),
        (1e-3, "milliseconds or millimetres are suspected"),
    ):
        if 0.7 < size / value < 1.4:
            return f"; {text}"
    return "; the sign is turned over" if factor < 0 else ""
