"""Signals: numbers over time, held or joined by lines, on the CPU or on a GPU."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import has_labels, read_times, refuse_labels
from kinetree.errors import InputError, ShapeError
from kinetree.present.labels import Axis, by_name, check_rows, order_of, own_axis
from kinetree.simulate.tuning import TIME_SLACK

KINDS = ("hold", "linear")
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class TimeSource:
    """A function of time that is evaluated outside the compiled loop.

    at(times, ends), both (K,), returns one array (K, *batch, *shape) for each part; `batch` is that
    of the rollouts or (). `ends` marks times that end a step: a value that jumps there is the one
    from before the jump. `breaks` are times at which the function may jump or bend.
    `beyond`: what acts before the first and after the last break; "" where nothing jumps.
    """

    at: Callable[[Array, Array], Sequence[Array]]
    shapes: Shapes
    batch: tuple[int, ...] = ()
    breaks: Array = field(default_factory=lambda: np.zeros(0))
    beyond: tuple[str, str] = ("", "")

    def note(self, name: str, end: float) -> list[str]:
        """Sentences about a run from 0 to `end` s that reaches beyond the times of the source."""
        early, late = self.beyond
        sentences: list[str] = []
        if early and self.breaks[0] > 0:
            sentences.append(f"{name} begins at t = {self.breaks[0]:.6g} s; before, {early}.")
        if late and self.breaks[-1] < end * (1 - TIME_SLACK):
            sentences.append(f"{name} ends at t = {self.breaks[-1]:.6g} s; after, {late}.")
        return sentences


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


def sample_signal(signal: Signal, shape: tuple[int, ...], name: str) -> TimeSource:
    """The signal as a function of time; `shape`: of one value, after the axes of the batch."""
    each = signal.values.shape[1:]
    split = len(each) - len(shape)
    if split < 0 or each[split:] != shape:
        raise ShapeError(
            f"{name} over time has values of shape {signal.values.shape}; expected (N, ..., "
            f"{', '.join(map(str, shape))}), with any axes of a batch between."
        )
    at, values = hold if signal.kind == "hold" else line, signal.values
    held = "" if not values[0].any() else "its first value acts"
    bent = signal.kind == "linear" and len(values) > 1 and (values[-1] != values[-2]).any()
    return TimeSource(
        lambda times, ends: (at(signal, times, ends),), (shape,), each[:split], breaks=signal.t,
        beyond=(held, "its last value acts" if bent else ""),
    )  # fmt: skip


def hold(signal: Signal, times: Array, ends: Array) -> Array:
    """Values of the last sample at each time; at the end of a step, of the last one before it."""
    # times are sums of steps, so that 0.1 + 0.2 must count as 0.3
    slack = 1e-9 * (np.diff(signal.t).min() if len(signal.t) > 1 else 1.0)
    moved = times + np.where(ends, -slack, slack)
    k = np.clip(np.searchsorted(signal.t, moved, "right") - 1, 0, None)
    return signal.values[_beside(signal.values, k)]


def line(signal: Signal, times: Array, ends: Array) -> Array:
    """Values on the line between the samples before and after each time."""
    t, values = signal.t, signal.values
    if len(t) == 1:
        return np.broadcast_to(values, (len(times), *values.shape[1:]))
    k = np.clip(np.searchsorted(t, times, "right") - 1, 0, len(t) - 2)
    share = np.clip((times - t[k]) / (t[k + 1] - t[k]), 0, 1)
    share = _beside(values, share.reshape(-1, *(1,) * (values.ndim - 1)))
    k = _beside(values, k)
    return values[k] * (1 - share) + values[k + 1] * share


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
