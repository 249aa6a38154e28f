"""Trapezoidal motions: all joints accelerate, cruise and brake together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import InputError
from kinetree.model import model_of
from kinetree.motion.bounds import bounds_of
from kinetree.motion.inputs import ends, joint_vector, make, positive, sample_times
from kinetree.simulate.trajectory import Trajectory


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
    v, a = v / slower, a / slower**2
    t = _times(v, a, dt)
    s, ds, dds = _profile(t, v, a)
    motion = q0 + s * way, ds * way, dds * way
    return make(t, motion, robot, joint_names, name).replace(meta={"smooth": False})


def _times(v: float, a: float, dt: float) -> Array:
    """Samples that meet the ends of the phases: there are the peaks of speed, and jumps."""
    ramp, cruise = v / a, 1 / v - v / a
    rising = sample_times(ramp, dt)
    parts = [rising]
    if cruise > 1e-12 * ramp:
        parts.append(ramp + sample_times(cruise, dt)[1:])
    return np.concatenate([*parts, parts[-1][-1] + rising[1:]])


def _profile(t: Array, v: float, a: float) -> tuple[Array, Array, Array]:
    """s from 0 to 1 with its derivatives, (T, 1); where a phase ends, the next one counts."""
    ramp, end = v / a, t[-1]
    left, right = np.minimum(t, ramp), np.minimum(end - t, ramp)
    cruise = np.clip(t - ramp, 0, end - 2 * ramp)
    s = np.where(t < end - ramp, a * left**2 / 2 + v * cruise, 1 - a * right**2 / 2)
    ds = a * np.minimum(left, right)
    dds = np.where(t < ramp, a, np.where(t < end - ramp, 0.0, -a))
    return s[:, None], ds[:, None], dds[:, None]


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
