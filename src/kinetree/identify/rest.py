"""Joints at rest, whose friction has no known direction: rows that are left out, or a cause.

There the friction of a joint is any force up to its static friction, and the sign of the measured
rate is noise.
"""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.natural_units import natural_units
from kinetree.identify.checks import least_motion
from kinetree.identify.recording import Recording
from kinetree.model import Model


def still_joints(model: Model, data: Recording) -> Array:
    """Which samples of each degree of freedom lie in a window without its motion, (T, n).

    The window is about 0.3 s for an arm; a joint stands still in it if its range there is below a
    thousandth of a radian (or of the robot's length) and a tenth of its longest one. Joints that
    never move count as still.
    """
    from scipy import ndimage

    still = np.zeros(data.dq.shape, bool)
    units = natural_units(model)
    if model.n != model.nq or not data.dq.any():  # positions held still, one after the other
        return still
    least = least_motion(units)
    moves = np.ptp(data.q, axis=0) > least
    size = max(8, round(max(units.time, 0.5 / (data.cutoff or np.inf)) / data.dt))
    if len(data) <= 2 * size or not moves.any():
        return still
    ranges = ndimage.maximum_filter1d(data.q, size, axis=0)
    ranges -= ndimage.minimum_filter1d(data.q, size, axis=0)
    quiet = ranges < np.minimum(least, 0.1 * ranges.max(axis=0))
    return np.where(moves, ndimage.maximum_filter1d(quiet, size, axis=0), True)


def without_rest(model: Model, data: Recording) -> Recording:
    """The recording without the rows in which no joint moves."""
    rest = still_joints(model, data).all(axis=1)
    if not rest.any() or rest.mean() > 0.8:  # nearly all of it: not a motion with pauses
        return data
    note = (
        f"the robot stands still in {rest.mean():.0%} of the recording: these samples are left "
        "out, for friction at rest has no known direction"
    )
    return data.part(np.flatnonzero(~rest)).noted(note)
