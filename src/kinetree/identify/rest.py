"""Rows in which a robot stands still, which say little and mislead: they are left out of a fit.

Recordings mostly begin and end at rest. There the friction of a joint is any force up to its static
friction, whatever it was left with when the joint stopped, and the sign of the measured rate is
noise. Friction that is sought would have to explain forces that no law of the rate gives.
"""

from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.identify import constants as const
from kinetree.identify.checks import least_motion
from kinetree.identify.findings import Finding, named, names_at
from kinetree.identify.loops import motor_dofs
from kinetree.identify.recording import Recording
from kinetree.model import Model


def without_rest(model: Model, data: Recording) -> Recording:
    """The recording without the rows in which no joint moves, and a finding on joints that stick.

    A joint stands still within a window of time, about 0.3 s for an arm, if its way there is below
    a thousandth of a radian (or of the robot's length) and below a tenth of its longest one.
    """
    still = still_joints(model, data)
    rest = np.asarray(still.all(axis=1))
    alone = np.where(still.all(axis=0), 0, (still & ~rest[:, None]).mean(axis=0))
    measured = np.isin(np.arange(model.n), motor_dofs(model))  # others pause at dead centres
    if np.any(often := measured & (alone > const.STICKING_SHARE)):
        joints = names_at(model.dof_names, often)
        text = (
            f"{named(joints)} {'sticks' if often.sum() == 1 else 'stick'}, in up to "
            f"{alone[often].max():.0%} of the recording while other joints move: friction at rest "
            "has any value up to its largest one, which no law of the rate gives"
        )
        data = replace(data, findings=(*data.findings, Finding("sticking", joints, text)))
    moving = np.flatnonzero(~rest)
    if not rest.any() or len(moving) < const.MOVING_SHARE * len(data):
        return data
    note = (
        f"the robot stands still in {rest.mean():.0%} of the recording: these samples are left "
        "out, for friction at rest has no known direction"
    )
    return replace(data.part(moving), notes=(*data.notes, note))


def still_joints(model: Model, data: Recording) -> Array:
    """Which samples of each degree of freedom lie in a window without its motion, (T, n).

    Joints that never move count as still.
    """
    still = np.zeros(data.dq.shape, bool)
    units = natural_units(model)
    if model.n != model.nq or not data.dq.any():  # positions held still, one after the other
        return still
    longest = max(units.time, 0.0 if data.cutoff is None else const.REST_PERIODS / data.cutoff)
    size = max(const.REST_STEPS, round(longest / data.dt))
    least = least_motion(units)
    moves = np.ptp(data.q, axis=0) > least
    if len(data) <= 2 * size or not moves.any():
        return still
    together = data.t[size - 1 :] - data.t[: len(data) - size + 1] < 1.5 * size * data.dt
    for j in np.flatnonzero(moves):
        way = _way(data.q[:, j], size)
        quiet = (way < min(least[j], const.REST_SHARE * way.max())) & together
        ends = np.zeros(len(data) + 1, int)  # +1 where windows begin, -1 after they end
        np.add.at(ends, np.flatnonzero(quiet), 1)
        np.add.at(ends, np.flatnonzero(quiet) + size, -1)
        still[:, j] = np.cumsum(ends[:-1]) > 0
    still[:, ~moves] = True
    return still


def _way(x: Array, size: int) -> Array:
    """Largest less smallest of every `size` samples of x, (T,) that follow each other."""
    high, low, done = x, x, 1
    while done < size:  # windows of twice the length from two that overlap
        shift = min(done, size - done)
        high = np.maximum(high[:-shift], high[shift:])
        low = np.minimum(low[:-shift], low[shift:])
        done += shift
    return high - low
