"""Options of the public functions: names, lists of names, switches and seeds, checked by type.

A value of another type is an InputError that names the option, instead of an error of Python or
NumPy from somewhere within. `typed` checks all arguments of a function by its own signature:

    @typed
    def write_csv(trajectory: Record, path: str | PathLike[str]) -> None: ...
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from math import isfinite, isnan
from os import PathLike
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import numpy as np

from kinetree.core.containers import describe, label_kind
from kinetree.core.text import with_known_arguments
from kinetree.errors import InputError

Given = ParamSpec("Given")
Result = TypeVar("Result")
# types of a signature, in the words of an error
WORDS: Mapping[object, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    NoneType: "None",
    PathLike: "a path",
    Callable: "a function",
}


def typed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Raise InputError for arguments that are not of the types in the signature of `function`.

    Types alone: the function checks values, also the words of a Literal. Types that are not
    classes (ArrayLike, protocols, names in quotes) are left to the function too. A class may
    describe itself and how to get one in `_in_words`.
    """

    @functools.cache
    def signature() -> inspect.Signature:  # at the first call, so that importing stays quick
        return inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Given.args, **options: Given.kwargs) -> Result:
        try:
            arguments = signature().bind(*args, **options).arguments
        except TypeError:  # a missing or unknown argument
            if any(x.kind is x.VAR_KEYWORD for x in signature().parameters.values()):
                return function(*args, **options)
            return with_known_arguments(function)(*args, **options)
        for option, value in arguments.items():
            declared = signature().parameters[option]
            kind = declared.annotation
            if not (value is declared.default or type(value) is kind or _accepts(kind, value)):
                plain = isinstance(value, Mapping) or label_kind(type(value)) is None
                shown = repr(value)[:60] if plain else describe(value)
                raise InputError(f"{option} is {shown}; expected {_words(kind)}.")
        return function(*args, **options)

    return call


def _accepts(kind: Any, value: Any) -> bool:
    """Return True if a value is of the annotated type, or if the type is not a class."""
    base, inner = get_origin(kind) or kind, get_args(kind)
    if base in (Union, UnionType):
        return any(_accepts(x, value) for x in inner)
    if base is Literal:
        return isinstance(value, str)
    if isinstance(base, TypeVar):
        return _accepts(base.__bound__, value)
    if base in (int, float):
        number = "__index__" if base is int else "__float__"
        single = hasattr(type(value), number) and getattr(value, "ndim", 0) == 0
        return single and not (base is int and isinstance(value, bool))
    if base is bool:
        return isinstance(value, bool | np.bool_)
    if not isinstance(base, type) or base in (Any, inspect.Parameter.empty):
        return True
    if issubclass(base, Mapping):
        return isinstance(value, Mapping) and all(
            _accepts(x, entry)
            for item in cast("Mapping[Any, Any]", value).items()
            for x, entry in zip(inner, item, strict=False)
        )
    if _is_list(base):
        listed = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
        flat = listed and getattr(value, "ndim", 1) == 1
        return flat and all(_accepts(x, entry) for x in inner[:1] for entry in value)
    return getattr(base, "_is_protocol", False) or isinstance(value, base)


def _is_list(base: Any) -> bool:
    """Return True for the types Sequence, Collection, list and so on."""
    return isinstance(base, type) and issubclass(base, Collection) and base not in (str, bytes)


def _words(kind: Any) -> str:
    """An annotated type in words."""
    base, inner = get_origin(kind) or kind, get_args(kind)
    if base in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, inner)))
    if base in WORDS:
        return WORDS[base]
    if base is Literal:
        return " or ".join(map(repr, inner))
    if isinstance(base, TypeVar):
        return _words(base.__bound__)
    if isinstance(base, type) and issubclass(base, Mapping):
        return f"a dict, each value {_words(inner[1])}"
    if _is_list(base):
        return f"a list, each entry {_words(inner[0])}"
    name = getattr(base, "__name__", str(base))
    return getattr(base, "_in_words", f"{'an' if name[0] in 'AEIO' else 'a'} {name}")


def name(value: object, option: str) -> str:
    """Return a name; raise InputError for anything that is not a string."""
    if not isinstance(value, str):
        raise InputError(f"{option} is {value!r:.60}; expected a name in quotes.")
    return value


def optional_name(value: object, option: str) -> str | None:
    """Return a name or None; raise InputError for anything else."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"{option} is {value!r:.60}; expected a name in quotes, or None.")
    return value


def names(value: object, option: str) -> tuple[str, ...]:
    """Return a list of names as a tuple; raise InputError for anything else."""
    if isinstance(value, str):
        raise InputError(f"{option} is {value!r}; expected a list of names, such as [{value!r}].")
    listed = isinstance(value, list | tuple | np.ndarray) and getattr(value, "ndim", 1) == 1
    entries: list[object] = list(cast("Any", value)) if listed else [None]
    if not all(isinstance(entry, str) for entry in entries):
        raise InputError(f"{option} is {value!r:.60}; expected a list of names in quotes.")
    return tuple(str(entry) for entry in entries)


def is_one_of(value: object, choices: Iterable[str]) -> bool:
    """Return True for one of some words; False for any other value, also one without a hash."""
    return isinstance(value, str) and value in tuple(choices)


def switch(value: object, option: str) -> bool:
    """Return True or False; raise InputError for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{option} is {value!r:.60}; expected True or False.")
    return bool(value)


def finite(value: Any, option: str, *, infinite: bool = False) -> float:
    """Return a number as a float; raise InputError for NaN, and for infinity unless allowed."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{option} is {value!r:.60}; expected a number.") from None
    if isnan(number) or not (infinite or isfinite(number)):
        raise InputError(f"{option} is {number}; expected a finite number.")
    return number


def count(value: Any, option: str) -> int:
    """Return a number of things; raise InputError unless it is a whole number of 0 or more."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 0:
        raise InputError(f"{option} is {value!r:.60}; expected a whole number, 0 or more.")
    return int(value)


def generator(value: object, option: str = "rng") -> "np.random.Generator":
    """Return a generator of random numbers, from one, from a seed, or a new one for None."""
    if value is None or isinstance(value, np.random.Generator):
        return np.random.default_rng(value)
    return np.random.default_rng(count(value, option))


def numbers(value: object, option: str, expected: str) -> Any:
    """Return an array of float64; raise InputError for text, objects and ragged lists."""
    try:
        return np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{option} is {value!r:.60}; expected {expected}.") from None
