"""Arrays with names: dicts, pandas, polars and xarray, aligned with the names along an axis.

A joint vector may be given as a dict {joint: number}, a pandas Series (index: joints), a pandas or
polars DataFrame (columns: joints, each row a state), or an xarray DataArray with one dimension of
joints. `Alignment` puts such arguments into the order of the axis, by name, and gives results the
same form. What cannot be aligned with certainty is an error that lists the names.

Plain arrays pass through untouched. `core/containers.py` recognises the types.
"""

import functools
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.axis import TIMES, Axis, Form, of_argument, order_of, shown
from kinetree.core.containers import (
    DICT,
    FRAME,
    PACKAGE,
    POLARS,
    SERIES,
    UNKNOWN,
    XARRAY,
    check_units,
    describe,
    has_fields,
    has_labels,
    label_kind,
    refuse_masked,
    remedy,
    structured,
    type_name,
)
from kinetree.errors import InputError, need

PLAIN = {float, int, np.float64}  # types that have no shape, package or precision of their own


def by_name(value: object, axis: Axis, argument: str) -> Any:
    """Return the values of a labelled argument in the order of the axis; others as they are."""
    if not has_labels(value) and not has_fields(value):
        return value
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


def square_by_name(value: Any, names: Sequence[str]) -> Any:
    """Return a matrix with the same names on both sides in their order; others as they are.

    The pose of a frame is such a matrix, as a result of labelled arguments.
    """
    kind, wanted = label_kind(type(value)), sorted(names)
    if kind == FRAME and [sorted(map(str, x)) for x in value.axes] == [wanted, wanted]:
        return value.loc[list(names), list(names)].to_numpy()
    if kind == XARRAY and value.ndim == 2 and all(dim in value.indexes for dim in value.dims):
        if [sorted(map(str, value.indexes[dim])) for dim in value.dims] == [wanted, wanted]:
            return value.sel({dim: list(names) for dim in value.dims}).to_numpy()
    return value


def check_rows(times: object, values: object, name: str, other: str) -> None:
    """Raise InputError if a column of times and a table have other labels of their rows."""
    kinds = label_kind(type(times)), label_kind(type(values))
    x, table = cast("Any", times), cast("Any", values)
    if kinds == (SERIES, FRAME):
        pairs = [(x.index, table.index)]
    elif kinds == (XARRAY, XARRAY):
        shared = [dim for dim in x.dims if dim in x.indexes and dim in table.indexes]
        pairs = [(x.indexes[dim], table.indexes[dim]) for dim in shared]
    else:
        return
    if any(len(rows) == len(labels) and not rows.equals(labels) for rows, labels in pairs):
        raise InputError(
            f"the rows of {name} and {other} are labelled differently, so that it is not certain "
            f"which belong together; expected one index. Take both from one frame, or pass "
            f"{name}.to_numpy()."
        )


def time_first(value: Any, argument: str) -> Any:
    """Return a DataArray with its dimension of time first; other values as they are."""
    if label_kind(type(value)) != XARRAY or value.ndim < 3:
        return value
    times = [dim for dim in value.dims if str(dim).lower() in TIMES]
    if len(times) != 1:
        raise InputError(
            f"{argument} is a DataArray with the dimensions {', '.join(map(str, value.dims))}; "
            "expected that of time to be called 'time' or 't'."
        )
    return value.transpose(times[0], ...)


