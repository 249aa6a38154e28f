"""Motions of the page: as data to play and plot, from a file, and saved."""

import base64
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import total_mass
from kinetree.errors import InputError, KinetreeError, KinetreeWarning
from kinetree.files.write import to_urdf
from kinetree.motion.recordings.read import TEXT, kind_of, read
from kinetree.motion.recordings.write import write_csv
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot
from kinetree.views.page.report import page_of
from kinetree.views.page.session import session_page
from kinetree.views.workbench.runs import MAX_SAMPLES, Run, limit_remarks
from kinetree.views.workbench.shelf import Opened, safe_name, type_of, without_folder
from kinetree.views.workbench.state import numbers, record, sequence

LONGEST_FILE = 100_000  # samples of a file that is opened
TYPES = {"csv": ".csv", "page": ".html", "urdf": ".urdf"}


def motion_data(robot: Robot, run: Run, name: str) -> dict[str, object]:
    """A motion as the page plays and plots it, with at most MAX_SAMPLES samples."""
    trajectory = run.trajectory
    every = -(-len(trajectory) // MAX_SAMPLES)
    keep = np.unique([*range(0, len(trajectory), every), len(trajectory) - 1])
    q, dq, ddq = (np.asarray(x)[keep] for x in (trajectory.q, trajectory.dq, trajectory.ddq))
    remarks = list(run.remarks)
    if trajectory.tau is None:
        tau = joint_forces(robot, q, dq, ddq, remarks)
    else:
        tau = np.asarray(trajectory.tau)[keep]
    if every > 1:
        remarks.append(f"One in {every} of {len(trajectory)} samples is shown.")
    stops = trajectory.meta.get("stop_forces")
    return {
        "name": name,
        "t": np.asarray(trajectory.t)[keep],
        "q": q,
        "dq": dq,
        "ddq": ddq,
        "tau": tau,
        "stops": stops and {x: np.asarray(y, float)[keep] for x, y in stops.items()},
        "reference": trajectory.meta.get("reference"),
        "contacts": contact_data(robot, trajectory.meta, q, keep),
        "energy": {
            "kinetic": robot.kinetic_energy(q, dq),
            "potential": robot.potential_energy(q),
        },
        "remarks": remarks,
    }


def contact_data(
    robot: Robot, records: Mapping[str, Any], q: Array, keep: Array
) -> dict[str, object] | None:
    """Points, forces and normals of the contacts that ever touch, each (T, c, 3), in {s}.

    None for a motion without contact forces. weight: of the robot, N.
    """
    contacts = robot.model.contacts
    if contacts is None or "contact_forces" not in records:
        return None
    names = [name for name in contacts.names if np.any(records["contact_forces"][name])]
    at = [contacts.names.index(name) for name in names]

    def rows(kind: str) -> Array:
        columns = [np.asarray(records[kind][name], float)[keep] for name in names]
        return np.stack(columns, 1) if columns else np.zeros((len(keep), 0, 3))

    gravity = float(np.linalg.norm(np.asarray(robot.model.gravity, float)))
    return {
        "names": names,
        "friction": [float(contacts.frictions[k]) for k in at],
        "weight": float(total_mass(robot.model)) * gravity,
        "points": rows("contact_points"),
        "forces": rows("contact_forces"),
        "normals": np.asarray(robot.compile("contact_points")(q)[2])[:, at],
    }


def joint_forces(robot: Robot, q: Array, dq: Array, ddq: Array, remarks: list[str]) -> Array | None:
    """Joint forces of a motion, (T, n); None, with a remark, if the constraints do not allow it."""
    if robot.model.constraints is None:
        return np.asarray(robot.inverse_dynamics(q, dq, ddq))
    try:
        return np.asarray(robot.compile("constrained_inverse_dynamics")(q, dq, ddq)[0])
    except KinetreeError as error:
        remarks.append(f"Joint forces are not shown: {error}")
        return None


def read_trajectory(robot: Robot, given: object) -> Trajectory:
    """The trajectory of a motion that the page sends back."""
    motion, model = record(given, "motion"), robot.model
    t = sequence(motion.get("t"), "t")
    if not 2 <= len(t) <= MAX_SAMPLES + 1:
        raise InputError(f"the motion has {len(t)} samples; expected 2 to {MAX_SAMPLES}.")

    def rows(name: str, entries: Sequence[str]) -> Array:
        samples = sequence(motion.get(name), name)
        if len(samples) != len(t):
            raise InputError(f"{name} of the motion has {len(samples)} samples; t has {len(t)}.")
        return np.array([numbers(row, f"{name} of the motion", entries) for row in samples])

    times = numbers(t, "t", [str(k) for k in range(len(t))])
    if not (np.diff(times) > 0).all():
        raise InputError("the times of the motion do not increase.")
    tau = None if motion.get("tau") is None else rows("tau", model.dof_names)
    dq, ddq = rows("dq", model.dof_names), rows("ddq", model.dof_names)
    q = rows("q", model.coordinate_names)
    return Trajectory(t=times, q=q, dq=dq, ddq=ddq, tau=tau, model=model, name="motion")


def read_motion_file(robot: Robot, name: str, content: bytes, folder: Path) -> Run:
    """The motion of an uploaded CSV file, which is removed when it is read."""
    name = safe_name(name)
    if not name.lower().endswith(".csv"):
        raise InputError(
            f"{name} is not a CSV file; expected a file that ends with .csv and has the columns t, "
            "q:JOINT, ..."
        )
    with TemporaryDirectory(dir=folder) as place:
        private = Path(place).resolve()
        path = private / Path(name).name
        path.write_bytes(content)
        try:
            if kind_of(path) != TEXT:  # binary formats are not read from a page
                raise InputError(f"{name} is not a text; expected a CSV file.")
            trajectory = read(path, robot)
        except KinetreeError as error:
            raise type_of(error)(without_folder(str(error), private)) from None
    if len(trajectory) > LONGEST_FILE:
        raise InputError(
            f"{name} has {len(trajectory)} samples; the workbench opens at most {LONGEST_FILE}."
        )
    notes = trajectory.meta.get("notes", ())
    remarks = [f"Notes of the reader: {'; '.join(notes)}."] if notes else []
    remarks += limit_remarks(trajectory)
    return Run(trajectory, tuple(without_folder(x, private) for x in remarks))


def saved(
    opened: Opened, robot: Robot, kind: str, motion: object, folder: Path
) -> dict[str, object]:
    """The robot or a motion of it as a file: name, base64, and remarks on what it leaves out."""
    if kind not in TYPES:
        raise InputError(f"kind is {kind[:20]!r}; expected {', '.join(TYPES)}.")
    trajectory = None if motion is None else read_trajectory(robot, motion)
    remarks: list[str] = []
    if kind == "urdf":
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", KinetreeWarning)
            content = to_urdf(robot)
        remarks = [str(x.message) for x in caught if issubclass(x.category, KinetreeWarning)]
    elif kind == "page" and trajectory is None:
        content = page_of(opened.stage)
    elif trajectory is None:
        raise InputError("There is no motion to save: simulate or open one first.")
    elif kind == "page":
        content = session_page(robot, trajectory, drawn=opened.stage.scene)
    else:
        with TemporaryDirectory(dir=folder) as place:
            path = Path(place) / "motion.csv"
            write_csv(trajectory, path)
            content = path.read_text(encoding="utf-8")
    stem = "".join(x if x.isalnum() or x in "-_" else "_" for x in opened.robot.name)[:60]
    name = f"{stem or 'robot'}{'' if trajectory is None else '_motion'}{TYPES[kind]}"
    data = base64.b64encode(content.encode("utf-8", "replace")).decode()
    return {"name": name, "base64": data, "remarks": remarks}
