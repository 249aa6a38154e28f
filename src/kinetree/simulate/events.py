"""Events: moments at which a function of the state passes through zero."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, read_only
from kinetree.errors import InputError


@dataclass(frozen=True, eq=False)
class Event:
    """g(t, q, dq) = 0. direction: 1 rising, -1 falling, 0 both. terminal: the motion ends there."""

    function: Callable[[float, Array, Array], float]
    direction: int = 0
    terminal: bool = False
    name: str = ""

    def value(self, t: float, q: Array, dq: Array) -> float:
        """g of one state, which it cannot change."""
        found = self.function(t, read_only(q), read_only(dq))
        try:
            value = float(found)
        except (TypeError, ValueError):
            raise InputError(
                f"the event {self.name!r} returned {found!r} at t = {t:.6g} s; expected a number."
            ) from None
        if math.isnan(value):
            raise InputError(
                f"the event {self.name!r} returned NaN at t = {t:.6g} s, q = {q.tolist()}; expected"
                " a number. Its sign decides when the event happens."
            )
        return value

    def wanted(self, rising: bool) -> bool:
        """Whether a crossing in this direction counts."""
        return self.direction == 0 or rising == (self.direction > 0)


@dataclass(frozen=True, eq=False)
class Occurrence:
    """A zero of an event: when, in which state, in which rollout."""

    event: str
    t: float
    q: Array
    dq: Array
    rollout: tuple[int, ...] = ()


def event(
    function: Callable[[float, Array, Array], float],
    *,
    direction: int = 0,
    terminal: bool = False,
    name: str | None = None,
) -> Event:
    """An event for `simulate(..., events=[...])`.

    Every change of sign is found, two within one step of the integration included: the function
    along the motion is replaced by a polynomial that is exact to 1e-7 of its largest value over a
    step, and pairs of zeros between which it stays below that can be missed. The time of a zero is
    exact to rounding for the motion that was computed. A function that starts at zero, or touches
    zero without passing it, is no event.

    Args:
        function: g(t, q, dq) of one state, a number.
        direction: 1 for zeros where it rises, -1 where it falls, 0 for both.
        terminal: whether the motion ends at the first zero.
        name: of the event in `meta["events"]`; the function's own where left out.
    """
    if not callable(function):
        raise InputError(f"an event is {function!r}; expected a function g(t, q, dq).")
    if direction not in (-1, 0, 1):
        raise InputError(f"direction of the event is {direction!r}; expected 1, -1 or 0 for both.")
    label = getattr(function, "__name__", "event") if name is None else name
    return Event(function, direction, bool(terminal), label)


def read_events(events: Any) -> list[Event]:
    """One event or several; a bare function is one."""
    given = list(events) if isinstance(events, list | tuple) else [events]
    return [x if isinstance(x, Event) else event(x) for x in given]


def measure(events: Sequence[Event], t: Array, q: Array, dq: Array) -> Array:
    """The values of all events at states (K, ...), (K, E)."""
    rows = zip(t.tolist(), q, dq, strict=True)
    return np.array([[event.value(*row) for event in events] for row in rows]).reshape(len(t), -1)
