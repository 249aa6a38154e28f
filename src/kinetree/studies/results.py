"""Results of a study: in memory, or in a folder with one Parquet file for each part."""

import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.errors import InputError, NameLookupError, need

ABOUT = "study.json"  # file of a folder with results that describes the study
NEVER = ("violated_at", "lost_at")  # columns in which NaN means that it did not happen


def begin(folder: Path, meta: Mapping[str, Any], part: int | None) -> int:
    """Describe the study in its folder, or check that it is the one begun there; its part size."""
    need("pyarrow.parquet", "parquet", "writing results of a study")
    if not (folder / ABOUT).exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} has no study in it; expected a new or an empty folder.")
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / ABOUT, lambda path: path.write_text(json.dumps(meta, indent=1)))
    former = _about(folder)
    other = [x for x in meta if former.get(x) != meta[x] and not (x == "part" and part is None)]
    if other:
        raise InputError(
            f"{folder} has a study with another {', '.join(other)}; give another folder, or the "
            "same arguments to go on with it."
        )
    return former["part"]


def _about(folder: Path) -> dict[str, Any]:
    """The description of the study in a folder."""
    try:
        about = json.loads((folder / ABOUT).read_text("utf8"))
        sizes = [about[key] for key in ("samples", "rows", "part")]
        if min(sizes) >= 1 and all(isinstance(x, str) for x in about["columns"]):
            return about
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{folder} is not the folder of a study: it has no readable {ABOUT}.")


def part_file(folder: Path, number: int) -> Path:
    """The file of a part."""
    return folder / f"part-{int(number):06d}.parquet"


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under another name first: one that has its name is complete."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    write(unfinished)
    os.replace(unfinished, path)


def write_part(path: Path, columns: Sequence[str], samples: Array, numbers: Array) -> None:
    """Write the rows (S, rows, columns) of a part."""
    arrow, parquet = (need(x, "parquet", "writing results") for x in ("pyarrow", "pyarrow.parquet"))
    table = [np.repeat(samples, numbers.shape[1]), *numbers.reshape(-1, numbers.shape[-1]).T]
    packed = arrow.table(dict(zip(columns, map(np.ascontiguousarray, table), strict=True)))
    _replace(path, lambda unfinished: parquet.write_table(packed, unfinished))


def read(folder: str | os.PathLike[str]) -> "Results":
    """The results of a study from its folder.

    Args:
        folder: path of the folder.
    """
    path = Path(folder)
    about = _about(path)
    count = -(-about["samples"] // about["part"])
    there = sum(x.is_file() for x in path.glob("part-*.parquet"))
    if there != count:
        way = "give the study the same output again to compute the others"
        raise InputError(f"{path} has {there} of {count} parts; {way}.")
    return Results(tuple(about["columns"]), about["samples"], about["rows"], about, path)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Samples of a study: `results["q"]` is (samples, nq), or (samples, rows, nq).

    Args:
        columns: names of the columns of the table.
        samples: number of samples.
        rows: number of rows for each sample.
        meta: description of the study: version, robot, hash of the settings, seed.
        path: the folder; None: `table` is in memory.
        table: {column: (samples * rows,)}, in the units of its columns; None: it is in the folder.
    """

    columns: tuple[str, ...]
    samples: int
    rows: int
    meta: Mapping[str, Any]
    path: Path | None = None
    table: Mapping[str, Array] | None = None

    def __getitem__(self, name: str) -> Array:
        """A column, or all columns of a group side by side along a last axis."""
        shape = (self.samples,) if self.rows == 1 else (self.samples, self.rows)
        parts = [x.reshape(shape) for x in self._read(self.group(name))]
        return parts[0] if name in self.columns else np.stack(parts, axis=-1)

    def group(self, name: str) -> list[str]:
        """The columns `name`, or `name:...` and `name.part:...`.

        Args:
            name: name of a column or group.
        """
        if name in self.columns:
            return [name]
        columns = [x for x in self.columns if x.startswith((f"{name}:", f"{name}."))]
        if not columns:
            groups = ", ".join(dict.fromkeys(re.split(r"[:.]", x)[0] for x in self.columns))
            raise NameLookupError(f"the study has no column {name!r}; it has {groups}.")
        return columns

    def quantiles(self, name: str, p: ArrayLike = (0.05, 0.5, 0.95)) -> Array:
        """Values that a share p of the samples does not exceed, (len(p), ...).

        NaN is left out; `lost` lists the samples that have it.

        Args:
            name: name of a column or group.
            p: shares, shape (k,), dimensionless, 0 to 1.
        """
        share = np.asarray(p, float)
        if not ((share >= 0) & (share <= 1)).all():
            raise InputError(f"p is {p!r}; expected shares between 0 and 1.")
        with warnings.catch_warnings():  # a column without numbers
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.nanquantile(self[name], share, axis=0)

    def lost(self, names: str | Sequence[str] | None = None) -> Array:
        """Numbers of the samples with NaN in any of the columns or groups `names`, (k,).

        Such as rollouts that diverged. Times that are NaN because something never happened do not
        count, and neither do infinite values.

        Args:
            names: columns or groups; None: all.
        """
        chosen = list(self.columns) if names is None else np.atleast_1d(np.asarray(names)).tolist()
        lost = np.zeros(self.samples, bool)
        for name in [x for n in chosen for x in self.group(n) if x not in NEVER]:
            lost |= np.isnan(self[name]).reshape(self.samples, -1).any(axis=1)
        return np.flatnonzero(lost)

    def _read(self, names: Sequence[str]) -> list[Array]:
        if self.table is not None:
            return [self.table[name] for name in names]
        assert self.path is not None
        parquet = need("pyarrow.parquet", "parquet", f"reading {self.path.name}")
        count = -(-self.samples // self.meta["part"])
        files = [parquet.ParquetFile(part_file(self.path, k)) for k in range(count)]
        parts = [file.read(columns=list(names)) for file in files]
        return [np.concatenate([x.column(n).to_numpy() for x in parts]) for n in names]

    def __repr__(self) -> str:
        groups = ", ".join(dict.fromkeys(x.partition(":")[0] for x in self.columns))
        return f"Results: {self.samples} samples of {self.rows} rows; {groups}"