def own_axis(value: object, argument: str, kind: str = "joint") -> Axis | None:
    """Return the names that a labelled object has itself, in its order; None for plain arrays."""
    form = label_kind(type(value))
    if form is None or form == UNKNOWN:
        return None
    labelled: Any = value
    if form == DICT:
        names = list(labelled)
    elif form == SERIES:
        names = _labels(labelled.index)
    elif form == XARRAY:
        texts = [dim for dim in labelled.dims if dim in labelled.indexes]
        texts = [dim for dim in texts if all(isinstance(x, str) for x in labelled.indexes[dim])]
        if len(texts) != 1:
            raise InputError(
                f"{argument} is a DataArray with the dimensions "
                f"{', '.join(map(str, labelled.dims))}; expected one that is labelled with the "
                "names of joints. Give it coordinates with assign_coords."
            )
        names = _labels(labelled.indexes[texts[0]])
    else:
        names = list(labelled.columns)
    names = [name for _, name in of_argument(names, argument)]
    other = [x for x in names if not isinstance(x, str)]
    if other:
        raise InputError(
            f"{argument} has the labels {shown(other)}; expected names of {kind}s. Pass "
            ".to_numpy() for values without names."
        )
    return Axis(cast("tuple[str, ...]", tuple(names)), kind)


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
            for x, (_, axis, name) in zip(read, given, strict=True):
                if not x.kind and axis is not None:
                    _check_plain(x.values, leads, name)
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
            return as_dict(result, axes)
        if not isinstance(result, np.ndarray | np.generic):
            raise InputError(
                f"a {type_name(result)} is the result of arguments that are labelled by "
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
            axis or Axis(tuple(map(str, range(size))), "entry")
            for axis, size in zip(axes, x.shape[len(lead) :], strict=True)
        ]
        return as_labelled(x, named, name, form)


def _check_plain(value: Any, leads: Sequence[object], argument: str) -> None:
    """Refuse a plain array that has some of several dimensions: which of them is not certain."""
    if 1 < np.ndim(value) <= len(leads):
        raise InputError(
            f"{argument} is a plain array of shape {np.shape(value)} beside DataArrays with the "
            f"dimensions {', '.join(map(str, leads))}: it is not certain which of these it has. "
            "Label it, or give it all of them."
        )


@dataclass(frozen=True)
class _Given:
    """One argument after reading: its values, joints last, and its form."""

    values: Any
    form: Form = Form()

    @property
    def kind(self) -> str:
        return self.form.kind


def _read(value: object, axis: Axis | None, argument: str) -> _Given:
    kind = label_kind(type(value))
    if kind is None:
        if has_fields(value):
            raise InputError(f"{argument} {structured(value)}")
        if has_labels(value):
            raise InputError(
                f"{argument} is {describe(value)}, whose order is not certain; pass one dict of "
                "arrays, or one data frame with a row for each state."
            )
        refuse_masked(value, argument)
        return _Given(value)
    if axis is None:
        way = (
            "robot.wrenches({frame: wrench}) makes it from names."
            if argument == "F_ext"
            else "Its entries have no names here."
        )
        raise InputError(f"{argument} is {describe(value)}; expected a plain array. {way}")
    if kind == UNKNOWN:
        raise InputError(f"{argument} is {describe(value)}: {remedy(type(value))}.")
    if kind == DICT and (x := _plain_numbers(value, axis)) is not None:
        return _Given(x, Form(DICT))
    read = {DICT: _read_dict, SERIES: _read_series, FRAME: _read_frame, POLARS: _read_polars}
    return read.get(kind, _read_xarray)(value, axis, argument)


# reading


def _plain_numbers(value: Any, axis: Axis) -> Array | None:
    """One state in a dict, as a control loop passes it; None where more has to be checked."""
    if len(value) != len(axis.names):
        return None
    try:
        entries = axis.entries(value)
    except KeyError:
        return None
    return np.array(entries) if PLAIN.issuperset(map(type, entries)) else None


def _read_dict(value: Any, axis: Axis, argument: str) -> _Given:
    entries: dict[object, Any] = {}
    for key, x in value.items():
        if label_kind(type(x)) is not None:
            raise InputError(
                f"{argument}[{key!r}] is a {type_name(x)}; expected a number or an array. For a "
                f"table with a column for each joint pass pandas.DataFrame({argument})."
            )
        parts = axis.whole.get(key, (key,)) if isinstance(key, str) else (key,)
        twice = [part for part in parts if part in entries]
        if twice:
            raise InputError(f"{argument} gives {twice[0]!r} twice: whole and as an entry.")
        entries |= _split(x, parts, f"{argument}[{key!r}]")
    order = order_of(list(entries), axis, argument, "keys of the dict")
    values = list(entries.values())
    return _Given(_stack([values[k] for k in order], argument), Form(DICT))


