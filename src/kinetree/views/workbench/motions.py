"""Motions of the page: as data to play and plot, from a file, recorded from sliders, and saved."""

import base64
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.tangents import tangent_map
from kinetree.errors import InputError, KinetreeError, KinetreeWarning
from kinetree.files.description.joints import FREE, SPHERICAL
from kinetree.files.report import masses
from kinetree.files.write import to_urdf
from kinetree.model import Model
from kinetree.motion.curve.pieces import curved
from kinetree.motion.curve.splines import cubic_spline
from kinetree.motion.recordings.read import TEXT, kind_of, read
from kinetree.motion.recordings.write import write_csv
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot
from kinetree.views.page.report import page_of
from kinetree.views.page.session import session_page
from kinetree.views.workbench.runs import MAX_SAMPLES, Run, limit_remarks
from kinetree.views.workbench.shelf import Opened, safe_name, type_of, without_folder
from kinetree.views.workbench.state import Request, numbers, record, sequence

LONGEST_FILE = 100_000  # samples of a file that is opened
SAMPLE, SMOOTH = 0.02, 0.1  # s between samples of a recording; standard deviation of its average
REACH = 3 * SMOOTH  # s on both sides that the average takes values from
SHORTEST = 0.1  # length of an averaged quaternion; a shorter one has no reliable direction
TYPES = {"csv": ".csv", "page": ".html", "urdf": ".urdf"}


# data of the page


def motion_data(robot: Robot, run: Run, name: str) -> dict[str, object]:
    """A motion as the page plays and plots it, with at most MAX_SAMPLES samples."""
    trajectory = run.trajectory
    every = -(-len(trajectory) // MAX_SAMPLES)
    keep = np.unique([*range(0, len(trajectory), every), len(trajectory) - 1])
    q, dq, ddq = (np.asarray(x)[keep] for x in (trajectory.q, trajectory.dq, trajectory.ddq))
    tau = trajectory.tau if trajectory.tau is None else np.asarray(trajectory.tau)[keep]
    moved = trajectory.model  # a run without gravity has another one than the robot
    if moved is not None and not np.array_equal(moved.gravity, robot.model.gravity):
        robot = robot.with_gravity(moved.gravity[3:])
    remarks = list(run.remarks)
    if tau is None:
        tau = joint_forces(robot, q, dq, ddq, remarks)
    if every > 1:
        remarks.append(f"One in {every} of {len(trajectory)} samples is shown.")
    stops = None if run.stops is None else run.stops[keep]
    if tau is not None and stops is not None:
        tau = tau - stops  # the motors alone
    return {
        "name": name,
        "t": np.asarray(trajectory.t)[keep],
        "q": q,
        "dq": dq,
        "ddq": ddq,
        "tau": tau,
        "stops": stops,
        "reference": trajectory.meta.get("reference"),
        "contacts": contact_data(robot, trajectory, q, keep),
        "energy": {
            "kinetic": robot.kinetic_energy(q, dq),
            "potential": robot.potential_energy(q),
        },
        "remarks": remarks,
        "thinned": every > 1,
    }


def contact_data(
    robot: Robot, trajectory: Trajectory, q: Array, keep: Array
) -> dict[str, object] | None:
    """Points, forces and normals of the contacts that ever touch, each (T, c, 3), in {s}.

    None for a motion without contact forces. weight: of the robot, N.
    """
    contacts, records = robot.model.contacts, trajectory.meta
    if contacts is None or "contact_forces" not in records:
        return None
    names = [name for name in contacts.names if np.any(records["contact_forces"][name])]
    at = [contacts.names.index(name) for name in names]

    def rows(kind: str) -> Array:
        columns = [np.asarray(records[kind][name], float)[keep] for name in names]
        return np.stack(columns, 1) if columns else np.zeros((len(keep), 0, 3))

    weight = masses(robot.model)[0] * float(np.linalg.norm(np.asarray(robot.model.gravity, float)))
    return {
        "names": names,
        "friction": [float(contacts.frictions[k]) for k in at],
        "weight": weight,
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


# files


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
    remarks += limit_remarks(trajectory, None)
    return Run(trajectory, None, tuple(without_folder(x, private) for x in remarks))


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
    elif kind == "page":
        if trajectory is None:
            content = page_of(opened.stage)
        else:
            content = session_page(robot, trajectory, drawn=opened.stage.scene)
    elif trajectory is None:
        raise InputError("There is no motion to save: simulate, open or record one first.")
    else:
        with TemporaryDirectory(dir=folder) as place:
            path = Path(place) / "motion.csv"
            write_csv(trajectory, path)
            content = path.read_text(encoding="utf-8")
    stem = "".join(x if x.isalnum() or x in "-_" else "_" for x in opened.robot.name)[:60]
    name = f"{stem or 'robot'}{'' if trajectory is None else '_motion'}{TYPES[kind]}"
    data = base64.b64encode(content.encode("utf-8", "replace")).decode()
    return {"name": name, "base64": data, "remarks": remarks}


# recordings of sliders


def read_recording(robot: Robot, request: Request) -> Run:
    """The motion of the times, s, and positions at which sliders were moved."""
    t, q = sequence(request.get("t"), "t"), sequence(request.get("q"), "q")
    if len(t) != len(q) or len(t) > LONGEST_FILE:
        raise InputError(f"the recording has {len(t)} times and {len(q)} positions.")
    times = numbers(t, "t", [str(k) for k in range(len(t))])
    names = robot.model.coordinate_names
    kept = [
        (float(time), numbers(row, f"position {k} of the recording", names))
        for k, (time, row) in enumerate(zip(times, q, strict=True))
    ]
    if len(times) and (np.diff(times) < 0).any():
        raise InputError("the times of the recording do not increase.")
    if len(times) and times[-1] - times[0] > 600:
        raise InputError("the recording is longer than 600 s.")
    return Run(recorded(robot, kept), None, ())


def recorded(robot: Robot, kept: Sequence[tuple[float, Array]]) -> Trajectory:
    """The motion of the sliders, from the times and positions at which they were moved.

    Positions are constant between these times. Jumps are made smooth by a moving average over about
    a quarter of a second. The motion rests for REACH before and after, so that the average starts
    and ends at the first and last positions.
    """
    model = robot.model
    if model.constraints is not None:
        raise InputError(
            f"{robot.name!r} has constraints, and a recording of sliders would not satisfy them "
            "between its samples. Simulate a motion instead."
        )
    t, q = np.array([time for time, _ in kept]), np.array([q for _, q in kept])
    if len(t) < 2 or not np.ptp(q := aligned(model, q), axis=0).any():
        raise InputError("Nothing moved while recording; move a slider before finishing it.")
    grid = np.arange(0.0, t[-1] - t[0] + 2 * (REACH + SAMPLE), SAMPLE)
    q = np.stack([smoothed(held(t - t[0] + REACH, x, grid)) for x in q.T], axis=1)
    q = of_length_one(model, q)
    dq = rates(model, grid, q) if curved(model) else None
    return Trajectory(t=grid, q=q, dq=cast("Array", dq), model=model, name="recording")


def held(t: Array, x: Array, grid: Array) -> Array:
    """Values (T,) at the times of a grid: the value that was set last."""
    return x[np.clip(np.searchsorted(t, grid, side="right") - 1, 0, len(x) - 1)]


def smoothed(x: Array) -> Array:
    """Moving average with Gaussian weights; the ends are continued as constants."""
    reach = round(REACH / SAMPLE)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) * SAMPLE / SMOOTH) ** 2)
    return np.convolve(np.pad(x, reach, mode="edge"), bell / bell.sum(), mode="valid")


