"""Objects whose entries have names: dicts, data frames, xarray, and how to recognise them.

Packages are recognised by the names of their types, so that none of them is imported here before
one of its objects arrives. `core/labels.py` aligns such objects by name; where names have no
meaning, `refuse_labels` raises, so that nothing is read by position. Times are the exception: their
order is that of the rows, and `read_times` takes them as they are, in seconds.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.core.units import Dims, Unit

DICT, SERIES, FRAME, POLARS, XARRAY = "dict", "Series", "DataFrame", "polars", "xarray"
PACKAGE = {SERIES: "pandas", FRAME: "pandas", POLARS: "polars", XARRAY: "xarray"}
KINDS = {
    ("pandas", "Series"): SERIES,
    ("pandas", "DataFrame"): FRAME,
    ("polars", "DataFrame"): POLARS,
    ("xarray", "DataArray"): XARRAY,
}
# objects with names that are not arrays yet, and how to make them one
OTHERS = {
    ("polars", "LazyFrame"): "call .collect() first",
    ("polars", "Series"): "a polars Series has no names; pass a polars DataFrame with a column for "
    "each joint, or its values with .to_numpy()",
    ("xarray", "Dataset"): "choose one of its variables",
    ("pyarrow", "Table"): "convert it with .to_pandas(), or with polars.from_arrow(table)",
    ("pyarrow", "RecordBatch"): "convert it with .to_pandas(), or with polars.from_arrow(batch)",
    ("pint", "Quantity"): "convert it to SI units, and pass its values: q.to('rad').magnitude",
    ("astropy", "Quantity"): "convert it to SI units, and pass its values: q.to_value('rad')",
    ("unyt", "unyt_array"): "convert it to SI units, and pass its values: q.to_value('rad')",
}
# SI units of the arguments that are joint vectors, of hinges and of sliders, and of times
SI_UNITS = {
    "t": ("s",),
    "q": ("rad", "m", "1"),
    "dq": ("rad/s", "m/s"),
    "ddq": ("rad/s^2", "m/s^2"),
    "tau": ("N m", "N"),
}
UNKNOWN = "with names"  # an object with names that is not read by name
NAMED_TUPLE = "a named tuple; pass the dict value._asdict()"
PLAIN_PACKAGES = ("numpy", "torch", "jax", "jaxlib", "cupy")
ROWS = (list, tuple)


NUMBERS: set[type] = {float, int}
_known: dict[type, str | None] = {}  # a dict, because torch.compile warns of functools.cache


def label_kind(kind: type) -> str | None:
    """Return how instances of a type are labelled: one of KINDS, DICT, UNKNOWN; None if not."""
    if kind not in _known:
        _known[kind] = _find_kind(kind)
    return _known[kind]


def _find_kind(kind: type) -> str | None:
    for base in kind.__mro__:
        key = _key(base)
        if key in KINDS:
            return KINDS[key]
        if key in OTHERS:
            return UNKNOWN
    if issubclass(kind, Mapping):
        return DICT
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return UNKNOWN
    if kind.__module__.partition(".")[0] not in PLAIN_PACKAGES:
        if hasattr(kind, "columns") or hasattr(kind, "column_names"):
            return UNKNOWN
    return None


def has_labels(value: object) -> bool:
    """Return True for labelled objects, and for lists of them."""
    kind = type(value)
    if kind is list or kind is tuple:
        entries = cast("list[object]", value)
        kinds = {*map(type, entries)}
        if kinds <= NUMBERS:  # quick, for the lists of one state
            return False
        # the first of nested lists is examined alone: all of them would take time in large ones
        return any(label_kind(x) for x in kinds) or has_labels(entries[0])
    return label_kind(kind) is not None


def has_fields(value: object) -> bool:
    """Return True for a structured NumPy array, whose columns have names."""
    return getattr(getattr(value, "dtype", None), "names", None) is not None


def refuse_labels(value: object, name: str, instead: str = "a plain array") -> None:
    """Raise InputError for a labelled object where names have no meaning."""
    if type(value) is np.ndarray and value.dtype.names is None:
        return
    if has_fields(value):
        raise InputError(f"{name} {structured(value)}")
    if has_labels(value):
        raise InputError(
            f"{name} is {describe(value)}, whose names have no meaning here; expected {instead}. "
            "If its order is right, pass its values: to_numpy(), or list(x.values()) of a dict."
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


def structured(value: Any) -> str:
    """Return the rest of a message about a structured array."""
    names = value.dtype.names
    shown = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
    return (
        f"is a structured NumPy array with the fields {shown}; its names are not read. Pass "
        "pandas.DataFrame(x), or the dict {name: x[name] for name in x.dtype.names}."
    )


def check_units(value: Any, argument: str, labels: Sequence[object] = ()) -> None:
    """Raise InputError unless the attributes and name of a labelled object give SI units, or none.

    The units are one text, several, or a mapping from arguments or labels to texts, under a key
    with the word unit or uom, also of nested attributes. A coordinate of xarray with such a name
    gives them, too.
    """
    from kinetree.core.units import nested_attributes, unit_of, unit_subject  # for labelled objects

    attributes: Mapping[Any, Any] = getattr(value, "attrs", None) or {}
    coordinates: Mapping[Any, Any] = getattr(value, "coords", None) or {}
    stated: list[object] = []
    own = (("", str(key), x) for key, x in coordinates.items())
    for owner, key, x in (*nested_attributes(attributes), *own):
        subject = unit_subject(key)
        if subject is not None:
            x = list(x.to_numpy().ravel()) if hasattr(x, "to_numpy") else x
            named = subject or (owner if not isinstance(x, Mapping) else "")
            stated.append({named: x} if named else x)
    quantity = argument.rstrip("0123456789")
    expected = SI_UNITS.get(quantity, ())
    dims = {x.dims for x in map(unit_of, expected) if x is not None}
    for unit in _units_of_name(getattr(value, "name", None), dims):
        raise InputError(
            f"{argument} has the name {value.name[:40]!r}, which states {unit}; expected "
            f"{' or '.join(expected[:2])}. Convert the values, and rename the object."
        )
    for text, own in _unit_texts(stated, quantity, labels):
        if not text or text.upper() == "SI":
            continue
        units = [unit_of(x) for x in text.split(" or ")]
        if not own and dims and all(x is not None and x.dims not in dims for x in units):
            continue  # of another column, which was left out
        if not all(x is not None and x.si and (not dims or x.dims in dims) for x in units):
            raise InputError(
                f"{argument} has the units {text[:40]!r}; expected "
                f"{' or '.join(expected[:2] or ('SI units',))}. Convert the values, as "
                "numpy.deg2rad does with degrees, and set the units to those."
            )


def _units_of_name(name: object, dims: "Collection[Dims]") -> "Iterator[Unit]":
    """Units other than SI that a name states for quantities of some dimensions."""
    from kinetree.core.units import unit_spans

    if not isinstance(name, str) or not dims:
        return
    for _, end, unit in unit_spans(name):
        in_brackets = name[end - 1] in "])}>"
        is_own = unit.dims in dims and (in_brackets or str(unit) != "rev")  # a turn to the left
        if (is_own and not unit.si) or (in_brackets and not unit.readable):
            yield unit


def _unit_texts(
    stated: object, quantity: str, labels: Sequence[object], own: bool = True
) -> Iterator[tuple[str, bool]]:
    """The texts of stated units, and whether they certainly are those of the argument."""
    if isinstance(stated, Mapping):
        for key, x in cast("Mapping[object, object]", stated).items():
            if key == quantity or key not in SI_UNITS:
                yield from _unit_texts(x, quantity, labels, own and key in (quantity, *labels))
    elif isinstance(stated, np.ndarray):
        yield from _unit_texts(stated.tolist(), quantity, labels, own)
    elif isinstance(stated, list | tuple):
        for x in cast("list[object]", stated):
            yield from _unit_texts(x, quantity, labels, own)
    elif stated is not None:
        yield str(stated).strip(), own


def describe(value: object) -> str:
    """Return what a labelled object is: "a pandas Series", "a list of dicts"."""
    if type(value) in (list, tuple):
        entries = cast("list[object]", value)
        first = next((x for x in entries if label_kind(type(x))), entries[0])
        return f"a {type(value).__name__} of objects of type {type_name(first)}"
    name = type_name(value)
    return f"an {name}" if name.startswith(("xarray", "astropy", "unyt")) else f"a {name}"


def type_name(value: object) -> str:
    """Return the type of a value with its package: "pandas Series"."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package} {kind.__name__}"