def _split(x: Any, parts: Sequence[str], name: str) -> dict[object, Any]:
    """Return the entries of a joint; one that has several is given as (..., entries)."""
    if x is None or isinstance(x, str | bytes):
        raise InputError(f"{name} is {x!r}; expected a number.")
    refuse_masked(x, name)
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
    if not entries:
        return np.zeros(0)
    packages = {base.__module__.partition(".")[0] for x in entries for base in type(x).__mro__}
    try:
        if "torch" in packages:
            return _stack_tensors(entries)
        if packages & {"jax", "jaxlib"}:
            jnp = need("jax.numpy", "jax", "a dict of JAX arrays")
            return jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, entries)), -1)
        if "cupy" in packages:
            cupy = need("cupy", "cuda", "a dict of CuPy arrays")
            return cupy.stack(cupy.broadcast_arrays(*map(cupy.asarray, entries)), -1)
        return np.stack(np.broadcast_arrays(*entries), -1)
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


def _read_series(value: Any, axis: Axis, argument: str) -> _Given:
    labels = _labels(value.index)
    check_units(value, argument, labels)
    order = order_of(labels, axis, argument, "labels of the Series", value.index.nlevels)
    return _Given(_numbers(value.iloc[order], argument), Form(SERIES))


def _read_frame(value: Any, axis: Axis, argument: str) -> _Given:
    found, rows = _labels(value.columns), _labels(value.index)
    check_units(value, argument, found)
    if set(rows) & set(axis.names):
        both = set(found) & set(axis.names)
        columns = "its columns are, too" if both else "its columns are not"
        way = "reset_index(drop=True) gives them numbers." if both else "Pass frame.T."
        raise InputError(
            f"{argument} is a DataFrame whose rows are named like {axis.kind}s, and {columns}; "
            f"expected a column for each {axis.kind} and a row for each state. {way}"
        )
    order = order_of(found, axis, argument, "columns of the DataFrame", value.columns.nlevels)
    chosen = value.iloc[:, order]
    kinds = {str(kind) for kind in chosen.dtypes}
    if len(kinds) == 1:
        x = _numbers(chosen, argument)
    else:
        x = np.stack([_numbers(chosen.iloc[:, k], argument) for k in range(len(order))], -1)
    return _Given(x, Form(FRAME, (len(value),), rows=value.index))


def _read_polars(value: Any, axis: Axis, argument: str) -> _Given:
    order = order_of(list(value.columns), axis, argument, "columns of the polars DataFrame")
    chosen = value.select([value.columns[k] for k in order])
    for name, kind in chosen.schema.items():
        if not kind.is_numeric() or kind.is_decimal():
            raise InputError(f"{argument}: column {name!r} has the type {kind}; expected numbers.")
    kinds = {str(kind) for kind in chosen.dtypes}
    number = np.float32 if kinds == {"Float32"} else np.float64
    x = np.stack([chosen[name].to_numpy().astype(number) for name in chosen.columns], -1)
    return _Given(x, Form(POLARS, (value.height,)))


def _read_xarray(value: Any, axis: Axis, argument: str) -> _Given:
    check_units(value, argument, axis.names)
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
                f"the {axis.kind}s{axis.owner}, expected one. Name the entries of a dimension with "
                f"assign_coords: {shown(axis.names)}."
            )
    order = order_of(labels[own[0]], axis, argument, f"labels of the dimension {own[0]!r}")
    for x in value.coords.values():
        if own[0] in x.dims:
            check_units(x, argument, axis.names)
    lead = tuple(dim for dim in value.dims if dim != own[0])
    coords = {name: x for name, x in value.coords.items() if own[0] not in x.dims}
    x = _numbers(value.transpose(*lead, own[0]).isel({own[0]: order}), argument)
    return _Given(x, Form(XARRAY, x.shape[:-1], dims=lead, coords=coords, own=own[0]))


def _labels(index: Any) -> list[object]:
    return list(index.tolist())


