"""Given rates against the positions they belong to: units, times and orders that are wrong."""

import numpy as np

from kinetree.algorithms import difference
from kinetree.algorithms.natural_units import natural_units
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.identify.suspicions import DEGREE, least_motion
from kinetree.model import Model

PAIRS = 200  # of positions that are looked at where there are quaternions


def check_given_rates(model: Model, t: Array, q: Array, dq: Array, ddq: Array | None) -> None:
    """Refuse rates that are no derivatives of what they belong to.

    Slopes over a twentieth of the record have little noise; the factor that fits them to the mean
    rates in between is 1, unless units or times are wrong. Joints that stand still are passed over.
    """
    steps = max(1, round(0.05 * (t[-1] - t[0]) / np.diff(t).mean()))
    way_out = "Leave dq out to have it computed."
    if model.n == model.nq:
        slope = (q[steps:] - q[:-steps]) / (t[steps:] - t[:-steps])[:, None]
        mean = _means(t, dq, np.arange(len(t) - steps), steps)
    else:
        steps = max(1, steps // 4)  # short enough for turns about changing axes
        way_out = "Expected (omega, v) in the base's own axes, and quaternions as (w, x, y, z)."
        at = np.unique(np.linspace(0, len(t) - steps - 1, PAIRS).astype(int))
        turns = np.array([difference(model, q[k], q[k + steps]) for k in at])
        slope = turns / (t[at + steps] - t[at])[:, None]
        mean = _means(t, dq, at, steps)
    way = np.abs(slope).max(axis=0) * steps * np.diff(t).mean()
    moves = way > least_motion(natural_units(model))
    _compare(model, slope, mean, moves, ("dq", "q"), way_out)
    if ddq is not None:
        steps = max(1, round(0.05 * (t[-1] - t[0]) / np.diff(t).mean()))
        slope = (dq[steps:] - dq[:-steps]) / (t[steps:] - t[:-steps])[:, None]
        mean = _means(t, ddq, np.arange(len(t) - steps), steps)
        _compare(model, slope, mean, moves, ("ddq", "dq"), "Leave ddq out to have it computed.")


def _means(t: Array, rate: Array, at: Array, steps: int) -> Array:
    """Mean rates from each of the samples `at` to the one some steps later."""
    pieces = (rate[1:] + rate[:-1]) / 2 * np.diff(t)[:, None]
    area = np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum(pieces, axis=0)])
    return (area[at + steps] - area[at]) / (t[at + steps] - t[at])[:, None]


def _compare(
    model: Model, slope: Array, mean: Array, moves: Array, words: tuple[str, str], way_out: str
) -> None:
    what, of = words
    for k in np.flatnonzero(moves):
        moved, told = float(slope[:, k] @ slope[:, k]), float(mean[:, k] @ mean[:, k])
        if moved == 0 or told == 0:
            continue
        common = float(slope[:, k] @ mean[:, k])
        factor = common / moved
        if common**2 < 0.5 * moved * told or not 0.5 < factor < 2:
            raise InputError(
                f"{what} of {model.dof_names[k]!r} is not the rate of its {of}: it is "
                f"{factor:.3g} times the slope of {of} over t{_hint(factor)}. {way_out}"
            )


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
