"""Sources: torques, wrenches and references as a user gives them, made ready for a loop.

A source is a constant, a signal, a trajectory, a function of time or a law of t, q and dq. Each
becomes a function (t, q, dq, given) -> parts that can be traced; a function that cannot be traced
but depends on time alone is sampled outside the loop.
"""

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.axis import Axis
from kinetree.base.containers import refuse_labels
from kinetree.base.labels import Alignment
from kinetree.compiler.graph import Port
from kinetree.errors import InputError, ShapeError
from kinetree.samples.interpolation import warn_of_excess
from kinetree.scalars import Scalar
from kinetree.simulate.core.external import Parts
from kinetree.simulate.core.memory import Memory, label
from kinetree.simulate.core.purity import Examined, call, examine
from kinetree.simulate.core.signals import Sampled, Signal, sample_signal
from kinetree.trajectory import Trajectory

# joint forces or wrenches: numbers, a signal, a function of t, or one of t, q and dq
ForceInput = ArrayLike | Signal | Callable[..., ArrayLike]
Evaluate = Callable[[Scalar, Array, Array, Parts | None], Parts]
PORTS = (Port("t", ()),)


@dataclass(frozen=True, eq=False)
class Source:
    """How to evaluate a source, and the numbers it needs: a constant, or samples over time.

    examined: the examination of a function of time. law: a user's function of t, q and dq.
    """

    evaluate: Evaluate
    constant: Array | None = None
    sampled: Sampled | None = None
    examined: Examined | None = None
    law: Callable[..., ArrayLike] | None = None

    def start_values(self) -> list[Array]:
        """The parts at t = 0 for the first rollout; zeros for values on a GPU."""
        if self.constant is not None:
            return [np.asarray(self.constant, float).reshape(-1, self.constant.shape[-1])[0]]
        if self.sampled is None:
            nothing = np.zeros(0)
            return [np.asarray(x, float) for x in self.evaluate(0.0, nothing, nothing, None)]
        shapes = self.sampled.shapes
        try:
            found = self.sampled.at(np.zeros(1), np.zeros(1, bool))
            parts = zip(found, shapes, strict=True)
            return [np.asarray(x, float).reshape(-1, *shape)[0] for x, shape in parts]
        except TypeError:  # arrays of CuPy refuse to become NumPy's unless asked
            return [np.zeros(shape) for shape in shapes]


def force_source(
    value: ForceInput | None,
    shape: tuple[int, ...],
    name: str,
    names: str,
    axis: Axis | None = None,
) -> Source | None:
    """Read torques or wrenches of the given shape; None if there are none.

    Args:
        value: None, an array (..., *shape), a `signal`, a function of t, or one of t, q, dq.
        shape: of one value.
        name: of the argument, for messages.
        names: of the entries, for messages.
        axis: the names by which labelled values of functions are aligned; None: they are refused.
    """
    if value is None:
        return None
    if isinstance(value, Signal):
        return Source(fed, sampled=sample_signal(value, shape, name))
    if callable(value):
        if arguments(value) >= 3:
            return Source(_law(value, shape, name, axis), law=value)
        names_of = None if axis is None else axis.names
        checked = partial(_shaped_as, shape, name, axis)
        return time_source(value, name, checked, (name, shape, names_of))
    return Source(fed, constant=constant(value, shape, name, names))


def _shaped_as(shape: tuple[int, ...], name: str, axis: Axis | None, value: ArrayLike) -> Array:
    return shaped(value, shape, name, axis)


def _law(
    law: Callable[..., ArrayLike], shape: tuple[int, ...], name: str, axis: Axis | None
) -> Evaluate:
    """A user's function of t, q and dq as a source."""

    def evaluate(t: Scalar, q: Array, dq: Array, given: Parts | None) -> Parts:
        return (shaped(call(label(law), law, t, q, dq), shape, name, axis),)

    return evaluate


