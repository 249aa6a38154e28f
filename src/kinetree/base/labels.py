"""Arrays with names: dicts, pandas, polars and xarray, aligned with the names along an axis.

A joint vector may be given as a dict {joint: number}, a pandas Series (index: joints), a pandas or
polars DataFrame (columns: joints, each row a state), or an xarray DataArray with one dimension of
joints. `Alignment` puts such arguments into the order of the axis, by name, and gives results the
same form. What cannot be aligned with certainty is an error that lists the names.

Packages are recognised by the names of their types, so that none of them is imported here before
one of its objects arrives. Plain arrays pass through untouched.
"""

import difflib
import functools
import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, need

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
}
TIMES = ("t", "time", "timestamp", "stamp", "sec", "secs")
DEGREES = ("deg", "degree", "degrees", "°", "deg/s", "deg/s^2", "degrees/s")
MOST_NAMES = 12  # in one message
UNKNOWN = "with names"  # an object of an unknown package that has columns


@dataclass(frozen=True)
class Axis:
    """The names along one axis of an array.

    Args:
        names: in order.
        kind: of the things that are named: "joint", "coordinate", "link", "parameter", or "axis"
            for directions in space. xarray results call the dimension so.
        robot: the name of the robot, for messages.
        whole: joints with several entries, with the names of these.
        following: joints that follow another, with the name of that: they have no entry.
    """

    names: tuple[str, ...]
    kind: str = "joint"
    robot: str = ""
    whole: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    following: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def directions(self) -> bool:
        """Whether the names are directions in space, which a dict has no keys for."""
        return self.kind == "axis"


@functools.cache
def label_kind(kind: type) -> str | None:
    """Return how instances of a type are labelled: one of KINDS, DICT, UNKNOWN; None if not."""
    if issubclass(kind, Mapping):
        return DICT
    for base in kind.__mro__:
        key = base.__module__.partition(".")[0], base.__name__
        if key in KINDS:
            return KINDS[key]
        if key in OTHERS:
            return UNKNOWN
    if kind.__module__.partition(".")[0] not in ("numpy", "torch", "jax", "jaxlib", "cupy"):
        if hasattr(kind, "columns") or hasattr(kind, "column_names"):
            return UNKNOWN
    return None


def has_labels(value: object) -> bool:
    """Return True for labelled objects, and for lists of them."""
    if type(value) in (list, tuple):
        return any(label_kind(kind) for kind in {*map(type, cast("list[object]", value))})
    return label_kind(type(value)) is not None


def by_name(value: object, axis: Axis, argument: str) -> Any:
    """Return the values of a labelled argument in the order of the axis; others as they are."""
    return Alignment([(value, axis, argument)]).values[0] if has_labels(value) else value


class Alignment:
    """Arguments of one call: their values in the order of their axes, and the form of results.

    Args:
        given: value, axis and name of each argument. An argument without an axis (None), such as
            F_ext, must be a plain array.
    """

    def __init__(self, given: Sequence[tuple[object, Axis | None, str]]) -> None:
        read = [_read(*x) for x in given]
        labelled = [(x, name) for x, (_, _, name) in zip(read, given, strict=True) if x.kind]
        self._form = _common_form(labelled)
        self.values: list[Any] = [x.values for x in read]
        if self._form.kind == XARRAY:
            leads = self._form.dims
            self.values = [_spread(x, leads) if x.kind == XARRAY else x.values for x in read]

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
            return _as_dict(result, axes)
        if not isinstance(result, np.ndarray | np.generic):
            raise InputError(
                f"a {_type(result)} is the result of arguments that are labelled by "
                f"{PACKAGE[form.kind]}; expected NumPy arrays beside them. A dict of tensors is "
                "labelled too."
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
            axis or Axis(tuple(map(str, range(size))), "axis")
            for axis, size in zip(axes, x.shape[len(lead) :], strict=True)
        ]
        make = {POLARS: _as_polars, XARRAY: _as_xarray}.get(form.kind, _as_pandas)
        return make(x, named, name, form)


@dataclass(frozen=True)
class _Form:
    """How a labelled argument is labelled: its kind, and the labels of its leading axes.

    rows: the index of a pandas frame. dims, coords: leading dimensions and coordinates of a
    DataArray, and `own`, its dimension of joints. shape: of the leading axes.
    """

    kind: str = ""
    shape: tuple[int, ...] = ()
    rows: Any = None
    dims: tuple[Any, ...] = ()
    coords: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    own: Any = "joint"


