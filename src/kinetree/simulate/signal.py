"""Signal: numbers over time, held or joined by lines between their samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, ShapeError
from kinetree.simulate.feed import Sampled
from kinetree.simulate.gpu_values import beside, on_cpu, own

KINDS = ("hold", "linear")


@dataclass(frozen=True, eq=False)
class Signal:
    """Values, (N, ...), at times t, (N,), s; the first and the last also hold beyond the ends.

    Values may be an array of CuPy: then they stay on the GPU, for simulations there.
    """

    t: Array
    values: Any
    kind: str = "hold"


def signal(t: Any, values: Any, kind: str = "hold") -> Signal:
    """Torques or wrenches over time, for `simulate`.

    Args:
        t: times, (N,), s, increasing.
        values: (N, n) of torques or (N, links, 6) of wrenches; axes of a batch after the first.
            On a GPU they stay there, for `target="cuda"`.
        kind: "hold" keeps each value until the next time, "linear" joins them by lines.
    """
    try:
        t, values = np.array(on_cpu(t), float), own(values)
    except (TypeError, ValueError) as problem:
        raise InputError(f"the signal needs numbers, rows of one length: {problem}") from None
    if values.dtype.kind not in "fiub":
        raise InputError(f"values of the signal hold {values.dtype}; expected real numbers.")
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
    finite = np.isfinite(values)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~on_cpu(finite))[0])
        raise InputError(
            f"values{list(at)} of the signal, at t = {t[at[0]]:.6g} s, is {values[at]}; expected "
            "a finite number."
        )
    return Signal(t, values, kind)


def sample_signal(found: Signal, shape: tuple[int, ...], name: str) -> Sampled:
    """The signal as a function of time with values of the given shape behind its batch."""
    each = found.values.shape[1:]
    split = len(each) - len(shape)
    if split < 0 or each[split:] != shape:
        raise ShapeError(
            f"{name} over time has values of shape {found.values.shape}; expected (N, ..., "
            f"{', '.join(map(str, shape))}), with any axes of a batch between."
        )
    at = hold if found.kind == "hold" else line
    return Sampled(
        lambda times, ends: (at(found, times, ends),), (shape,), each[:split], breaks=found.t
    )


def hold(found: Signal, times: Array, ends: Array) -> Array:
    """The value of the last sample; at the end of a step, of the last one before."""
    # times are sums of steps, so that 0.1 + 0.2 must count as 0.3
    slack = 1e-9 * (np.diff(found.t).min() if len(found.t) > 1 else 1.0)
    moved = times + np.where(ends, -slack, slack)
    k = np.clip(np.searchsorted(found.t, moved, "right") - 1, 0, None)
    return found.values[beside(found.values, k)]


def line(found: Signal, times: Array, ends: Array) -> Array:
    """The value on the line between the samples before and after."""
    t, values = found.t, found.values
    if len(t) == 1:
        return np.broadcast_to(values, (len(times), *values.shape[1:]))
    k = np.clip(np.searchsorted(t, times, "right") - 1, 0, len(t) - 2)
    share = np.clip((times - t[k]) / (t[k + 1] - t[k]), 0, 1)
    share = beside(values, share.reshape(-1, *(1,) * (values.ndim - 1)))
    k = beside(values, k)
    return values[k] * (1 - share) + values[k + 1] * share
