"""Motions through given positions: cubic, quintic, trapezoid, and spline through waypoints."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike, array
from kinetree.core.containers import has_labels, read_times
from kinetree.core.options import typed
from kinetree.errors import InputError, ShapeError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.bounds import bounds_of
from kinetree.motion.curve.pieces import Polynomials, polynomials
from kinetree.motion.curve.splines import (
    CLAMPED,
    NATURAL,
    NOT_A_KNOT,
    cubic_coefficients,
    cubic_spline,
    quintic_coefficients,
)
from kinetree.motion.inputs import check_screws, positive, sample_times
from kinetree.motion.plan.inputs import between_knots, ends, joint_vector, names_of, planned
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Axis, by_name, check_rows


@typed
def cubic(
    q0: StateLike,
    q1: StateLike,
    duration: float,
    dt: float = 0.01,
    *,
    dq0: StateLike = 0,
    dq1: StateLike = 0,
    robot: Model | HasModel | None = None,
    joint_names: Sequence[str] = (),
    name: str = "cubic",
) -> Trajectory:
    """The cubic in time from q0 to q1, (n,), with given rates at both ends.

    Rest to rest, the speed peaks at 3/2 of the mean. The acceleration is 6 (q1 - q0) / T^2 at the
    start and the opposite at the end, where it jumps to 0.

    Args:
        q0: position at the start, shape (n,), rad or m.
        q1: position at the end, shape (n,), rad or m.
        duration: time to take, s.
        dt: largest step between samples, s.
        dq0: rate at the start, a number or shape (n,), rad/s or m/s.
        dq1: rate at the end, a number or shape (n,), rad/s or m/s.
        robot: gives the names of the joints.
        joint_names: names without a robot.
        name: of the trajectory.
    """
    start, end, names = ends(q0, q1, robot, joint_names)
    t, n = sample_times(duration, dt), len(start)
    v0, v1 = joint_vector(dq0, n, "dq0", names), joint_vector(dq1, n, "dq1", names)
    c = np.array(cubic_coefficients(t[-1], start, v0, end, v1))
    curve = polynomials([0, t[-1]], c[:, None], end=(end, v1))
    return planned(t, curve(t), robot, names, name, curve)


@typed
def quintic(
    q0: StateLike,
    q1: StateLike,
    duration: float,
    dt: float = 0.01,
    *,
    dq0: StateLike = 0,
    dq1: StateLike = 0,
    ddq0: StateLike = 0,
    ddq1: StateLike = 0,
    robot: Model | HasModel | None = None,
    joint_names: Sequence[str] = (),
    name: str = "quintic",
) -> Trajectory:
    """The quintic in time from q0 to q1, with given rates and accelerations at both ends.

    Rest to rest, the speed peaks at 15/8 of the mean and the acceleration at
    10 / sqrt(3) (q1 - q0) / T^2; nothing jumps.

    Args:
        q0: position at the start, shape (n,), rad or m.
        q1: position at the end, shape (n,), rad or m.
        duration: length of the motion, s.
        dt: largest step between samples, s.
        dq0: rate at the start, a number or shape (n,), rad/s or m/s.
        dq1: rate at the end, a number or shape (n,), rad/s or m/s.
        ddq0: acceleration at the start, a number or shape (n,), rad/s^2 or m/s^2.
        ddq1: acceleration at the end, a number or shape (n,), rad/s^2 or m/s^2.
        robot: gives the names of the joints; None: `joint_names`.
        joint_names: names of the joints, where no robot is given.
        name: name of the motion.
    """
    start, end, names = ends(q0, q1, robot, joint_names)
    t, n = sample_times(duration, dt), len(start)
    left = (start, joint_vector(dq0, n, "dq0", names), joint_vector(ddq0, n, "ddq0", names))
    right = (end, joint_vector(dq1, n, "dq1", names), joint_vector(ddq1, n, "ddq1", names))
    c = np.array(quintic_coefficients(t[-1], *left, *right))
    curve = polynomials([0, t[-1]], c[:, None], end=right)
    return planned(t, curve(t), robot, names, name, curve)


@typed
def trapezoid(
    q0: StateLike,
    q1: StateLike,
    *,
    acceleration: StateLike,
    velocity: StateLike | None = None,
    duration: float | None = None,
    dt: float = 0.01,
    robot: Model | HasModel | None = None,
    joint_names: Sequence[str] = (),
    name: str = "trapezoid",
) -> Trajectory:
    """The straight line from q0 to q1, (n,), in the least time with bounded speeds.

    Every joint follows q0 + (q1 - q0) s(t), where s accelerates, cruises and brakes; a short motion
    has no cruise. At least one joint is at its bound in each phase. Samples are uniform within each
    phase.

    Args:
        q0: position at the start, shape (n,), rad or m.
        q1: position at the end, shape (n,), rad or m.
        acceleration: bounds, a number or (n,), rad/s^2 or m/s^2.
        velocity: bounds of the rates, a number or shape (n,), rad/s or m/s; None: the limits of the
            robot.
        duration: a longer time to take, s; None takes the least one.
        dt: largest step between samples, s.
        robot: gives the names of the joints and their velocity limits.
        joint_names: names without a robot.
        name: of the trajectory.
    """
    start, end, names = ends(q0, q1, robot, joint_names)
    way = end - start
    if not np.any(way):
        raise InputError("q0 and q1 are the same position; a trapezoid needs a way to go.")
    if velocity is None and robot is None:
        raise InputError("trapezoid needs velocity bounds: pass velocity=..., or robot=...")
    if velocity is None and robot is not None:
        velocity = bounds_of(model_of(robot)).velocity
    v, a = (
        _least(joint_vector(x, len(way), name, names), way, name)
        for name, x in (("velocity", velocity), ("acceleration", acceleration))
        if x is not None
    )
    v = min(v, float(np.sqrt(a)))  # a short motion has no cruise
    least = 1 / v + v / a
    slower = 1.0
    if duration is not None:
        slower = positive(duration, "duration", "s") / least
        if slower < 1 - 1e-12:
            raise InputError(
                f"duration is {duration:g} s; within these bounds the motion takes at least "
                f"{least:.6g} s. Give a longer duration, or higher velocity or acceleration."
            )
    curve = _phases(start, end, v / slower, a / slower**2)
    t = between_knots(curve.t, dt)
    return planned(t, curve(t), robot, names, name, curve).replace(meta={"smooth": False})


def _phases(q0: Array, q1: Array, v: float, a: float) -> Polynomials:
    """q0 + (q1 - q0) s(t), where s accelerates at a, cruises at v and brakes at -a."""
    ramp, cruise = v / a, 1 / v - v / a
    s = [(0.0, 0.0, a / 2), (v * ramp / 2, v, 0.0), (1 - v * ramp / 2, v, -a / 2)]
    t = [0.0, ramp, ramp + cruise, ramp + cruise + ramp]
    if not cruise > 1e-12 * ramp:
        s, t = [s[0], s[2]], [0.0, ramp, 2 * ramp]
    c = np.array(s).T[:, :, None] * (q1 - q0)
    c[0] += q0
    return polynomials(t, c, end=(q1, 0 * q1))


def _least(bounds: Array, way: Array, name: str) -> float:
    """The bound of s that keeps every joint within its own bound."""
    moving = way != 0
    if not np.all(bounds[moving] > 0):
        raise InputError(f"{name} is {bounds.tolist()}; expected numbers above 0.")
    least = float(np.min(bounds[moving] / np.abs(way[moving])))
    if not np.isfinite(least):
        raise InputError(f"no joint that moves has a finite {name} bound; give {name} as numbers.")
    return least


@typed
def spline(
    points: StateLike,
    times: ArrayLike,
    dt: float = 0.01,
    *,
    ends: str = CLAMPED,
    dq0: StateLike = 0,
    dq1: StateLike = 0,
    robot: Model | HasModel | None = None,
    joint_names: Sequence[str] = (),
    name: str = "spline",
) -> Trajectory:
    """The cubic spline through waypoints.

    Args:
        points: positions to pass, shape (K, n), rad or m, including the first and the last.
        times: when to pass them, (K,), increasing; or the whole duration in s, which is then
            divided in proportion to the distances between the points.
        dt: largest step between samples, s, uniform from waypoint to waypoint.
        ends: "clamped" starts with rate dq0 and ends with dq1 (at rest by default), "natural"
            starts and ends without acceleration, "not-a-knot" has a continuous third derivative at
            the second and the last but one waypoint.
        dq0: rate at the start, a number or shape (n,), rad/s or m/s.
        dq1: rate at the end, a number or shape (n,), rad/s or m/s.
        robot: gives the names of the joints.
        joint_names: names without a robot.
        name: of the trajectory.
    """
    names = names_of(robot, joint_names, "a spline", points=points)
    way, knots = waypoints(points, times, robot, names)
    if ends not in (CLAMPED, NATURAL, NOT_A_KNOT):
        raise InputError(f"ends is {ends!r}; expected {CLAMPED!r}, {NATURAL!r} or {NOT_A_KNOT!r}.")
    n = way.shape[1]
    v0, v1 = joint_vector(dq0, n, "dq0", names), joint_vector(dq1, n, "dq1", names)
    curve = cubic_spline(knots, way, ends, v0, v1)
    c, last = np.array(curve.c[::-1]), curve(knots[-1], 1)
    if ends == CLAMPED:  # exactly, at rest for example
        c[1, 0], last = v0, v1
    pieces = polynomials(knots, c, end=(way[-1], last))
    t = between_knots(knots, dt)  # waypoints are samples too: accelerations peak there
    return planned(t, pieces(t), robot, names, name, pieces)


def waypoints(
    given: StateLike, times: ArrayLike, robot: Model | HasModel | None, names: Sequence[str]
) -> tuple[Array, Array]:
    """Waypoints, (K, n), and their times, (K,), checked."""
    check_rows(times, given, "times", "points")
    times = read_times(times, "times")
    plain: Any = by_name(given, Axis(tuple(names)), "points") if has_labels(given) else given
    points = array(plain, (None, None), "points").astype(float)
    if robot is not None:
        n = check_screws(robot, "a spline").n
        if points.shape[1] != n:
            raise ShapeError(f"points has {points.shape[1]} columns; expected {n}.")
    if len(points) < 2:
        raise ShapeError(f"points has {len(points)} rows; expected at least 2 waypoints.")
    if np.asarray(times).ndim == 0:
        distance = np.linalg.norm(np.diff(points, axis=0), axis=1)
        knots = np.concatenate([[0], np.cumsum(distance)])
        if not knots[-1] > 0:
            raise InputError("all waypoints are the same position; give times to stand still.")
        knots = knots * (positive(np.asarray(times).item(), "times", "s") / knots[-1])
    else:
        knots = array(times, (None,), "times").astype(float)
    if len(knots) != len(points):
        raise ShapeError(f"times has {len(knots)} entries; expected {len(points)}, as points.")
    for k in np.flatnonzero(np.diff(knots) <= 0)[:1].tolist():
        raise InputError(
            f"waypoint {k + 1} at {knots[k + 1]:.9g} s does not come after waypoint {k} at "
            f"{knots[k]:.9g} s; times must increase, and points may not repeat."
        )
    return points, knots
