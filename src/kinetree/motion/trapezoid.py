"""Trapezoidal motions: all joints accelerate, cruise and brake together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.model import model_of
from kinetree.motion.bounds import bounds_of
from kinetree.motion.inputs import between_knots, ends, joint_vector, make, positive
from kinetree.motion.pieces import Polynomials, polynomials
from kinetree.trajectory import Trajectory


def trapezoid(
    q0: Any,
    q1: Any,
    *,
    acceleration: Any,
    velocity: Any = None,
    duration: float | None = None,
    dt: float = 0.01,
    robot: Any = None,
    joint_names: Sequence[str] = (),
    name: str = "trapezoid",
) -> Trajectory:
    """The straight line from q0 to q1, (n,), in the least time with bounded speeds.

    Every joint follows q0 + (q1 - q0) s(t), where s accelerates, cruises and brakes; a short way
    has no cruise. At least one joint is at its bound in each phase. Each phase has uniform samples.

    Args:
        q0: position at the start, (n,).
        q1: position at the end, (n,).
        acceleration: bounds, a number or (n,), rad/s^2 or m/s^2.
        velocity: bounds, a number or (n,); None takes the limits of the robot.
        duration: a longer time to take; None takes the least one.
        dt: largest step between samples, s.
        robot: gives names and velocity limits.
        joint_names: names where there is no robot.
        name: of the trajectory.
    """
    q0, q1 = ends(q0, q1, robot)
    way = q1 - q0
    if not np.any(way):
        raise InputError("q0 and q1 are the same position; a trapezoid needs a way to go.")
    v = _least(_velocities(velocity, robot, len(q0)), way, "velocity")
    a = _least(joint_vector(acceleration, len(q0), "acceleration"), way, "acceleration")
    v = min(v, np.sqrt(a))  # a short way is all acceleration and braking
    least = 1 / v + v / a
    slower = 1.0
    if duration is not None:
        slower = positive(duration, "duration", "s") / least
        if slower < 1 - 1e-12:
            raise InputError(
                f"duration is {duration:g} s; within these bounds the motion takes at least "
                f"{least:.6g} s. Give a longer duration, or higher velocity or acceleration."
            )
    curve = _pieces(q0, q1, v / slower, a / slower**2)
    t = between_knots(curve.t, dt)
    return make(t, curve(t), robot, joint_names, name, curve).replace(meta={"smooth": False})


def _pieces(q0: Array, q1: Array, v: float, a: float) -> Polynomials:
    """q0 + (q1 - q0) s(t), where s accelerates at a, cruises at v and brakes at -a."""
    ramp, cruise = v / a, 1 / v - v / a
    s = [(0.0, 0.0, a / 2), (v * ramp / 2, v, 0.0), (1 - v * ramp / 2, v, -a / 2)]
    t = [0.0, ramp, ramp + cruise, ramp + cruise + ramp]
    if not cruise > 1e-12 * ramp:
        s, t = [s[0], s[2]], [0.0, ramp, 2 * ramp]
    c = np.array(s).T[:, :, None] * (q1 - q0)
    c[0] += q0
    return polynomials(t, c, end=(q1, 0 * q1))


def _velocities(velocity: Any, robot: Any, n: int) -> Array:
    if velocity is not None:
        return joint_vector(velocity, n, "velocity")
    if robot is None:
        raise InputError("trapezoid needs velocity bounds: pass velocity=..., or robot=...")
    return bounds_of(model_of(robot)).velocity


def _least(bounds: Array, way: Array, name: str) -> float:
    """The bound on s that keeps every joint within its own."""
    moving = way != 0
    if not np.all(bounds[moving] > 0):
        raise InputError(f"{name} is {bounds.tolist()}; expected numbers above 0.")
    least = float(np.min(bounds[moving] / np.abs(way[moving])))
    if not np.isfinite(least):
        raise InputError(f"no joint that moves has a finite {name} bound; give {name} as numbers.")
    return least