def quaternions(model: Model) -> dict[str, list[int]]:
    """Entries of q that are quaternions, by joint."""
    turning = (x for x in model.joints if x.type in (SPHERICAL, FREE) and x.follows is None)
    return {joint.name: list(joint.coords[:4]) for joint in turning}


def aligned(model: Model, q: Array) -> Array:
    """Positions (T, nq) with the signs of quaternions chosen for the shorter way between samples.

    x and -x are the same rotation, but their average is zero.
    """
    q = q.copy()
    for own in quaternions(model).values():
        cosines = np.einsum("tk,tk->t", q[:-1, own], q[1:, own])
        q[1:, own] *= np.cumprod(np.where(cosines < 0, -1.0, 1.0))[:, None]
    return q


def of_length_one(model: Model, q: Array) -> Array:
    """Averages (T, nq) with their quaternions scaled back to length 1.

    Of all rotations x, the scaled average has the least mean of |x - x_k|^2 to the samples x_k: it
    is the unit vector with the largest x . (mean of x_k).
    """
    q = q.copy()
    for joint, own in quaternions(model).items():
        length = np.linalg.norm(q[:, own], axis=1, keepdims=True)
        if length.min() < SHORTEST:
            raise InputError(
                f"joint {joint!r} made half turns back and forth within {2 * REACH:g} s, which "
                "have no average. Record it again and turn it more slowly."
            )
        q[:, own] /= length
    return q


def rates(model: Model, t: Array, q: Array) -> Array:
    """dq, (T, n), of a smooth motion q, (T, nq): the rate of q is N dq with N of `tangent_map`.

    The columns of N are orthogonal, so each entry of dq is found by a projection onto its column.
    """
    N = np.array([tangent_map(model, x) for x in q], float)
    slope = cubic_spline(t, q)(t, 1)
    return np.einsum("tkn,tk->tn", N, slope) / np.einsum("tkn,tkn->tn", N, N)
