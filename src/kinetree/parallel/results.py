"""Results: the table of a study, in memory or in its file, with statistics of every column."""

import csv
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.tables import text_table
from kinetree.core.versions import warn_old
from kinetree.errors import InputError, KinetreeWarning, NameLookupError, need
from kinetree.parallel.sinks import MAGIC, as_path, check_ending, read_meta

MAX_PRINTED_COLUMNS = 40  # columns in a printed table
MOMENT = re.compile(r"^F_ext\.([mn])([xyz])\b")
NEVER = ("violated_at", "lost_at")  # columns in which NaN means that it did not happen
MAX_NPY_HEADER = 1 << 24  # most bytes of a NumPy file's header, which has the names of the columns
STATISTICS = ("column", "mean", "std", "min", "5 %", "median", "95 %", "max", "inf", "NaN")


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Samples of a study: `results["q"]` is (samples, nq), or (samples, rows, nq).

    Args:
        columns: names of the columns of the table.
        samples: number of samples.
        rows: number of rows for each sample.
        meta: description of the study as text: version, robot, hash of its data, study, settings,
            seed.
        path: the file; None: `table` is in memory.
        table: structured array of shape (samples * rows,), in the units of its columns; None: it is
            in the file.
        checked: number of samples that were computed again at the end, with the same bits.
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
        name = self._written(name)
        if name in self.columns:
            return self._read([name])[0].reshape(shape)
        group = self.group(name)
        return np.stack([x.reshape(shape) for x in self._read(group)], axis=-1)

    def group(self, name: str) -> list[str]:
        """The columns `name`, `name:...`, `name.part:...` and `name[...]`.

        Args:
            name: name of a column or group.
        """
        name = self._written(name)
        begins = tuple(name + sign for sign in ":.[")
        columns = [x for x in self.columns if x == name or x.startswith(begins)]
        if not columns:
            groups = dict.fromkeys(re.split(r"[:.\[]", x)[0] for x in self.columns)
            raise NameLookupError(
                f"the study has no column {name!r}; it has {', '.join(groups)}, "
                f"such as {self.columns[-1]!r}."
            )
        return columns

    def _written(self, name: str) -> str:
        """The name in this table: moments are F_ext.nx, and F_ext.mx in files of older versions."""
        other = MOMENT.sub(lambda x: f"F_ext.{'m' if x[1] == 'n' else 'n'}{x[2]}", name)
        known = any(column.startswith(name) for column in self.columns)
        if known or not any(x.startswith(other) for x in self.columns):
            return name
        if (asked := MOMENT.match(name)) and asked[1] == "m":
            warn_old(f"column {asked[0]}")
        return other

    def quantiles(self, name: str, p: ArrayLike = (0.05, 0.5, 0.95)) -> Array:
        """Values that a share p of the samples does not exceed, (len(p), ...).

        Infinite values count as such. NaN is left out; unless it means "never", a warning gives the
        number of samples that have one.

        Args:
            name: name of a column or group.
            p: shares, shape (k,), dimensionless, 0 to 1.
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
                f"{gone} of {self.samples} samples have NaN somewhere in {name!r} and are left out "
                "of its quantiles there; results.lost() lists them.",
                KinetreeWarning,
                stacklevel=2,
            )
        return column_quantiles(x, share)

    def lost(self, names: str | Sequence[str] | None = None) -> Array:
        """Numbers of the samples with NaN in any of the columns or groups `names`, (k,).

        Such as rollouts that diverged. Times that are NaN because something never happened do not
        count, and neither do infinite values.

        Args:
            names: columns or groups; None: all.
        """
        chosen = self.columns if names is None else self._groups(names)
        lost = np.zeros(self.samples, bool)
        for name in chosen:
            if name not in NEVER:
                lost |= np.isnan(self._read([name])[0]).reshape(self.samples, -1).any(axis=1)
        return np.flatnonzero(lost)

    def summary(self, names: str | Sequence[str] | None = None) -> str:
        """Mean, standard deviation and quantiles of columns over all rows, as text.

        Args:
            names: columns or groups; None: all.
        """
        chosen = self.columns[1:] if names is None else self._groups(names)
        shown = chosen[:MAX_PRINTED_COLUMNS]
        lines = [STATISTICS, *((name, *described(self._read([name])[0])) for name in shown)]
        hidden = len(chosen) - len(shown)
        more = [f"... and {hidden} more columns"] if hidden else []
        lost = len(self.lost(shown))
        warned = [f"{lost} of {self.samples} samples have NaN: results.lost()"] if lost else []
        return "\n".join([self._headline(), *warned, *text_table(lines), *more])

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


def read(path: str | os.PathLike[str]) -> Results:
    """The results of a study from its file: .parquet, .npy or .csv.

    Args:
        path: path of the file.
    """
    path = as_path(path, "path")
    ending = check_ending(path)
    if not path.is_file():
        raise InputError(
            f"{path} does not exist or is not a file; an unfinished study ends in .partial."
        )
    if ending == ".parquet":
        columns, total, meta = _parquet_head(path)
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
        parquet = need("pyarrow.parquet", "parquet", f"reading {path.name}")
        packed = parquet.read_table(path, columns=names)
        return [packed.column(name).to_numpy() for name in names]
    if path.suffix == ".npy":
        table = _mapped(path)
        return [np.array(table[name]) for name in names]
    every = _csv_names(path)
    places = [every.index(name) for name in names]
    with path.open(encoding="utf-8", newline="") as file:
        numbers = np.loadtxt(file, delimiter=",", skiprows=1, usecols=places, ndmin=2)
    return [
        x.astype(np.int64) if name == "sample" else x
        for name, x in zip(names, numbers.T, strict=True)
    ]


def _parquet_head(path: Path) -> tuple[tuple[str, ...], int, dict[str, str]]:
    """Names of the columns, number of rows, and metadata."""
    parquet = need("pyarrow.parquet", "parquet", f"reading {path.name}")
    try:
        file = parquet.ParquetFile(path)
    except ValueError as problem:
        raise InputError(f"{path.name} cannot be read as Parquet: {problem}") from None
    with file:
        meta = file.schema_arrow.metadata or {}
        text = {k.decode(): v.decode() for k, v in meta.items()}
        return tuple(file.schema_arrow.names), file.metadata.num_rows, text


def _mapped(path: Path) -> Array:
    """The table of a NumPy file, without unpickling: the file may come from anywhere."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path.name} does not begin as a study's NumPy file does.")
    return np.load(path, mmap_mode="r", allow_pickle=False, max_header_size=MAX_NPY_HEADER)


