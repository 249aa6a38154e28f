"""Trajectories as NPZ, NumPy's compressed format: arrays t, q, dq, ddq, tau and their names."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, ParseError, ShapeError
from kinetree.model import Model, model_of
from kinetree.motion.columns import QUANTITIES
from kinetree.motion.pieces import from_arrays, to_arrays
from kinetree.simulate.core.state import plain
from kinetree.trajectory import Trajectory


def write_npz(trajectory: Trajectory, path: Any) -> None:
    """Write the trajectory, batches included; every number reads back to the same bits.

    The pieces that it was planned with are written too, so that it is the same motion between its
    samples when it is read; of `meta`, "smooth" is.
    """
    arrays = {name: getattr(trajectory, name) for name in ("t", *QUANTITIES)}
    names = {
        "coordinate_names": np.array(trajectory.coordinate_names, str),
        "dof_names": np.array(trajectory.dof_names, str),
        "name": np.array(trajectory.name),
    }
    given: dict[str, Any] = {name: x for name, x in arrays.items() if x is not None}
    with Path(path).open("wb") as file:  # a name without .npz stays as it is
        np.savez_compressed(file, **given, **names, **_more(trajectory))  # type: ignore[arg-type]


def _more(trajectory: Trajectory) -> dict[str, Any]:
    smooth = trajectory.meta.get("smooth")
    return to_arrays(trajectory.pieces) | ({} if smooth is None else {"smooth": np.array(smooth)})


def read_npz(path: Any, robot: Any = None) -> Trajectory:
    """The trajectory of an NPZ file; with a robot, in its order, and names must be its own.

    Nothing is unpickled. Files from elsewhere need t, q, dq, ddq and the names of the joints as
    `dof_names` (and `coordinate_names`, where q has more entries).
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError) as error:
        raise ParseError(f"{path.name} is no NPZ file of arrays: {error}.") from None
    missing = [name for name in ("t", "q", "dq", "ddq", "dof_names") if name not in found]
    if missing:
        raise ParseError(f"{path.name}: no array {', '.join(missing)}; found {', '.join(found)}.")
    dofs = tuple(map(str, found["dof_names"]))
    coordinates = tuple(map(str, found.get("coordinate_names", found["dof_names"])))
    name = str(found.get("name", path.stem))
    if robot is None and coordinates != dofs:
        raise InputError(
            f"{path.name} holds joints of several coordinates ({', '.join(coordinates)}); they "
            "need their robot: kt.motion.read_npz(path, robot)."
        )
    model = None if robot is None else model_of(robot)
    arrays: dict[str, Any] = {"tau": None}
    more = ("samples_q", "samples_dq", "samples_ddq", "pieces_c", "forces_tau")
    for key in (*QUANTITIES, *more):
        if key in found:
            quantity = "q" if key in ("q", "samples_q", "pieces_c") else "dq"
            own = coordinates if quantity == "q" else dofs
            wanted = own if model is None else _wanted(model, quantity)
            arrays[key] = _ordered(found[key], own, wanted, key, path.name)
    names = dofs if model is None else ()
    motion = {key: arrays[key] for key in QUANTITIES if key in arrays}
    meta = {"smooth": bool(found["smooth"])} if "smooth" in found else {}
    try:
        curved = None if model is None or plain(model) else model
        pieces = from_arrays(found | arrays, curved)
        return Trajectory(
            t=found["t"], **motion, joint_names=names, name=name, model=model, meta=meta,
            pieces=pieces,
        )  # fmt: skip
    except ShapeError as error:
        raise ShapeError(f"{path.name}: {error}") from None
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _wanted(model: Model, quantity: str) -> tuple[str, ...]:
    return model.coordinate_names if quantity == "q" else model.dof_names


def _ordered(
    x: Array, own: tuple[str, ...], wanted: tuple[str, ...], quantity: str, file: str
) -> Array:
    if x.ndim < 2 or x.shape[-1] != len(own):
        raise ShapeError(
            f"{file}: {quantity} has shape {x.shape}; expected (T, ..., {len(own)}), a column for "
            f"each of {', '.join(own)}."
        )
    unknown = [name for name in own if name not in wanted]
    missing = [name for name in wanted if name not in own]
    if unknown or missing:
        what = f"unknown joint {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"
        raise InputError(f"{file}: {quantity}: {what}; the robot has {', '.join(wanted)}.")
    return x[..., [own.index(name) for name in wanted]]
