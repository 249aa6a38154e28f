"""Recording: a measured motion with its joint forces, checked, with rates and accelerations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.containers import read_times
from kinetree.core.options import count, typed
from kinetree.errors import InputError, argument
from kinetree.identify.checks import (
    check_units,
    in_radians,
    remarks,
    unit_quaternions,
    unwound,
    wild_forces,
)
from kinetree.identify.conditioning import LEAST_SAMPLES, conditioned
from kinetree.identify.loops import (
    closed_motion,
    followed,
    forces_at_motors,
    measured_at_motors,
    motor_dofs,
    without_motor,
)
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.motion.inputs import check_order
from kinetree.motion.plan.inputs import joint_vector
from kinetree.motion.record import FilePath
from kinetree.motion.recordings import ReadRequest
from kinetree.motion.recordings.read import check_times as check_times_increase
from kinetree.motion.recordings.read import read_table
from kinetree.motion.trajectory import Trajectory
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.identify.excite import Excitation


@dataclass(frozen=True, eq=False)
class Recording:
    """Measured motion and joint forces of a robot.

    Args:
        t: times, shape (T,), s.
        q: joint positions, shape (T, nq), rad or m.
        dq: joint rates, shape (T, n), rad/s or m/s.
        ddq: joint accelerations, shape (T, n), rad/s^2 or m/s^2.
        tau: measured joint forces, shape (T, n), N m or N.
        cutoff: frequency of the low-pass that gave dq and ddq, Hz; None: they were measured.
        notes: on changes to the data, and on data that look odd.
        model: the robot that moved, which gives the names of the joints to files; None: not known.
        again: gives the same recording with rates at another cutoff, Hz; None: rates were measured,
            their cutoff was stated, or the recording is long.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    cutoff: float | None = None
    notes: tuple[str, ...] = ()
    model: Model | None = None
    again: "Callable[[float], Recording] | None" = field(default=None, repr=False)

    @property
    def dt(self) -> float:
        """Median step between samples, s, which gaps do not change."""
        return float(np.median(np.diff(self.t)))

    def __len__(self) -> int:
        return len(self.t)

    def part(self, chosen: slice | Array) -> "Recording":
        """Some of the samples, by a slice or an index array.

        Args:
            chosen: a slice, or indices of samples of shape (k,) without a unit.
        """
        arrays = {key: getattr(self, key)[chosen] for key in ("t", "q", "dq", "ddq", "tau")}
        return replace(self, **arrays)

    def noted(self, note: str) -> "Recording":
        """The same recording with one more note.

        Args:
            note: a sentence.
        """
        return replace(self, notes=(*self.notes, note))

    def trajectory(self) -> Trajectory:
        """The same samples as a Trajectory."""
        if self.model is None:
            raise InputError(
                "the recording was made without a robot, so its joints have no names; make it with "
                "make_recording(robot, t, q, tau) or read_recording(path, robot)."
            )
        arrays = {key: getattr(self, key) for key in ("t", "q", "dq", "ddq", "tau")}
        return Trajectory(**arrays, model=self.model, name="recording")

    def to_csv(self, path: FilePath) -> None:
        """Write t, q, dq, ddq and tau as CSV; `read_recording` reads the same numbers.

        Args:
            path: path of the file.
        """
        self.trajectory().to_csv(path)


def joined_recordings(data: Sequence[Recording]) -> Recording:
    """Recordings of one robot one after the other, with a gap between them.

    Args:
        data: recordings of robots with the same joints.
    """
    if len(data) == 1:
        return data[0]
    cutoffs = [x.cutoff for x in data if x.cutoff is not None]
    gap = 20 * max(x.dt for x in data)  # longer than any step that is interpolated
    start, times = 0.0, list[Array]()
    for x in data:
        times.append(x.t - x.t[0] + start)
        start = float(times[-1][-1]) + gap
    arrays: dict[str, Any] = {
        key: np.concatenate([getattr(x, key) for x in data]) for key in ("q", "dq", "ddq", "tau")
    }
    notes = dict.fromkeys(note for x in data for note in x.notes)
    cutoff = max(cutoffs) if len(cutoffs) == len(data) else None
    return Recording(
        np.concatenate(times), **arrays, cutoff=cutoff, notes=tuple(notes), model=data[0].model
    )