@dataclass(frozen=True)
class _Given:
    """One argument after reading: its values, joints last, and its form."""

    values: Any
    form: _Form = _Form()

    @property
    def kind(self) -> str:
        return self.form.kind


def _read(value: object, axis: Axis | None, argument: str) -> _Given:
    kind = label_kind(type(value))
    if kind is None:
        if has_labels(value):
            raise InputError(
                f"{argument} is a list of objects with names, whose order is not certain; pass one "
                "dict of arrays, or one data frame with a row for each state."
            )
        return _Given(value)
    if axis is None:
        raise InputError(
            f"{argument} is a {_type(value)}; expected a plain array. robot.wrenches({{frame: "
            "wrench}) makes F_ext from names."
        )
    if kind == UNKNOWN:
        raise InputError(f"{argument} is a {_type(value)}: {_remedy(type(value))}.")
    read = {DICT: _read_dict, SERIES: _read_series, FRAME: _read_frame, POLARS: _read_polars}
    return read.get(kind, _read_xarray)(value, axis, argument)


def _type(value: object) -> str:
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package} {kind.__name__}"


def _remedy(kind: type) -> str:
    for base in kind.__mro__:
        key = base.__module__.partition(".")[0], base.__name__
        if key in OTHERS:
            return OTHERS[key]
    return "its names cannot be read; convert it to a pandas DataFrame, or to a plain array"


# reading


def _read_dict(value: Any, axis: Axis, argument: str) -> _Given:
    entries: dict[object, Any] = {}
    for key, x in value.items():
        if label_kind(type(x)) is not None:
            raise InputError(
                f"{argument}[{key!r}] is a {_type(x)}; expected a number or an array. For a table "
                f"with a column for each joint pass pandas.DataFrame({argument})."
            )
        parts = axis.whole.get(key, (key,)) if isinstance(key, str) else (key,)
        twice = [part for part in parts if part in entries]
        if twice:
            raise InputError(f"{argument} gives {twice[0]!r} twice: whole and as an entry.")
        entries |= _split(x, parts, f"{argument}[{key!r}]")
    order = _order(list(entries), axis, argument, "keys of the dict")
    found = list(entries.values())
    return _Given(_stack([found[k] for k in order], argument), _Form(DICT))


def _split(x: Any, parts: Sequence[str], name: str) -> dict[object, Any]:
    """Return the entries of a joint; one that has several is given as (..., entries)."""
    if isinstance(x, str):
        raise InputError(f"{name} is {x!r}; expected a number.")
    if len(parts) == 1:
        return {parts[0]: x}
    x = x if hasattr(x, "shape") else np.asarray(x)
    if not x.shape or x.shape[-1] != len(parts):
        raise InputError(
            f"{name} has shape {tuple(x.shape)}; expected {len(parts)} entries: {', '.join(parts)}."
        )
    return {part: x[..., k] for k, part in enumerate(parts)}


def _stack(entries: Sequence[Any], argument: str) -> Any:
    """Stack entries along a new last axis; tensors by their own package, so gradients pass."""
    packages = {type(x).__module__.partition(".")[0] for x in entries}
    try:
        if "torch" in packages:
            torch = need("torch", "torch", "a dict of tensors")
            first = next(x for x in entries if hasattr(x, "requires_grad"))
            own = [torch.as_tensor(x, dtype=first.dtype, device=first.device) for x in entries]
            return torch.stack(torch.broadcast_tensors(*own), -1)
        if packages & {"jax", "jaxlib"}:
            jnp = need("jax.numpy", "jax", "a dict of JAX arrays")
            return jnp.stack(jnp.broadcast_arrays(*entries), -1)
        return np.stack(np.broadcast_arrays(*entries), -1)
    except (ValueError, RuntimeError, TypeError) as error:
        raise InputError(f"the values of {argument} do not have one shape: {error}.") from None


def _read_series(value: Any, axis: Axis, argument: str) -> _Given:
    _check_units(value.attrs, argument)
    order = _order(
        _labels(value.index), axis, argument, "labels of the Series", value.index.nlevels
    )
    return _Given(_numbers(value.iloc[order], argument), _Form(SERIES))


