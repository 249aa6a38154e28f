"""Read recordings of every format as trajectories; `write` has the inverse.

`docs/recordings.md` lists the formats and the names of columns that are understood.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.errors import InputError, ParseError, argument, options
from kinetree.model import HasModel, Model, model_of
from kinetree.model.units import entry_names
from kinetree.motion.curve.pieces import from_arrays
from kinetree.motion.record import FilePath
from kinetree.motion.recordings import SIGNALS, TIME, ReadRequest, Table
from kinetree.motion.recordings.arrays import load_npz, npz_source, parquet_source
from kinetree.motion.recordings.bags import read_bag
from kinetree.motion.recordings.columns import table_of
from kinetree.motion.recordings.sizes import check_plain, unpacked
from kinetree.motion.recordings.text import TextSource
from kinetree.motion.trajectory import Trajectory

TEXT, NPZ, PARQUET, BAG = "text", "NPZ", "Parquet", "ROS bag"
# first bytes of the formats that are not text, and the ending of such files
SIGNATURES = {
    b"PAR1": (PARQUET, ".parquet"),
    b"PK\x03\x04": (NPZ, ".npz"),
    b"PK\x05\x06": (NPZ, ".npz"),
    b"\x89MCAP0\r\n": (BAG, ".mcap"),
    b"SQLite format 3\x00": (BAG, ".db3"),
    b"#ROSBAG V2.0": (BAG, ".bag"),
}
ENDINGS = {ending: kind for kind, ending in SIGNATURES.values()}
LONGEST_SIGNATURE = 16
LONG_STEP_S = 1.0  # s between samples, beyond which the unit of the times is doubtful


@typed
def read(
    path: FilePath,
    robot: Model | HasModel | None = None,
    *,
    topic: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    degrees: bool = False,
) -> Trajectory:
    """The trajectory of a recording: CSV, Parquet, NPZ, or a ROS bag (.mcap, .db3, .bag, folder).

    Names of columns follow a small grammar, see `docs/recordings.md`: t, time, q:JOINT,
    JOINT_position, q1 to qn, position[0], with units in brackets. Other columns are ignored, unless
    they may be one that is missing. Rates and accelerations that the file lacks are the derivatives
    of the spline through the samples. `trajectory.meta["notes"]` lists these and other choices.
    NPZ files that kinetree wrote may have batches.

    Args:
        path: file, or folder of a ROS 2 bag.
        robot: its joints give names and order; None takes those of the file.
        topic: of a bag with several.
        columns: columns mapped by hand, {"name in the file": "q:JOINT", "tau:JOINT [mN m]", "t" or
            "t[ms]"}; None as a target leaves the column out. Stars stand for any signs, on both
            sides: {"fer_*": "q:panda_*"}.
        degrees: angles are in degrees and deg/s; otherwise in rad unless the file states a unit.

    Raises:
        ParseError: a column, cell, line or message cannot be read; the text names it and the fix.
        InputError: the topic is missing or ambiguous, or the recording has no rates.
    """
    model = None if robot is None else model_of(robot)
    request = ReadRequest(model, dict(columns or {}), degrees, topic)
    path = Path(path)
    check_plain(path)
    if kind_of(path) == NPZ and not degrees and not columns and not topic:
        arrays = load_npz(path)
        if "dof_names" in arrays:
            return _stored(path, arrays, model)
    return trajectory_of(read_table(path, request), request, path.name)


def read_table(path: FilePath, request: ReadRequest) -> Table:
    """The columns of a recording that the file has itself, of every format."""
    path = Path(path)
    if not options:  # a command may read a pipe of the shell, as in <(cat a.csv)
        check_plain(path)
    kind = kind_of(path)
    if request.degrees and request.model is None:
        raise InputError(
            f"{path.name}: {argument('degrees', True)} needs the robot, whose joints turn or slide."
        )
    if request.topic is not None and kind != BAG:
        raise InputError(
            f"{path.name} is not a ROS bag and has no topics; leave out "
            f"{argument('topic', request.topic)}."
        )
    if kind == BAG:
        return read_bag(path, request)
    if kind == PARQUET:
        return table_of(parquet_source(path), request)
    if kind == NPZ:
        return table_of(npz_source(load_npz(path), path.name), request)
    stream: IO[bytes] = unpacked(path) if path.suffix == ".gz" else path.open("rb")  # pyright: ignore[reportAssignmentType]
    with stream:
        return table_of(TextSource(stream, path.name), request)


def kind_of(path: Path) -> str:
    """The format of a file by its first bytes, or else by its ending."""
    if path.is_dir():
        return BAG
    if path.exists() and not path.is_file():
        return TEXT  # a pipe can be read only once
    with path.open("rb") as file:
        start = file.read(LONGEST_SIGNATURE)
    kinds = (kind for sign, (kind, _) in SIGNATURES.items() if start.startswith(sign))
    return next(kinds, ENDINGS.get(path.suffix.lower(), TEXT))


def trajectory_of(table: Table, request: ReadRequest, file: str) -> Trajectory:
    """The trajectory of a table; rates that it lacks are derivatives of the spline over t."""
    check_times(table)
    signals: Any = {x: table.values.get(x) for x in SIGNALS}
    try:
        made = Trajectory(
            t=table.values[TIME],
            **signals,
            model=request.model,
            name=Path(file).stem,
            joint_names=table.joints if request.model is None else (),
        )
    except InputError as error:
        raise InputError(f"{table.where}: {error}") from None
    notes, missing = [*table.notes], made.computed
    step = float(np.median(np.diff(made.t))) if len(made) > 1 else 0.0
    if step > LONG_STEP_S:
        notes.append(f"samples are {step:.4g} s apart: are the times in s?")
    if missing:
        source, verb = "dq" if missing == ("ddq",) else "q", "is" if len(missing) == 1 else "are"
        notes.append(f"{' and '.join(missing)} {verb} computed from the spline through {source}")
    return made.replace(meta={"notes": tuple(notes)}) if notes else made


def check_times(table: Table) -> None:
    """Refuse times that do not increase, with the row."""
    t = table.values[TIME]
    for k in np.flatnonzero(np.diff(t) <= 0)[:1].tolist():
        raise ParseError(
            f"{table.row(k + 1)}: t = {t[k + 1]:.9g} s comes after t = {t[k]:.9g} s; times must "
            "increase."
        )


# ----- NPZ of kinetree


def _stored(path: Path, arrays: dict[str, Array], model: Model | None) -> Trajectory:
    """The trajectory of an NPZ file of kinetree, a batch too, with the pieces of its plan."""
    rates = tuple(map(str, arrays["dof_names"]))
    coordinates = tuple(map(str, arrays.get("coordinate_names", rates)))
    if model is None and coordinates != rates:
        raise InputError(
            f"{path.name} has joints with several coordinates ({', '.join(coordinates)}); they "
            "need their robot: kt.motion.read(path, robot)."
        )
    if missing := [name for name in (TIME, "q") if name not in arrays]:
        raise ParseError(f"{path.name}: no array {', '.join(missing)}; found {', '.join(arrays)}.")
    for key in (key for key in (*SIGNALS, "pieces_c") if key in arrays):
        positions = key in ("q", "pieces_c")
        names = coordinates if positions else rates
        wanted = names if model is None else entry_names(model, "q" if positions else key)
        if names != wanted:
            raise InputError(
                f"{path.name} has the joints {', '.join(names)}; expected {', '.join(wanted)}."
            )
    smooth = {"smooth": bool(arrays["smooth"])} if "smooth" in arrays else {}
    try:
        signals: Any = {x: arrays.get(x) for x in SIGNALS}
        return Trajectory(
            t=arrays[TIME],
            **signals,
            joint_names=rates if model is None else (),
            name=str(arrays.get("name", path.stem)),
            model=model,
            meta=smooth,
            pieces=from_arrays(arrays),
        )
    except InputError as error:
        raise ParseError(f"{path.name}: {error}") from None