def _csv_names(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def column_quantiles(x: Array, share: Array) -> Array:
    """Quantiles over the first axis of x (S, ...), (*share.shape, ...), without NaN."""
    if np.isfinite(x).all():
        return np.quantile(x, share, axis=0)
    flat = x.reshape(len(x), -1)
    columns = [quantiles(column[~np.isnan(column)], share) for column in flat.T]
    return np.stack(columns, axis=-1).reshape((*share.shape, *x.shape[1:]))


def quantiles(x: Array, share: Array) -> Array:
    """Quantiles of numbers (S,), interpolated between neighbours; NaN if there are no numbers.

    Next to an infinite neighbour, where nothing can be interpolated, the quantile is infinite.
    """
    if not len(x):
        return share * np.nan
    below, above = (np.quantile(x, share, method=side) for side in ("lower", "higher"))
    with np.errstate(invalid="ignore"):
        between = np.quantile(x, share)
    between = np.where(np.isinf(below), below, between)
    return np.where(np.isinf(above) | (below == above), above, between)


def described(x: Array) -> list[str]:
    """The STATISTICS of numbers (S,) as text, of all that are not NaN."""
    kept = x[~np.isnan(x)]
    counts = [str(np.isinf(kept).sum()), str(len(x) - len(kept))]
    if not len(kept):
        return [*["-"] * 7, *counts]
    with np.errstate(invalid="ignore", over="ignore"):
        spread = kept.std(ddof=1) if len(kept) > 1 else 0.0
        numbers = [kept.mean(), spread, *quantiles(kept, np.array((0, 0.05, 0.5, 0.95, 1)))]
    return [*(f"{v:.5g}" for v in numbers), *counts]