def remedy(kind: type) -> str:
    """Return how to make an array with names of an object of a type that is not read."""
    for base in kind.__mro__:
        if _key(base) in OTHERS:
            return OTHERS[_key(base)]
    if issubclass(kind, tuple):
        return NAMED_TUPLE
    return "its names cannot be read; convert it to a pandas DataFrame, or to a plain array"


def read_times(value: Any, name: str = "t") -> Any:
    """Return times of rows as plain numbers in seconds; plain numbers as they are.

    A column, an index or a DataArray of one dimension gives its values in order; time differences
    become seconds. Dates have no zero, and are refused.
    """
    if type(value) is np.ndarray and value.dtype.kind == "f":
        return value
    column = label_kind(type(value)) in (None, SERIES, XARRAY) or hasattr(value, "to_numpy")
    if not column or hasattr(value, "columns") or (has_labels(value) and type(value) in ROWS):
        raise InputError(
            f"{name} is {describe(value)}; expected one column of times, in s, such as frame['t']."
        )
    check_units(value, name)
    x: Any = cast("Any", value).to_numpy() if hasattr(value, "to_numpy") else value
    if type(x) not in ROWS and not isinstance(x, np.ndarray):
        return x
    kind = x.dtype.kind if isinstance(x, np.ndarray) else "O"
    if kind == "m":
        return np.where(np.isnat(x), np.nan, x / np.timedelta64(1, "s"))
    first = x.ravel()[0] if isinstance(x, np.ndarray) and x.size else x[0] if len(x) else 0.0
    if kind == "M" or hasattr(first, "year"):
        raise InputError(
            f"{name} has dates, such as {first}; expected times in s from a start. Subtract the "
            f"first date: ({name} - {name}[0]) are time differences, which are read in seconds."
        )
    if kind == "O" and hasattr(first, "total_seconds"):
        return np.array([v.total_seconds() for v in x])
    return x


def _key(kind: type) -> tuple[str, str]:
    return kind.__module__.partition(".")[0], kind.__name__
