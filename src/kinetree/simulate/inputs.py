"""Signals: numbers over time, held or joined by lines, on the CPU or on a GPU."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from types import ModuleType
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.core.containers import has_labels, read_times, refuse_labels
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.law import TracedLaw
from kinetree.errors import InputError, ShapeError
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Alignment, Axis, by_name, check_rows, order_of, own_axis
from kinetree.scalars import Scalar
from kinetree.simulate.adaptive.breaks import PYTHON_SAMPLES
from kinetree.simulate.functions import (
    Parts,
    UserFunction,
    as_parts,
    call,
    check_arguments,
    check_real,
    label,
    user_function,
)

MOVING = 1e-6  # of the largest rate of a trajectory: rounding of its end is far below

TIME_SLACK = 1e-9  # of a sample time: times are sums of steps, so that 0.1 + 0.2 counts as 0.3

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
    if times.ndim != 1 or not len(times) or numbers.shape[:1] != times.shape:
        raise ShapeError(
            f"the signal has times of shape {times.shape} and values of shape {numbers.shape}; "
            "expected (N,), N at least 1, and (N, ...)."
        )
    late = np.flatnonzero(~(np.diff(times) > 0))
    if late.size or not np.isfinite(times).all():
        k = int(late[0]) if late.size else int(np.argmin(np.isfinite(times))) - 1
        raise InputError(
            f"times of the signal do not increase: t[{k + 1}] = {times[k + 1]:.9g}. Sort the "
            "samples and drop repeated ones and those without a time."
        )
    finite = np.isfinite(numbers)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~on_cpu(finite))[0])
        raise InputError(
            f"values{list(at)} of the signal, at t = {times[at[0]]:.6g} s, is {numbers[at]}; "
            "expected a finite number."
        )
    return Signal(times, numbers, kind, axis)


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


# joint forces or wrenches: numbers, a signal, a function of t, or one of t, q and dq
ForceInput = ArrayLike | Signal | Callable[..., ArrayLike]
NamedParts = Mapping[str, Parts]
Shape = tuple[int, ...]
Table = Callable[[Array, Array], Sequence[Array]]
Trials = Sequence[tuple[float, Array, Array]]  # t, q and dq at which functions are checked
TIME = Port("t", ())


@dataclass(frozen=True, eq=False)
class Input:
    """One thing that acts, as parts of given shapes: a constant, a table over time, or a law.

    constant: (*batch, *shape). at: the table, of times and `ends`, both (K,), one array
    (K, *batch, *shape) for each part; `ends` marks times that end a step: a value that jumps there
    is the one from before the jump. law: a function of t, q and dq, or of t alone if it is `timed`.
    breaks: times at which the table may jump or bend. beyond: what acts before the first and after
    the last break; "" where nothing jumps. python: name of a function behind the table.
    """

    shapes: tuple[Shape, ...]
    batch: Shape = ()
    constant: Array | None = None
    at: Table | None = None
    law: UserFunction | None = None
    timed: bool = False
    breaks: Array = field(default_factory=lambda: np.zeros(0))
    beyond: tuple[str, str] = ("", "")
    python: str | None = None

    @classmethod
    def of_constant(cls, x: Array, shape: Shape) -> "Input":
        """The input of an array (*batch, *shape)."""
        return cls((shape,), x.shape[: x.ndim - len(shape)], constant=x)

    @property
    def kind(self) -> Hashable:
        """What decides the code for the input: its graph, or that its numbers are given."""
        if self.law is not None:
            return self.law.key
        return "constant" if self.constant is not None else "sampled"

    @property
    def size(self) -> int:
        """Count of numbers of all parts."""
        return sum(map(math.prod, self.shapes))

    def split(self, numbers: Array) -> Parts:
        """The parts of numbers side by side, (size,)."""
        ends = np.cumsum(list(map(math.prod, self.shapes)))[:-1]
        parts = zip(np.split(numbers, ends), self.shapes, strict=True)
        return tuple(part.reshape(shape) for part, shape in parts)

    def values(self, times: Array, ends: Array) -> Sequence[Array]:
        """The table at times."""
        assert self.at is not None
        return self.at(times, ends)

    def evaluate(self, t: Scalar, q: Array, dq: Array, numbers: Parts | None) -> Parts:
        """The parts at a time and state; numbers: the constants or values over time of a loop."""
        if self.law is not None:
            return self.law(t) if self.timed else self.law(t, q, dq)
        assert numbers is not None
        return numbers

    def over(self, times: Array) -> list[Array]:
        """The parts of what depends on time alone at some times, each (K, *batch, *shape)."""
        if self.at is not None:
            return list(self.at(times, np.zeros(len(times), bool)))
        if self.law is not None:
            rows = [self.law(float(t)) for t in times]
            return [np.array([row[k] for row in rows], float) for k in range(len(self.shapes))]
        assert self.constant is not None
        return [np.broadcast_to(self.constant, (len(times), *self.constant.shape))]

    def first_values(self, t: float) -> list[Array]:
        """The parts at a time for the first rollout; zeros for values on a GPU."""
        values = [self.constant] if self.constant is not None else self.over(np.array([t]))
        if any(map(is_on_gpu, values)):
            return [np.zeros(shape) for shape in self.shapes]
        parts = zip(values, self.shapes, strict=True)
        return [np.asarray(x, float).reshape(-1, *shape)[0] for x, shape in parts]

    def note(self, name: str, end: float, *, adaptive: bool) -> list[str]:
        """Sentences about a run from 0 to `end` s that reaches beyond the times of the input.

        adaptive: steps are, and a function that only Python can run is sampled for them.
        """
        sentences: list[str] = []
        if self.python is not None and adaptive:
            sentences.append(
                f"{self.python} runs in Python: it is sampled at {PYTHON_SAMPLES + 1:,} times of "
                f"the run, and a pulse shorter than the duration / {PYTHON_SAMPLES:,} can be "
                "missed. Write it with where, or give the times of its jumps as `breaks`."
            )
        early, late = self.beyond
        if early and self.breaks[0] > 0:
            sentences.append(f"{name} begins at t = {self.breaks[0]:.6g} s; before, {early}.")
        if late and self.breaks[-1] < end * (1 - TIME_SLACK):
            sentences.append(f"{name} ends at t = {self.breaks[-1]:.6g} s; after, {late}.")
        return sentences


# reading


def read_forces_input(
    value: ForceInput | None,
    shape: Shape,
    name: str,
    names: str,
    axis: Axis | None,
    ports: Sequence[Port],
    trials: Trials,
) -> Input | None:
    """Read torques, wrenches or controls of the given shape; None if there are none.

    Args:
        value: None, an array (..., *shape), a `signal`, a function of t, or one of t, q, dq.
        shape: of one value.
        name: of the argument, for messages.
        names: of the entries, for messages.
        axis: the names by which labelled values of functions are aligned; None: they are refused.
        ports: t, q and dq.
        trials: states at which a function is checked.
    """
    if value is None:
        return None
    if isinstance(value, Signal):
        return table_of_signal(value, shape, name)
    if not callable(value):
        return Input.of_constant(constant(value, shape, name, names), shape)
    checked = partial(shaped, shape=shape, name=name, axis=axis)
    words = label(value, f"the function {name} =")
    if check_arguments(value, words, ("t",), ("t", "q", "dq")) == ("t",):
        return read_reference(value, name, trials, checked)
    words = label(value)
    if isinstance(value, TracedLaw):
        return Input((shape,), law=with_results(words, value, checked, ports))

    def plain(t: Scalar, q: Array, dq: Array) -> Parts:
        return (checked(call(words, value, t, read_only(q), read_only(dq))),)

    return Input((shape,), law=user_function(words, plain, ports, trials))


def read_reference(
    function: Any, name: str, trials: Trials, checked: Callable[[Any], Any] = lambda value: value
) -> Input:
    """Read a constant vector, a trajectory, or a function of time, which is traced if possible.

    checked: is applied to its values.
    """
    if isinstance(function, Trajectory):
        return table_of_trajectory(function)
    if isinstance(function, np.ndarray):
        return Input.of_constant(function, function.shape[-1:])
    if not callable(function):
        raise InputError(f"{name} is {function!r}; expected a function of t, or a Trajectory.")
    words = label(function, f"the function {name} =")
    if isinstance(function, TracedLaw):
        law = with_results(words, function, checked, [TIME])
        return Input(tuple(port.shape for port in function.graph.outputs), law=law, timed=True)
    check_arguments(function, words, ("t",))

    def parts(t: Scalar) -> Parts:
        values = as_parts(checked(function(t)))
        for part in values:
            check_real(part, words)
        return values

    called = user_function(words, parts, [TIME], [x[:1] for x in trials])
    shapes = tuple(np.shape(part) for part in called(trials[0][0]))
    if called.traced is not None:
        return Input(shapes, law=called, timed=True)

    def at(times: Array, ends: Array) -> list[Array]:
        rows = [called(float(t)) for t in times]
        return [np.array([row[k] for row in rows], float) for k in range(len(shapes))]

    return Input(shapes, at=at, python=words)


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


def table_of_signal(signal: Signal, shape: Shape, name: str) -> Input:
    """A signal as a table; `shape`: of one value, after the axes of the batch."""
    each = signal.values.shape[1:]
    split = len(each) - len(shape)
    if split < 0 or each[split:] != shape:
        raise ShapeError(
            f"{name} over time has values of shape {signal.values.shape}; expected (N, ..., "
            f"{', '.join(map(str, shape))}), with any axes of a batch between."
        )
    values = signal.values
    held = "" if not values[0].any() else "its first value acts"
    bent = signal.kind == "linear" and len(values) > 1 and (values[-1] != values[-2]).any()
    return Input(
        (shape,),
        each[:split],
        at=lambda times, ends: (signal.at(times, ends),),
        breaks=signal.t,
        beyond=(held, "its last value acts" if bent else ""),
    )


def table_of_trajectory(trajectory: Trajectory) -> Input:
    """q, dq and ddq of a trajectory, which stands still beyond its ends: a rate there jumps to 0.

    Between its samples the motion is that of its pieces, as in `kinetree.motion.resample`; all
    times at which ddq jumps are breaks, its ends included.
    """
    pieces = trajectory.curve
    first, last = trajectory.t[0], trajectory.t[-1]
    inner = pieces.jumps[(pieces.jumps > first) & (pieces.jumps < last)]
    breaks = np.unique(np.concatenate([[first], inner, [last]]))
    slack = TIME_SLACK * (np.diff(breaks).min() if len(breaks) > 1 else 1.0)

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
    return Input(shapes, trajectory.batch_shape, at=at, breaks=breaks, beyond=beyond)


def constant(value: Any, shape: Shape, name: str, names: str) -> Array:
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
    if 0 in x.shape[:split]:
        raise ShapeError(f"{name} has shape {x.shape}; expected at least one rollout.")
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        at = tuple(int(i) for i in bad[0])
        raise InputError(f"{name}{list(at)} is {x[at]}; expected a finite number.")
    return x


def common_axes(axes: Mapping[str, Shape]) -> Shape:
    """Leading axes of all arguments together, from those of each by name."""
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in axes.items() if shape)
        raise ShapeError(
            f"the leading axes of the rollouts do not broadcast: {listed}. Each axis must be "
            "equal or 1."
        ) from None


def side_by_side(parts: Mapping[str, Array]) -> Array:
    """Arrays (..., size), with leading axes that broadcast, as one."""
    batch = common_axes({name: x.shape[:-1] for name, x in parts.items()})
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts.values()], -1)


def shaped(value: ArrayLike, shape: Shape, name: str, axis: Axis | None = None) -> Array:
    """Copy the result of a user's function; raise unless it has the shape and is finite."""
    x = np.array(Alignment([(value, axis, name)]).values[0])
    check_real(x, f"the function {name}")
    if x.shape != shape:
        raise ShapeError(f"the function {name} returned shape {x.shape}; expected {shape}.")
    if x.dtype != object and not np.isfinite(x).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise InputError(f"the function {name} returned {x[at]} at {list(at)}; expected a number.")
    return x


