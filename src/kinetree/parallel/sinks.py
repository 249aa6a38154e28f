"""Where rows go: memory, .npy, .csv; Parquet beside. Rows come in order and leave as they come.

A file grows as NAME.partial and takes its name when the study is complete. Its bytes depend on the
study alone: not on the engine, nor on how the samples were cut into chunks. Whatever was written
when a process is killed, at any moment, a study can go on from.
"""

import json
import os
import struct
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError

PARTIAL = ".partial"
MAGIC = b"\x93NUMPY\x03\x00"
BLOCK = 1 << 20  # bytes that are read at a time


class Sink(Protocol):
    """Takes rows; `done` is how many of them a former run left."""

    done: int

    def write(self, rows: Array) -> None:
        """Append rows of the table's dtype."""
        ...

    def written(self, first: int, count: int) -> Array:
        """Rows as they were written, before `finish`."""
        ...

    def finish(self, complete: bool) -> None:
        """Close; a file that is not complete stays for `resume`."""
        ...


def row_dtype(columns: tuple[str, ...]) -> np.dtype[Any]:
    """A row: the sample's number and its numbers."""
    return np.dtype([("sample", "<i8"), *((name, "<f8") for name in columns)])


class MemorySink:
    """All rows in one array."""

    def __init__(self, dtype: np.dtype[Any], total: int) -> None:
        self.table = np.zeros(total, dtype)
        self.done = 0

    def write(self, rows: Array) -> None:
        """See `Sink`."""
        self.table[self.done : self.done + len(rows)] = rows
        self.done += len(rows)

    def written(self, first: int, count: int) -> Array:
        """See `Sink`."""
        return self.table[: self.done][first : first + count]

    def finish(self, complete: bool) -> None:
        """See `Sink`."""


class NpySink:
    """A NumPy file of one structured array, which can be mapped into memory."""

    def __init__(
        self, path: Path, dtype: np.dtype[Any], total: int, meta: Mapping[str, str], resume: bool
    ) -> None:
        self.path, self.partial, self.dtype = path, partial_of(path), dtype
        head, size = npy_head(dtype, total), -1
        self.begin = len(head)  # bytes before the first row
        if resume and same_study(self.partial, meta):
            size = self.partial.stat().st_size
        self.done = max(0, size - self.begin) // dtype.itemsize
        if size >= self.begin:
            os.truncate(self.partial, self.begin + self.done * dtype.itemsize)
            self._file = self.partial.open("ab")
        else:
            announce(self.partial, meta)
            self._file = self.partial.open("wb")
            self._file.write(head)

    def write(self, rows: Array) -> None:
        """See `Sink`."""
        self._file.write(rows.tobytes())
        self._file.flush()

    def written(self, first: int, count: int) -> Array:
        """See `Sink`."""
        at = self.begin + first * self.dtype.itemsize
        return np.fromfile(self.partial, self.dtype, count, offset=at)

    def finish(self, complete: bool) -> None:
        """See `Sink`."""
        self._file.close()
        if complete:
            settle(self.partial, self.path)


class CsvSink:
    """Text: a line of names, then a line a row; numbers with all their digits."""

    def __init__(
        self, path: Path, dtype: np.dtype[Any], total: int, meta: Mapping[str, str], resume: bool
    ) -> None:
        self.path, self.partial, self.done = path, partial_of(path), 0
        self.dtype = dtype
        if resume and same_study(self.partial, meta):
            lines, size = _whole_lines(self.partial)
            self.done = max(0, lines - 1)
            os.truncate(self.partial, size)
            self._file = self.partial.open("a", encoding="utf-8", newline="")
        else:
            lines = 0
            announce(self.partial, meta)
            self._file = self.partial.open("w", encoding="utf-8", newline="")
        if lines == 0:
            self._file.write(",".join(map(_quoted, dtype.names or ())) + "\n")

    def write(self, rows: Array) -> None:
        """See `Sink`."""
        lines = [",".join(map(repr, row)) for row in rows.tolist()]
        self._file.write("".join(f"{line}\n" for line in lines))
        self._file.flush()

    def written(self, first: int, count: int) -> Array:
        """See `Sink`."""
        with self.partial.open("rb") as file:
            lines = [x.decode() for x in islice(file, first + 1, first + 1 + count)]
        rows = [(int(x), *map(float, rest)) for x, *rest in (line.split(",") for line in lines)]
        return np.array(rows, self.dtype)

    def finish(self, complete: bool) -> None:
        """See `Sink`."""
        self._file.close()
        if complete:
            settle(self.partial, self.path)


