"""Numbers of records, found by the types of their fields, checked, changed and listed; names, too.

A field holds numbers of any kind (floats, symbols, traced scalars) if `Scalar` or `Array` is a part
of its type. Other fields are plain: indices, names, and floats that decide no result or the form of
one, such as limits and exponents. `field(metadata=PLAIN)` makes any field plain. A field declared
by `number(unit, low)` has a unit and a range, which `checked` looks at where a record enters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from dataclasses import field as dataclass_field
from functools import cache, partial
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

import numpy as np

from kinetree.core.arrays import Named, converted, known_number, scalar
from kinetree.core.options import finite
from kinetree.errors import InputError
from kinetree.scalars import Scalar

Record = TypeVar("Record")
PLAIN = {"plain": True}
# numbers that stay as they are in another kind of numbers, because they cost nothing
KEPT = {"scale": 1, "arms": 1, "offset": 0, "rest": 0, "damping": 0, "play": 0}

# ranges of numbers, as `number` names them
RANGES: dict[str, Callable[[float], bool]] = {
    "": lambda x: True,
    "at least 0": lambda x: x >= 0,
    "above 0": lambda x: x > 0,
    "at least 1": lambda x: x >= 1,
    "0 to 1": lambda x: 0 <= x <= 1,
}


def mapping(value: Any, what: str, example: str) -> Mapping[str, Any]:
    """The value, if it is a mapping from names; else raise InputError with an example of one."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is {value!r:.60}; expected {example}.")
    return value  # type: ignore[return-value]


def number(unit: str, low: str = "", *, default: Any = MISSING, **metadata: Any) -> Any:
    """A field of a record that holds a number, or a pair of numbers.

    Args:
        unit: its unit, or what it is like.
        low: one of RANGES, in which it has to be.
        default: of the field.
        metadata: more that is said about it.
    """
    return dataclass_field(default=default, metadata={"unit": unit, "low": low, **metadata})


def checked(record: Any, kind: type[Record], what: str) -> Record:
    """The record, if it is of a kind, its words are known and its numbers in their ranges.

    Records in its fields are checked alike.

    Args:
        record: what a user gave.
        kind: class of records.
        what: the record in messages, such as "friction of joint 'elbow'".
    """
    if not isinstance(record, kind):
        names = ", ".join(x.name for x in fields(kind))  # type: ignore[arg-type]
        raise InputError(f"{what} is {record!r:.60}; expected a record {kind.__name__}({names}).")
    changes: dict[str, Any] = {}
    for x, words, kinds in _checked_fields(type(record)):
        old = getattr(record, x.name)
        if old is x.default:  # as most numbers of most records are
            continue
        name = f"{x.name} of {what}"
        if not kinds and "low" not in x.metadata:  # a Literal
            if old not in words:
                raise InputError(f"{name} is {old!r:.60}; expected one of {', '.join(words)}.")
            continue
        if old is None and NoneType in words:
            continue
        if kinds:
            changes[x.name] = checked(old, type(old) if type(old) in kinds else kinds[0], name)
        if isinstance(old, tuple) and "low" in x.metadata and len(old) != 2:
            raise InputError(
                f"{name} has {len(old)} entries; expected one number, or a pair (positive "
                "direction, negative direction)."
            )
        if "low" in x.metadata:
            read = scalar
            if x.type is float:  # which cannot be a symbol
                read = partial(finite, infinite=x.metadata.get("infinite", False))
            several = isinstance(old, tuple)
            entries: Any = old if several else (old,)
            new = tuple(read(entry, name) for entry in entries)
            for entry in new:
                check_range(entry, name, **x.metadata)
            changes[x.name] = new if several else new[0]
    return unchecked(record, **changes)


@cache
def _checked_fields(kind: type) -> list[tuple[Field[Any], tuple[Any, ...], list[Any]]]:
    """Fields that `checked` looks at, with the parts of their types, and the records in these."""
    found: list[tuple[Field[Any], tuple[Any, ...], list[Any]]] = []
    for x in fields(kind):
        words = get_args(x.type)
        kinds: list[Any] = list(filter(is_dataclass, words or (x.type,)))
        if kinds or "low" in x.metadata or get_origin(x.type) is Literal:
            found.append((x, words, kinds))
    return found


