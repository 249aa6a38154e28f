"""Rest-to-rest motions through points, as fast as the limits of a robot allow at a share of speed.

The path is chosen first: the straight line to one goal, or the spline through waypoints. Then one
factor on its duration makes speeds and joint forces fit, see `kinetree.motion.limits.scaling`.
"""

from functools import partial

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.errors import InputError, argument
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import HasModel, Model, model_of
from kinetree.model.bounds import bounds_of, limit_vector
from kinetree.motion.inputs import positive
from kinetree.motion.limits.check import POSITION, check_limits
from kinetree.motion.limits.report import LimitReport
from kinetree.motion.plan.inputs import names_of
from kinetree.motion.plan.points import quintic, spline, waypoints
from kinetree.motion.trajectory import Trajectory

SPEED = 0.9  # share of the fastest speed: a controller that follows needs some force of its own
SAMPLES = 500  # of the path, from which its fastest duration is found
MAX_ROUNDS = 5  # of slowing down where a peak of force lies between the samples


def path_through(
    robot: Model | HasModel, points: StateLike, duration: float, dt: float
) -> Trajectory:
    """The straight line to one goal, or the spline through waypoints, (K, n), from rest to rest."""
    names = names_of(robot, (), "a plan")
    way, _ = waypoints(points, duration, robot, names)
    if len(way) == 2:
        return quintic(way[0], way[1], duration, dt, robot=robot)
    return spline(way, duration, dt, robot=robot)


@typed
def within_limits(
    robot: Model | HasModel,
    points: StateLike,
    dt: float = 0.01,
    *,
    speed: float = SPEED,
    duration: float | None = None,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
    acceleration: StateLike | None = None,
    name: str = "within limits",
) -> Trajectory:
    """The motion through points, from rest to rest, within the limits of the robot.

    Two points are joined by a straight line with a quintic in time; more by a spline. It takes
    1 / speed of the least time in which speeds, joint forces and accelerations fit. Forces are
    those of the model. Collisions are not looked at.

    Args:
        robot: the robot; its joints have one degree of freedom each.
        points: positions to pass, shape (K, n), rad or m, including the first and the last.
        dt: largest step between samples, s.
        speed: share of the fastest speed along this path, above 0 and at most 1, dimensionless.
        duration: time to take instead, s; None: it follows from `speed`.
        effort: limits of joint force, a number or shape (n,), N m or N; None: those of the robot.
        velocity: limits of rate, a number or shape (n,), rad/s or m/s; None: those of the robot.
        acceleration: limits of acceleration, a number or shape (n,), rad/s^2 or m/s^2; None: no
            limit.
        name: of the trajectory.

    Raises:
        InputError: a joint cannot hold its load on the way or leaves its range, no limit bounds the
            speed, or `duration` is too short; the message has the joint and the least duration.
    """
    if not 0 < speed <= 1:
        raise InputError(f"speed is {speed:g}; expected a share above 0 and at most 1.")
    nominal = path_through(robot, points, 1.0, 1 / SAMPLES)
    check = partial(check_limits, robot, effort=effort, velocity=velocity)
    report = check(nominal)
    least = _least_duration(report)
    if acceleration is not None:
        most = limit_vector(acceleration, nominal.dof_names, "acceleration")
        least = max(least, float(np.sqrt(np.max(np.abs(nominal.ddq) / most))))
    taken = least / speed if duration is None else positive(duration, "duration", "s")
    if taken < least * (1 - 1e-9):
        raise InputError(
            f"duration is {taken:g} s; within the limits of {report.robot!r} this way takes "
            f"{least:.6g} s at least. Give a longer duration, or higher limits."
        )
    if taken == 0:
        raise InputError(
            f"no joint of {report.robot!r} that moves has a limit of speed or force; give "
            f"{argument('duration')}, {argument('effort')} or {argument('velocity')}."
        )
    for _ in range(MAX_ROUNDS if duration is None else 1):
        motion = path_through(robot, points, taken, dt).replace(name=name)
        report = check(motion)
        if report.ok:
            return motion
        taken = taken * (report.slower or 1.0)
    raise InputError(_unfit(report))


def reference_to(robot: Model | HasModel, q0: Array, q1: Array) -> Trajectory | None:
    """The default motion of a controller from q0 to a goal q1, (n,); None if none is planned.

    None is planned for a robot with constraints, with joints of several degrees of freedom, or
    without limits of speed and force, nor where q1 is q0. The goal is then given at once.

    Raises:
        InputError: the limits do not allow it, see `within_limits`.
    """
    model = model_of(robot)
    bounds = bounds_of(model)
    limited = np.isfinite(bounds.velocity) | np.isfinite(bounds.effort)
    single = all(x.type in SCREW_TYPES for x in model.joints)
    if model.constraints is not None or not single or not limited.any():
        return None
    return None if np.array_equal(q0, q1) else within_limits(robot, np.array([q0, q1]))


def _least_duration(report: LimitReport) -> float:
    """The least duration in which speeds and joint forces fit, s; 0 without limits."""
    inside = all(x.quantity != POSITION for x in report.violations)
    if not inside or report.scaling.fastest is None:
        raise InputError(_unfit(report))
    return report.scaling.fastest * report.duration


def _unfit(report: LimitReport) -> str:
    """Why no speed along a path is within the limits: the first joint, and the way out."""
    for x in report.violations:
        if x.quantity == POSITION:
            return (
                f"on this way joint {x.joint!r} of {report.robot!r} is at {x.value:.5g} {x.unit}, "
                f"beyond its limit {x.limit:.5g} {x.unit}; take another goal, or waypoints inside."
            )
    for load in report.scaling.overloads:
        unit = "N" if report.joint(load.joint).sliding else "N m"
        cause = "weight" + " and springs" * load.springs + " with friction" * (not load.gravity)
        return (
            f"joint {load.joint!r} of {report.robot!r} needs {load.torque:.5g} {unit} for {cause} "
            f"at {load.t / report.duration:.0%} of this way, beyond its limit {load.limit:.5g} "
            f"{unit}, so that no slower motion helps; take another way, or higher limits."
        )
    return f"{report.robot!r} exceeds a limit on this way at every speed; {report.headline()}."