@typed
def make_recording(
    robot: Robot,
    t: ArrayLike,
    q: StateLike,
    tau: StateLike,
    dq: StateLike | None = None,
    ddq: StateLike | None = None,
    *,
    cutoff: float | None = None,
    degrees: bool = False,
) -> Recording:
    """A recording from arrays.

    Args:
        robot: the robot that moved.
        t: times, (T,), s, increasing.
        q: positions, (T, nq), rad or m; of a robot with constraints, those of its motors are
            enough, (T, k), and give those of all joints.
        tau: joint forces, (T, n), N m or N; or of the motors, (T, k).
        dq: joint rates, shape (T, n), rad/s or m/s; None: computed from q by a zero-phase low-pass,
            and the ends of the record are left out.
        ddq: joint accelerations, shape (T, n), rad/s^2 or m/s^2; None: as for dq.
        cutoff: of that filter, Hz; None chooses it from the spectrum of q.
        degrees: angles in q, dq and ddq are in degrees.

    Raises:
        InputError: values that are not finite, times that do not increase, the wrong number of
            joints, units that cannot be right.
    """
    way_out = argument("degrees", not degrees)
    return _made(robot.model, (t, q, dq, ddq, tau), cutoff, degrees, way_out)


def _made(
    model: Model, given_columns: tuple[Any, ...], cutoff: float | None, degrees: bool, way_out: str
) -> Recording:
    """As `_made_of_tree`, of all joints; those of a mechanism follow from its motors."""
    if model.constraints is None:
        return _made_of_tree(model, given_columns, cutoff, degrees, way_out)
    measured = measured_at_motors(model, given_columns)
    found = _made_of_tree(measured.model, measured.columns, cutoff, degrees, way_out)
    start = measured.q
    if start is not None:
        start = in_radians(model, start, [])[0] if degrees else start
    return _with_loops(
        model, found, None if start is None else (read_times(given_columns[0]), start)
    )


def _with_loops(model: Model, data: Recording, start: tuple[Array, Array] | None) -> Recording:
    """The recording of all joints, from that of the motors.

    Args:
        model: the mechanism.
        data: of the motors.
        start: times, (T,), and recorded positions of all joints, (T, nq); None: not recorded.

    Raises:
        InputError: the loops cannot be closed at a time, which the message has.
    """
    robot, motors = Robot(model), motor_dofs(model)
    dq, ddq, tau = np.zeros((3, len(data), model.n))
    dq[:, motors], ddq[:, motors], tau[:, motors] = data.dq, data.ddq, data.tau
    if start is None:
        q = followed(robot, data.t, data.q)
    else:
        q = np.stack([np.interp(data.t, start[0], x) for x in start[1].T], axis=1)
    q, dq, ddq = closed_motion(robot, data.t, unit_quaternions(model, q), data.q, dq, ddq)
    notes = data.notes
    if len(motors) > model.n - len(constraints_of(model, "identify").basis):
        tau = forces_at_motors(robot, q, tau)
        notes += ("more motors than degrees of freedom: forces with which the motors strain the "
                  "mechanism without moving it are left out of tau",)  # fmt: skip
    return replace(data, q=q, dq=dq, ddq=ddq, tau=tau, notes=notes, model=model, again=None)