def _read_frame(value: Any, axis: Axis, argument: str) -> _Given:
    _check_units(value.attrs, argument)
    found, rows = _labels(value.columns), _labels(value.index)
    turned = rows and not set(found) & set(axis.names) and set(rows) & set(axis.names)
    if turned:
        raise InputError(
            f"{argument} is a DataFrame whose rows are named like joints and whose columns are "
            "not; expected a column for each joint and a row for each state. Pass frame.T."
        )
    order = _order(found, axis, argument, "columns of the DataFrame", value.columns.nlevels)
    chosen = value.iloc[:, order]
    kinds = {str(kind) for kind in chosen.dtypes}
    if len(kinds) == 1:
        x = _numbers(chosen, argument)
    else:
        x = np.stack([_numbers(chosen.iloc[:, k], argument) for k in range(len(order))], -1)
    return _Given(x, _Form(FRAME, (len(value),), rows=value.index))


def _read_polars(value: Any, axis: Axis, argument: str) -> _Given:
    order = _order(list(value.columns), axis, argument, "columns of the polars DataFrame")
    chosen = value.select([value.columns[k] for k in order])
    for name, kind in chosen.schema.items():
        if not kind.is_numeric():
            raise InputError(f"{argument}: column {name!r} has the type {kind}; expected numbers.")
    kinds = {str(kind) for kind in chosen.dtypes}
    number = np.float32 if kinds == {"Float32"} else np.float64
    x = np.stack([chosen[name].to_numpy().astype(number) for name in chosen.columns], -1)
    return _Given(x, _Form(POLARS, (value.height,)))


def _read_xarray(value: Any, axis: Axis, argument: str) -> _Given:
    _check_units(value.attrs, argument)
    labels = {dim: _labels(value.indexes[dim]) for dim in value.dims if dim in value.indexes}
    own = [dim for dim, found in labels.items() if set(found) & set(axis.names)]
    if len(own) != 1:
        named = [dim for dim in value.dims if str(dim) in ("joint", "joints", "dof", axis.kind)]
        if len(named) == 1 and named[0] in labels and not own:
            own = named  # none of its labels is right; the error below lists them
        else:
            dims = ", ".join(f"{dim} ({value.sizes[dim]})" for dim in value.dims)
            several = "several dimensions are" if own else "no dimension is"
            raise InputError(
                f"{argument} is a DataArray with the dimensions {dims}; {several} labelled with "
                f"the {axis.kind}s of {axis.robot!r}, expected one. Give it coordinates, such as "
                f"assign_coords(joint={list(axis.names[:2])} ...)."
            )
    order = _order(labels[own[0]], axis, argument, f"labels of the dimension {own[0]!r}")
    lead = tuple(dim for dim in value.dims if dim != own[0])
    coords = {name: x for name, x in value.coords.items() if own[0] not in x.dims}
    x = _numbers(value.transpose(*lead, own[0]).isel({own[0]: order}), argument)
    return _Given(x, _Form(XARRAY, x.shape[:-1], dims=lead, coords=coords, own=own[0]))


def _labels(index: Any) -> list[object]:
    return list(index.tolist())


def _numbers(column: Any, argument: str) -> Array:
    """Return the values of a Series, DataArray, or frame of one type; missing ones are NaN."""
    kind = str(column.dtypes.iloc[0] if hasattr(column, "columns") else column.dtype)
    if kind == "object":
        x = np.asarray(column, object)
        for at, entry in np.ndenumerate(x):
            if entry is None or isinstance(entry, str | bytes):
                place = ", ".join(map(str, at))
                raise InputError(f"{argument}[{place}] is {entry!r}; expected a number.")
        real = all(isinstance(entry, numbers.Real) for entry in x.ravel())
        return x.astype(np.float64) if real else x
    nullable = kind[:1].isupper()  # a type of pandas with a mask for missing values
    try:
        x = column.to_numpy(dtype=kind.lower(), na_value=np.nan) if nullable else column.to_numpy()
    except (TypeError, ValueError):
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)  # integers with missing values
    x = np.asarray(x)
    if x.dtype.kind not in "biuf":
        raise InputError(f"{argument} has values of type {kind}; expected numbers.")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _check_units(attrs: Mapping[Any, Any], argument: str) -> None:
    """Raise InputError if the attributes of a frame or DataArray give degrees."""
    units = attrs.get("units", attrs.get("unit"))
    if isinstance(units, Mapping):
        units = cast("Mapping[str, object]", units).get(argument.rstrip("0"))
    if isinstance(units, str) and units.strip().lower() in DEGREES:
        raise InputError(
            f"{argument} has the units {units!r}; expected radians. Convert it with numpy.deg2rad "
            "and set the units to 'rad'."
        )


