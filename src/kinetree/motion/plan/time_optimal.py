"""The fastest motion along a path within torque, speed and acceleration limits, verified."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kinetree.core.arrays import StateLike
from kinetree.core.options import typed
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds, bounds_of, limit_vector, with_limits
from kinetree.model.constrain import without_constraints
from kinetree.motion.curve.pieces import Pieces, Polynomials, polynomials
from kinetree.motion.inputs import (
    check_screws,
    check_single,
    model_for,
    positive,
    sample_times,
)
from kinetree.motion.limits.check import check_limits
from kinetree.motion.limits.report import LimitReport
from kinetree.motion.plan.fastest import fastest
from kinetree.motion.plan.path import paths_of
from kinetree.motion.plan.profile import Profile
from kinetree.motion.trajectory import Trajectory

FINER = 10  # samples of the check for every sample of the result
SLACK = 1e-6  # share of a limit by which a sample of the check may exceed it
MARGINS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # unused shares of the limits, tried in this order


@dataclass(frozen=True, eq=False)
class TimeOptimal:
    """The fastest motion along a path, with its check on a finer grid.

    Args:
        trajectory: the motion.
        check: makes `report`.
        pieces: profiles along the smooth pieces of the path; the robot stops in the corners between
            them.
        margin: share of the limits that was left unused, dimensionless.
    """

    trajectory: Trajectory
    check: Callable[[], LimitReport]
    pieces: tuple[Profile, ...]
    margin: float

    @cached_property
    def report(self) -> LimitReport:
        """Its loads and limits on a finer grid; violations were looked for when it was planned."""
        return self.check()

    @property
    def duration(self) -> float:
        """Duration of the motion, s."""
        return self.trajectory.duration

    def resample(self, dt: float) -> Trajectory:
        """The same motion with samples no further apart than dt, s.

        Args:
            dt: largest step between samples, s.
        """
        return _sampled(self.trajectory, self.trajectory.curve, dt)


@typed
def time_optimal(
    robot: Model | HasModel | None,
    trajectory: Trajectory,
    *,
    dt: float | None = None,
    intervals: int = 1000,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
    acceleration: StateLike | None = None,
) -> TimeOptimal:
    """The fastest motion along the path of a trajectory within the limits, rest to rest.

    The path is a spline over its length; along it, every joint force is linear in x = (ds/dt)^2
    and u = d2s/dt2, except for viscous friction, which is taken from the previous profile and
    iterated. Between the knots, forces and speeds are evaluated, and the amount by which they
    exceed a limit is subtracted from the limit in the next iteration. The result is sampled ten
    times finer than `dt` and checked before it is returned. Near the
    previous profile the limit of a drive with a torque-speed curve is a line of x. Beyond the last
    speed of a curve a drive can only brake; if the curve ends there above zero force, the plan does
    not go beyond. Positions are those of the given path; if they are
    beyond limits, the report has these violations.

    Args:
        robot: the robot; its joints have one degree of freedom each. None is the one that the
            trajectory was made with.
        trajectory: gives the path; its times do not matter.
        dt: largest step between samples of the result, s; None is that of the trajectory.
        intervals: number of intervals of the phase plane for each smooth piece of the path. u is
            constant in each, so that a varying force does not use its whole limit: with 1000, the
            motion takes at most about 1e-3 longer than the fastest; twice as many halve that.
        effort: limits of joint force, a number or shape (n,), N m or N; None: those of the robot.
            The drives of the joints count besides.
        velocity: limits of rate, a number or shape (n,), rad/s or m/s; None: those of the robot.
        acceleration: limits of acceleration, a number or shape (n,), rad/s^2 or m/s^2; None: no
            limit.

    Raises:
        InputError: there is no torque limit, or gravity and friction alone exceed one; the message
            has the joint and the place on the path.
    """
    model = model_for(trajectory, robot, "time-optimal scaling")
    without_constraints(model, "time_optimal")
    check_single(trajectory, "time-optimal scaling")
    check_screws(model, "time-optimal scaling")
    step = float(np.median(np.diff(trajectory.t))) if dt is None else positive(dt, "dt", "s")
    bounds = with_limits(bounds_of(model), effort, velocity)
    bends = np.inf if acceleration is None else acceleration
    bends = limit_vector(bends, bounds.names, "acceleration")
    if intervals < 10:
        raise InputError(f"intervals is {intervals}; expected at least 10.")
    paths = paths_of(trajectory, intervals)
    _check_torques(bounds, trajectory)
    plan = trajectory.replace(
        tau=None, model=model, joint_names=(), name=f"{trajectory.name}, time-optimal",
        meta={"smooth": False},
    )  # fmt: skip
    for margin in MARGINS:
        pieces = tuple(fastest(model, path, bounds, bends, margin) for path in paths)
        curve = _polynomials(pieces)
        fine = _sampled(plan, curve, step / FINER)
        tau = kernel(model, "inverse_dynamics")(fine.q, fine.dq, fine.ddq)
        least, most = (x * (1 + SLACK) for x in bounds.forces(fine.dq / (1 + SLACK)))
        pairs = (np.abs(fine.dq), bounds.velocity), (np.abs(fine.ddq), bends)
        within = all(np.all(x <= limit * (1 + SLACK)) for x, limit in pairs)
        if within and np.all((least <= tau) & (tau <= most)):
            check = partial(check_limits, model, fine, effort=effort, velocity=velocity)
            return TimeOptimal(_sampled(plan, curve, step), check, pieces, margin)
    raise InputError(
        f"the time-optimal motion along {trajectory.name!r} still exceeds a limit; its path may be "
        "sampled too coarsely."
    )


def _check_torques(bounds: Bounds, trajectory: Trajectory) -> None:
    """Raise InputError if no moving joint has a torque limit; the motion would take no time."""
    moving = np.any(np.diff(trajectory.q, axis=0) != 0, axis=0)
    if not np.any(np.isfinite(bounds.effort[moving])):
        raise InputError(
            "no joint that moves has a torque limit, and without one there is no fastest motion. "
            "Give effort=..., a number or one for each joint, N m or N."
        )


def _sampled(plan: Trajectory, curve: Pieces, dt: float) -> Trajectory:
    """The motion along all pieces, one after another, at times no further apart than dt."""
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
    q = pieces[-1].path.end
    return polynomials(np.concatenate(times), c, end=(q, 0 * q, 0 * q))
