"""Pieces: functions that a recursion calls once for each link, with the same arithmetic each time.

A piece is an ordinary function. While a recorder is active on this thread, its calls go to the
recorder instead, which may compute a piece once and run it in a loop over the links. The arguments
are then taken apart into their numbers, and put together again around others: a piece therefore
takes and returns numbers, arrays, tuples and frozen records of these, and what else it is given
(None, a bool, a word) decides which arithmetic it has.
"""

import functools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from itertools import islice
from math import prod
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

Given = ParamSpec("Given")
Result = TypeVar("Result")

Form = Any  # how arguments are put together: nested tuples that can be compared and hashed
NUMBER = "number"


class Recorder(Protocol):
    """What the calls of pieces are handed to."""

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return the result of a piece, of scalars of the recorder's own."""
        ...


_active: ContextVar[Recorder | None] = ContextVar("pieces", default=None)


def piece(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Make a function a piece. It is called with positional arguments."""

    @functools.wraps(function)
    def call(*args: Given.args, **options: Given.kwargs) -> Result:
        recorder = _active.get()
        if recorder is None:
            return function(*args, **options)
        return recorder.call(function, args)

    return call


def is_recording() -> bool:
    """Return True if calls of pieces on this thread go to a recorder."""
    return _active.get() is not None


@contextmanager
def recording(recorder: Recorder | None) -> Generator[None]:
    """Hand the calls of pieces on this thread to a recorder; None: to the functions again."""
    token = _active.set(recorder)
    try:
        yield
    finally:
        _active.reset(token)


def take_apart(x: Any, numbers: list[Any]) -> Form:
    """Append the numbers of x, of any scalar kind, to a list; return how x is made of them."""
    kind = type(x)
    if kind is np.ndarray:
        numbers.extend(x.ravel().tolist())
        return (kind, x.shape)
    if kind is tuple or kind is list:
        return (tuple, *[take_apart(part, numbers) for part in x])
    if x is None or kind is bool or kind is str:
        return (None, x)
    if is_dataclass(kind):
        return (kind, *[take_apart(getattr(x, name), numbers) for name in _names(kind)])
    numbers.append(x)
    return NUMBER


def put_together(form: Form, numbers: Iterator[Any]) -> Any:
    """Return what was taken apart, around other numbers."""
    if form is NUMBER:
        return next(numbers)
    kind, *parts = form
    if kind is np.ndarray:
        shape = parts[0]
        made = np.empty(prod(shape), dtype=object)
        made[:] = list(islice(numbers, len(made)))
        return made.reshape(shape)
    if kind is None:
        return parts[0]
    rebuilt = [put_together(part, numbers) for part in parts]
    return tuple(rebuilt) if kind is tuple else kind(*rebuilt)


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
