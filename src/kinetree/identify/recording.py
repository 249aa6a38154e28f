"""Recording: a measured motion with its joint forces, checked, with rates and accelerations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.containers import read_times
from kinetree.core.options import count, typed
from kinetree.core.text import counted
from kinetree.errors import InputError, argument
from kinetree.identify.checks import (
    check_given_rates,
    check_times,
    check_units,
    in_radians,
    named,
    remarks,
    unit_quaternions,
    unwound,
    wild_forces,
)
from kinetree.identify.clock import Samples, evenly, gaps, held_rows, is_even, take
from kinetree.identify.loops import (
    closed_motion,
    followed,
    forces_at_motors,
    measured_at_motors,
    motor_dofs,
    without_motor,
)
from kinetree.identify.rates import MARGIN, Rates, apply_rates, choose_rates, margin
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

LEAST_SAMPLES = 16  # that follow each other: fewer have no spectrum
AGAIN_SAMPLES = 200_000  # of a recording that is kept to be filtered with other cutoffs


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

    def to_parquet(self, path: FilePath) -> None:
        """Write the table of `to_csv` as Parquet; needs the extra `parquet`.

        Args:
            path: path of the file.
        """
        self.trajectory().to_parquet(path)


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
        np.concatenate(times),
        **arrays,
        cutoff=cutoff,
        notes=tuple(notes),
        model=data[0].model,
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
    found = _conditioned(model, (times, x, given[0], given[1], forces), cutoff)
    if found.cutoff is not None:  # a low-pass would spread them; else the robust fit finds them
        clean, wild = wild_forces(model.dof_names, found.tau)
        found, notes = replace(found, tau=clean), [*notes, *wild]
    notes += [*found.notes, *remarks(model, times, (found.q, found.dq), found.tau)]
    again = None
    if cutoff is None and found.cutoff is not None and len(times) <= AGAIN_SAMPLES:
        again = partial(_again, model, given_columns, degrees, way_out)
    return replace(found, notes=tuple(notes), model=model, again=again)


def _again(
    model: Model, given_columns: tuple[Any, ...], degrees: bool, way_out: str, cutoff: float
) -> Recording:
    """The recording of `_made` with another cutoff."""
    t, q, dq, ddq, tau = given_columns
    return _made(model, (t, q, dq, ddq, tau), cutoff, degrees, way_out)


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


def _conditioned(model: Model, samples: Samples, cutoff: float | None) -> Recording:
    """The recording of checked samples: times, stretches, rates and accelerations."""
    _, _, dq, ddq, _ = samples
    t, q, rate, bend, _ = take(samples, _stretches(samples[0], None)[0])
    if rate is not None:
        check_given_rates(model, t, q, rate, bend)
    elif model.n != model.nq:
        raise InputError(
            f"{model.name!r} has joints whose rates are not derivatives of q (quaternions); "
            "expected dq with the recording."
        )
    if dq is not None and ddq is not None and not dq.any() and not ddq.any():
        note = "all rates and accelerations are zero: rows are taken for positions held still"
        return Recording(*_all(samples), notes=(note,))
    notes = list[str]()
    if model.n == model.nq and (held := held_rows(samples[1])).any():
        notes.append(
            f"{held.sum():,} of {len(held):,} rows repeat the row before within motion (held "
            "samples); removed"
        )
        samples = take(samples, ~held)
    recorded = dq is not None and ddq is not None
    if not recorded:
        check_times(model, samples[0])
    longest = take(samples, _stretches(samples[0], cutoff)[0])
    if recorded and model.n != model.nq and not is_even(longest[0]):
        return Recording(*_all(samples), notes=tuple(notes))
    rates = choose_rates(model, _even(model, longest)[0], cutoff)
    if rates.cutoff is None:
        return Recording(*_all(samples), notes=(*notes, *rates.notes))
    return _filtered(model, samples, rates, notes)


def _all(samples: Samples) -> tuple[Array, Array, Array, Array, Array]:
    t, q, dq, ddq, tau = samples
    assert dq is not None and ddq is not None
    return t, q, dq, ddq, tau


def _stretches(t: Array, cutoff: float | None) -> list[slice]:
    """Rows between gaps, the longest stretch first."""
    cuts = [0, *gaps(t, cutoff) + 1, len(t)]
    stretches = sorted((slice(a, b) for a, b in pairwise(cuts)), key=lambda s: s.start - s.stop)
    longest = stretches[0].stop - stretches[0].start
    if longest < LEAST_SAMPLES:
        raise InputError(
            f"no more than {longest} samples follow each other without a gap; expected "
            f"{LEAST_SAMPLES}."
        )
    return stretches


def _even(model: Model, samples: Samples) -> tuple[Samples, str]:
    """One stretch at even times, and a note."""
    if model.n != model.nq and not is_even(samples[0]):
        raise InputError(
            f"the samples are not evenly spaced, and {model.name!r} has quaternions, which are "
            "not resampled; expected even steps, or ddq with the recording."
        )
    return evenly(samples)


def _filtered(model: Model, samples: Samples, rates: Rates, notes: list[str]) -> Recording:
    """The stretches between gaps, each filtered by itself: nothing is interpolated over a gap.

    Stretches too short for the filter are left out.
    """
    cutoff = rates.cutoff
    assert cutoff is not None
    stretches, parts, remarks = _stretches(samples[0], cutoff), list[Any](), list[str]()
    lost = 0
    for own in stretches:
        if own.stop - own.start < LEAST_SAMPLES:
            lost += own.stop - own.start
            continue
        part, remark = _even(model, take(samples, own))
        t = part[0]
        cut = margin(float((t[-1] - t[0]) / (len(t) - 1)), cutoff)
        if len(t) < 2 * cut + LEAST_SAMPLES:
            lost += len(t)
            continue
        remarks += [remark] * bool(remark)
        parts.append(_all(take(apply_rates(model, part, rates), slice(cut, len(t) - cut))))
    if not parts:
        t = samples[0][stretches[0]]
        raise InputError(
            f"{len(t)} samples over {t[-1] - t[0]:.3g} s are too few for a low-pass at "
            f"{cutoff:.3g} Hz. Record longer, or give dq and ddq."
        )
    parts.sort(key=lambda part: part[0][0])
    columns = {x: [n for n, y in zip(model.dof_names, rates.sources, strict=True) if y == x]
               for x in dict.fromkeys(rates.sources)}  # fmt: skip
    own = "; ".join(f"of {named(y)} from {x}" if len(columns) > 1 else f"from {x}"
                    for x, y in columns.items())  # fmt: skip
    notes += [*dict.fromkeys(remarks), *rates.notes]
    notes.append(
        f"accelerations {own} by a zero-phase low-pass at {cutoff:.3g} Hz; "
        f"{MARGIN / cutoff:.2g} s at each end are left out"
    )
    if lost:
        notes.append(f"left out: {counted(lost, 'sample')} in short stretches between gaps")
    t, q, dq, ddq, tau = (np.concatenate(x) for x in zip(*parts, strict=True))
    return Recording(t, q, dq, ddq, tau, cutoff, tuple(notes))