def time_source(
    function: Any,
    name: str,
    checked: Callable[[Any], Any] = lambda value: value,
    context: Hashable = None,
) -> Source:
    """Read a function of time: traced if possible, else sampled; an array is a constant vector.

    checked: is applied to its values. context: everything that `checked` depends on, as a key.
    """
    if isinstance(function, Trajectory):
        return Source(fed, sampled=sample_motion(function))
    if isinstance(function, np.ndarray):
        return Source(fed, constant=function)
    if not callable(function):
        raise InputError(f"{name} is {function!r}; expected a function of t, or a Trajectory.")

    def parts(t: Scalar) -> Parts:
        return _as_parts(checked(function(t)))

    before = Memory(function)
    try:
        shapes = tuple(np.shape(part) for part in parts(0.0))
        words = label(function, f"the function {name} =")
        found = examine(words, parts, PORTS, function, (0.0,), context)
    finally:
        before.restore()
    if found.digest is not None:
        return Source(lambda t, q, dq, given: parts(t), examined=found)

    def at(times: Array, ends: Array) -> list[Array]:
        rows = [parts(float(t)) for t in times]
        return [np.array([row[k] for row in rows], float) for k in range(len(shapes))]

    # a function that only cannot be traced loses nothing by sampling: no note is needed
    note = found.note if found.doubt is not None else None
    return Source(
        fed, sampled=Sampled(at, shapes), examined=replace(found, note=note, sampled=True)
    )


def sample_motion(trajectory: Trajectory) -> Sampled:
    """q, dq and ddq of a trajectory, which stands still beyond its ends.

    Between its samples the motion is that of its pieces, as in `kinetree.motion.resample`; all
    times at which ddq jumps are breaks, its ends included.
    """
    warn_of_excess(trajectory)
    pieces = trajectory.curve
    first, last = trajectory.t[0], trajectory.t[-1]
    inner = pieces.jumps[(pieces.jumps > first) & (pieces.jumps < last)]
    breaks = np.unique(np.concatenate([[first], inner, [last]]))
    # times are sums of steps, so that 0.1 + 0.2 must count as 0.3
    slack = 1e-9 * (np.diff(breaks).min() if len(breaks) > 1 else 1.0)

    def at(times: Array, ends: Array) -> list[Array]:
        k = np.clip(np.searchsorted(breaks, times), 1, max(len(breaks) - 1, 1))
        for near in (breaks[k - 1], breaks[np.minimum(k, len(breaks) - 1)]):
            times = np.where(np.abs(times - near) <= slack, near, times)
        after = (times >= first) & (times < last)
        moving = np.where(ends, (times > first) & (times <= last), after)
        q, *rates = pieces(np.clip(times, first, last), before=ends)
        moving = moving.reshape(-1, *(1,) * (q.ndim - 1))
        return [q, *(np.where(moving, x, 0.0) for x in rates)]

    shapes = tuple((x.shape[-1],) for x in (trajectory.q, trajectory.dq, trajectory.ddq))
    return Sampled(at, shapes, trajectory.batch_shape, breaks=breaks)


def fed(t: Scalar, q: Array, dq: Array, given: Parts | None) -> Parts:
    """Return the parts that the loop was given: the evaluation of constants and samples."""
    assert given is not None
    return given


def _as_parts(value: Any) -> Parts:
    """A tuple of new arrays, from one array or several; a function may return its own again."""
    return tuple(map(np.array, value)) if isinstance(value, tuple) else (np.array(value),)


def arguments(function: Callable[..., Any]) -> int:
    """Count the positional arguments of a function; 3 if that is unknown.

    A single required one decides: `lambda t, low=0, high=1: ...` is a function of time.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        return 3
    listed = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in listed if p.default is p.empty]
    return 1 if len(needed) == 1 else len(listed)


def constant(value: Any, shape: tuple[int, ...], name: str, names: str) -> Array:
    """Read an array (..., *shape) of finite numbers, as a copy."""
    refuse_labels(value, name)
    try:
        x = np.asarray(value, float).copy()  # np.array(tensor, copy=True) fails on torch's tensors
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"{name} is {value!r}; expected an array (..., {', '.join(map(str, shape))}), "
            f"kinetree.simulate.signal(t, values), or a function: {problem}."
        ) from None
    split = x.ndim - len(shape)
    if split < 0 or x.shape[split:] != shape:
        raise ShapeError(
            f"{name} has shape {x.shape}; expected (..., {', '.join(map(str, shape))}): {names}. "
            "Values over time are given as kinetree.simulate.signal(t, values)."
        )
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        at = tuple(int(i) for i in bad[0])
        raise InputError(f"{name}{list(at)} is {x[at]}; expected a finite number.")
    return x


def shaped(value: ArrayLike, shape: tuple[int, ...], name: str, axis: Axis | None = None) -> Array:
    """Copy the result of a user's function; raise unless it has the shape and is finite."""
    x = np.array(Alignment([(value, axis, name)]).values[0])
    if x.shape != shape:
        raise ShapeError(f"the function {name} returned shape {x.shape}; expected {shape}.")
    if x.dtype != object and not np.isfinite(x).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InputError(f"the function {name} returned {x[at]} at {list(at)}; expected a number.")
    return x
