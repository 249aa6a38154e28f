"""Tables that are stored as arrays: NPZ and Parquet, with the same names of columns as text.

An array with two axes, and a Parquet column of lists, is a numbered set of columns: `q` of shape
(T, n) reads as q[0] to q[n-1].
"""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import listing
from kinetree.errors import ParseError, need
from kinetree.motion.reading import MOST, Table, Wish
from kinetree.motion.reading.clocks import PER_SECOND, Clock, check_first, seconds_note
from kinetree.motion.reading.header import named_layout


def read_parquet(path: Path, wish: Wish) -> Table:
    """The table of a Parquet file; needs the extra `parquet`."""
    parquet = need("pyarrow.parquet", "parquet", "a Parquet file")
    import pyarrow

    try:
        found = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ParseError(f"{path.name} is not a Parquet file: {_line(error)}.") from None
    columns: dict[str, Array] = {}
    for name, column in zip(found.column_names, found.columns, strict=True):
        if name in columns:
            raise ParseError(f"{path.name}: two columns are called {name!r}.")
        columns |= _expanded(str(name), _from_arrow(column, str(name), path.name), path.name)
    return table_of(columns, wish, path.name)


def load_npz(path: Path) -> dict[str, Array]:
    """The arrays of an NPZ file; nothing is unpickled."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError, OSError) as error:
        raise ParseError(f"{path.name} is not an NPZ file of arrays: {_line(error)}.") from None


def table_of_npz(arrays: Mapping[str, Array], wish: Wish, where: str) -> Table:
    """The table of the arrays of an NPZ file that other programs wrote."""
    columns: dict[str, Array] = {}
    for name, x in arrays.items():
        if x.ndim > 0:
            columns |= _expanded(name, x, where)
    found = table_of(columns, wish, where)
    single = [name for name, x in arrays.items() if x.ndim == 0]
    if not single:
        return found
    note = f"{listing(single, MOST)}, which have no axis, are not used"
    return replace(found, notes=(*found.notes, note))


def table_of(columns: Mapping[str, Array], wish: Wish, where: str) -> Table:
    """The table of named columns, (T,) each, numbers or texts."""
    if not columns:
        raise ParseError(f"{where} has no columns; expected t, q:JOINT and others.")
    lengths = {len(x) for x in columns.values()}
    if len(lengths) > 1:
        texts = [f"{name} has {len(x)}" for name, x in columns.items()]
        raise ParseError(f"{where}: columns differ in length: {', '.join(texts[:MOST])}.")
    count = lengths.pop()
    if not count:
        raise ParseError(f"{where} has columns {listing(columns, MOST)} and no rows.")
    heads = list(columns)
    arrays = list(columns.values())
    first = [str(x[0]) for x in arrays]
    layout = named_layout(heads, wish, where, first)
    notes = list(layout.notes)
    for k in layout.labels:
        _check_label(arrays[k], heads[k], where)
    used = layout.numeric
    values: dict[str, Array] = {}
    if layout.clock is not None:
        values["t"] = _times(layout.clock, heads, arrays, where, wish, notes)
    position = {k: x for x, k in enumerate(used)}
    clocks = () if layout.clock is None else (layout.clock.column, layout.clock.nanoseconds)
    numbers = [
        np.zeros(count) if k in clocks else _floats(arrays[k], heads[k], where) for k in used
    ]
    table = np.stack(numbers, axis=1)
    for quantity in layout.columns:
        values[quantity] = layout.in_si(quantity, table, position)
    return Table(
        values, layout.joints, lambda k: f"{where}, row {k + 1}", where, tuple(notes),
        layout.clock_name,
    )  # fmt: skip


def _times(
    clock: Clock,
    heads: Sequence[str],
    arrays: Sequence[Array],
    where: str,
    wish: Wish,
    notes: list[str],
) -> Array:
    """Times in s; stamps, nanoseconds and seconds with nanoseconds are counted from the first."""
    x, head = arrays[clock.column], heads[clock.column]
    per_second = clock.per_second
    if x.dtype.kind == "M":  # a time stamp with its own unit
        unit = np.datetime_data(x.dtype)[0]
        if unit not in PER_SECOND:
            raise ParseError(f"{where}: {head!r} is in {unit}; expected s, ms, us or ns.")
        if np.isnat(x).any():
            raise ParseError(
                f"{where}, row {int(np.argmax(np.isnat(x))) + 1}: {head!r} is missing."
            )
        x, per_second = x.astype(np.int64), PER_SECOND[unit]
    elif not clock.exact:
        t = _floats(x, head, where)
        check_first(clock, head, float(t[0]), wish, where)
        notes += seconds_note(clock, head)
        return t / per_second if per_second != 1 else t
    whole = _whole(x, head, where)
    fine = np.zeros_like(whole)
    if clock.nanoseconds is not None:
        fine = _whole(arrays[clock.nanoseconds], heads[clock.nanoseconds], where)
    start = f"{int(whole[0]) / per_second + int(fine[0]) / 1e9:.9f}"
    notes.append(f"times are counted from the first, {start} s")
    if clock.nanoseconds is None:
        return (whole - whole[0]) / per_second
    return ((whole - whole[0]) * 10**9 + (fine - fine[0])) / 1e9


def _whole(x: Array, head: str, where: str) -> Array:
    """Whole numbers, exactly."""
    if x.dtype.kind in "iu":
        return x.astype(np.int64)
    found = _floats(x, head, where)
    if np.any(found != np.rint(found)) or np.abs(found).max(initial=0) > 2**53:
        raise ParseError(f"{where}: {head!r} has {found[0]!r}; expected whole numbers.")
    return found.astype(np.int64)


def _floats(x: Array, head: str, where: str) -> Array:
    if x.dtype.kind not in "fiub":
        raise ParseError(f"{where}, row 1: {head!r} is {x[0]!r:.40}; expected a number.")
    found = x.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        k = int(bad[0])
        raise ParseError(f"{where}, row {k + 1}: {head!r} is {found[k]}; expected a finite number.")
    return found


def _check_label(x: Array, head: str, where: str) -> None:
    texts = [str(y) for y in x]
    for k, text in enumerate(texts):
        if text != texts[0]:
            raise ParseError(
                f"{where}, row {k + 1}: {head!r} is {text!r} and was {texts[0]!r} in the first "
                "row; expected the same joints in every row."
            )


def _expanded(name: str, x: Array, where: str) -> dict[str, Array]:
    """One column, or a numbered set of them for an array with two axes."""
    if x.ndim == 1:
        return {name: x}
    if x.ndim != 2:
        raise ParseError(f"{where}: {name!r} has shape {x.shape}; expected (T,) or (T, n).")
    return {f"{name}[{k}]": x[:, k] for k in range(x.shape[1])}


def _from_arrow(column: Any, name: str, where: str) -> Array:
    """A column of Parquet as an array; lists of one length become (T, n)."""
    import pyarrow

    kind = column.type
    lists = pyarrow.types
    if lists.is_list(kind) or lists.is_large_list(kind) or lists.is_fixed_size_list(kind):
        rows = column.to_pylist()
        if len({len(x) for x in rows}) > 1:
            raise ParseError(f"{where}: lists of {name!r} differ in length; expected one length.")
        return np.array(rows)
    if lists.is_nested(kind):
        raise ParseError(f"{where}: {name!r} is of type {kind}; expected numbers or lists of them.")
    if lists.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    return column.to_numpy()


def _line(error: Exception) -> str:
    """The first line of another package's message, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
