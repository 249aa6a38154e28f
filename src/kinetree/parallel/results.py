"""Results: the table of a study, in memory or in its file, with statistics of every column."""

import csv
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, KinetreeWarning, NameLookupError
from kinetree.parallel.quantiles import column_quantiles, described
from kinetree.parallel.sinks import MAGIC, as_path, check_ending, read_meta

SHOWN = 40  # columns in a printed table
NEVER = ("violated_at", "lost_at")  # where NaN means that it did not happen
HEAD = 1 << 24  # bytes that names of columns may take


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Samples of a study: `results["q"]` is (samples, nq), or (samples, rows, nq).

    columns: the names in the table.
    samples, rows: how many, and rows of each.
    meta: what was computed, as text: kinetree's version, robot, hash of its text, study,
        settings, seed.
    path: the file, or None where `table`, a structured array, is in memory.
    checked: samples that were computed once more when the study ended, with the same bits.
    """

    columns: tuple[str, ...]
    samples: int
    rows: int
    meta: Mapping[str, str]
    path: Path | None = None
    table: Array | None = None
    checked: int = 0

    def __getitem__(self, name: str) -> Array:
        """A column, or all columns of a group side by side along a last axis."""
        shape = (self.samples,) if self.rows == 1 else (self.samples, self.rows)
        if name in self.columns:
            return self._read([name])[0].reshape(shape)
        group = self.group(name)
        return np.stack([x.reshape(shape) for x in self._read(group)], axis=-1)

    def group(self, name: str) -> list[str]:
        """The columns `name`, `name:...`, `name.part:...` and `name[...]`."""
        begins = tuple(name + sign for sign in ":.[")
        found = [x for x in self.columns if x == name or x.startswith(begins)]
        if not found:
            groups = dict.fromkeys(re.split(r"[:.\[]", x)[0] for x in self.columns)
            raise NameLookupError(
                f"the study has no column {name!r}; it has {', '.join(groups)}, "
                f"such as {self.columns[-1]!r}."
            )
        return found

    def quantiles(self, name: str, p: Any = (0.05, 0.5, 0.95)) -> Array:
        """Values that a share p of the samples does not exceed, (len(p), ...).

        Infinities count as what they are. NaN is left out; where it does not mean "never", a
        warning says in how many samples.
        """
        try:
            share = np.asarray(p, float)
        except (TypeError, ValueError):
            share = np.array(np.nan)
        if not ((share >= 0) & (share <= 1)).all():
            raise InputError(f"p is {p!r}; expected shares between 0 and 1.")
        x = self[name]
        gone = np.isnan(x).reshape(len(x), -1).any(axis=1).sum()
        if gone and name not in NEVER:
            warnings.warn(
                f"{gone} of {self.samples} samples hold no number somewhere in {name!r} and are "
                "left out of its quantiles there; results.lost() names them.",
                KinetreeWarning,
                stacklevel=2,
            )
        return column_quantiles(x, share)

    def lost(self, names: str | Sequence[str] | None = None) -> Array:
        """Samples with NaN among their numbers, in any of the columns or groups `names`.

        Such as rollouts that ran away. Times that are NaN because something never happened do not
        count, and neither do infinities.
        """
        chosen = self.columns if names is None else self._groups(names)
        found = np.zeros(self.samples, bool)
        for name in chosen:
            if name not in NEVER:
                found |= np.isnan(self._read([name])[0]).reshape(self.samples, -1).any(axis=1)
        return np.flatnonzero(found)

    def summary(self, names: str | Sequence[str] | None = None) -> str:
        """Mean, standard deviation and quantiles of columns over all rows, as text."""
        chosen = self.columns[1:] if names is None else self._groups(names)
        shown = chosen[:SHOWN]
        head = ("column", "mean", "std", "min", "5 %", "median", "95 %", "max", "inf", "NaN")
        lines = [head, *((name, *described(self._read([name])[0])) for name in shown)]
        wide = [max(len(line[k]) for line in lines) for k in range(len(head))]
        text = [
            "  ".join([line[0].ljust(wide[0]), *map(str.rjust, line[1:], wide[1:])])
            for line in lines
        ]
        more = [f"... and {len(chosen) - SHOWN} more columns"] if len(chosen) > SHOWN else []
        lost = len(self.lost(shown))
        said = [f"{lost} of {self.samples} samples lost a number: results.lost()"] if lost else []
        return "\n".join([self._headline(), *said, *text, *more])

    def _groups(self, names: str | Sequence[str]) -> list[str]:
        return [x for n in ([names] if isinstance(names, str) else names) for x in self.group(n)]

    def _headline(self) -> str:
        rows = f" of {self.rows} rows" if self.rows > 1 else ""
        place = f", in {self.path.name}" if self.path is not None else ""
        what = f"{self.meta.get('study', 'study')} of {self.meta.get('robot', 'a robot')}"
        return f"{what}: {self.samples} samples{rows}, seed {self.meta.get('seed', '?')}{place}"

    def _read(self, names: Sequence[str]) -> list[Array]:
        if self.table is not None:
            return [self.table[name] for name in names]
        assert self.path is not None
        return read_columns(self.path, list(names))

    def __repr__(self) -> str:
        return f"Results({self._headline()}; columns: {', '.join(self.columns[:8])}, ...)"


def read(path: Any) -> Results:
    """The results of a study from its file: .parquet, .npy or .csv."""
    path = as_path(path, "path")
    ending = check_ending(path)
    if not path.is_file():
        raise InputError(f"{path} is no file; a study that was not finished ends in .partial.")
    if ending == ".parquet":
        from kinetree.parallel.parquet import read_head

        columns, total, meta = read_head(path)
    elif ending == ".npy":
        table, meta = _mapped(path), read_meta(path)
        columns, total = tuple(table.dtype.names or ()), len(table)
    else:
        with path.open("rb") as file:
            total = sum(1 for _ in file) - 1
        columns, meta = tuple(_csv_names(path)), read_meta(path)
    rows = int(meta.get("rows", 1))
    return Results(columns, total // rows, rows, meta, path)


def read_columns(path: Path, names: list[str]) -> list[Array]:
    """Columns of a file."""
    if path.suffix == ".parquet":
        from kinetree.parallel.parquet import read_columns

        return read_columns(path, names)
    if path.suffix == ".npy":
        table = _mapped(path)
        return [np.array(table[name]) for name in names]
    every = _csv_names(path)
    places = [every.index(name) for name in names]
    with path.open(encoding="utf-8", newline="") as file:
        found = np.loadtxt(file, delimiter=",", skiprows=1, usecols=places, ndmin=2)
    return [
        x.astype(np.int64) if name == "sample" else x
        for name, x in zip(names, found.T, strict=True)
    ]


def _mapped(path: Path) -> Array:
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path.name} does not begin as a study's NumPy file does.")
    return np.load(path, mmap_mode="r", allow_pickle=False, max_header_size=HEAD)


def _csv_names(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))