def _made_of_tree(
    model: Model,
    given_columns: tuple[ArrayLike, StateLike, StateLike | None, StateLike | None, StateLike],
    cutoff: float | None,
    degrees: bool,
    way_out: str,
) -> Recording:
    """The recording of t, q, dq, ddq and tau; `way_out` is the option for other units."""
    t, q, dq, ddq, tau = given_columns
    zeros = np.broadcast_to(0.0, (np.asarray(read_times(t)).size, model.n))
    columns: dict[str, Any] = {  # Trajectory checks shapes and values, and names what is wrong
        "t": t, "q": q, "dq": zeros if dq is None else dq, "ddq": zeros if ddq is None else ddq,
        "tau": tau,
    }  # fmt: skip
    checked = Trajectory(**columns, model=model, name="recording")
    given = [checked.dq if dq is not None else None, checked.ddq if ddq is not None else None]
    if len(checked.t) < LEAST_SAMPLES:
        raise InputError(
            f"the recording has {len(checked.t)} samples; expected {LEAST_SAMPLES} at least."
        )
    x, given = in_radians(model, checked.q, given) if degrees else (checked.q, given)
    times, forces = checked.t, checked.tau
    assert forces is not None
    del checked, columns, zeros  # long recordings take much memory
    x, notes = unwound(model, unit_quaternions(model, x))
    check_units(model, x, way_out)
    samples, used, more = conditioned(model, (times, x, given[0], given[1], forces), cutoff)
    t, q, dq, ddq, tau = samples
    assert dq is not None and ddq is not None
    notes += more
    again = None
    if used is not None:  # a low-pass would spread wild samples; else the robust fit finds them
        tau, wild = wild_forces(model.dof_names, tau)
        notes += wild
        if cutoff is None and len(times) <= 200_000:  # longer ones are not filtered again
            again = partial(_made, model, given_columns, degrees=degrees, way_out=way_out)
    notes += remarks(model, times, q, tau)
    return Recording(t, q, dq, ddq, tau, used, tuple(notes), model, again)


@typed
def read_recording(
    path: FilePath,
    robot: Robot,
    *,
    cutoff: float | None = None,
    degrees: bool = False,
    topic: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    rate: float | None = None,
) -> Recording:
    """The recording of a file with times, positions and joint forces, perhaps rates.

    `kinetree.motion.read` describes formats, names of columns, topic and columns; other arguments
    as in `make_recording`. Rates that the file lacks are computed by the low-pass, not by a spline.

    Args:
        path: path of the file.
        robot: the robot that moved.
        cutoff: frequency of the low-pass that gives the rates that the file lacks, Hz; None: chosen
            from the data.
        degrees: whether angles of the file are in degrees.
        topic: topic of a bag; None: the only one.
        columns: {column of the file: our name}, where headers differ; None: as named.
        rate: samples per second of a file without times, Hz; None: the file has times.
    """
    wish = ReadRequest(
        robot.model, dict(columns or {}), degrees, topic, ("t", "q", "tau"), rate=rate
    )
    return recording_of(path, robot, wish, cutoff=cutoff)


def recording_of(
    path: FilePath, robot: Robot, wish: ReadRequest, *, cutoff: float | None = None
) -> Recording:
    """The recording of a file, read as the wish states."""
    table = read_table(path, replace(wish, optional=without_motor(robot.model)))
    check_times_increase(table)
    x = table.values
    columns = x["t"], x["q"], x.get("dq"), x.get("ddq"), x["tau"]
    way_out = argument("degrees", not wish.degrees)
    found = _made(robot.model, columns, cutoff, False, way_out)
    return replace(found, notes=(*table.notes, *found.notes))


@typed
def simulated_recording(
    robot: Robot,
    motion: "Trajectory | Excitation",
    *,
    encoder_noise: float = 0.0,
    torque_noise: StateLike = 0.0,
    seed: int = 0,
    cutoff: float | None = None,
) -> Recording:
    """The recording of a robot that follows a motion exactly, with the noise of real sensors.

    Args:
        robot: the true one.
        motion: single, not a batch; or the result of `excite`, which has one.
        encoder_noise: standard deviation of measured positions, rad or m. With 0 the motion's own
            rates and accelerations are recorded; otherwise they come from noisy positions.
        torque_noise: standard deviation of measured joint forces, a number or shape (n,), N m or N.
        seed: of the noise.
        cutoff: of the low-pass of the positions, Hz; None chooses it from their spectrum.
    """
    motion = getattr(motion, "motion", motion)
    if not isinstance(motion, Trajectory):
        raise InputError(
            f"motion is {motion!r:.60}; expected a Trajectory, or the result of kt.identify.excite."
        )
    check_order(motion, robot.model, "a simulated recording")
    rng = np.random.default_rng(count(seed, "seed"))
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    model = robot.model
    spread = joint_vector(torque_noise, model.n, "torque_noise", model.dof_names)
    tau = tau + rng.normal(size=tau.shape) * spread
    if encoder_noise == 0:
        return make_recording(robot, motion.t, motion.q, tau, motion.dq, motion.ddq)
    q = motion.q + encoder_noise * rng.normal(size=motion.q.shape)
    return make_recording(robot, motion.t, q, tau, cutoff=cutoff)
