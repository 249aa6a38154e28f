"""Arrays with names: dicts and data frames, aligned with the names along an axis.

A joint vector may be given as a dict {joint: number}, a Series (index: joints), or a DataFrame of
pandas or polars (columns: joints, each row a state). `Alignment` puts such arguments into the order
of the axis, by name, and gives results the same form. What cannot be aligned with certainty is an
error that lists the names. Plain arrays pass through untouched.
"""

import functools
import numbers
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import product
from math import nan
from operator import itemgetter
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.containers import (
    DICT,
    FRAME,
    SERIES,
    UNKNOWN,
    describe,
    label_kind,
    refuse_labels,
    type_name,
)
from kinetree.core.text import listing, nearest
from kinetree.errors import InputError, need

MAX_NAMES = 12  # in one message
PLAIN = {float, int, np.float64}  # types that have no shape, package or precision of their own
PANDAS, POLARS = "pandas", "polars"
READ = "a dict, a data frame of pandas or polars, or a plain array"
PACKAGES = {"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy", "cupy": "cupy"}


@dataclass(frozen=True)
class Axis:
    """The names along one axis of an array.

    Args:
        names: in order.
        kind: of the things that are named: "joint", "coordinate", "link", "parameter", or "axis"
            for directions in space.
        robot: the name of the robot, for messages.
        whole: joints with several entries, with the names of these.
        following: joints that follow another, with the name of that: they have no entry.
    """

    names: tuple[str, ...]
    kind: str = "joint"
    robot: str = ""
    whole: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    following: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def entries(self) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
        """The entries of a dict in the order of the names; KeyError if one is missing."""
        if len(self.names) > 1:
            return itemgetter(*self.names)
        return lambda values: tuple(values[name] for name in self.names)

    @property
    def directions(self) -> bool:
        """Whether the names are directions in space, which a dict has no keys for."""
        return self.kind in ("axis", "entry")


# names along the axis of each input (None: it has none), and along the axes of each output
Axes = tuple[tuple[Axis | None, ...], tuple[tuple[Axis | None, ...], ...]]


# Names of arguments


def by_name(value: object, axis: Axis, argument: str) -> Any:
    """Return the values of a labelled argument in the order of the axis; others as they are."""
    return Alignment([(value, axis, argument)]).values[0]


def vector_by_name(value: object, axis: Axis, argument: str) -> Any:
    """Align one number for each name; a labelled object with more axes is an error."""
    x = by_name(value, axis, argument)
    if x is not value and np.ndim(x) != 1:
        raise InputError(
            f"{argument} is {describe(value)} of shape {np.shape(x)}; expected one number for each "
            f"{axis.kind}: a dict, or a pandas Series."
        )
    return x


def check_rows(times: Any, values: Any, name: str, other: str) -> None:
    """Raise InputError if a column of times and a table have other labels of their rows."""
    if (label_kind(type(times)), label_kind(type(values))) != (SERIES, FRAME):
        return
    rows = getattr(values, "index", None)
    if rows is not None and len(rows) == len(times) and not times.index.equals(rows):
        raise InputError(
            f"the rows of {name} and {other} are labelled differently, so that it is not certain "
            f"which belong together; expected one index. Take both from one frame, or pass "
            f"{name}.to_numpy()."
        )


def own_axis(value: object, argument: str) -> Axis | None:
    """Return the names that a labelled object has itself, in its order; None for plain arrays."""
    if label_kind(type(value)) in (None, UNKNOWN):
        return None
    names = [name for _, name in _of_argument(_names(value), argument)]
    other = [x for x in names if not isinstance(x, str)]
    if other:
        raise InputError(
            f"{argument} has the labels {_shown(other)}; expected names of joints. Pass "
            ".to_numpy() for values without names."
        )
    return Axis(tuple(names))


def _names(value: Any) -> list[Any]:
    kind = label_kind(type(value))
    return list(value if kind == DICT else value.index if kind == SERIES else value.columns)


