"""Read recordings of every format as trajectories; `write` has the inverse.

`docs/recordings.md` lists the formats and the names of columns that are understood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.errors import InputError, ParseError, ShapeError, argument, options
from kinetree.model import HasModel, Model, model_of
from kinetree.model.units import entry_names
from kinetree.motion.curve.pieces import curved, from_arrays
from kinetree.motion.curve.splines import spline_rates
from kinetree.motion.record import FilePath
from kinetree.motion.recordings import FRICTION_STATE, SIGNALS, TIME, ReadRequest, Table, by_hand
from kinetree.motion.recordings.arrays import load_npz, npz_source, parquet_source
from kinetree.motion.recordings.bags import read_bag
from kinetree.motion.recordings.columns import table_of
from kinetree.motion.recordings.sizes import check_plain, unpacked
from kinetree.motion.recordings.text import TextSource
from kinetree.motion.trajectory import Trajectory

TEXT, NPZ, PARQUET, BAG = "text", "NPZ", "Parquet", "ROS bag"
# first bytes of the formats that are not text, and the endings of such files
SIGNATURES = {
    b"PAR1": (PARQUET, (".parquet", ".pq")),
    b"PK\x03\x04": (NPZ, (".npz",)),
    b"PK\x05\x06": (NPZ, (".npz",)),
    b"\x89MCAP0\r\n": (BAG, (".mcap",)),
    b"SQLite format 3\x00": (BAG, (".db3",)),
    b"#ROSBAG V2.0": (BAG, (".bag",)),
}
ENDINGS = {ending: kind for kind, own in SIGNATURES.values() for ending in own}
OTHERS = {  # programs whose files are not read, by their first bytes or endings
    b"MATLAB ": "a MAT-file of MATLAB; save its arrays as CSV (writetable) or as NPZ (scipy.io)",
    ".xlsx": "a spreadsheet; save it as CSV UTF-8",
    ".ods": "a spreadsheet; save it as CSV UTF-8",
}
LONGEST_SIGNATURE = 16
PIECES = "pieces_c"  # a further array of an NPZ file whose last axis are the joints
LONG_STEP_S = 1.0  # s between samples, beyond which the unit of the times is doubtful
Column = tuple[str, str]  # quantity and joint


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
        topic: of a bag with several; "/topic#2" is the second trajectory of a topic.
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
    found = _read(path, request)
    if isinstance(found, Trajectory):
        return found
    return trajectory_of(with_rates(found, request), request, path.name)


def read_table(path: FilePath, request: ReadRequest) -> Table:
    """The columns of a recording that the file has itself, of every format; times by its rate."""
    if request.rate is None:
        return _read_table(Path(path), request)
    if not 0 < request.rate < np.inf:
        raise InputError(
            f"the rate is {request.rate:g} Hz; expected samples per second, finite and above 0."
        )
    needed = tuple(x for x in request.required if x != TIME)
    table = _read_table(Path(path), replace(request, required=needed))
    if TIME in table.values:
        raise InputError(
            f"{table.where}: a rate of {request.rate:g} Hz, and times in column {table.clock!r}; "
            "leave out one of them."
        )
    return replace(table, values={TIME: np.arange(len(table)) / request.rate, **table.values})


def _read_table(path: Path, request: ReadRequest) -> Table:
    found = _read(path, request)
    if isinstance(found, Table):
        return found
    if found.batch_shape:
        raise ShapeError(f"{path.name} has a batch of motions; expected one motion.")
    values = {TIME: found.t} | {
        x: getattr(found, x)
        for x in SIGNALS
        if getattr(found, x) is not None and x not in found.computed
    }
    if missing := [x for x in request.required if x not in values]:
        raise ParseError(f"{path.name}: no array {missing[0]}; found {', '.join(values)}.")
    return Table(values, found.coordinate_names, lambda k: f"{path.name}, row {k + 1}", path.name)


def _read(path: Path, request: ReadRequest) -> Table | Trajectory:
    """The table of a file, or the trajectory of an NPZ file of kinetree."""
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
        arrays = load_npz(path)
        if "dof_names" in arrays:
            return _own_trajectory(path, arrays, request)
        return table_of(npz_source(arrays, path.name), request)
    stream: IO[bytes] = unpacked(path) if path.suffix == ".gz" else path.open("rb")  # pyright: ignore[reportAssignmentType]
    with stream:
        return table_of(TextSource(stream, path.name), request)


def kind_of(path: Path) -> str:
    """The format of a file by its first bytes; an ending that they contradict is refused."""
    if path.is_dir():
        return BAG
    if path.exists() and not path.is_file():
        return TEXT  # a pipe can be read only once
    with path.open("rb") as file:
        start = file.read(LONGEST_SIGNATURE)
    ending = path.suffix.lower()
    for sign, what in OTHERS.items():
        if ending == sign or (isinstance(sign, bytes) and start.startswith(sign)):
            raise ParseError(f"{path.name} is {what}, and read that.")
    kind, endings = next(
        (found for sign, found in SIGNATURES.items() if start.startswith(sign)),
        (TEXT, ("",)),
    )
    if ENDINGS.get(ending, kind) != kind or (kind == BAG and ending not in endings):
        begins = f"begins with {start[:8]!r}, as {kind}" if start else "is empty"
        expected = endings[0] if kind == BAG else ENDINGS[ending]
        raise ParseError(
            f"{path.name} {begins}; expected {expected}. Rename it if it is of another format."
        )
    return kind


# ----- rates


def with_rates(
    table: Table, request: ReadRequest, wanted: Sequence[str] = ("dq", "ddq"), *, zero: bool = False
) -> Table:
    """The table with the wanted rates: those that it lacks are derivatives of the spline over t.

    zero: whether a table without times may go on with zero rates, for the messages.
    """
    check_times(table)
    table = replace(table, notes=(*table.notes, *_far_apart(table.values["t"])))
    values = dict(table.values)
    missing = [x for x in ("dq", "ddq") if x in wanted and x not in values]
    if not missing:
        return table
    t, where = values["t"], table.where
    way_out = ""
    if zero:
        off = by_hand(table.clock, "")
        way_out = f" Or leave out the times, {off}: rates are zero then."
    if "dq" in missing and request.model is not None and curved(request.model):
        raise InputError(
            f"{where}: no rates dq, but quaternions or planar positions in q; rates of such joints "
            f"are not the derivative of q. Add the columns of dq.{way_out}"
        )
    if len(t) < 2:
        raise InputError(
            f"{where}: one sample alone has no rates; add dq and ddq, or samples.{way_out}"
        )
    dq, ddq = spline_rates(t, values["q"], values.get("dq"))
    values = {"dq": dq, "ddq": ddq} | values
    verb, source = ("is", "dq") if missing == ["ddq"] else ("are", "q")
    verb = "is" if len(missing) == 1 else verb
    note = f"{' and '.join(missing)} {verb} computed from the spline through {source}"
    return replace(table, values=values, notes=(*table.notes, note))


def _far_apart(t: Array) -> list[str]:
    """A note on times whose unit is doubtful."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    return [f"samples are {step:.4g} s apart: are the times in s?"] if step > LONG_STEP_S else []


