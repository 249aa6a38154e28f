"""Statistics of columns that may hold infinities, which count, and NaN, which are counted."""

import numpy as np

from kinetree.base.arrays import Array


def column_quantiles(x: Array, share: Array) -> Array:
    """Quantiles over the first axis of x (S, ...), (*share.shape, ...), of what is not NaN."""
    if np.isfinite(x).all():
        return np.quantile(x, share, axis=0)
    flat = x.reshape(len(x), -1)
    found = [quantiles(column[~np.isnan(column)], share) for column in flat.T]
    return np.stack(found, axis=-1).reshape((*share.shape, *x.shape[1:]))


def quantiles(x: Array, share: Array) -> Array:
    """Quantiles of numbers (S,), on the line between neighbours; NaN where there are none.

    Next to an infinite neighbour there is no such line: the quantile is infinite.
    """
    if not len(x):
        return share * np.nan
    below, above = (np.quantile(x, share, method=side) for side in ("lower", "higher"))
    with np.errstate(invalid="ignore"):
        between = np.quantile(x, share)
    between = np.where(np.isinf(below), below, between)
    return np.where(np.isinf(above) | (below == above), above, between)


def described(x: Array) -> list[str]:
    """Mean, standard deviation, smallest, 5 %, median, 95 %, largest; how many are inf, and NaN."""
    kept = x[~np.isnan(x)]
    counts = [str(np.isinf(kept).sum()), str(len(x) - len(kept))]
    if not len(kept):
        return [*["-"] * 7, *counts]
    with np.errstate(invalid="ignore", over="ignore"):
        spread = kept.std(ddof=1) if len(kept) > 1 else 0.0
        numbers = [kept.mean(), spread, *quantiles(kept, np.array((0, 0.05, 0.5, 0.95, 1)))]
    return [*(f"{v:.5g}" for v in numbers), *counts]