def _of_argument(labels: Sequence[Any], argument: str) -> list[tuple[int, Any]]:
    """Positions and names of the labels of an argument: those of "q:elbow", "t", ... for q.

    Tables of a motion have a column "quantity:joint" for each quantity. Of such a table, q takes
    the columns that begin with "q:", without this beginning; of another table, all.
    """
    beginning = argument.rstrip("0123456789") + ":"
    named = [(k, x) for k, x in enumerate(labels) if str(x).startswith(beginning)]
    return [(k, x[len(beginning) :]) for k, x in named] or list(enumerate(labels))


def order_of(labels: Sequence[object], axis: Axis, argument: str, where: str) -> list[int]:
    """Return where the names of the axis stand among the labels, or raise InputError."""
    names = set(axis.names)
    known = any(isinstance(x, str) and x in names for x in labels)
    pairs = list(enumerate(labels)) if known else _of_argument(labels, argument)
    found = [label for _, label in pairs]
    place = {label: k for k, label in pairs}
    if len(place) == len(found) and place.keys() == names:
        return [place[x] for x in axis.names]
    parts: dict[str, list[Any]] = {
        "twice": [x for x, count in Counter(found).items() if count > 1],
        "missing": [x for x in axis.names if x not in place],
        "unknown": [x for x in found if x not in names],
    }
    wrong = "; ".join(f"{kind} {_shown(names)}" for kind, names in parts.items() if names)
    robot = f" of {axis.robot!r}" if axis.robot else ""
    raise InputError(
        f"{argument}: the {where} do not name the {axis.kind}s{robot}: {wrong}. Expected "
        f"{_shown(axis.names)}, in any order.{_hint(parts['unknown'], parts['missing'], axis)}"
    )


def _hint(unknown: Sequence[object], missing: Sequence[str], axis: Axis) -> str:
    for name in unknown:
        if not isinstance(name, str):
            return " If they are in the order of the robot, pass .to_numpy()."
        if name in axis.following:
            return (
                f" Joint {name!r} follows {axis.following[name]!r} and has no entry of its own; "
                "leave it out."
            )
        if name in axis.whole:
            return f" Joint {name!r} has several entries: {', '.join(axis.whole[name])}."
        if near := nearest(name, missing or axis.names):
            return near
    return ""


def _shown(names: Sequence[object]) -> str:
    return listing(names, MAX_NAMES)


# Alignment


@dataclass(frozen=True)
class Form:
    """How arguments are labelled: by DICT, PANDAS, POLARS or "", their leading axes and rows."""

    kind: str = ""
    shape: tuple[int, ...] = ()
    rows: Any = None


class Alignment:
    """Arguments of one call: their values in the order of their axes, and the form of results.

    Args:
        given: value, axis and name of each argument. An argument without an axis (None), such as
            F_ext, must be a plain array.
    """

    def __init__(self, given: Sequence[tuple[object, Axis | None, str]]) -> None:
        read = [_read(*x) for x in given]
        self.values: list[Any] = [values for values, _ in read]
        named = [(form, x[2]) for (_, form), x in zip(read, given, strict=True) if form.kind]
        self._form = _common_form(named)

    def label(self, result: Any, axes: Sequence[Axis | None], name: str) -> Any:
        """Return an array, (..., *axes), in the form of the arguments.

        Args:
            result: leading axes as the arguments, then one for each of `axes`.
            axes: the names along the last axes; None: they are numbered.
            name: of the result.
        """
        form = self._form
        if not form.kind:
            return result
        if form.kind == DICT:
            return as_dict(result, axes)
        if not isinstance(result, np.ndarray | np.generic):
            raise InputError(
                f"a {type_name(result)} is the result of arguments that are labelled by "
                f"{form.kind}; expected NumPy arrays beside them, or a dict of tensors."
            )
        x = np.asarray(result)
        lead = x.shape[: x.ndim - len(axes)]
        if lead != form.shape:
            raise InputError(
                f"the arguments have leading axes {lead}, but the labels are those of "
                f"{form.shape or 'one state'}: the states of the result would have no names. Pass "
                "plain arrays (to_numpy()), or label all arguments alike."
            )
        named = [
            axis or Axis(tuple(map(str, range(size))), "entry")
            for axis, size in zip(axes, x.shape[len(lead) :], strict=True)
        ]
        make = _as_polars if form.kind == POLARS else _as_pandas
        return make(x, named, name, form.rows)


