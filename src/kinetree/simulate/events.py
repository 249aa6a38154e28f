"""Events: times at which a function of the state passes through zero.

Every sign change within a step is found on an interpolant. A function g of the share s of a step is
sampled at Chebyshev points and replaced by the polynomial through them; if its coefficients have
not died out, the step is halved. The extremes of the polynomial separate its zeros, so between
neighbouring samples and extremes each zero of g stands alone, even if two zeros are close together.
Each bracket is then closed on g itself. A pair of zeros is found if g between them exceeds
RESOLVED times its largest value over the step.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from kinetree.core.arrays import Array, read_only
from kinetree.engine.compiler.law import law_name
from kinetree.errors import InputError
from kinetree.simulate.functions import add_time, check_arguments

CLOSEST = 1e-15  # of a step: the largest distance of a root from a change of sign
DEGREE = 16  # of the polynomial that replaces an event within a step
HALVINGS = 6  # of a step whose function does not die out, because it bends or jumps
RESOLVED = 1e-7  # of the largest coefficient: the last ones must be below

NODES = (1 - np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)) / 2  # from 0 to 1
TO_SERIES = np.linalg.inv(chebyshev.chebvander(2 * NODES - 1, DEGREE))

EventFunction = Callable[[float, Array, Array], float]
ShareFunction = Callable[[Array], Array]  # shares (K,) -> values (K, G)


@dataclass(frozen=True, eq=False)
class Event:
    """A condition g(t, q, dq) = 0 whose times are found during a simulation.

    Args:
        function: g(t, q, dq), a number of any unit, of one state.
        direction: 1 for rising, -1 for falling, 0 for both.
        terminal: whether the motion ends there.
        name: name in results and messages.
    """

    function: EventFunction
    direction: int = 0
    terminal: bool = False
    name: str = ""

    def value(self, t: float, q: Array, dq: Array) -> float:
        """Return g of one state, which it cannot change.

        Args:
            t: time, s.
            q: joint positions, shape (nq,), rad or m.
            dq: joint rates, shape (n,), rad/s or m/s.
        """
        try:
            result = self.function(t, read_only(q), read_only(dq))
        except Exception as problem:
            add_time(problem, f"the event {self.name!r}", t)
            raise
        is_number = not (isinstance(result, bool | np.bool_) or np.iscomplexobj(result))
        try:
            value = float(result) if is_number else math.nan
        except (TypeError, ValueError):
            value = math.nan
        if math.isnan(value):
            raise InputError(
                f"the event {self.name!r} returned {result!r:.60} at t = {t:.6g} s; expected a "
                "real number whose sign changes there, such as q[0] - 1 in the place of q[0] > 1."
            )
        return value

    def wanted(self, rising: bool) -> bool:
        """Return True if a crossing in this direction counts.

        Args:
            rising: whether g rises.
        """
        return self.direction == 0 or rising == (self.direction > 0)


@dataclass(frozen=True, eq=False)
class Halt:
    """An end of the motion from outside, such as a limit of computing time; not for users.

    asked: returns True if the motion is to end where it is; it is called after every step.
    """

    asked: Callable[[], bool]


@dataclass(frozen=True, eq=False)
class Occurrence:
    """A zero of an event: its time, state and rollout.

    Args:
        event: name of the event.
        t: time, s.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        rollout: index of the rollout in the batch.
    """

    event: str
    t: float
    q: Array
    dq: Array
    rollout: tuple[int, ...] = ()


def event(
    function: EventFunction, *, direction: int = 0, terminal: bool = False, name: str | None = None
) -> Event:
    """An event for `simulate(..., events=[...])`.

    Every change of sign that the results of the motion show is found, and two within one step of
    the integration as well: the function along the motion is replaced by a polynomial that is exact
    to 1e-7 of its largest value over a step. Pairs of zeros can be missed between which it stays
    below that, or which are both between two results, where it jumps or is far from it for most of
    the step; a smaller `dt` finds them. The time of a zero is
    exact to rounding for the motion that was computed. A function that starts at zero, or touches
    zero without passing it, is not an event.

    Args:
        function: g(t, q, dq) of one state, a number of any unit.
        direction: 1 for zeros where it rises, -1 where it falls, 0 for both.
        terminal: whether the motion ends at the first zero.
        name: of the event in `meta["events"]`; by default the function's own.
    """
    if not callable(function):
        raise InputError(f"an event is {function!r}; expected a function g(t, q, dq).")
    if direction not in (-1, 0, 1):
        raise InputError(f"direction of the event is {direction!r}; expected 1, -1 or 0 for both.")
    check_arguments(function, f"the event {law_name(function)!r}", ("t", "q", "dq"))
    label = getattr(function, "__name__", "event") if name is None else name
    return Event(function, direction, bool(terminal), label)


Events = Event | Halt | EventFunction | Sequence[Event | Halt | EventFunction]


def read_events(events: Events) -> list[Event | Halt]:
    """Read one event or several; a bare function is an event."""
    listed = events if isinstance(events, Sequence) else [events]
    return [x if isinstance(x, Event | Halt) else event(x) for x in listed]


def measure(events: Sequence[Event], t: Array, q: Array, dq: Array) -> Array:
    """The values of all events at states (K, ...), (K, E)."""
    rows = zip(t.tolist(), q, dq, strict=True)
    return np.array([[event.value(*row) for event in events] for row in rows]).reshape(len(t), -1)


@dataclass(frozen=True)
class Crossing:
    """A change of sign of function `index` between two shares of a step."""

    index: int
    low: float
    high: float
    rising: bool


def samples(
    function: ShareFunction, low: float, high: float, depth: int = 0
) -> tuple[Array, Array]:
    """Shares (K,), increasing, and values (K, G), between which no function has two zeros."""
    shares = low + (high - low) * NODES
    shares[-1] = high
    values = function(shares)
    series = TO_SERIES @ values
    size = abs(series)
    # a function that its constant part keeps away from zero needs no further look
    near = size[0] <= size[1:].sum(0)
    rough = near & (size[-3:].max(0) > RESOLVED * size.max(0))
    if rough.any() and depth < HALVINGS:
        middle = (low + high) / 2
        first = samples(function, low, middle, depth + 1)
        second = samples(function, middle, high, depth + 1)
        return np.append(first[0], second[0][1:]), np.concatenate([first[1], second[1][1:]])
    extremes = [_extreme_points(series[:, j]) for j in np.flatnonzero(near)]
    between = low + (high - low) * np.concatenate([*extremes, np.zeros(0)])
    return with_samples(function, shares, values, between[(between > low) & (between < high)])


def with_samples(
    function: ShareFunction, shares: Array, values: Array, more: Array
) -> tuple[Array, Array]:
    """Shares and values with those at further shares."""
    more = np.setdiff1d(more, shares)
    if not len(more):
        return shares, values
    order = np.argsort(np.append(shares, more), kind="stable")
    return np.append(shares, more)[order], np.concatenate([values, function(more)])[order]


def _extreme_points(series: Array) -> Array:
    """The points in [0, 1] at which a Chebyshev series has its extremes."""
    slope = chebyshev.chebder(series)
    roots = chebyshev.chebroots(chebyshev.chebtrim(slope, 1e-13 * abs(slope).max()))
    real = roots.real[abs(roots.imag) <= 1e-6]  # two that almost coincide count as one
    return (real[abs(real) <= 1] + 1) / 2


def crossings(shares: Array, values: Array, sides: Array) -> tuple[list[Crossing], Array]:
    """Sign changes in the order of their brackets, and the signs after them.

    sides, (G,), are the signs before the first sample; 0 if there is none yet. A zero keeps the
    sign before it, so that a function that comes back from zero has not crossed it.
    """
    changes: list[Crossing] = []
    lows = np.append(shares[0], shares[:-1])
    for low, high, row in zip(lows.tolist(), shares.tolist(), np.sign(values), strict=True):
        changed = np.flatnonzero(row * sides < 0).tolist()
        changes += [Crossing(j, low, high, bool(row[j] > 0)) for j in changed]
        sides = np.where(row != 0, row, sides)
    return changes, sides


def close(function: ShareFunction, change: Crossing) -> float:
    """The share at which a function has changed its sign, by bisection.

    The value there has the sign after the change, or is 0.
    """
    low, high, sign = change.low, change.high, 1.0 if change.rising else -1.0

    def has_changed(share: float) -> bool:
        return sign * float(function(np.array([share]))[0, change.index]) >= 0

    if has_changed(low):
        return low
    while high - low > CLOSEST and low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if has_changed(middle) else (middle, high)
    return high