def check_times(table: Table) -> None:
    """Refuse times that do not increase, with the row."""
    t = table.values["t"]
    late = np.flatnonzero(np.diff(t) <= 0)
    if late.size:
        k = int(late[0])
        before = table.row(k).rpartition(", ")[2]
        raise ParseError(
            f"{table.row(k + 1)}: t = {t[k + 1]:.9g} s comes after t = {t[k]:.9g} s of "
            f"{before}; times must increase."
        )


def trajectory_of(table: Table, request: ReadRequest, file: str) -> Trajectory:
    """The trajectory of a table with rates."""
    values = table.values
    return Trajectory(
        t=values["t"], q=values["q"], dq=values["dq"], ddq=values["ddq"], tau=values.get("tau"),
        model=request.model, name=Path(file).stem,
        joint_names=table.joints if request.model is None else (),
        meta={**({"notes": table.notes} if table.notes else {}), **_bent(table.values)},
    )  # fmt: skip


def _bent(arrays: Mapping[str, Array]) -> dict[str, object]:
    """The states of friction with a memory, by name, as an entry of `meta`; empty without any."""
    names = [x for x in arrays if x.startswith(FRICTION_STATE)]
    shape = arrays["q"].shape[:-1] if names else ()
    states = {x.partition(":")[2]: arrays[x].reshape(shape) for x in names}
    return {"friction_state": states} if states else {}


