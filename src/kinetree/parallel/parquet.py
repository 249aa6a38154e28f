"""Parquet: rows in groups of a fixed number, whatever the chunks they come in."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.extras import need
from kinetree.errors import InputError
from kinetree.parallel.sinks import NpySink, meta_of

GROUP = 1 << 16  # rows


class ParquetSink:
    """A file whose metadata say what it holds; it has no time of writing in it.

    Parquet has its index at the end, so that a file which is broken off cannot be read. Rows are
    therefore kept as they are, in a file that can be gone on with, and packed when all are there.
    """

    def __init__(
        self, path: Path, dtype: np.dtype[Any], total: int, meta: Mapping[str, str], resume: bool
    ) -> None:
        self._arrow: Any = need("pyarrow", "parquet", "an output that ends in .parquet")
        self._parquet: Any = need("pyarrow.parquet", "parquet", "an output that ends in .parquet")
        fields = [(name, _type(self._arrow, kind)) for name, (kind, *_) in dtype.fields.items()]  # type: ignore[union-attr]
        self.schema = self._arrow.schema(fields, metadata=dict(meta))
        self.path, self.dtype = path, dtype
        self._rows = NpySink(path, dtype, total, meta, resume)
        self.done = self._rows.done

    def write(self, rows: Array) -> None:
        """See `Sink`."""
        self._rows.write(rows)

    def written(self, first: int, count: int) -> Array:
        """See `Sink`."""
        return self._rows.written(first, count)

    def finish(self, complete: bool) -> None:
        """See `Sink`."""
        self._rows.finish(False)
        if not complete:
            return
        partial = self._rows.partial
        packed = partial.with_name(partial.name + ".packed")
        try:
            self._pack(partial, packed)
            os.replace(packed, self.path)
        finally:
            packed.unlink(missing_ok=True)
        partial.unlink()
        meta_of(partial).unlink()

    def _pack(self, partial: Path, packed: Path) -> None:
        """All rows as Parquet, one group in memory at a time."""
        group = max(1, min(GROUP, (64 << 20) // self.dtype.itemsize))
        with (
            partial.open("rb") as file,
            self._parquet.ParquetWriter(
                packed, self.schema, compression="zstd", use_dictionary=False, version="2.6"
            ) as writer,
        ):
            file.seek(self._rows.begin)
            while len(rows := np.fromfile(file, self.dtype, group)):
                names = self.dtype.names or ()
                columns = [self._arrow.array(np.ascontiguousarray(rows[name])) for name in names]
                table = self._arrow.Table.from_arrays(columns, schema=self.schema)
                writer.write_table(table, row_group_size=group)


def _type(arrow: Any, kind: np.dtype[Any]) -> Any:
    return arrow.int64() if kind.kind == "i" else arrow.float64()


def read_columns(path: Path, names: list[str]) -> list[Array]:
    """Columns of a file."""
    parquet = need("pyarrow.parquet", "parquet", f"reading {path.name}")
    table = parquet.read_table(path, columns=names)
    return [table.column(name).to_numpy() for name in names]


def read_head(path: Path) -> tuple[tuple[str, ...], int, dict[str, str]]:
    """Names of the columns, number of rows, and what the file holds."""
    parquet = need("pyarrow.parquet", "parquet", f"reading {path.name}")
    try:
        file = parquet.ParquetFile(path)
    except ValueError as problem:
        raise InputError(f"{path.name} cannot be read as Parquet: {problem}") from None
    with file:
        meta = file.schema_arrow.metadata or {}
        own = {k.decode(): v.decode() for k, v in meta.items()}
        return tuple(file.schema_arrow.names), file.metadata.num_rows, own
