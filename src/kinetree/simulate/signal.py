"""Signal: numbers over time, held or joined by lines between their samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError, ShapeError
from kinetree.simulate.feed import Sampled

KINDS = ("hold", "linear")


@dataclass(frozen=True, eq=False)
class Signal:
    """Values, (N, ...), at times t, (N,), s; the first and the last also hold beyond the ends."""

    t: Array
    values: Array
    kind: str = "hold"


def signal(t: Any, values: Any, kind: str = "hold") -> Signal:
    """Torques or wrenches over time, for `simulate`.

    Args:
        t: times, (N,), s, increasing.
        values: (N, n) of torques or (N, links, 6) of wrenches; axes of a batch after the first.
        kind: "hold" keeps each value until the next time, "linear" joins them by lines.
    """
    t, values = np.array(t, float), np.array(values, float)
    if kind not in KINDS:
        raise InputError(f"kind of the signal is {kind!r}; expected {' or '.join(KINDS)}.")
    if t.ndim != 1 or not len(t):
        raise ShapeError(f"times of the signal have shape {t.shape}; expected (N,), N at least 1.")
    if values.shape[:1] != t.shape:
        raise ShapeError(
            f"the signal has {len(t)} times but values of shape {values.shape}; time is the first "
            "axis of the values."
        )
    if not np.isfinite(t).all():
        raise InputError(f"time {int(np.argmin(np.isfinite(t)))} of the signal is not finite.")
    late = np.flatnonzero(np.diff(t) <= 0)
    if late.size:
        k = int(late[0])
        raise InputError(
            f"times of the signal do not increase: t[{k + 1}] = {t[k + 1]:.9g} follows "
            f"t[{k}] = {t[k]:.9g}. Sort the samples and drop repeated ones."
        )
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        at = tuple(int(i) for i in bad[0])
        raise InputError(
            f"values{list(at)} of the signal, at t = {t[at[0]]:.6g} s, is {values[at]}; expected "
            "a finite number."
        )
    return Signal(t, values, kind)


def sample_signal(found: Signal, shape: tuple[int, ...], name: str) -> Sampled:
    """The signal as a function of time with values of the given shape behind its batch."""
    own = found.values.shape[1:]
    split = len(own) - len(shape)
    if split < 0 or own[split:] != shape:
        raise ShapeError(
            f"{name} over time has values of shape {found.values.shape}; expected (N, ..., "
            f"{', '.join(map(str, shape))}), with any axes of a batch between."
        )
    at = hold if found.kind == "hold" else line
    return Sampled(
        lambda times, ends: (at(found, times, ends),), (shape,), own[:split], breaks=found.t
    )


def hold(found: Signal, times: Array, ends: Array) -> Array:
    """The value of the last sample; at the end of a step, of the last one before."""
    # times are sums of steps, so that 0.1 + 0.2 must count as 0.3
    slack = 1e-9 * (np.diff(found.t).min() if len(found.t) > 1 else 1.0)
    moved = times + np.where(ends, -slack, slack)
    return found.values[np.clip(np.searchsorted(found.t, moved, "right") - 1, 0, None)]


def line(found: Signal, times: Array, ends: Array) -> Array:
    """The value on the line between the samples before and after."""
    t, values = found.t, found.values
    if len(t) == 1:
        return np.broadcast_to(values, (len(times), *values.shape[1:]))
    k = np.clip(np.searchsorted(t, times, "right") - 1, 0, len(t) - 2)
    share = np.clip((times - t[k]) / (t[k + 1] - t[k]), 0, 1)
    share = share.reshape(-1, *(1,) * (values.ndim - 1))
    return values[k] * (1 - share) + values[k + 1] * share
