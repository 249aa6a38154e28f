"""The fastest motion along a path within torque, speed and acceleration limits, verified."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.errors import InputError
from kinetree.motion.bounds import Bounds, bounds_of, limit_vector, with_limits
from kinetree.motion.dynamics import Dynamics, check_screws, check_single, robot_of
from kinetree.motion.fastest import fastest
from kinetree.motion.inputs import positive, sample_times
from kinetree.motion.limit_report import LimitReport
from kinetree.motion.limits import POSITION, check_limits
from kinetree.motion.path import paths_of
from kinetree.motion.pieces import Polynomials, polynomials
from kinetree.motion.profile import Profile
from kinetree.trajectory import Trajectory

FINER = 10  # samples of the verification for every one of the result
MARGINS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # shares of the limits kept back, one after another


@dataclass(frozen=True, eq=False)
class TimeOptimal:
    """The fastest motion along a path: `trajectory`, and `report`, its check on a finer grid.

    pieces: the path and its profile between corners, in which the robot stops. deviation: the
    largest distance of the path from the trajectory that it was taken from, rad or m.
    """

    trajectory: Trajectory
    report: LimitReport
    pieces: tuple[Profile, ...]
    margin: float

    @property
    def duration(self) -> float:
        """Time that the motion takes, s."""
        return self.trajectory.duration

    @property
    def deviation(self) -> float:
        """Distance from the given path, rad or m."""
        return max(piece.path.deviation for piece in self.pieces)

    def resample(self, dt: float) -> Trajectory:
        """The same motion with another step."""
        return _sampled(self.trajectory, self.pieces, dt)

    def __repr__(self) -> str:
        return f"TimeOptimal({self.trajectory!r}, {'verified' if self.report.ok else 'violated'})"


def time_optimal(
    robot: Any,
    trajectory: Trajectory,
    *,
    dt: float | None = None,
    intervals: int = 1000,
    effort: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
) -> TimeOptimal:
    """Time the path of a trajectory anew: as fast as the limits allow, rest to rest.

    The path is a spline over its length; along it, every joint force is linear in x = (ds/dt)^2
    and u = d2s/dt2, but for viscous friction, which is taken from the profile found before and
    iterated. Between the knots, where nothing is prescribed, forces and speeds are evaluated and
    their excess is kept back in the next round, until there is none. The result is sampled ten
    times finer than `dt` and checked; what is returned has passed. Positions are those of the
    given path; where they are beyond limits, the report says so.

    Args:
        robot: the robot; its joints have one degree of freedom each.
        trajectory: gives the path; its times do not matter.
        dt: largest step between samples of the result, s; None is that of the trajectory.
        intervals: of the phase plane, per smooth piece of the path. u is constant in each, so that
            forces that vary along the path leave a little unused: with 1000, the motion takes about
            1e-3 longer than the fastest at most; twice as many halve that.
        effort: torque limits, a number or (n,); None is those of the robot.
        velocity: speed limits, likewise.
        acceleration: limits of ddq; None is without.

    Raises:
        InputError: no torque limit, or gravity and friction alone exceed one, says where.
    """
    robot = robot_of(trajectory, robot, "time-optimal scaling")
    check_single(trajectory, "time-optimal scaling")
    check_screws(robot.model, "time-optimal scaling")
    step = float(np.median(np.diff(trajectory.t))) if dt is None else positive(dt, "dt", "s")
    bounds = with_limits(bounds_of(robot.model), effort, velocity)
    bends = np.inf if acceleration is None else acceleration
    bends = limit_vector(bends, bounds.names, "acceleration")
    if intervals < 10:
        raise InputError(f"intervals is {intervals}; expected at least 10.")
    paths = paths_of(trajectory, intervals)
    _check_torques(robot, bounds, trajectory)
    plan = trajectory.replace(
        tau=None, model=robot.model, joint_names=(), name=_name(trajectory), meta={"smooth": False}
    )
    report = None
    for margin in MARGINS:
        pieces = tuple(fastest(robot, path, bounds, bends, margin) for path in paths)
        fine = _sampled(plan, pieces, step / FINER)
        report = check_limits(robot, fine, effort=effort, velocity=velocity)
        if _within(report) and np.all(np.abs(fine.ddq) <= bends * (1 + 1e-6)):
            return TimeOptimal(_sampled(plan, pieces, step), report, pieces, margin)
    raise InputError(
        f"the time-optimal motion along {trajectory.name!r} still exceeds a limit with a margin of "
        f"{MARGINS[-1]:g}; its path may be sampled too coarsely.\n{report}"
    )


def _within(report: LimitReport) -> bool:
    """Whether forces and speeds fit; positions are those of the path, and stay in the report."""
    return all(violation.quantity == POSITION for violation in report.violations)


def _name(trajectory: Trajectory) -> str:
    return f"{trajectory.name}, time-optimal"


def _check_torques(robot: Dynamics, bounds: Bounds, trajectory: Trajectory) -> None:
    """A motion without a limit of force would take no time."""
    moving = np.any(np.diff(trajectory.q, axis=0) != 0, axis=0)
    if not np.any(np.isfinite(bounds.effort[moving])):
        names = ", ".join(np.array(bounds.names)[moving])
        raise InputError(
            f"no joint that moves has a torque limit ({names}); without one there is no fastest "
            "motion. Give effort=..., a number or one for each joint, N m or N."
        )


def _sampled(plan: Trajectory, pieces: Sequence[Profile], dt: float) -> Trajectory:
    """The motion along all pieces, one after another, at times no further apart than dt."""
    curve = _polynomials(pieces)
    t = sample_times(curve.t[-1], dt)
    q, dq, ddq = curve(t)
    return plan.replace(t=t, q=q, dq=dq, ddq=ddq, pieces=curve)


def _polynomials(pieces: Sequence[Profile]) -> Polynomials:
    """The motion as polynomials of time; at the end the robot is at rest, without acceleration."""
    times, start = [np.zeros(1)], 0.0
    for piece in pieces:
        times.append(start + piece.times[1:])
        start = float(times[-1][-1])
    c = np.concatenate([piece.coefficients() for piece in pieces], axis=1)
    q = pieces[-1].path.curve.points[-1]
    return polynomials(np.concatenate(times), c, end=(q, 0 * q, 0 * q))
