"""Parquet: rows in groups of a fixed number, whatever the chunks they come in."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.extras import need
from kinetree.parallel.sinks import check_same, partial_of

GROUP = 1 << 16  # rows


class ParquetSink:
    """A file whose metadata say what it holds; it has no time of writing in it.

    What was begun can be gone on with after an interruption; a process that was killed leaves no
    end to its file, and then the study begins anew.
    """

    def __init__(
        self, path: Path, dtype: np.dtype[Any], meta: Mapping[str, str], resume: bool
    ) -> None:
        self._arrow: Any = need("pyarrow", "parquet", "an output that ends in .parquet")
        self._parquet: Any = need("pyarrow.parquet", "parquet", "an output that ends in .parquet")
        self.path, self.partial, self.dtype, self.done = path, partial_of(path), dtype, 0
        self.group = max(1, min(GROUP, (64 << 20) // dtype.itemsize))
        self._kept: list[Array] = []
        fields = [(name, _type(self._arrow, kind)) for name, (kind, *_) in dtype.fields.items()]  # type: ignore[union-attr]
        self.schema = self._arrow.schema(fields, metadata=dict(meta))
        old = self._set_aside(meta) if resume else None
        self._writer: Any = self._parquet.ParquetWriter(
            self.partial, self.schema, compression="zstd", use_dictionary=False, version="2.6"
        )
        if old is not None:
            self._copy(old)

    def _set_aside(self, meta: Mapping[str, str]) -> Path | None:
        """The file of a former run under another name, if it is one of this study."""
        if not self.partial.exists():
            return None
        try:
            with self._parquet.ParquetFile(self.partial) as old:
                found = old.schema_arrow.metadata or {}
        except self._arrow.ArrowInvalid:  # without an end: nothing of it can be read
            return None
        check_same(self.partial, {k.decode(): v.decode() for k, v in found.items()}, meta)
        aside = self.partial.with_name(self.partial.name + ".old")
        os.replace(self.partial, aside)
        return aside

    def _copy(self, aside: Path) -> None:
        """The groups of the former run; the last, where it is short, is filled up."""
        with self._parquet.ParquetFile(aside) as old:
            for k in range(old.num_row_groups):
                rows = old.read_row_group(k)
                self.done += rows.num_rows
                if rows.num_rows == self.group:
                    self._writer.write_table(rows.cast(self.schema), row_group_size=self.group)
                else:
                    self._kept.append(self._rows(rows))
        aside.unlink()

    def _rows(self, table: Any) -> Array:
        rows = np.empty(table.num_rows, self.dtype)
        for name in self.dtype.names or ():
            rows[name] = table.column(name).to_numpy()
        return rows

    def write(self, rows: Array) -> None:
        """See `Sink`."""
        self._kept.append(rows)
        if sum(map(len, self._kept)) >= self.group:
            ready = np.concatenate(self._kept)
            whole = len(ready) - len(ready) % self.group
            for at in range(0, whole, self.group):
                self._write(ready[at : at + self.group])
            self._kept = [ready[whole:].copy()]

    def _write(self, rows: Array) -> None:
        names = rows.dtype.names or ()
        columns = [self._arrow.array(np.ascontiguousarray(rows[name])) for name in names]
        table = self._arrow.Table.from_arrays(columns, schema=self.schema)
        self._writer.write_table(table, row_group_size=self.group)

    def finish(self, complete: bool) -> None:
        """See `Sink`."""
        rest = np.concatenate(self._kept) if self._kept else None
        if rest is not None and len(rest):
            self._write(rest)
        self._writer.close()
        if complete:
            os.replace(self.partial, self.path)


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