def _order(
    found: Sequence[object], axis: Axis, argument: str, where: str, levels: int = 1
) -> list[int]:
    """Return where the names of the axis stand among the labels found, or raise InputError."""
    if levels > 1:
        raise InputError(
            f"{argument}: the {where} have {levels} levels, such as {found[0]!r}; expected the "
            f"names of {axis.kind}s alone. Choose one quantity first, such as frame[{argument!r}]."
        )
    place = {label: k for k, label in enumerate(found)}
    if len(place) == len(found) == len(axis.names) and all(x in place for x in axis.names):
        return [place[x] for x in axis.names]
    raise InputError(_mismatch(found, axis, argument, where))


def _mismatch(found: Sequence[object], axis: Axis, argument: str, where: str) -> str:
    expected = f"{axis.kind}s of {axis.robot!r}" if axis.robot else f"{axis.kind}s"
    bare = [x for x in found if not isinstance(x, str)]
    if bare:
        numbered = found == list(range(len(axis.names)))
        remedy = (
            "If they are in the order of the robot, pass .to_numpy()."
            if numbered
            else "Label the values with the names, or pass a plain array."
        )
        return (
            f"{argument}: the {where} are {_some(bare)}; expected the names of the {expected}: "
            f"{_some(axis.names)}. {remedy}"
        )
    twice = [x for x, count in Counter(found).items() if count > 1]
    if twice:
        return (
            f"{argument}: the {where} have {_some(twice)} more than once; expected each name once."
        )
    missing = [x for x in axis.names if x not in found]
    unknown = [str(x) for x in found if x not in axis.names]
    parts = [f"missing {_some(missing)}"] if missing else []
    parts += [f"unknown {_some(unknown)}"] if unknown else []
    text = (
        f"{argument}: the {where} do not name the {expected}: {'; '.join(parts)}. Expected "
        f"{_some(axis.names)}, in any order."
    )
    return text + _hint(unknown, missing, axis)


def _hint(unknown: Sequence[str], missing: Sequence[str], axis: Axis) -> str:
    for name in unknown:
        if name in axis.following:
            return (
                f" Joint {name!r} follows {axis.following[name]!r} and has no entry of its own; "
                "leave it out."
            )
        if name.lower() in TIMES:
            return f" Take the column of times out: frame.set_index({name!r})."
        if name in axis.whole:
            return f" Joint {name!r} has several entries: {', '.join(axis.whole[name])}."
        near = difflib.get_close_matches(name, missing or axis.names, 1)
        if near:
            return f" Was {near[0]!r} meant by {name!r}?"
    return ""


def _some(names: Iterable[object]) -> str:
    listed = list(names)
    shown = ", ".join(map(str, listed[:MOST_NAMES]))
    return f"{shown} and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else shown


# several arguments


def _common_form(labelled: Sequence[tuple[_Given, str]]) -> _Form:
    """Return the form of the results; InputError if the arguments are labelled differently."""
    framed = [(x.form, name) for x, name in labelled if x.kind != DICT]
    if not framed:
        return labelled[0][0].form if labelled else _Form()
    packages = {PACKAGE[form.kind]: name for form, name in framed}
    if len(packages) > 1:
        listed = ", ".join(f"{name} is of {package}" for package, name in packages.items())
        raise InputError(f"{listed}; expected all labelled arguments of one package.")
    if packages.keys() == {"xarray"}:
        return _common_dimensions(framed)
    rows = [(form, name) for form, name in framed if form.shape]
    if not rows:
        return framed[0][0]
    (first, own), rest = rows[0], rows[1:]
    for form, name in rest:
        if form.shape != first.shape:
            raise InputError(
                f"{own} has {first.shape[0]} rows and {name} has {form.shape[0]}; expected the "
                "same rows in all data frames."
            )
        if first.rows is not None and not first.rows.equals(form.rows):
            pairs = zip(first.rows.tolist(), form.rows.tolist(), strict=True)
            a, b = next(((a, b) for a, b in pairs if a != b), ("?", "?"))
            raise InputError(
                f"the rows of {own} and {name} are labelled differently: {a!r} and {b!r} stand in "
                f"the same place; expected the same index in the same order. Use "
                f"{name}.reindex({own}.index)."
            )
    return first


