"""Where rows go: memory, .npy, .csv or .parquet. Rows come in order and are written as they come.

A file grows as NAME.partial and takes its name when the study is complete. Its bytes depend on the
study alone, not on the engine nor on how the samples were cut into chunks. A study can go on from
whatever was written when its process was killed, at any moment.
"""

import json
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.system import replace
from kinetree.errors import InputError, need

PARTIAL = ".partial"
MAGIC = b"\x93NUMPY\x03\x00"
BLOCK = 1 << 20  # bytes that are read at a time
GROUP = 1 << 16  # rows of a group in a Parquet file
ENDINGS = (".parquet", ".npy", ".csv")
Row = np.dtype[Any]  # a row of the table: the number of the sample, then its columns


def row_dtype(columns: tuple[str, ...]) -> Row:
    """The type of a row: the number of the sample, and its columns."""
    return np.dtype([("sample", "<i8"), *((name, "<f8") for name in columns)])


class MemorySink:
    """All rows in one array. `done`: rows that are there."""

    def __init__(self, dtype: Row, total: int) -> None:
        self.table = np.zeros(total, dtype)
        self.done = 0

    def write(self, rows: Array) -> None:
        """Append rows of the table's dtype."""
        self.table[self.done : self.done + len(rows)] = rows
        self.done += len(rows)

    def written(self, first: int, count: int) -> Array:
        """Rows as they were written; call it before `finish`."""
        return self.table[: self.done][first : first + count]

    def finish(self, complete: bool) -> None:
        """Close the file; one that is not complete stays there for `resume`."""


class FileSink(ABC):
    """Rows in a file. done: rows that an earlier run left. begin: bytes before the first row."""

    def __init__(
        self, path: Path, dtype: Row, total: int, meta: Mapping[str, str], resume: bool
    ) -> None:
        self.path, self.partial, self.dtype = path, partial_of(path), dtype
        head, size = self.head(total), 0
        self.begin, self.done = len(head), 0
        if resume and same_study(self.partial, meta):
            self.done, size = self.left()
        if size >= self.begin:
            os.truncate(self.partial, size)
            self._file = self.partial.open("ab")
        else:
            announce(self.partial, meta)
            self._file = self.partial.open("wb")
            self._file.write(head)

    @abstractmethod
    def head(self, total: int) -> bytes:
        """What stands before the first of `total` rows."""

    @abstractmethod
    def left(self) -> tuple[int, int]:
        """The number of whole rows that an earlier run left, and the size of the file with them."""

    @abstractmethod
    def encoded(self, rows: Array) -> bytes:
        """Rows as they stand in the file."""

    @abstractmethod
    def written(self, first: int, count: int) -> Array:
        """Rows as they were written; call it before `finish`."""

    def write(self, rows: Array) -> None:
        """Append rows of the table's dtype."""
        self._file.write(self.encoded(rows))
        self._file.flush()

    def finish(self, complete: bool) -> None:
        """Close the file; one that is not complete stays there for `resume`."""
        self._file.close()
        if complete:
            settle(self.partial, self.path)


class NpySink(FileSink):
    """A NumPy file of one structured array, which can be mapped into memory."""

    def head(self, total: int) -> bytes:
        """A header of version 3: UTF-8 names, data from a multiple of 64 bytes on.

        It is written by hand so that its length does not depend on the version of NumPy.
        """
        layout = {"descr": self.dtype.descr, "fortran_order": False, "shape": (total,)}
        text = repr(layout).encode()
        text += b" " * (-(len(MAGIC) + 4 + len(text) + 1) % 64) + b"\n"
        return MAGIC + struct.pack("<I", len(text)) + text

    def left(self) -> tuple[int, int]:
        """The bytes behind the header are rows of one size."""
        rows = max(0, self.partial.stat().st_size - self.begin) // self.dtype.itemsize
        return rows, min(self.partial.stat().st_size, self.begin + rows * self.dtype.itemsize)

    def encoded(self, rows: Array) -> bytes:
        """The bytes of the array."""
        return rows.tobytes()

    def written(self, first: int, count: int) -> Array:
        """Read them at their place."""
        at = self.begin + first * self.dtype.itemsize
        return np.fromfile(self.partial, self.dtype, count, offset=at)


class CsvSink(FileSink):
    """Text: a line of names, then a line for each row; numbers with all their digits."""

    def head(self, total: int) -> bytes:
        """The names of the columns."""
        return (",".join(map(_quoted, self.dtype.names or ())) + "\n").encode()

    def left(self) -> tuple[int, int]:
        """Every row ends with a new line."""
        lines = size = at = 0
        with self.partial.open("rb") as file:
            while block := file.read(BLOCK):
                ends = block.count(b"\n")
                lines, size = lines + ends, at + block.rindex(b"\n") + 1 if ends else size
                at += len(block)
        return max(0, lines - 1), size

    def encoded(self, rows: Array) -> bytes:
        """A line for each row."""
        return "".join(f"{','.join(map(repr, row))}\n" for row in rows.tolist()).encode()

    def written(self, first: int, count: int) -> Array:
        """Read their lines."""
        with self.partial.open("rb") as file:
            lines = [x.decode().split(",") for x in islice(file, first + 1, first + 1 + count)]
        return np.array([(int(x), *map(float, columns)) for x, *columns in lines], self.dtype)


