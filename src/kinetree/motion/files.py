"""Read trajectories from CSV and NPZ files; `kinetree.samples.files` writes them."""

import csv
import zipfile
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.errors import InputError, ParseError, ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.samples.between import curved
from kinetree.samples.pieces import from_arrays
from kinetree.samples.record import SIGNALS, FilePath
from kinetree.samples.splines import cubic_spline
from kinetree.trajectory import Trajectory

Column = tuple[str, str]  # quantity and joint
# further arrays of an NPZ file whose last axis are the joints
PIECES = ("samples_q", "samples_dq", "samples_ddq", "pieces_c", "forces_tau")


def read_csv(path: FilePath, robot: Model | HasModel | None = None) -> Trajectory:
    """The trajectory of a CSV file.

    Its first line names the columns: t, and "q:joint", "dq:joint", "ddq:joint", "tau:joint" in any
    order; a bare "joint" is its position. Without dq or ddq, the derivatives of the spline through
    the samples are used. With a robot, the names must be those of its joints, and the columns are
    put into its order.

    Raises:
        ParseError: a cell is not a finite number, a line has too few or too many columns, times do
            not increase, or names are unknown or repeated; the message names the line.
    """
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if any(x.strip() for x in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParseError(f"{path.name}: not a CSV file in UTF-8: {error}.") from None
    if not rows:
        raise ParseError(f"{path.name} is empty; expected a line of names and lines of numbers.")
    (line, header), body = rows[0], rows[1:]
    keys = _keys(header, path.name, line)
    if not body:
        raise ParseError(f"{path.name}: line {line} names columns and no line of numbers follows.")
    table = np.array([_numbers(row, header, path.name, at) for at, row in body])
    t = table[:, keys.index(("t", ""))]
    _check_times(t, [at for at, _ in body], path.name)
    columns = {key: table[:, k] for k, key in enumerate(keys) if key[0] != "t"}
    return from_columns(t, columns, robot, path.stem, f"{path.name}, line {line}")


def _keys(header: Sequence[str], file: str, line: int) -> list[Column]:
    """Quantity and joint of every column; ("t", "") for the times."""
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        found = "semicolons" if ";" in header[0] else "tabs"
        raise ParseError(
            f"{file}, line {line}: {found} between columns; expected commas, and 0.5 for 0,5."
        )
    keys: list[Column] = []
    for text in (x.strip() for x in header):
        quantity, colon, joint = text.partition(":")
        if text == "t":
            key = ("t", "")
        elif colon and quantity in SIGNALS:
            key = (quantity, joint)
        else:
            key = ("q", text)
        if not text or (colon and not joint):
            raise ParseError(f"{file}, line {line}: column {len(keys) + 1} has no name.")
        if key in keys:
            raise ParseError(f"{file}, line {line}: two columns are called {text!r}.")
        keys.append(key)
    if ("t", "") not in keys:
        raise ParseError(
            f"{file}, line {line}: no column 't' among {', '.join(header)}; expected the times "
            "in s, and the names of the columns in the first line."
        )
    return keys


def _numbers(row: Sequence[str], header: Sequence[str], file: str, line: int) -> list[float]:
    if len(row) != len(header):
        raise ParseError(
            f"{file}, line {line}: {counted(len(row), 'column')}; expected {len(header)}, as the "
            f"first line names: {', '.join(header)}."
        )
    numbers: list[float] = []
    for text, name in zip(row, header, strict=True):
        try:
            number = float(text)
        except ValueError:
            raise ParseError(
                f"{file}, line {line}: {name.strip()!r} is {text!r}; expected a number."
            ) from None
        if not isfinite(number):
            raise ParseError(
                f"{file}, line {line}: {name.strip()!r} is {text.strip()}; expected a finite "
                "number."
            )
        numbers.append(number)
    return numbers


def _check_times(t: Array, lines: Sequence[int], file: str) -> None:
    late = np.flatnonzero(np.diff(t) <= 0)
    if late.size:
        k = int(late[0])
        raise ParseError(
            f"{file}, line {lines[k + 1]}: t = {t[k + 1]:.9g} s comes after t = {t[k]:.9g} s of "
            f"line {lines[k]}; times must increase."
        )


def from_columns(
    t: Array,
    columns: Mapping[Column, Array],
    robot: Model | HasModel | None,
    name: str,
    where: str,
) -> Trajectory:
    """The trajectory of named columns in any order.

    Args:
        t: times, (T,).
        columns: values, (T,), by quantity and joint. Missing rates and accelerations are those of
            the spline through q or dq.
        robot: gives the names and order of the joints; None takes those of the columns of q.
        name: of the trajectory.
        where: beginning of every message, such as a file and line.
    """
    model = None if robot is None else model_of(robot)
    named = tuple(joint for quantity, joint in columns if quantity == "q")
    if not named:
        raise InputError(f"{where}: no column of q; expected q:<joint> for every joint.")
    names = {key: named if model is None else _names(model, key) for key in SIGNALS}
    _check_names(columns, names, where, "the file" if model is None else f"{model.name!r}")
    found: dict[str, Array] = {}
    for quantity, joints in names.items():
        if (quantity, joints[0]) in columns:
            found[quantity] = np.stack([columns[quantity, joint] for joint in joints], axis=1)
    q, dq, ddq = _with_derivatives(t, found, where, model)
    return Trajectory(
        t=t, q=q, dq=dq, ddq=ddq, tau=found.get("tau"), model=model, name=name,
        joint_names=named if model is None else (),
    )  # fmt: skip


def _names(model: Model, quantity: str) -> tuple[str, ...]:
    return model.coordinate_names if quantity == "q" else model.dof_names


def _check_names(
    columns: Mapping[Column, Array], names: Mapping[str, tuple[str, ...]], where: str, owner: str
) -> None:
    """Raise InputError for a column of an unknown joint, or for a joint without its column."""
    for quantity, joint in columns:
        if joint not in names[quantity]:
            raise InputError(
                f"{where}: unknown joint {joint!r} in a column of {quantity}; {owner} has "
                f"{', '.join(names[quantity])}."
            )
    for quantity in SIGNALS:
        there = [joint for joint in names[quantity] if (quantity, joint) in columns]
        missing = [joint for joint in names[quantity] if joint not in there]
        if missing and (there or quantity == "q"):
            raise InputError(
                f"{where}: {quantity} of {', '.join(missing)} is missing; expected a column "
                f"'{quantity}:{missing[0]}' for every joint of {owner}."
            )


def _with_derivatives(
    t: Array, found: Mapping[str, Array], where: str, model: Model | None
) -> tuple[Array, Array, Array]:
    """q, dq and ddq; a missing one is the derivative of the spline through the one before."""
    q, dq, ddq = found["q"], found.get("dq"), found.get("ddq")
    if dq is None and model is not None and curved(model):
        raise InputError(
            f"{where}: no rates dq, but quaternions or planar positions in q; rates of such joints "
            "are not the derivative of q. Add the columns of dq."
        )
    if dq is not None and ddq is not None:
        return q, dq, ddq
    if len(t) < 2:
        raise InputError(f"{where}: one sample alone has no rates; add dq and ddq, or samples.")
    if dq is None:
        _, dq, bend = cubic_spline(t, q)(t)
        return q, dq, bend if ddq is None else ddq
    return q, dq, cubic_spline(t, dq)(t)[1]


def read_npz(path: FilePath, robot: Model | HasModel | None = None) -> Trajectory:
    """The trajectory of an NPZ file; with a robot, in its order, and names must be its own.

    Nothing is unpickled. Files of other programs need t, q, dq, ddq and the names of the joints as
    `dof_names` (and `coordinate_names`, if q has more entries).
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError) as error:
        raise ParseError(f"{path.name} is not an NPZ file of arrays: {error}.") from None
    missing = [name for name in ("t", "q", "dq", "ddq", "dof_names") if name not in found]
    if missing:
        raise ParseError(f"{path.name}: no array {', '.join(missing)}; found {', '.join(found)}.")
    dofs = tuple(map(str, found["dof_names"]))
    coordinates = tuple(map(str, found.get("coordinate_names", found["dof_names"])))
    if robot is None and coordinates != dofs:
        raise InputError(
            f"{path.name} has joints with several coordinates ({', '.join(coordinates)}); they "
            "need their robot: kt.motion.read_npz(path, robot)."
        )
    model = None if robot is None else model_of(robot)
    for key in (key for key in (*SIGNALS, *PIECES) if key in found):
        quantity = "q" if key in ("q", "samples_q", "pieces_c") else "dq"
        own = coordinates if quantity == "q" else dofs
        wanted = own if model is None else _names(model, quantity)
        found[key] = _ordered(found[key], own, wanted, f"{path.name}: {key}")
    try:
        return Trajectory(
            t=found["t"], q=found["q"], dq=found["dq"], ddq=found["ddq"], tau=found.get("tau"),
            joint_names=dofs if model is None else (),
            name=str(found.get("name", path.stem)),
            model=model,
            meta={"smooth": bool(found["smooth"])} if "smooth" in found else {},
            pieces=from_arrays(found, model if model is not None and curved(model) else None),
        )  # fmt: skip
    except ShapeError as error:
        raise ShapeError(f"{path.name}: {error}") from None
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _ordered(x: Array, own: tuple[str, ...], wanted: tuple[str, ...], where: str) -> Array:
    """x, (T, ..., joints), with its last axis put from the order `own` into `wanted`."""
    if x.ndim < 2 or x.shape[-1] != len(own):
        raise ShapeError(
            f"{where} has shape {x.shape}; expected (T, ..., {len(own)}), a column for each of "
            f"{', '.join(own)}."
        )
    unknown = [name for name in own if name not in wanted]
    missing = [name for name in wanted if name not in own]
    if unknown or missing:
        wrong = f"unknown joint {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"
        raise InputError(f"{where}: {wrong}; the robot has {', '.join(wanted)}.")
    return x[..., [own.index(name) for name in wanted]]
