"""Signals: numbers over time, held or joined by lines, on the CPU or on a GPU."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import has_labels, read_times, refuse_labels
from kinetree.errors import InputError, ShapeError
from kinetree.present.labels import Axis, by_name, check_rows, order_of, own_axis
from kinetree.simulate.tuning import TIME_SLACK

KINDS = ("hold", "linear")


@dataclass(frozen=True, eq=False)
class Signal:
    """Values, (N, ...), at times t, (N,), s; the first and the last also hold beyond the ends.

    Values may be an array of CuPy: then they stay on the GPU, for simulations there.

    Args:
        t: times, shape (N,), s.
        values: values at these times, shape (N, ...), N m or N.
        kind: "hold" or "linear" between the times.
        axis: names along the last axis; None: plain arrays.
    """

    t: Array
    values: Array
    kind: str = "hold"
    axis: Axis | None = None  # the names along the last axis of labelled values

    def ordered(self, axis: Axis | None, name: str) -> "Signal":
        """Return the signal with its last axis in the order of another axis; as it is if plain.

        Args:
            axis: names to follow; None: plain arrays.
            name: name of the argument in messages.
        """
        if self.axis is None:
            return self
        if axis is None:
            raise InputError(
                f"{name} is a signal of values with the names {', '.join(self.axis.names)}; "
                "expected plain arrays. robot.wrenches({frame: wrench}) makes F_ext from names."
            )
        order = order_of(self.axis.names, axis, name, "names of the signal")
        return Signal(self.t, self.values[..., order], self.kind)

    def at(self, times: Array, ends: Array) -> Array:
        """Return the values at some times, (K, ...).

        Args:
            times: shape (K,), s.
            ends: whether each time ends a step, where a value that jumps has not done so, (K,).
        """
        t, values = self.t, self.values
        if self.kind == "hold" or len(t) == 1:
            # times are sums of steps, so that 0.1 + 0.2 must count as 0.3
            slack = TIME_SLACK * (np.diff(t).min() if len(t) > 1 else 1.0)
            k = np.searchsorted(t, times + np.where(ends, -slack, slack), "right") - 1
            return values[_beside(values, np.clip(k, 0, None))]
        k = np.clip(np.searchsorted(t, times, "right") - 1, 0, len(t) - 2)
        share = np.clip((times - t[k]) / (t[k + 1] - t[k]), 0, 1)
        share = _beside(values, share.reshape(-1, *(1,) * (values.ndim - 1)))
        k = _beside(values, k)
        return values[k] * (1 - share) + values[k + 1] * share


def signal(t: ArrayLike, values: ArrayLike, kind: str = "hold") -> Signal:
    """Torques or wrenches over time, for `simulate`.

    The first value also acts before the first time, and the last one after the last: begin with a
    value of 0 at t = 0 for forces that set in later.

    Args:
        t: times, (N,), s, increasing.
        values: (N, n) of torques or (N, links, 6) of wrenches; axes of a batch after the first.
            On a GPU they stay there, for `target="cuda"`. Torques may be a data frame with a column
            for each joint, or a dict {joint: (N,)}: they are aligned by name.
        kind: "hold" keeps each value until the next time, "linear" joins them by lines.
    """
    check_rows(t, values, "t", "values")
    axis = own_axis(values, "values of the signal")
    if axis is not None or has_labels(values):
        known = Axis(()) if axis is None else axis
        values = by_name(values, known, "values of the signal")
    refuse_labels(values, "values of the signal")
    try:
        times, numbers = np.array(on_cpu(read_times(t)), float), _copied(values)
    except (TypeError, ValueError) as problem:
        raise InputError(f"the signal needs numbers, rows of one length: {problem}") from None
    if numbers.dtype.kind not in "fiub":
        raise InputError(f"values of the signal hold {numbers.dtype}; expected real numbers.")
    if kind not in KINDS:
        raise InputError(f"kind of the signal is {kind!r}; expected {' or '.join(KINDS)}.")
    _check_times(times, numbers.shape)
    finite = np.isfinite(numbers)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~on_cpu(finite))[0])
        raise InputError(
            f"values{list(at)} of the signal, at t = {times[at[0]]:.6g} s, is {numbers[at]}; "
            "expected a finite number."
        )
    return Signal(times, numbers, kind, axis)


def _check_times(t: Array, shape: tuple[int, ...]) -> None:
    """Raise unless the times are finite, increasing and as many as the values."""
    if t.ndim != 1 or not len(t):
        raise ShapeError(f"times of the signal have shape {t.shape}; expected (N,), N at least 1.")
    if shape[:1] != t.shape:
        raise ShapeError(
            f"the signal has {len(t)} times but values of shape {shape}; time is the first axis of "
            "the values."
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


def is_on_gpu(x: object) -> bool:
    """Return True if an argument is an array on a GPU."""
    return hasattr(x, "__cuda_array_interface__")


def on_cpu(x: Any) -> Any:
    """Return the numbers of an array in the memory of the CPU; other values as they are."""
    return _cupy().asnumpy(x) if is_on_gpu(x) else x


def _copied(x: ArrayLike) -> Array:
    """Copy numbers: to an array of CuPy if they are on a GPU, else to NumPy's float64."""
    return _cupy().array(x) if is_on_gpu(x) else np.array(x, float)


def _beside(x: Array, y: Array) -> Array:
    """Return y in the memory in which x is."""
    return _cupy().asarray(y) if is_on_gpu(x) else y


def _cupy() -> ModuleType:
    """CuPy; the module that finds it is imported only when an array is on a GPU."""
    from kinetree.engine.cuda import launch

    return launch.require_device()
