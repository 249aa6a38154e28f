"""Columns that are stored as arrays: NPZ and Parquet, with the same names as in text.

An array with two axes, and a Parquet column of lists, is a numbered set of columns: `q` of shape
(T, n) reads as q[0] to q[n-1]. Attributes and texts are not read.
"""

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.errors import ParseError, need
from kinetree.motion.recordings import MAX_NAMES, SIGNALS, TIME
from kinetree.motion.recordings.sizes import check_columns, check_names, check_numbers

NPY_HEADER = 1 << 16  # bytes of an array's header, with its magic
# what the readers of ZIP and of arrays raise for damaged files
DAMAGED = (
    ValueError, zipfile.BadZipFile, zlib.error, EOFError, AttributeError, OSError, RuntimeError,
    SyntaxError, TypeError, tokenize.TokenError,
)  # fmt: skip


class ArraySource:
    """A Source of named arrays, (T,) or (T, n)."""

    def __init__(self, arrays: Mapping[str, Array], where: str, notes: Iterable[str] = ()) -> None:
        self.where, self.notes = where, list(notes)
        self._columns: dict[str, Array] = {}
        for name, x in arrays.items():
            if x.ndim not in (1, 2):
                raise ParseError(f"{where}: {name!r} has shape {x.shape}; expected (T,) or (T, n).")
            if x.ndim == 1:
                self._columns[name] = x
                continue
            check_columns(x.shape[1], f"{where}: {name!r}")
            self._columns |= {f"{name}[{k}]": x[:, k] for k in range(x.shape[1])}
        self.heads = tuple(self._columns)
        self.width = len(self.heads)
        lengths = {len(x): name for name, x in self._columns.items()}
        if len(lengths) > 1:
            texts = [f"{name} has {length}" for length, name in lengths.items()]
            raise ParseError(f"{where}: columns differ in length: {', '.join(texts[:MAX_NAMES])}.")
        if not any(lengths):
            raise ParseError(f"{where} has columns {listing(self.heads, MAX_NAMES)} and no rows.")

    def row(self, k: int) -> str:
        """The k-th sample as messages name it."""
        return f"{self.where}, row {k + 1}"

    def read(self, used: Sequence[int], exact: Sequence[int]) -> dict[int, Any]:
        """Numbers of columns, (T,); those in `exact` as they are."""
        found = {k: self._columns[self.heads[k]] for k in (*used, *exact)}
        dates = [k for k in exact if found[k].dtype.kind in "mM"]
        numbers = {k: self._floats(x, self.heads[k]) for k, x in found.items() if k not in dates}
        return {k: x if k in exact else numbers[k] for k, x in found.items()}

    def _floats(self, x: Array, head: str) -> Array:
        if x.dtype.kind not in "fiu":
            raise ParseError(
                f"{self.row(0)}: {head!r} is {x[:1].tolist()[0]!r:.40}; expected a number."
            )
        numbers = x.astype(np.float64, copy=False)
        for k in np.flatnonzero(~np.isfinite(numbers))[:1].tolist():
            raise ParseError(f"{self.row(k)}: {head!r} is {numbers[k]}; expected a finite number.")
        return numbers


# ----- Parquet


def parquet_source(path: Path) -> ArraySource:
    """The columns of a Parquet file; needs the extra `parquet`. Columns of texts are not read."""
    parquet = need("pyarrow.parquet", "parquet", "a Parquet file")
    import pyarrow

    where = path.name
    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            check_names(schema.names, where)
            if len(set(schema.names)) < len(schema.names):
                raise ParseError(f"{where}: two columns have the same name.")
            numbers = [str(x.name) for x in schema if not _is_text(x.type)]
            _check_parquet(file, where, numbers)
        table = parquet.read_table(path, columns=numbers)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(f"{where} is not a Parquet file: {_line(error)}.") from None
    arrays: dict[str, Array] = {}
    for field in schema:
        name = str(field.name)
        if name in numbers:
            arrays[name] = _from_arrow(table.column(0), name, where)
            table = table.remove_column(0)  # frees its memory if the array is a copy
        else:  # its cells are not looked at, or refused where numbers are expected
            arrays[name] = np.broadcast_to(np.array(f"<{field.type}>", object), rows)
    return ArraySource(arrays, where)