def check_range(x: Scalar, name: str, low: str, unit: str, **_: Any) -> None:
    """Raise InputError for a number out of its range; symbols and traced scalars are trusted."""
    value = known_number(x)
    if value is not None and not RANGES[low](value):
        raise InputError(f"{name} is {x}; expected {low}, {unit}.")


@cache
def number_fields(kind: type) -> tuple[str, ...]:
    """Names of the fields of a kind of record that hold numbers."""
    found = (x for x in fields(kind) if not x.metadata.get("plain"))
    return tuple(x.name for x in found if _holds_numbers(x.type))


def _holds_numbers(kind: Any) -> bool:
    if is_dataclass(kind):
        return bool(number_fields(kind))  # type: ignore[arg-type]
    return kind is Scalar or isinstance(kind, Named) or any(map(_holds_numbers, get_args(kind)))


def mapped(value: Record, change: Callable[[Any, str], Any], field: str = "") -> Record:
    """The record with every number and array changed, without its checks.

    Args:
        value: a record; or tuples, mappings and numbers, as its fields hold them.
        change: returns the new number or array, from the old one and the name of its field.
        field: name of the field that holds `value`.
    """
    result: Any = value
    if is_dataclass(value):
        names = number_fields(type(value))
        result = unchecked(value, **{x: mapped(getattr(value, x), change, x) for x in names})
    elif isinstance(value, Mapping):
        result = {key: mapped(x, change, field) for key, x in value.items()}
    elif isinstance(value, tuple | list):
        result = tuple(mapped(x, change, field) for x in value)
    elif value is not None and not isinstance(value, str):
        result = change(value, field)
    return result


def retyped(value: Record, scalar: Callable[[Any], Any]) -> Record:
    """The record with every number of another kind, which `scalar` makes of it."""

    def change(x: Any, field: str) -> Any:
        if isinstance(x, np.ndarray):
            return converted(x, scalar)
        return x if field in KEPT and x == KEPT[field] else scalar(x)

    return mapped(value, change)


def unchecked(record: Record, **changes: Any) -> Record:
    """A record with other values and no check of them, which traced scalars do not allow."""
    copy = object.__new__(type(record))
    copy.__dict__.update({**record.__dict__, **changes})
    return copy


def named_numbers(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and array of a record with its name: normal.0, joints.elbow.armature."""
    if is_dataclass(value):
        parts = [(x, getattr(value, x)) for x in number_fields(type(value))]
    elif isinstance(value, Mapping):
        parts = [*value.items()]
    elif isinstance(value, tuple | list):
        parts = [(getattr(x, "name", k), x) for k, x in enumerate(value)]
    else:
        if value is not None and not isinstance(value, str):
            yield name, value
        return
    for key, x in parts:
        yield from named_numbers(x, f"{name}.{key}" if name else str(key))


def numbers_in(value: Any) -> tuple[Any, ...]:
    """Every number and array of a record, in the order of its fields."""
    return tuple(x for _, x in named_numbers(value))


def with_numbers(value: Record, numbers: Iterable[Any]) -> Record:
    """The record with other numbers, in the order of `numbers_in`."""
    given = iter(numbers)
    return mapped(value, lambda _, field: next(given))


# fields that hold names of parts, and mappings whose keys are such names
NAMES = {"name", "parent", "child", "link", "joint", "tool", "points"}
KEYED = {"joints", "springs", "actuators", "motors"}
# fields of records with names
NAMED = NAMES | KEYED | {"links", "frames", "mimic", "rotor", "contacts", "collisions", "shapes"}


def renamed(value: Record, rename: Callable[[str], str], field: str = "") -> Record:
    """The record with other names of links, joints, frames and other parts."""
    result: Any = value
    if is_dataclass(value):
        names = (x.name for x in fields(value) if x.name in NAMED)
        result = unchecked(value, **{x: renamed(getattr(value, x), rename, x) for x in names})
    elif isinstance(value, Mapping):
        keys = {key: rename(key) if field in KEYED else key for key in value}
        result = {keys[key]: renamed(x, rename, field) for key, x in value.items()}
    elif isinstance(value, tuple | list):
        result = tuple(renamed(x, rename, field) for x in value)
    elif isinstance(value, str) and field in NAMES:
        result = rename(value)
    return result
