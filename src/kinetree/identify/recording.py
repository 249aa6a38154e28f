"""Recording: a measured motion with its joint forces, checked, with rates and accelerations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.algorithms.natural_units import natural_units
from kinetree.base.arrays import Array, ArrayLike, StateLike
from kinetree.base.containers import read_times
from kinetree.base.labels import vector_by_name
from kinetree.base.tables import counted
from kinetree.errors import InputError
from kinetree.identify.checks import (
    check_given_rates,
    check_times,
    check_units,
    gaps,
    in_radians,
    jumps,
    least_motion,
    remarks,
    unit_quaternions,
    unwound,
)
from kinetree.identify.filtering import choose_cutoff, margin, smooth
from kinetree.model import Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.inputs import dof_axis
from kinetree.motion.files import check_times as check_times_increase
from kinetree.motion.files import read_table
from kinetree.motion.reading import Wish
from kinetree.robot import Robot
from kinetree.samples.inputs import check_order
from kinetree.samples.record import FilePath
from kinetree.samples.splines import cubic_spline
from kinetree.trajectory import Trajectory

LEAST = 16  # samples
JITTER = 1e-3  # steps that differ by more of a step are resampled before filtering
DEGREES_STATED, RADIANS_STATED = "degrees=True, --degrees", "degrees=False"  # ways out
Columns = tuple[Array, Array, Array | None, Array | None, Array]  # t, q, dq, ddq, tau


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
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    cutoff: float | None = None
    notes: tuple[str, ...] = ()
    model: Model | None = None

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
        q: positions, (T, nq), rad or m.
        tau: joint forces, (T, n), N m or N.
        dq: joint rates, shape (T, n), rad/s or m/s; None: computed from q by a zero-phase low-pass,
            and the ends of the record are left out.
        ddq: joint accelerations, shape (T, n), rad/s^2 or m/s^2; None: as for dq.
        cutoff: of that filter, Hz; None chooses it from the spectrum of q.
        degrees: angles in q, dq and ddq are in degrees.

    Raises:
        InputError: values that are not finite, times that do not increase, the wrong number of
            joints, units that cannot be right.
    """
    way_out = RADIANS_STATED if degrees else DEGREES_STATED
    return _made(robot.model, (t, q, dq, ddq, tau), cutoff, degrees, way_out)


def _made(
    model: Model,
    given_columns: tuple[ArrayLike, StateLike, StateLike | None, StateLike | None, StateLike],
    cutoff: float | None,
    degrees: bool,
    way_out: str,
) -> Recording:
    """The recording of t, q, dq, ddq and tau; `way_out` is the option for other units."""
    t, q, dq, ddq, tau = given_columns
    zeros = np.zeros((np.asarray(read_times(t)).size, model.n))
    columns: dict[str, Any] = {  # Trajectory checks shapes and values, and names what is wrong
        "t": t, "q": q, "dq": zeros if dq is None else dq, "ddq": zeros if ddq is None else ddq,
        "tau": tau,
    }  # fmt: skip
    checked = Trajectory(**columns, model=model, name="recording")
    given = [checked.dq if dq is not None else None, checked.ddq if ddq is not None else None]
    if len(checked.t) < LEAST:
        raise InputError(f"the recording has {len(checked.t)} samples; expected {LEAST} at least.")
    x, given = in_radians(model, checked.q, given) if degrees else (checked.q, given)
    x, notes = unwound(model, unit_quaternions(model, x))
    check_units(model, x, way_out)
    assert checked.tau is not None
    found = _between_gaps(model, (checked.t, x, given[0], given[1], checked.tau), cutoff)
    notes += [*found.notes, *remarks(model, checked.t, (found.q, found.dq), found.tau)]
    return replace(found, notes=tuple(notes), model=model)