def from_columns(
    t: Array,
    columns: Mapping[Column, Array],
    robot: Model | HasModel,
    name: str,
    where: str,
) -> Trajectory:
    """The trajectory of named columns in any order.

    Args:
        t: times, (T,).
        columns: values, (T,), by quantity and joint. Missing rates and accelerations are those of
            the spline through q or dq.
        robot: gives the names and order of the joints.
        name: of the trajectory.
        where: beginning of every message, such as a file and line.
    """
    model = model_of(robot)
    signals = {
        quantity: np.stack([columns[quantity, x] for x in entry_names(model, quantity)], axis=1)
        for quantity in SIGNALS
        if any(given_quantity == quantity for given_quantity, _ in columns)
    }
    request = ReadRequest(model)
    table = Table(
        {"t": t, **signals}, model.coordinate_names, lambda k: f"{where}, sample {k}", where
    )
    return trajectory_of(replace(with_rates(table, request), notes=()), request, name)


# ----- NPZ of kinetree


def _axis_names(arrays: Mapping[str, Array]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    dofs = tuple(map(str, arrays["dof_names"]))
    return dofs, tuple(map(str, arrays.get("coordinate_names", arrays["dof_names"])))


def _own_trajectory(path: Path, arrays: dict[str, Array], request: ReadRequest) -> Trajectory:
    """The trajectory of an NPZ file of kinetree, a batch too, with the pieces of its plan."""
    if request.degrees or request.columns:
        given = "degrees" if request.degrees else "columns"
        raise InputError(
            f"{path.name} is an NPZ file of kinetree, with names, in rad; leave out "
            f"{argument(given)}."
        )
    model = request.model
    dofs, coordinates = _axis_names(arrays)
    if missing := [name for name in ("t", "q") if name not in arrays]:
        raise ParseError(f"{path.name}: no array {', '.join(missing)}; found {', '.join(arrays)}.")
    if model is None and coordinates != dofs:
        raise InputError(
            f"{path.name} has joints with several coordinates ({', '.join(coordinates)}); they "
            "need their robot: kt.motion.read(path, robot)."
        )
    for key in (key for key in (*SIGNALS, PIECES) if key in arrays):
        quantity = "q" if key in ("q", PIECES) else "dq"
        names = coordinates if quantity == "q" else dofs
        wanted = names if model is None else entry_names(model, quantity)
        arrays[key] = _ordered(arrays[key], names, wanted, f"{path.name}: {key}")
    meta: dict[str, object] = {"smooth": bool(arrays["smooth"])} if "smooth" in arrays else {}
    try:
        meta |= _bent(arrays)
        return Trajectory(
            t=arrays["t"], q=arrays["q"],
            dq=cast("Array", arrays.get("dq")), ddq=cast("Array", arrays.get("ddq")),
            tau=arrays.get("tau"), joint_names=dofs if model is None else (),
            name=str(arrays.get("name", path.stem)),
            model=model,
            meta=meta,
            pieces=from_arrays(arrays),
        )  # fmt: skip
    except ShapeError as error:
        raise ShapeError(f"{path.name}: {error}") from None
    except ParseError:
        raise
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _ordered(x: Array, names: tuple[str, ...], wanted: Sequence[str], where: str) -> Array:
    """x, (T, ..., joints), with its last axis put from the order `own` into `wanted`."""
    if x.ndim < 2 or x.shape[-1] != len(names):
        raise ShapeError(
            f"{where} has shape {x.shape}; expected (T, ..., {len(names)}), a column for each of "
            f"{', '.join(names)}."
        )
    unknown = [name for name in names if name not in wanted]
    missing = [name for name in wanted if name not in names]
    if unknown or missing:
        wrong = f"unknown joint {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"
        raise InputError(f"{where}: {wrong}; the robot has {', '.join(wanted)}.")
    return x[..., [names.index(name) for name in wanted]]