# the numbers of a loop


@dataclass(frozen=True, eq=False)
class ExternalInputs:
    """Constants and tables by name, side by side in the arrays p and s of a loop."""

    constants: Mapping[str, Input] = field(default_factory=dict)
    sampled: Mapping[str, Input] = field(default_factory=dict)

    @property
    def code_key(self) -> tuple[Hashable, Hashable]:
        """Names and shapes of constants and of tables: what compiled code depends on."""
        constants, sampled = (
            tuple((name, x.shapes) for name, x in inputs.items())
            for inputs in (self.constants, self.sampled)
        )
        return constants, sampled

    def with_constant(self, name: str, value: Array) -> "ExternalInputs":
        """The inputs with another constant, (..., size), as the last."""
        made = Input.of_constant(value, value.shape[-1:])
        return replace(self, constants={**self.constants, name: made})

    @property
    def params_size(self) -> int:
        """Constants of one rollout; at least one, since no array of a kernel is empty."""
        return max(1, sum(x.size for x in self.constants.values()))

    @property
    def table_size(self) -> int:
        """Numbers of one rollout at one time; at least one."""
        return max(1, sum(x.size for x in self.sampled.values()))

    def table_rows(self, batch: Shape) -> int:
        """Rows of the table at one time: 1 if the rollouts of the batch share all tables."""
        return math.prod(batch) if any(x.batch for x in self.sampled.values()) else 1

    def params(self, batch: Shape, xp: ModuleType = np, dtype: str = "float64") -> Array:
        """Return all constants as p, (B or 1, p), an array of the module xp (NumPy or CuPy)."""
        items = [(x.constant, x.batch, x.shapes[0]) for x in self.constants.values()]
        return _stacked((), batch, items, xp, dtype)

    def table(
        self, times: Array, ends: Array, batch: Shape, xp: ModuleType = np, dtype: str = "float64"
    ) -> Array:
        """Return the values of the tables at `times`, (K,), as s, (K, B or 1, s)."""
        items: list[tuple[Any, Shape, Shape]] = []
        for name, table in self.sampled.items():
            values = table.values(times, ends)
            if xp is np and any(map(is_on_gpu, values)):
                raise InputError(
                    f"values of {name} over time are on the GPU, but the simulation runs on the "
                    "CPU. Pass target='cuda', or copy the values: cupy.asnumpy(values)."
                )
            items += [(x, table.batch, s) for x, s in zip(values, table.shapes, strict=True)]
        return _stacked(times.shape, batch, items, xp, dtype)

    @property
    def places(self) -> dict[str, slice]:
        """Places of constants in p, and of tables in s, by name."""
        places: dict[str, slice] = {}
        for inputs in (self.constants, self.sampled):
            ends = accumulate((x.size for x in inputs.values()), initial=0)
            places |= {
                name: slice(*pair) for name, pair in zip(inputs, pairwise(ends), strict=True)
            }
        return places

    def named(self, p: Array, s: Array) -> dict[str, Parts]:
        """Take apart the constants p, (p,), and values over time s, (s,), of one rollout."""
        places = self.places
        named = {name: x.split(p[places[name]]) for name, x in self.constants.items()}
        return named | {name: x.split(s[places[name]]) for name, x in self.sampled.items()}


def _stacked(
    lead: Shape, batch: Shape, items: Sequence[tuple[Any, Shape, Shape]], xp: Any, dtype: str
) -> Array:
    """Put arrays (*lead, *own, *shape) side by side as (*lead, B, size).

    B is 1 if no array has axes of a batch of its own.
    """
    if not items:
        return xp.zeros((*lead, 1, 1), dtype)
    wide, parts = batch if any(axes for _, axes, _ in items) else (), list[Array]()
    for x, axes, shape in items:
        whole = (*lead, *(1,) * (len(wide) - len(axes)), *axes, math.prod(shape))
        x = xp.asarray(x, dtype).reshape(whole)
        parts.append(xp.broadcast_to(x, (*lead, *wide, math.prod(shape))))
    return xp.concatenate(parts, -1).reshape((*lead, math.prod(wide), -1))
