"""Results with names: arrays in the form of the labelled arguments that they were computed from."""

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.axis import Axis, Form
from kinetree.base.containers import POLARS, XARRAY
from kinetree.errors import InputError, need


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
    rest = [*axes[:k], *axes[k + 1 :]]
    before = (slice(None),) * at
    return {name: as_dict(x[(*before, i)], rest) for i, name in enumerate(axis.names)}


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
    own = [rows.get_level_values(k).repeat(count) for k in range(rows.nlevels)]
    tiled = level.take(np.tile(np.arange(count), len(rows)))
    return pandas.MultiIndex.from_arrays([*own, tiled], names=[*rows.names, level.name])


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