def _numbers(column: Any, argument: str) -> Array:
    """Return the values of a Series, DataArray, or frame of one type; missing ones are NaN."""
    kind = str(column.dtypes.iloc[0] if hasattr(column, "columns") else column.dtype)
    if kind == "object":
        x = np.asarray(column, object)
        for at, entry in np.ndenumerate(x):
            if entry is None or isinstance(entry, str | bytes) or type(entry).__name__ == "NAType":
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


# several arguments


def _common_form(labelled: Sequence[tuple[_Given, str]]) -> Form:
    """Return the form of the results; InputError if the arguments are labelled differently."""
    framed = [(x.form, name) for x, name in labelled if x.kind != DICT]
    if not framed:
        return labelled[0][0].form if labelled else Form()
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


def _common_dimensions(framed: Sequence[tuple[Form, str]]) -> Form:
    """Return all leading dimensions of DataArrays, which must agree where they share a name."""
    sizes: dict[Any, int] = {}
    coords: dict[Any, Any] = {}
    dropped: set[Any] = set()
    for form, name in framed:
        for dim, size in zip(form.dims, form.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise InputError(
                    f"dimension {dim!r} has {sizes[dim]} entries and in {name} {size}; expected "
                    "the same in all DataArrays."
                )
        for key, x in form.coords.items():
            differs = key in coords and not coords[key].variable.equals(x.variable)
            if differs and key in form.dims:
                raise InputError(
                    f"the labels of dimension {key!r} differ in {name}; expected the same in the "
                    "same order. Use xarray.align first."
                )
            if differs:
                dropped.add(key)  # as xarray's own operations do
            coords.setdefault(key, x)
    first = framed[0][0]
    kept = {key: x for key, x in coords.items() if key not in dropped}
    return Form(XARRAY, tuple(sizes.values()), None, tuple(sizes), kept, first.own)


def _spread(x: _Given, dims: Sequence[Any]) -> Array:
    """Return the values with an axis for each of the dimensions, of length 1 where it has none."""
    dims_of_x = x.form.dims
    order = [dims_of_x.index(dim) for dim in dims if dim in dims_of_x]
    values = np.moveaxis(x.values, order, range(len(order)))
    at = iter(values.shape[:-1])
    return values.reshape(*(next(at) if dim in dims_of_x else 1 for dim in dims), values.shape[-1])


def as_labelled(x: Array, axes: Sequence[Axis], name: str, form: Form) -> Any:
    """Return an array, (..., *axes), as an object of the package of the form."""
    make = {POLARS: _as_polars, XARRAY: _as_xarray}.get(form.kind, _as_pandas)
    return make(x, axes, name, form)


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


def _as_pandas(x: Array, axes: Sequence[Axis], name: str, form: Form) -> Any:
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
    repeated = [rows.get_level_values(k).repeat(count) for k in range(rows.nlevels)]
    tiled = level.take(np.tile(np.arange(count), len(rows)))
    return pandas.MultiIndex.from_arrays([*repeated, tiled], names=[*rows.names, level.name])


def _as_polars(x: Array, axes: Sequence[Axis], name: str, form: Form) -> Any:
    polars = need("polars", "labels", "a labelled result")
    if not axes:
        return polars.Series(name, x)
    columns = [""]
    for axis in axes:
        columns = [f"{a}:{b}" if a else b for a in columns for b in axis.names]
    if len(set(columns)) < len(columns):
        raise InputError(
            f"{name} as a polars DataFrame would have two columns of one name, because names of "
            "the robot have a colon; pass a pandas DataFrame."
        )
    flat = x.reshape(len(x), prod(x.shape[1:]))
    return polars.DataFrame({column: flat[:, k] for k, column in enumerate(columns)})


def _as_xarray(x: Array, axes: Sequence[Axis], name: str, form: Form) -> Any:
    xarray = need("xarray", "labels", "a labelled result")
    dims, coords = list(form.dims), dict(form.coords)
    for axis in axes:
        base = form.own if axis.kind in ("joint", "coordinate") else axis.kind
        dim, k = base, 2
        while dim in dims or dim in coords:
            dim, k = f"{base}_{k}", k + 1
        dims.append(dim)
        coords[dim] = list(axis.names)
    return xarray.DataArray(x, dims=dims, coords=coords, name=name)
