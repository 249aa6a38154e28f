"""Plain least squares as a rival: one low-pass of 10 Hz, viscous and Coulomb friction, no lag.

The cutoff of rates comes from the spectrum of the positions, lags and friction laws from errors of
the fit. Each is right as far as its own evidence goes: a vibration of few encoder counts is noise
to a spectrum, while joint forces show it. So what was chosen is compared with what a textbook would
have done. Both predict the joint forces of blocks spread over the recordings that a fit has not
seen, in the same band, and what was chosen stays unless it is significantly worse. It also stays
where joints stick: their short stops would look like other friction and like a lag.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.identify import constants as const
from kinetree.identify.base import find_base, separable
from kinetree.identify.equations import make_equations, silent_columns
from kinetree.identify.lag import is_sticking
from kinetree.identify.least_squares import from_triangles, stacked
from kinetree.identify.recording import Recording, some_parts
from kinetree.identify.select import is_worse
from kinetree.identify.unknowns import Unknowns


def better_band(
    sought: Unknowns, data: list[Recording], test: Recording | None
) -> tuple[list[Recording], Recording | None]:
    """Recordings, or the same with rates at `PLAIN_CUTOFF` where these predict forces better.

    Args:
        sought: unknowns of plain least squares.
        data: recordings of the fit; all have rates whose cutoff was chosen, or nothing is tried.
        test: a recording that is held out, or None.
    """
    if not all(_is_narrow(x) for x in data):
        return data, test
    pairs = [_matched(x) for x in data]
    chosen, plain = (block_losses(sought, [x[k] for x in pairs]) for k in (0, 1))
    size = np.maximum(chosen.mean(axis=0), 1e-300)
    worse = is_worse((chosen / size).sum(axis=1), (plain / size).sum(axis=1))
    if not worse or any(is_sticking(sought, x) for x in data):
        return data, test
    note = (
        f"rates at {const.PLAIN_CUTOFF:g} Hz predict joint forces better than those at {{:.3g}} Hz"
    )
    found = [y.noted(note.format(x.cutoff)) for x, y in pairs]
    return found, test if test is None or test.again is None else _matched(test)[1]


def _is_narrow(data: Recording) -> bool:
    """Whether rates were chosen with a cutoff well below the plain one, which sampling allows."""
    high = const.HIGHEST_CUTOFF / data.dt
    narrow = data.cutoff is not None and 1.25 * data.cutoff < const.PLAIN_CUTOFF < high
    return narrow and data.again is not None


def _matched(data: Recording) -> tuple[Recording, Recording]:
    """Samples of a recording, and the same times with rates at the plain cutoff."""
    assert data.again is not None
    other = data.again(const.PLAIN_CUTOFF)
    k = np.minimum(np.searchsorted(other.t, data.t - data.dt / 2), len(other) - 1)
    same = np.flatnonzero(np.abs(other.t[k] - data.t) < data.dt / 2)
    return data.part(same), other.part(k[same])


def block_losses(sought: Unknowns, data: Sequence[Recording]) -> Array:
    """Mean squared error of each joint in blocks left out of a fit, (blocks, n), below 10 Hz."""
    some = [x for one in data for x in some_parts(one, const.PLAIN_SAMPLES)]
    silent, kept = silent_columns(sought, data), list(find_base(sought).kept)
    made = [make_equations(sought, x, const.PLAIN_CUTOFF, silent) for x in some]
    W, y = (np.concatenate(x) for x in zip(*(x.sides(kept) for x in made), strict=True))
    W, y = W / sought.natural.forces[:, None], y / sought.natural.forces
    edges = np.linspace(0, len(y), const.PLAIN_BLOCKS + 1).round().astype(int).tolist()
    fold = np.searchsorted(edges[1:-1], np.arange(len(y)), side="right") % const.PLAIN_FOLDS
    error = np.zeros(y.shape)
    for k in range(const.PLAIN_FOLDS):
        rows = np.concatenate([W, y[..., None]], axis=-1)[fold != k].transpose(1, 0, 2)
        R = stacked(rows)
        own, _ = separable(R[..., :-1].transpose(1, 0, 2), np.ones(len(R)), sought.scale[kept])
        beta, _ = from_triangles(R[..., [*own, -1]], rows.shape[1], "weighted")
        error[fold == k] = y[fold == k] - W[fold == k][..., own] @ beta
    return np.add.reduceat(error**2, edges[:-1]) / np.diff(edges)[:, None]
