"""Sources: torques, wrenches and references as a user gives them, made ready for a loop.

A source is a constant, a signal, a trajectory, a function of time or a law of t, q and dq. Each
becomes a function (t, q, dq, given) -> parts that can be traced; a function of time that cannot be
traced is sampled outside the loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.core.containers import refuse_labels
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.law import TracedLaw
from kinetree.errors import InputError, ShapeError
from kinetree.motion.curve.interpolation import warn_of_excess
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Alignment, Axis
from kinetree.scalars import Scalar
from kinetree.simulate.core.laws import (
    Parts,
    UserFunction,
    as_parts,
    call,
    check_arguments,
    check_real,
    label,
    user_function,
)
from kinetree.simulate.core.signals import Signal, TimeSource, sample_signal

# joint forces or wrenches: numbers, a signal, a function of t, or one of t, q and dq
ForceInput = ArrayLike | Signal | Callable[..., ArrayLike]
TIME = Port("t", ())
MOVING = 1e-6  # of the largest rate of a trajectory: rounding of its end is far below


@dataclass(frozen=True, eq=False)
class Source:
    """A source, and the numbers it needs: a constant, or samples over time.

    law: a function of the user, of t, q and dq, or of t alone if it is `timed`. called: a function
    of time that cannot be traced, and is sampled outside the loop.
    """

    constant: Array | None = None
    sampled: TimeSource | None = None
    law: UserFunction | None = None
    timed: bool = False
    called: UserFunction | None = None

    def evaluate(self, t: Scalar, q: Array, dq: Array, inputs: Parts | None) -> Parts:
        """Return the parts at a time and state; given: the constants or samples of the loop."""
        if self.law is not None:
            return self.law(t) if self.timed else self.law(t, q, dq)
        assert inputs is not None
        return inputs

    def start_values(self) -> list[Array]:
        """The parts at t = 0 for the first rollout; zeros for values on a GPU."""
        if self.constant is not None:
            return [np.asarray(self.constant, float).reshape(-1, self.constant.shape[-1])[0]]
        if self.sampled is None:
            nothing = np.zeros(0)
            return [np.asarray(x, float) for x in self.evaluate(0.0, nothing, nothing, None)]
        shapes = self.sampled.shapes
        try:
            values = self.sampled.at(np.zeros(1), np.zeros(1, bool))
            parts = zip(values, shapes, strict=True)
            return [np.asarray(x, float).reshape(-1, *shape)[0] for x, shape in parts]
        except TypeError:  # arrays of CuPy refuse to become NumPy's unless asked
            return [np.zeros(shape) for shape in shapes]


def force_source(
    value: ForceInput | None,
    shape: tuple[int, ...],
    name: str,
    names: str,
    axis: Axis | None = None,
    *,
    state: tuple[tuple[int, ...], tuple[int, ...]],
) -> Source | None:
    """Read torques or wrenches of the given shape; None if there are none.

    Args:
        value: None, an array (..., *shape), a `signal`, a function of t, or one of t, q, dq.
        shape: of one value.
        name: of the argument, for messages.
        names: of the entries, for messages.
        axis: the names by which labelled values of functions are aligned; None: they are refused.
        state: shapes of q and dq.
    """
    if value is None:
        return None
    if isinstance(value, Signal):
        return Source(sampled=sample_signal(value, shape, name))
    if callable(value):
        checked = partial(shaped, shape=shape, name=name, axis=axis)
        words = label(value, f"the function {name} =")
        if check_arguments(value, words, ("t",), ("t", "q", "dq")) == ("t",):
            return time_source(value, name, checked)
        ports = [Port("t", ()), Port("q", state[0]), Port("dq", state[1])]
        return Source(law=force_law(value, checked, ports))
    return Source(constant=constant(value, shape, name, names))


def force_law(
    value: Callable[..., ArrayLike], checked: Callable[[Any], Array], ports: Sequence[Port]
) -> UserFunction:
    """A user's function of t, q and dq; `checked` is applied to its results."""
    words = label(value)
    if isinstance(value, TracedLaw):
        return with_results(words, value, checked, ports)

    def plain(t: Scalar, q: Array, dq: Array) -> Parts:
        return (checked(call(words, value, t, read_only(q), read_only(dq))),)

    return user_function(words, plain, ports)


def with_results(
    words: str, law: TracedLaw, checked: Callable[[Any], Any], ports: Sequence[Port]
) -> UserFunction:
    """A law that was traced before, once its arguments and results have the right shapes."""
    traced_for = [port.shape for port in law.graph.inputs]
    if traced_for != [port.shape for port in ports]:
        listed = ", ".join(f"{port.name} {port.shape}" for port in ports)
        raise ShapeError(
            f"{words} was traced for arguments of shape {traced_for}; expected {listed}. Trace it "
            "for this robot: kinetree.simulate.law(f, robot)."
        )
    for port in law.graph.outputs:
        checked(np.zeros(port.shape))
    return UserFunction(words, None, law)


def time_source(
    function: Any, name: str, checked: Callable[[Any], Any] = lambda value: value
) -> Source:
    """Read a function of time: traced if possible, else sampled; an array is a constant vector.

    checked: is applied to its values.
    """
    if isinstance(function, Trajectory):
        return Source(sampled=sample_motion(function))
    if isinstance(function, np.ndarray):
        return Source(constant=function)
    if not callable(function):
        raise InputError(f"{name} is {function!r}; expected a function of t, or a Trajectory.")
    words = label(function, f"the function {name} =")
    if isinstance(function, TracedLaw):
        return Source(law=with_results(words, function, checked, [TIME]), timed=True)

    check_arguments(function, words, ("t",))

    def parts(t: Scalar) -> Parts:
        values = as_parts(checked(function(t)))
        for part in values:
            check_real(part, words)
        return values

    called = user_function(words, parts, [TIME])
    if called.traced is not None:
        return Source(law=called, timed=True)
    shapes = tuple(np.shape(part) for part in called(0.0))

    def at(times: Array, ends: Array) -> list[Array]:
        rows = [called(float(t)) for t in times]
        return [np.array([row[k] for row in rows], float) for k in range(len(shapes))]

    return Source(sampled=TimeSource(at, shapes), called=called)


def sample_motion(trajectory: Trajectory) -> TimeSource:
    """q, dq and ddq of a trajectory, which stands still beyond its ends: a rate there jumps to 0.

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
    fast = MOVING * abs(trajectory.dq).max(initial=0)
    first_dq, last_dq = (abs(trajectory.dq[k]).max(initial=0) for k in (0, -1))
    jump = "it stands still, and its rate jumps there"
    beyond = jump if first_dq > fast else "", jump if last_dq > fast else ""
    return TimeSource(at, shapes, trajectory.batch_shape, breaks, beyond)


def constant(value: Any, shape: tuple[int, ...], name: str, names: str) -> Array:
    """Read an array (..., *shape) of finite numbers, as a copy."""
    refuse_labels(value, name)
    if getattr(getattr(value, "dtype", None), "kind", "") == "c":
        raise InputError(f"{name} holds complex numbers; expected real ones.")
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
    check_real(x, f"the function {name}")
    if x.shape != shape:
        raise ShapeError(f"the function {name} returned shape {x.shape}; expected {shape}.")
    if x.dtype != object and not np.isfinite(x).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InputError(f"the function {name} returned {x[at]} at {list(at)}; expected a number.")
    return x