def make_sink(
    path: Path | None,
    dtype: np.dtype[Any],
    total: int,
    meta: Mapping[str, str],
    resume: bool = False,
) -> Sink:
    """The sink for a path, by its ending; memory for None."""
    if path is None:
        return MemorySink(dtype, total)
    if path.suffix == ".parquet":
        from kinetree.parallel.parquet import ParquetSink

        return ParquetSink(path, dtype, total, meta, resume)
    return {".npy": NpySink, ".csv": CsvSink}[path.suffix](path, dtype, total, meta, resume)


def check_place(output: Any) -> Path | None:
    """Where results go: a file with one of our endings in a folder that is there, or memory."""
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


def as_path(value: Any, name: str) -> Path:
    """The name of a file."""
    try:
        return Path(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}; expected the name of a file.") from None


def check_ending(path: Path) -> str:
    """The ending of a file's name, if it is one of ours."""
    if path.suffix not in (".parquet", ".npy", ".csv"):
        raise InputError(
            f"output is {path.name}; expected a name that ends in .parquet, .npy or .csv."
        )
    return path.suffix


def partial_of(path: Path) -> Path:
    """Where a file grows."""
    return path.with_name(path.name + PARTIAL)


def meta_of(path: Path) -> Path:
    """The file beside it that says what it holds."""
    return path.with_name(path.name + ".json")


def announce(partial: Path, meta: Mapping[str, str]) -> None:
    """What the file will hold, beside it; an older one never stands under a new description."""
    partial.unlink(missing_ok=True)
    text = json.dumps(dict(meta), indent=1, ensure_ascii=False)
    meta_of(partial).write_text(text + "\n", encoding="utf-8", newline="\n")


def read_meta(path: Path) -> dict[str, str]:
    """What a file holds; nothing where nobody says it."""
    try:
        return json.loads(meta_of(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def same_study(partial: Path, meta: Mapping[str, str]) -> bool:
    """Whether there is a file to go on with; an error where it belongs to another study."""
    if not partial.exists():
        return False
    check_same(partial, read_meta(partial), meta)
    return True


def check_same(partial: Path, found: Mapping[str, str], meta: Mapping[str, str]) -> None:
    """InputError names what differs between the study that was begun and this one."""
    differ = [key for key in {*found, *meta} if found.get(key) != meta.get(key)]
    if differ:
        raise InputError(
            f"{partial.name} was begun with another {', '.join(sorted(differ))}; expected the same "
            "study. Give the same arguments, or resume=False to begin anew."
        )


def settle(partial: Path, path: Path) -> None:
    """The complete file takes its name, and so does what stands beside it.

    Whenever that is broken off, either name has a file with its own description, or none.
    """
    path.unlink(missing_ok=True)
    meta_of(path).write_bytes(meta_of(partial).read_bytes())
    os.replace(partial, path)
    meta_of(partial).unlink()


def npy_head(dtype: np.dtype[Any], total: int) -> bytes:
    """What a NumPy file of version 3 begins with: names in UTF-8, numbers from a multiple of 64."""
    text = repr({"descr": dtype.descr, "fortran_order": False, "shape": (total,)}).encode()
    text += b" " * (-(len(MAGIC) + 4 + len(text) + 1) % 64) + b"\n"
    return MAGIC + struct.pack("<I", len(text)) + text


def _whole_lines(path: Path) -> tuple[int, int]:
    """How many lines a file has that end, and their bytes."""
    count = size = at = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found = block.count(b"\n")
            count, size = count + found, at + block.rindex(b"\n") + 1 if found else size
            at += len(block)
    return count, size


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n') else name
