"""Sources: torques, wrenches and references as a user gives them, made ready for a loop.

A source is a constant, a signal, a trajectory, a function of time or a law of t, q and dq. Each
becomes a function (t, q, dq, given) -> parts that can be traced; what cannot be traced but depends
on time alone is sampled outside the loop.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.compiler.graph import Port
from kinetree.compiler.trace import trace
from kinetree.errors import InputError, ShapeError
from kinetree.simulate.feed import Sampled
from kinetree.simulate.signal import Signal, sample_signal
from kinetree.simulate.trajectory import Trajectory

Parts = tuple[Array, ...]
Evaluate = Callable[[Any, Array, Array, Parts | None], Parts]


@dataclass(frozen=True, eq=False)
class Source:
    """How to evaluate it, and what it needs to be fed: a constant, or samples over time."""

    evaluate: Evaluate
    constant: Array | None = None
    sampled: Sampled | None = None


def force_source(value: Any, shape: tuple[int, ...], name: str, names: str) -> Source | None:
    """Torques or wrenches of the given shape; None where there are none.

    Args:
        value: None, an array (..., *shape), a `signal`, a function of t, or one of t, q, dq.
        shape: of one value.
        name: of the argument, for messages.
        names: what the entries are, for messages.
    """
    if value is None:
        return None
    if isinstance(value, Signal):
        return Source(fed, sampled=sample_signal(value, shape, name))
    if callable(value):
        if arguments(value) >= 3:
            return Source(lambda t, q, dq, given: (shaped(value(t, q, dq), shape, name),))
        return time_source(lambda t: shaped(value(t), shape, name), name)
    return Source(fed, constant=constant(value, shape, name, names))


def time_source(function: Callable[[Any], Any], name: str) -> Source:
    """A function of time: traced where possible, else sampled; an array is a constant vector."""
    if isinstance(function, Trajectory):
        return Source(fed, sampled=sample_motion(function))
    if isinstance(function, np.ndarray):
        return Source(fed, constant=function)
    if not callable(function):
        raise InputError(f"{name} is {function!r}; expected a function of t, or a Trajectory.")
    start = as_parts(function(0.0))
    shapes = tuple(np.shape(part) for part in start)
    if traceable(lambda t: as_parts(function(t))):
        return Source(lambda t, q, dq, given: as_parts(function(t)))

    def at(times: Array, ends: Array) -> list[Array]:
        rows = [as_parts(function(float(t))) for t in times]
        return [np.array([row[k] for row in rows], float) for k in range(len(shapes))]

    return Source(fed, sampled=Sampled(at, shapes))


def sample_motion(trajectory: Trajectory) -> Sampled:
    """q, dq and ddq of a trajectory, which stands still beyond its ends."""
    from kinetree.motion.interpolation import motion_at

    first, last = trajectory.t[0], trajectory.t[-1]

    def at(times: Array, ends: Array) -> list[Array]:
        inside = (times >= first) & (times <= last)
        if len(trajectory) == 1:
            q, *rates = (x[np.zeros(len(times), int)] for x in motion)
        else:
            q, *rates = motion_at(trajectory, np.clip(times, first, last))
        moving = inside.reshape(-1, *(1,) * (q.ndim - 1))
        return [q, *(np.where(moving, x, 0.0) for x in rates)]

    motion = (trajectory.q, trajectory.dq, trajectory.ddq)
    shapes = tuple((x.shape[-1],) for x in motion)
    return Sampled(at, shapes, trajectory.batch_shape, breaks=np.array([first, last]))


def fed(t: Any, q: Array, dq: Array, given: Parts | None) -> Parts:
    """What the loop was given."""
    assert given is not None
    return given


def as_parts(value: Any) -> Parts:
    """A tuple of arrays, from one array or several."""
    return tuple(map(np.asarray, value)) if isinstance(value, tuple) else (np.asarray(value),)


def traceable(function: Callable[[Any], Parts]) -> bool:
    """Whether a function of time runs on a traced scalar; any failure means that it does not."""
    try:
        trace(lambda t: tuple(function(t)), [Port("t", ())])
    except Exception:
        return False
    return True


def arguments(function: Callable[..., Any]) -> int:
    """How many arguments a function must or may be given by position; 3 where nobody knows."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        return 3
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in found)


def constant(value: Any, shape: tuple[int, ...], name: str, names: str) -> Array:
    """An array (..., *shape) of finite numbers."""
    try:
        x = np.asarray(value, float).copy()  # tensors of torch know no copy of NumPy's
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


def shaped(value: Any, shape: tuple[int, ...], name: str) -> Array:
    """What a user's function returned, of the right shape and, where it is a number, finite."""
    x = np.asarray(value)
    if x.shape != shape:
        raise ShapeError(f"the function {name} returned shape {x.shape}; expected {shape}.")
    if x.dtype != object and not np.isfinite(x).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InputError(f"the function {name} returned {x[at]} at {list(at)}; expected a number.")
    return x