def _read(value: Any, axis: Axis | None, argument: str) -> tuple[Any, Form]:
    """One argument: its values with the names last, and its form."""
    kind = label_kind(type(value))
    if kind is None:
        refuse_labels(value, argument, "one dict of arrays, or one data frame with a row per state")
        return value, Form()
    if axis is None:
        way = "; robot.wrenches({frame: wrench}) makes it" if argument == "F_ext" else ""
        refuse_labels(value, argument, f"a plain array{way}")
    if kind == UNKNOWN:
        refuse_labels(value, argument, READ)
    read = {DICT: _read_dict, SERIES: _read_series, FRAME: _read_frame}[kind]
    return read(value, cast("Axis", axis), argument)


def _read_dict(value: Any, axis: Axis, argument: str) -> tuple[Any, Form]:
    if (x := _plain_numbers(value, axis)) is not None:
        return x, Form(DICT)
    entries = _split(value, axis, argument)
    order = order_of(list(entries), axis, argument, "keys of the dict")
    values = list(entries.values())
    return _stack([values[k] for k in order], argument), Form(DICT)


def _read_series(value: Any, axis: Axis, argument: str) -> tuple[Any, Form]:
    order = order_of(_names(value), axis, argument, "labels of the Series")
    return _numbers(value, argument)[order], Form(PANDAS)


def _read_frame(value: Any, axis: Axis, argument: str) -> tuple[Any, Form]:
    rows, names = getattr(value, "index", None), _names(value)
    if rows is not None and len(rows) == len(axis.names) and set(rows) & set(axis.names):
        raise InputError(
            f"{argument} is a DataFrame whose rows are named like {axis.kind}s; expected a column "
            f"for each {axis.kind} and a row for each state. Pass frame.T, or number the rows by "
            "reset_index(drop=True)."
        )
    order = order_of(names, axis, argument, f"columns of the {type_name(value)}")
    columns = [_numbers(value[names[k]], f"{argument}[{names[k]!r}]") for k in order]
    x = np.stack(columns, -1) if columns else np.zeros((len(value), 0))
    return x, Form(POLARS if rows is None else PANDAS, (len(value),), rows)


def _plain_numbers(value: Any, axis: Axis) -> Array | None:
    """One state in a dict, as a control loop passes it; None where more has to be checked."""
    if len(value) != len(axis.names):
        return None
    try:
        entries = axis.entries(value)
    except KeyError:
        return None
    return np.array(entries) if PLAIN.issuperset(map(type, entries)) else None


def _split(given: Any, axis: Axis, argument: str) -> dict[object, Any]:
    """The entries of a dict; a joint that has several may be given whole, as (..., entries)."""
    entries: dict[object, Any] = {}
    for key, x in given.items():
        name = f"{argument}[{key!r}]"
        if x is None or isinstance(x, str | bytes):
            raise InputError(f"{name} is {x!r}; expected a number.")
        refuse_labels(x, name, f"a number or an array; a table is pandas.DataFrame({argument})")
        parts = axis.whole.get(key, (key,)) if isinstance(key, str) else (key,)
        if any(part in entries for part in parts):
            raise InputError(f"{argument} gives {key!r} twice: whole and as an entry.")
        if len(parts) == 1:
            entries[parts[0]] = x
            continue
        x: Any = x if hasattr(x, "shape") else np.asarray(x)
        if tuple(x.shape)[-1:] != (len(parts),):
            raise InputError(
                f"{name} has shape {tuple(x.shape)}; expected {len(parts)} entries: "
                f"{', '.join(parts)}."
            )
        entries |= {part: x[..., k] for k, part in enumerate(parts)}
    return entries


def _stack(entries: Sequence[Any], argument: str) -> Any:
    """Stack entries along a new last axis; tensors by their own package, so gradients pass."""
    if not entries:
        return np.zeros(0)
    bases = [base.__module__.partition(".")[0] for x in entries for base in type(x).__mro__]
    package = next((PACKAGES[x] for x in bases if x in PACKAGES), "numpy")
    try:
        if package == "torch":
            return _stack_tensors(entries)
        xp = import_module(package)
        return xp.stack(xp.broadcast_arrays(*map(xp.asarray, entries)), -1)
    except (ValueError, RuntimeError, TypeError) as error:
        raise InputError(f"the values of {argument} do not have one shape: {error}.") from None


