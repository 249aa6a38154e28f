"""Files of a motion: CSV, NPZ, Parquet, data frames; `read` has the inverse.

CSV has a line of names, then a line for every time:

    t,q:shoulder,q:elbow,dq:shoulder,dq:elbow,ddq:shoulder,ddq:elbow,tau:shoulder,tau:elbow
"""

from pathlib import Path
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.core.text import csv_cell
from kinetree.errors import need
from kinetree.motion.curve.pieces import to_arrays
from kinetree.motion.inputs import check_single
from kinetree.motion.record import SIGNALS, FilePath, Record


def columns_of(trajectory: Record, purpose: str) -> list[tuple[str, Array]]:
    """Columns of one motion, ("quantity:joint", values (T,)): q, dq, ddq, tau.

    Rates that are computed from the positions are left out.

    purpose: beginning of the message for a batch, such as "a CSV file".
    """
    check_single(trajectory, purpose)
    columns: list[tuple[str, Array]] = []
    for quantity in SIGNALS:
        x: Array | None = getattr(trajectory, quantity)
        names = trajectory.coordinate_names if quantity == "q" else trajectory.dof_names
        if x is not None and quantity not in trajectory.computed:
            columns += [(f"{quantity}:{name}", x[:, k]) for k, name in enumerate(names)]
    return columns


@typed
def write_csv(trajectory: Record, path: FilePath) -> None:
    """Write one motion as CSV; every number reads back to the same bits.

    A CSV file has samples alone: the pieces of a plan are left out, and the motion between the
    samples is found from them when it is read (see `kinetree.motion.resample`). NPZ keeps pieces.

    Args:
        trajectory: one motion.
        path: path of the file.
    """
    columns = columns_of(trajectory, "a CSV file")
    header = ["t", *(csv_cell(name) for name, _ in columns)]
    table = np.column_stack([trajectory.t, *(x for _, x in columns)])
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        file.write(",".join(header) + "\n")
        file.writelines(",".join(map(repr, row)) + "\n" for row in table.tolist())


@typed
def write_npz(trajectory: Record, path: FilePath) -> None:
    """Write the trajectory, a batch too, as NPZ; every number reads back to the same bits.

    The pieces that it was planned with are written too, so that the motion between its samples is
    the same when it is read. Of `meta`, "smooth" is written.

    Args:
        trajectory: a motion, or a batch.
        path: path of the file.
    """
    names = [name for name in ("t", *SIGNALS) if name not in trajectory.computed]
    arrays = {name: getattr(trajectory, name) for name in names}
    stored: dict[str, Any] = {name: x for name, x in arrays.items() if x is not None}
    stored["coordinate_names"] = np.array(trajectory.coordinate_names, str)
    stored["dof_names"] = np.array(trajectory.dof_names, str)
    stored["name"] = np.array(trajectory.name)
    stored |= to_arrays(trajectory.pieces)
    if trajectory.meta.get("smooth") is not None:
        stored["smooth"] = np.array(trajectory.meta["smooth"])
    with Path(path).open("wb") as file:  # an open file, because savez appends .npz to a path
        np.savez_compressed(file, **stored)


@typed
def write_parquet(trajectory: Record, path: FilePath) -> None:
    """Write one motion as Parquet, with the columns of CSV; needs the extra `parquet`.

    Every number reads back to the same bits. The pieces of a plan are left out, as in CSV.

    Args:
        trajectory: one motion.
        path: path of the file.
    """
    parquet = need("pyarrow.parquet", "parquet", "a Parquet file")
    import pyarrow

    columns = columns_of(trajectory, "a Parquet file")
    names = ["t", *(name for name, _ in columns)]
    arrays = [pyarrow.array(x) for x in (trajectory.t, *(x for _, x in columns))]
    parquet.write_table(pyarrow.table(arrays, names=names), path)


@typed
def to_dataframe(trajectory: Record) -> Any:
    """A pandas DataFrame over time, index "t" in s, columns as in CSV files: frame["q:elbow"].

    Functions of a robot take the whole frame: `robot.inverse_dynamics(frame, frame, frame)` reads
    the columns of q, dq and ddq. Units are in `frame.attrs["units"]`. Batches are refused.

    Args:
        trajectory: one motion.
    """
    pandas = need("pandas", "dataframe", "a data frame")
    columns = columns_of(trajectory, "a data frame")
    frame = pandas.DataFrame(dict(columns), index=pandas.Index(trajectory.t, name="t"))
    frame.attrs = {"name": trajectory.name, "units": dict(trajectory.units)}
    return frame
