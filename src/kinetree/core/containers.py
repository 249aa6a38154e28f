"""Objects whose entries have names, recognised by what they can do, and times in seconds.

A dict has keys, a Series an index, a DataFrame of pandas or polars columns: `present/labels.py`
aligns them by name. Where names have no meaning, and for objects with names or units that are not
read, `refuse_labels` raises, so that nothing is read by position that may mean something else.
"""

import sys
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from kinetree.errors import InputError

DICT, SERIES, FRAME, UNKNOWN = "dict", "Series", "DataFrame", "unknown"
PLAIN_PACKAGES = ("builtins", "numpy", "torch", "jax", "jaxlib", "cupy", "kinetree")
FOREIGN = ("dims", "units")  # of xarray, pint and unyt
MARKS = (*FOREIGN, "unit", "columns", "column_names")
NUMBERS: set[type] = {float, int}
_known: dict[type, str | None] = {}  # a dict, because torch.compile warns of functools.cache


def label_kind(kind: type) -> str | None:
    """DICT, SERIES, FRAME or UNKNOWN for types with names or units; None for plain numbers."""
    if kind not in _known:
        _known[kind] = _find_kind(kind)
    return _known[kind]


def _find_kind(kind: type) -> str | None:
    if issubclass(kind, Mapping):
        return DICT
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return UNKNOWN
    if kind.__module__.partition(".")[0] in PLAIN_PACKAGES:
        return None
    if hasattr(kind, "to_numpy") and not any(hasattr(kind, x) for x in FOREIGN):
        return FRAME if hasattr(kind, "columns") else SERIES if hasattr(kind, "iloc") else None
    return UNKNOWN if any(hasattr(kind, x) for x in MARKS) else None


def has_labels(value: object) -> bool:
    """Return True for objects with names or units, and for lists of them."""
    kind = type(value)
    if kind is list or kind is tuple:
        entries = cast("list[object]", value)
        kinds = {*map(type, entries)}
        if kinds <= NUMBERS:  # quick, for the lists of one state
            return False
        # the first of nested lists is examined alone: all of them would take time in large ones
        return any(label_kind(x) for x in kinds) or has_labels(entries[0])
    return label_kind(kind) is not None


def refuse_labels(value: Any, name: str, instead: str = "a plain array") -> None:
    """Raise InputError for an object with names or units, or with entries that are missing."""
    if type(value) is np.ndarray and value.dtype.names is None:
        return
    fields = getattr(getattr(value, "dtype", None), "names", None)
    if fields:
        raise InputError(
            f"{name} is a structured NumPy array with the fields {', '.join(fields[:8])}; its "
            "names are not read. Pass pandas.DataFrame(x), or the dict {name: x[name] for name in "
            "x.dtype.names}."
        )
    if has_labels(value):
        raise InputError(
            f"{name} is {describe(value)}; expected {instead}. If its order and units (SI, rad) "
            "are right, pass its values, such as x.to_numpy(), or list(x.values()) of a dict."
        )
    refuse_masked(value, name)


def is_masked_type(kind: type) -> bool:
    """Return True for NumPy's masked arrays; numpy.ma takes long to import, so who has one did."""
    return "numpy.ma" in sys.modules and issubclass(kind, np.ma.MaskedArray)


def refuse_masked(value: object, name: str) -> None:
    """Raise InputError for a masked array of NumPy with entries that are masked."""
    if is_masked_type(type(value)) and np.ma.is_masked(value):
        raise InputError(
            f"{name} is a masked array with entries that are missing; expected numbers. "
            f"{name}.filled(numpy.nan) makes them NaN."
        )


def describe(value: object) -> str:
    """Return what an object with names is: "a pandas Series", "a list of dicts"."""
    if type(value) in (list, tuple):
        entries = cast("list[object]", value)
        first = next((x for x in entries if label_kind(type(x))), entries[0])
        return f"a {type(value).__name__} of objects of type {type_name(first)}"
    name = type_name(value)
    return f"an {name}" if name[0] in "aeiox" else f"a {name}"


def type_name(value: object) -> str:
    """Return the type of a value with its package: "pandas Series"."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package} {kind.__name__}"


def read_times(value: Any, name: str = "t") -> Any:
    """Return times of rows as plain numbers in seconds; plain numbers as they are.

    A column or an index gives its values in order; time differences become seconds.
    """
    if type(value) is np.ndarray and value.dtype.kind == "f":
        return value
    if label_kind(type(value)) != SERIES and has_labels(value):
        raise InputError(
            f"{name} is {describe(value)}; expected one column of times, in s, such as frame['t']."
        )
    x = cast("Any", value).to_numpy() if hasattr(value, "to_numpy") else value
    kind = x.dtype.kind if isinstance(x, np.ndarray) else ""
    if kind == "M":
        raise InputError(
            f"{name} has dates; expected times in s from a start. Subtract the first date: "
            f"({name} - {name}[0]) are time differences, which are read in seconds."
        )
    return np.where(np.isnat(x), np.nan, x / np.timedelta64(1, "s")) if kind == "m" else x