class ParquetSink(NpySink):
    """A Parquet file with the metadata in it, in groups of a fixed number of rows.

    Parquet has its index at the end, so that an interrupted file cannot be read. Rows are therefore
    kept in a NumPy file, which can be continued, and packed when all of them are there. The file
    does not record when it was written.
    """

    def __init__(
        self, path: Path, dtype: Row, total: int, meta: Mapping[str, str], resume: bool
    ) -> None:
        self._arrow: Any = need("pyarrow", "parquet", "an output that ends in .parquet")
        self._parquet: Any = need("pyarrow.parquet", "parquet", "an output that ends in .parquet")
        types = {"i": self._arrow.int64(), "f": self._arrow.float64()}
        fields = [(name, types[dtype[name].kind]) for name in dtype.names or ()]
        self.schema = self._arrow.schema(fields, metadata=dict(meta))
        super().__init__(path, dtype, total, meta, resume)

    def finish(self, complete: bool) -> None:
        """Close the file; pack a complete one."""
        super().finish(complete=False)
        if not complete:
            return
        packed = self.partial.with_name(self.partial.name + ".packed")
        try:
            self._pack(packed)
            replace(packed, self.path)
        finally:
            packed.unlink(missing_ok=True)
        self.partial.unlink()
        meta_of(self.partial).unlink()

    def _pack(self, packed: Path) -> None:
        """Write all rows as Parquet, with one group in memory at a time."""
        group = max(1, min(GROUP, (64 << 20) // self.dtype.itemsize))
        with (
            self.partial.open("rb") as file,
            self._parquet.ParquetWriter(
                packed, self.schema, compression="zstd", use_dictionary=False, version="2.6"
            ) as writer,
        ):
            file.seek(self.begin)
            while len(rows := np.fromfile(file, self.dtype, group)):
                names = self.dtype.names or ()
                columns = [self._arrow.array(np.ascontiguousarray(rows[name])) for name in names]
                table = self._arrow.Table.from_arrays(columns, schema=self.schema)
                writer.write_table(table, row_group_size=group)


Sink: TypeAlias = MemorySink | FileSink


def make_sink(
    path: Path | None, dtype: Row, total: int, meta: Mapping[str, str], resume: bool = False
) -> Sink:
    """The sink for `total` rows at a path, by its ending; memory for None."""
    if path is None:
        return MemorySink(dtype, total)
    kinds = {".parquet": ParquetSink, ".npy": NpySink, ".csv": CsvSink}
    return kinds[path.suffix](path, dtype, total, meta, resume)


def check_place(output: str | os.PathLike[str] | None) -> Path | None:
    """The file for the results, with one of our endings in an existing folder; None for memory."""
    if output is None:
        return None
    path = as_path(output, "output")
    check_ending(path)
    if not path.parent.is_dir():
        raise InputError(f"the folder of output {path} does not exist; expected one that does.")
    for taken in (path, partial_of(path)):
        if taken.is_dir():
            raise InputError(f"{taken} is a folder; expected the name of a file for output.")
    return path


def as_path(value: str | os.PathLike[str], name: str) -> Path:
    """The path of a file; InputError names the argument if it is something else."""
    try:
        return Path(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}; expected the name of a file.") from None


def check_ending(path: Path) -> str:
    """The ending of a file's name; InputError unless it is one of ENDINGS."""
    if path.suffix not in ENDINGS:
        raise InputError(
            f"output is {path.name}; expected a name that ends in .parquet, .npy or .csv."
        )
    return path.suffix


def partial_of(path: Path) -> Path:
    """The name under which a file grows."""
    return path.with_name(path.name + PARTIAL)


def meta_of(path: Path) -> Path:
    """The file of metadata beside a file."""
    return path.with_name(path.name + ".json")


def announce(partial: Path, meta: Mapping[str, str]) -> None:
    """Write the metadata of a new file; an older file is removed first, which they do not fit."""
    partial.unlink(missing_ok=True)
    text = json.dumps(dict(meta), indent=1, ensure_ascii=False)
    meta_of(partial).write_text(text + "\n", encoding="utf-8", newline="\n")


def read_meta(path: Path) -> dict[str, str]:
    """The metadata beside a file; empty if there are none."""
    try:
        return json.loads(meta_of(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def same_study(partial: Path, meta: Mapping[str, str]) -> bool:
    """Return True if there is a file to go on with; InputError if it is of another study."""
    if not partial.exists():
        return False
    check_same(partial, read_meta(partial), meta)
    return True


def check_same(partial: Path, former: Mapping[str, str], meta: Mapping[str, str]) -> None:
    """Raise InputError, which names the differences, unless both metadata are the same."""
    differ = [key for key in {*former, *meta} if former.get(key) != meta.get(key)]
    if differ:
        raise InputError(
            f"{partial.name} was begun with another {', '.join(sorted(differ))}; expected the same "
            "study. Give the same arguments, or resume=False to begin anew."
        )


def settle(partial: Path, path: Path) -> None:
    """Give the complete file its name, and its metadata theirs.

    If that is interrupted, each of the two names has a file with its own metadata, or no file.
    """
    path.unlink(missing_ok=True)
    meta_of(path).write_bytes(meta_of(partial).read_bytes())
    replace(partial, path)
    meta_of(partial).unlink()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name
