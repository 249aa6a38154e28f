"""Events: moments at which a function of the state passes through zero."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kinetree.arrays import Array
from kinetree.errors import InputError


@dataclass(frozen=True, eq=False)
class Event:
    """G(t, q, dq) = 0. direction: 1 rising, -1 falling, 0 both. terminal: the motion ends there."""

    function: Callable[[float, Array, Array], float]
    direction: int = 0
    terminal: bool = False
    name: str = ""


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
    """An event for `simulate(..., events=[...])`."""
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


def crosses(found: Event, before: float, after: float) -> bool:
    """Whether a zero lies between, in the wanted direction; a start at zero is none."""
    if before == 0 or (before > 0) == (after > 0):
        return False
    return found.direction == 0 or (after > before) == (found.direction > 0)


def locate(function: Callable[[float], float], low: float, high: float) -> float:
    """The place of a change of sign between two numbers, by Illinois' regula falsi."""
    f_low, f_high = function(low), function(high)
    for _ in range(100):
        if f_high == f_low or abs(high - low) <= 4e-16 * max(1.0, abs(high)):
            break
        middle = high - f_high * (high - low) / (f_high - f_low)
        f = function(middle)
        if f == 0:
            return middle
        if (f > 0) != (f_high > 0):
            low, f_low = high, f_high
        else:
            f_low /= 2  # keeps the other end from staying where it is
        high, f_high = middle, f
    return high