def _stack_tensors(entries: Sequence[Any]) -> Any:
    """Stack tensors of torch, and numbers beside them, in the widest of the tensors' types."""
    torch = need("torch", "torch", "a dict of tensors")
    tensors = [x for x in entries if hasattr(x, "requires_grad")]
    kind = functools.reduce(torch.promote_types, [x.dtype for x in tensors])
    kind = kind if kind.is_floating_point else torch.float64  # 0.5 beside a whole number stays 0.5
    converted = [torch.as_tensor(x, dtype=kind, device=tensors[0].device) for x in entries]
    return torch.stack(torch.broadcast_tensors(*converted), -1)


def _numbers(column: Any, argument: str) -> Array:
    """Return the values of a column as floats, or symbols; missing ones are NaN."""
    x = np.asarray(column.to_numpy())
    if x.dtype.kind == "O":
        x = np.array([_entry(value, argument) for value in x])
    if x.dtype.kind not in "biufO":
        raise InputError(f"{argument} has values of type {column.dtype}; expected numbers.")
    return x if x.dtype.kind in "fO" else x.astype(np.float64)


def _entry(value: Any, argument: str) -> Any:
    if value is None or type(value).__name__ == "NAType":
        return nan
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, str | bytes) or label_kind(type(value)) or not hasattr(value, "__neg__"):
        raise InputError(f"{argument} has the entry {value!r:.60}; expected numbers.")
    return value


def _common_form(named: Sequence[tuple[Form, str]]) -> Form:
    """Return the form of the results; InputError if the arguments are labelled differently."""
    framed = [x for x in named if x[0].kind != DICT]
    if not framed:
        return named[0][0] if named else Form()
    if len({form.kind for form, _ in framed}) > 1:
        listed = ", ".join(f"{name} is of {form.kind}" for form, name in framed)
        raise InputError(f"{listed}; expected all labelled arguments of one package.")
    first, *others = [x for x in framed if x[0].shape] or framed[:1]
    (form, own), rows = first, first[0].rows
    for other, name in others:
        if other.shape != form.shape or (rows is not None and not rows.equals(other.rows)):
            raise InputError(
                f"the rows of {own} ({form.shape[0]}) and {name} ({other.shape[0]}) are labelled "
                "differently; expected the same index in the same order in all data frames."
            )
    return form


def as_dict(x: Any, axes: Sequence[Axis | None]) -> Any:
    """Nest dicts along the axes that name joints, links or parameters; others stay axes."""
    named = [k for k, axis in enumerate(axes) if axis is not None and not axis.directions]
    if not named:
        return float(x) if isinstance(x, np.float64) else x
    k = named[0]
    axis, at = cast("Axis", axes[k]), x.ndim - len(axes) + k
    if x.ndim == 1 and isinstance(x, np.ndarray) and x.dtype.char == "d":
        return dict(zip(axis.names, x.tolist(), strict=True))
    other_axes = [*axes[:k], *axes[k + 1 :]]
    before = (slice(None),) * at
    return {name: as_dict(x[(*before, i)], other_axes) for i, name in enumerate(axis.names)}


def _as_pandas(x: Array, axes: Sequence[Axis], name: str, rows: Any) -> Any:
    pandas = need("pandas", "dataframe", "a labelled result")
    levels = [] if rows is None else [rows]
    levels += [pandas.Index(axis.names, name=axis.kind) for axis in axes]
    if len(levels) < 2:
        return pandas.Series(x, index=levels[0], name=name) if levels else x[()]
    inner = levels[:-1]
    index = inner[0] if len(inner) == 1 else pandas.MultiIndex.from_product(inner)
    return pandas.DataFrame(x.reshape(-1, x.shape[-1]), index=index, columns=levels[-1])


def _as_polars(x: Array, axes: Sequence[Axis], name: str, rows: Any) -> Any:
    polars = need("polars", "labels", "a labelled result")
    if not axes:
        return polars.Series(name, x)
    columns = [":".join(names) for names in product(*(axis.names for axis in axes))]
    return polars.DataFrame(x.reshape(len(x), len(columns)), schema=columns, orient="row")