def _common_dimensions(framed: Sequence[tuple[_Form, str]]) -> _Form:
    """Return all leading dimensions of DataArrays, which must agree where they share a name."""
    sizes: dict[Any, int] = {}
    coords: dict[Any, Any] = {}
    for form, name in framed:
        for dim, size in zip(form.dims, form.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise InputError(
                    f"dimension {dim!r} has {sizes[dim]} entries and in {name} {size}; expected "
                    "the same in all DataArrays."
                )
        for key, x in form.coords.items():
            if key in coords and key in form.dims and not coords[key].equals(x):
                raise InputError(
                    f"the labels of dimension {key!r} differ in {name}; expected the same in the "
                    "same order. Use xarray.align first."
                )
            coords.setdefault(key, x)
    first = framed[0][0]
    return _Form(XARRAY, tuple(sizes.values()), None, tuple(sizes), coords, first.own)


def _spread(x: _Given, dims: Sequence[Any]) -> Array:
    """Return the values with an axis for each of the dimensions, of length 1 where it has none."""
    own = x.form.dims
    order = [own.index(dim) for dim in dims if dim in own]
    values = np.moveaxis(x.values, order, range(len(order)))
    at = iter(values.shape[:-1])
    return values.reshape(*(next(at) if dim in own else 1 for dim in dims), values.shape[-1])


# labelling results


def _as_dict(x: Any, axes: Sequence[Axis | None]) -> Any:
    """Nest dicts along the axes that name joints, links or parameters; others stay axes."""
    named = [k for k, axis in enumerate(axes) if axis is not None and not axis.directions]
    if not named:
        return x
    k = named[0]
    axis, at = cast("Axis", axes[k]), x.ndim - len(axes) + k
    rest = [*axes[:k], *axes[k + 1 :]]
    before = (slice(None),) * at
    return {name: _as_dict(x[(*before, i)], rest) for i, name in enumerate(axis.names)}


def _as_pandas(x: Array, axes: Sequence[Axis], name: str, form: _Form) -> Any:
    pandas = need("pandas", "dataframe", "a labelled result")
    levels = [] if form.rows is None else [form.rows]
    levels += [pandas.Index(axis.names, name=axis.kind) for axis in axes]
    if not levels:
        return x[()]
    if len(levels) == 1:
        return pandas.Series(x, index=levels[0], name=name)
    if not axes[:-1] or len(levels) == 2:
        return pandas.DataFrame(x, index=levels[0], columns=levels[-1])
    rows = levels[0]
    for level in levels[1:-1]:
        rows = _product(pandas, rows, level)
    return pandas.DataFrame(x.reshape(-1, x.shape[-1]), index=rows, columns=levels[-1])


def _product(pandas: Any, rows: Any, level: Any) -> Any:
    """Return the index of all pairs of a row and a name, in rows' order."""
    count = len(level)
    own = [rows.get_level_values(k).repeat(count) for k in range(rows.nlevels)]
    tiled = level.append([level] * (len(rows) - 1)) if len(rows) else level[:0]
    return pandas.MultiIndex.from_arrays([*own, tiled], names=[*rows.names, level.name])


def _as_polars(x: Array, axes: Sequence[Axis], name: str, form: _Form) -> Any:
    polars = need("polars", "dataframe", "a labelled result")
    if not axes:
        return polars.Series(name, x)
    columns = [""]
    for axis in axes:
        columns = [f"{a}:{b}" if a else b for a in columns for b in axis.names]
    flat = x.reshape(len(x), prod(x.shape[1:]))
    return polars.DataFrame({column: flat[:, k] for k, column in enumerate(columns)})


def _as_xarray(x: Array, axes: Sequence[Axis], name: str, form: _Form) -> Any:
    xarray = need("xarray", "dataframe", "a labelled result")
    dims, coords = list(form.dims), dict(form.coords)
    for axis in axes:
        base = form.own if axis.kind in ("joint", "coordinate") else axis.kind
        dim, k = base, 2
        while dim in dims:
            dim, k = f"{base}_{k}", k + 1
        dims.append(dim)
        coords[dim] = list(axis.names)
    return xarray.DataArray(x, dims=dims, coords=coords, name=name)