def read_recording(
    path: FilePath,
    robot: Robot,
    *,
    cutoff: float | None = None,
    degrees: bool = False,
    topic: str | None = None,
    columns: Mapping[str, str | None] | None = None,
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
        columns: {our name: column of the file}, where headers differ; None: as named.
    """
    wish = Wish(robot.model, dict(columns or {}), degrees, topic, ("t", "q", "tau"))
    return recording_of(path, robot, wish, cutoff=cutoff)


def recording_of(
    path: FilePath, robot: Robot, wish: Wish, *, cutoff: float | None = None
) -> Recording:
    """The recording of a file, read as the wish states."""
    table = read_table(path, wish)
    check_times_increase(table)
    x = table.values
    columns = x["t"], x["q"], x.get("dq"), x.get("ddq"), x["tau"]
    way_out = RADIANS_STATED if wish.degrees else DEGREES_STATED
    found = _made(robot.model, columns, cutoff, False, way_out)
    return replace(found, notes=(*table.notes, *found.notes))


def simulated_recording(
    robot: Robot,
    motion: Trajectory,
    *,
    encoder_noise: float = 0.0,
    torque_noise: StateLike = 0.0,
    seed: int = 0,
    cutoff: float | None = None,
) -> Recording:
    """The recording of a robot that follows a motion exactly, with the noise of real sensors.

    Args:
        robot: the true one.
        motion: single, not a batch.
        encoder_noise: standard deviation of measured positions, rad or m. With 0 the motion's own
            rates and accelerations are recorded; otherwise they come from noisy positions.
        torque_noise: standard deviation of measured joint forces, a number or shape (n,), N m or N.
        seed: of the noise.
        cutoff: of the low-pass of the positions, Hz; None chooses it from their spectrum.
    """
    check_order(motion, robot.model, "a simulated recording")
    rng = np.random.default_rng(seed)
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    spread = vector_by_name(torque_noise, dof_axis(robot.model), "torque_noise")
    tau = tau + rng.normal(size=tau.shape) * np.asarray(spread, float)
    if encoder_noise == 0:
        return make_recording(robot, motion.t, motion.q, tau, motion.dq, motion.ddq)
    q = motion.q + encoder_noise * rng.normal(size=motion.q.shape)
    return make_recording(robot, motion.t, q, tau, cutoff=cutoff)


def _between_gaps(model: Model, columns: Columns, cutoff: float | None) -> Recording:
    """The stretches between gaps, each filtered by itself: nothing is interpolated over a gap.

    The cutoff is chosen from the longest stretch; stretches too short for the filter are left out.
    """
    cuts = [0, *gaps(columns[0]) + 1, len(columns[0])]
    stretches = sorted((slice(a, b) for a, b in pairwise(cuts)), key=lambda s: s.start - s.stop)
    longest = stretches[0].stop - stretches[0].start
    if longest < LEAST:
        raise InputError(
            f"no more than {longest} samples follow each other without a gap; expected {LEAST}."
        )
    found: list[Recording] = []
    least, lost = 0, 0
    for own in stretches:
        if own.stop - own.start < least:
            lost += own.stop - own.start
            continue
        t, q, dq, ddq, tau = columns
        rates = [x if x is None else x[own] for x in (dq, ddq)]
        part = _with_rates(model, (t[own], q[own], rates[0], rates[1], tau[own]), cutoff)
        cutoff = part.cutoff
        least = LEAST + (0 if cutoff is None else 2 * margin(part.dt, cutoff))
        found.append(part)
    found.sort(key=lambda part: part.t[0])
    notes = list(dict.fromkeys(note for part in found for note in part.notes))
    if lost:
        notes.append(f"left out: {counted(lost, 'sample')} in short stretches between gaps")
    joined: dict[str, Any] = {
        key: np.concatenate([getattr(part, key) for part in found])
        for key in ("t", "q", "dq", "ddq", "tau")
    }
    return Recording(**joined, cutoff=cutoff, notes=tuple(notes))


def _with_rates(model: Model, columns: Columns, cutoff: float | None) -> Recording:
    """One stretch, with dq and ddq from filtered positions or rates if they are missing."""
    t, q, dq, ddq, tau = columns
    if dq is not None:
        check_given_rates(model, t, q, dq, ddq)
    if ddq is not None and dq is not None:
        return Recording(t, q, dq, ddq, tau)
    if model.n != model.nq and dq is None:
        raise InputError(
            f"{model.name!r} has joints whose rates are not derivatives of q (quaternions); "
            "expected dq with the recording."
        )
    check_times(model, t)
    notes: list[str] = []
    if np.ptp(np.diff(t)) > JITTER * np.diff(t).mean():
        if model.n != model.nq:
            raise InputError(
                f"the samples are not evenly spaced, and {model.name!r} has quaternions, which are "
                "not resampled; expected even steps, or ddq with the recording."
            )
        even = np.linspace(t[0], t[-1], len(t))
        q, tau = cubic_spline(t, q)(even)[0], cubic_spline(t, tau)(even)[0]
        dq, ddq = (x if x is None else cubic_spline(t, x)(even)[0] for x in (dq, ddq))
        notes.append("steps of time are uneven; resampled")
        t = even
    dt = float((t[-1] - t[0]) / (len(t) - 1))
    cutoff = choose_cutoff(q if dq is None else dq, dt) if cutoff is None else cutoff
    if dq is None:
        notes += jumps(model, t, q)
        q, dq, bend = smooth(q, dt, cutoff)
        still = np.ptp(positions(bounds_of(model), q), axis=0) < least_motion(natural_units(model))
        dq[:, still] = bend[:, still] = 0  # noise, whose sign would be taken for friction
        ddq = bend if ddq is None else ddq
    else:
        dq, ddq, _ = smooth(dq, dt, cutoff)
    cut = margin(dt, cutoff)
    least = 2 * cut + LEAST
    if len(t) < least:
        raise InputError(
            f"{len(t)} samples over {t[-1] - t[0]:.3g} s are too few for a low-pass at "
            f"{cutoff:.3g} Hz; expected {least} at least. Record longer, or give dq and ddq."
        )
    notes.append(
        f"rates and accelerations by a zero-phase low-pass at {cutoff:.3g} Hz; {1 / cutoff:.2g} s "
        "at each end are left out"
    )
    inner = slice(cut, len(t) - cut)
    return Recording(t, q, dq, ddq, tau, cutoff, tuple(notes)).part(inner)
