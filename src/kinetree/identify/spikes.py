"""Single wild samples of measured joint forces, found before they are filtered.

A low-pass spreads a wild sample over all rows around it, where no robust loss can tell it from the
motion. So it is found in the samples themselves, without a model: a sample is wild if it is far
from the median of its neighbours, in units of the distance common in the recording. Steps, such
as those of Coulomb friction, move the median as well and are no spikes. Wild samples are
replaced by the median of their neighbours, with a note that counts them.
"""

from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.identify import constants as const
from kinetree.identify.band import bands_of
from kinetree.identify.findings import named
from kinetree.identify.recording import Recording


def without_spikes(
    data: Recording, cutoff: float | None = None
) -> tuple[Recording, tuple[str, ...]]:
    """The recording without wild samples of joint forces, and notes on them.

    Nothing is changed if rows are samples (see `bands_of`), whose outliers the robust loss finds.
    """
    bands = bands_of(data, cutoff)
    if not any(band.reach for band in bands) or data.model is None:
        return data, ()
    middle = np.empty(data.tau.shape)
    for band in bands:
        own = slice(band.first, band.first + band.count)
        middle[own] = _medians(data.tau[own])
    far = np.abs(data.tau - middle)
    common = np.quantile(far, const.COMMON_SHARE, axis=0) / const.COMMON_Z
    least = 1e-3 * np.ptp(middle, axis=0)  # signals that repeat themselves have no common distance
    wild = far > const.SPIKE_Z * np.maximum(common, least)
    wild &= wild.mean(axis=0) < const.SPIKE_SHARE
    if not wild.any():
        return data, ()
    names = np.array(data.model.dof_names, object)[wild.any(axis=0)]
    count, largest = int(wild.sum()), float(far[wild].max())
    verb = "is" if count == 1 else "are"
    note = (
        f"outliers: {counted(count, 'sample')} of tau of {named(names.tolist())} {verb} "
        f"far from the samples around, by up to {largest:.3g}; replaced by their median"
    )
    return replace(data, tau=np.where(wild, middle, data.tau)), (note,)


def _medians(x: Array) -> Array:
    """Median of each sample and its neighbours, (T, n), of samples x, (T, n)."""
    # mirrored at the ends
    padded = np.concatenate(
        [x[const.SPIKE_NEIGHBOURS : 0 : -1], x, x[-2 : -const.SPIKE_NEIGHBOURS - 2 : -1]]
    )
    found = np.empty(x.shape)
    for a in range(0, len(x), const.SPIKE_BLOCK):
        b = min(a + const.SPIKE_BLOCK, len(x))
        windows = np.stack([padded[a + k : b + k] for k in range(2 * const.SPIKE_NEIGHBOURS + 1)])
        found[a:b] = np.median(windows, axis=0)
    return found
