"""Pieces: functions that a recursion calls once for each link, with the same arithmetic each time.

A piece is an ordinary function. While a recorder is active on this thread, its calls go to the
recorder instead, which may compute a piece once and run it in a loop over the links. The arguments
are then taken apart into their numbers, and put together again around others: a piece therefore
takes and returns numbers, arrays, tuples and frozen records of these, none of which may be written
to afterwards, and what else it is given (None, a bool, a word) decides which arithmetic it has.
"""

import functools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

Given = ParamSpec("Given")
Result = TypeVar("Result")


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


class Form:
    """How a value is made of its parts. There is one object for each form (`form_of`).

    kind: np.ndarray, whose part is its shape; tuple or a record, whose parts are forms; None for
    what has no numbers, whose part is the value itself. size: how many numbers it has.
    """

    __slots__ = ("kind", "parts", "size")

    def __init__(self, kind: Any, *parts: Any) -> None:
        self.kind, self.parts = kind, parts
        inside = prod(parts[0]) if kind is np.ndarray else sum(x.size for x in parts if kind)
        self.size: int = 1 if kind is float else inside


form_of = functools.lru_cache(None, typed=True)(Form)
NUMBER = form_of(float)
DOUBLE = np.dtype(np.float64)  # there is one object of it


class Parts:
    """Takes values apart into their numbers, and puts values together, each once.

    A value that comes again is recognised: its arrays must not be written to in between. key: makes
    what stands for a number from it; a float stands for itself.
    """

    def __init__(self, key: Callable[[Any], Any]) -> None:
        self._key = key
        # by id; the value itself is kept, so that no other gets its id
        self._known: dict[int, tuple[Form, list[Any], Any]] = {}

    def of(self, x: Any) -> tuple[Form, list[Any], Any]:
        """The form of x, the keys of its numbers, and x."""
        known = self._known.get(id(x))
        if known is not None:
            return known
        kind = type(x)
        if kind is np.ndarray:
            key, keys = self._key, x.ravel().tolist()
            if x.dtype is not DOUBLE:
                keys = [y if type(y) is float else key(y) for y in keys]
            form = form_of(kind, x.shape)
        elif x is None or kind is bool or kind is str:
            form, keys = form_of(None, x), []
        elif (names := _names(kind)) is not None:
            parts = [getattr(x, name) for name in names] if names else x
            forms: list[Form] = []
            keys = []
            for part in parts:
                its_form, its_keys, _ = self.of(part)
                forms.append(its_form)
                keys += its_keys
            form = form_of(tuple if kind is list else kind, *forms)
        else:
            return NUMBER, [x if kind is float else self._key(x)], x
        if kind is list:  # it may grow
            return form, keys, x
        found = self._known[id(x)] = form, keys, x
        return found

    def together(self, form: Form, numbers: Sequence[Any], keys: list[Any]) -> Any:
        """A value of a form around numbers with these keys."""
        if form is NUMBER:
            return numbers[0]
        kind, parts = form.kind, form.parts
        if kind is None:
            return parts[0]
        if kind is np.ndarray:  # known as a part of what it belongs to, which is enough
            return _shaped(numbers, form.size, *parts)
        made: list[Any] = []
        at = 0
        for part in parts:
            end = at + part.size
            if part.kind is np.ndarray:
                made.append(_shaped(numbers[at:end], part.size, *part.parts))
            else:
                made.append(self.together(part, numbers[at:end], keys[at:end]))
            at = end
        value = tuple(made) if kind is tuple else kind(*made)
        self._known[id(value)] = form, keys, value
        return value


def _shaped(numbers: Sequence[Any], size: int, shape: tuple[int, ...]) -> Any:
    """An array of objects."""
    value = np.fromiter(numbers, object, size)
    return value if len(shape) == 1 else value.reshape(shape)


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The names of the parts of a record; none for a tuple or list, None for a number."""
    if kind is tuple or kind is list:
        return ()
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