def _is_text(kind: Any) -> bool:
    """Whether a column of Parquet, or the items of its lists, are texts or bytes."""
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return any(x in str(kind) for x in ("string", "binary"))


def _check_parquet(file: Any, name: str, numbers: list[str]) -> None:
    """Refuse more numbers than the limit before any is read; repeated ones take few bytes there."""
    metadata, count = file.metadata, 0
    check_columns(metadata.num_columns, name)
    check_numbers(8 * metadata.num_rows, name)
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        if group.num_rows:
            # raises for damaged metadata of a column, for which column(j) would end the process
            next(file.iter_batches(1, row_groups=[k], columns=numbers), None)
            count += sum(group.column(j).num_values for j in range(metadata.num_columns))
            check_numbers(8 * count, name)


def _from_arrow(column: Any, name: str, where: str) -> Array:
    """A column of Parquet as an array; lists of one length become (T, n)."""
    import pyarrow

    compute = need("pyarrow.compute", "parquet", "a Parquet file")
    kind, types = column.type, pyarrow.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if column.null_count:
            row = column.is_null().to_numpy().argmax() + 1
            raise ParseError(f"{where}, row {row}: {name!r} is missing; expected a list.")
        lengths = compute.unique(compute.list_value_length(column)).to_pylist()
        if len(lengths) > 1:
            raise ParseError(f"{where}: lists of {name!r} differ in length; expected one length.")
        flat = _from_arrow(compute.list_flatten(column), name, where)
        return flat.reshape(len(column), -1) if lengths and lengths[0] else flat[:0]
    if types.is_nested(kind):
        raise ParseError(f"{where}: {name!r} is of type {kind}; expected numbers or lists of them.")
    return (column.cast(pyarrow.float64()) if types.is_decimal(kind) else column).to_numpy()


# ----- NPZ


def load_npz(path: Path) -> dict[str, Array]:
    """The arrays of an NPZ file; nothing is unpickled, and sizes are checked before."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_npz(archive, path.name)
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except ParseError:
        raise
    except DAMAGED as error:
        raise ParseError(f"{path.name} is not an NPZ file of arrays: {_line(error)}.") from None


def _check_npz(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse arrays that are larger than the limit or than their files, by their headers."""
    members, total = archive.infolist(), 0
    check_columns(len(members), name)
    if len({x.filename for x in members}) < len(members):
        raise ValueError("two arrays have the same name")
    for member in members:
        with archive.open(member) as stream:
            start = io.BytesIO(stream.read(NPY_HEADER))
        version = np.lib.format.read_magic(start)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{member.filename} is of version {version}")
        readers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, kind = readers[version[0] - 1](start)
        if any(x < 0 for x in shape):
            raise ValueError(f"{member.filename} has shape {shape}")
        count = math.prod(shape)
        total += count * max(kind.itemsize, 8)  # all become 64-bit numbers
        check_numbers(total, f"{name}: {member.filename} of shape {shape}, with those before it,")
        if not kind.hasobject and count * kind.itemsize > member.file_size:
            raise ValueError(
                f"{member.filename} states shape {shape} and has {member.file_size} bytes"
            )


def npz_source(arrays: Mapping[str, Array], where: str) -> ArraySource:
    """The columns of the arrays of an NPZ file; those of kinetree have the names of the joints."""
    if "dof_names" in arrays:
        return ArraySource(_named(arrays), where)
    unused = [name for name, x in arrays.items() if x.ndim == 0 or x.dtype.kind in "US"]
    note = f"{listing(unused, MAX_NAMES)}, which are no columns of numbers, are not used"
    columns = {name: x for name, x in arrays.items() if name not in unused}
    return ArraySource(columns, where, [note] if unused else [])


def _named(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays of a file of kinetree as columns with the names of a CSV file."""
    columns: dict[str, Array] = {}
    for name, x in arrays.items():
        if name in SIGNALS and x.ndim == 2:
            names = arrays["coordinate_names" if name == "q" else "dof_names"].tolist()
            columns |= {f"{name}:{joint}": x[:, k] for k, joint in enumerate(names)}
        elif name == TIME or name in SIGNALS:
            columns[name] = x
    return columns


def _line(error: Exception) -> str:
    """The first line of another package's message, without its full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
