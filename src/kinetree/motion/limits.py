"""The limit checker: what a trajectory asks of every joint, against what the joint can do."""

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.bounds import Bounds, bounds_of, with_limits
from kinetree.motion.dynamics import check_single, robot_of
from kinetree.motion.limit_report import JointLoad, LimitReport, Violation
from kinetree.motion.loads import Loads, loads_of
from kinetree.motion.scaling import scaling_of
from kinetree.trajectory import Trajectory

POSITION, SPEED, TORQUE = "position", "speed", "torque"


def check_limits(
    robot: Any,
    trajectory: Trajectory,
    *,
    effort: Any = None,
    velocity: Any = None,
    tolerance: float = 1e-6,
) -> LimitReport:
    """Peaks, means, power and energy of every joint, and every violation of its limits.

    Joint forces are those of the trajectory, or else of inverse dynamics, then on both sides of
    every jump of acceleration. Peaks are sought between the samples too (see
    `kinetree.motion.peaks`), unless the trajectory says that its accelerations jump:
    meta["smooth"] is False. A limit is violated where it is exceeded by more
    than `tolerance` of itself. The report says how much slower the motion must run to fit.
    Other limits of force and speed than the robot's own: `effort`, `velocity`, a number or (n,).
    """
    robot = robot_of(trajectory, robot, "a check of limits")
    check_single(trajectory, "a check of limits")
    if not 0 <= tolerance < inf:  # not a number would forgive everything
        raise InputError(f"tolerance is {tolerance}; expected a share of the limits, 0 or more.")
    bounds = with_limits(bounds_of(robot.model), effort, velocity)
    loads = loads_of(robot, trajectory, bounds)
    joints = tuple(_joint_load(loads, bounds, k) for k in range(len(bounds.names)))
    found = tuple(_violations(loads, bounds, tolerance))
    return LimitReport(
        robot=robot.model.name,
        trajectory=trajectory.name,
        duration=trajectory.duration,
        samples=len(trajectory),
        joints=joints,
        violations=found,
        scaling=scaling_of(robot, loads, bounds, all(x.quantity == POSITION for x in found)),
    )


def _joint_load(loads: Loads, bounds: Bounds, k: int) -> JointLoad:
    t, tau, power = loads.t, loads.tau[:, k], loads.power[:, k]
    position = with_peaks(loads, loads.q[:, k])[1]
    moves = bounds.coords[k] >= 0
    return JointLoad(
        name=bounds.names[k],
        sliding=bool(bounds.sliding[k]),
        lowest=float(position.min()) if moves else np.nan,
        highest=float(position.max()) if moves else np.nan,
        lower=float(bounds.lower[k]),
        upper=float(bounds.upper[k]),
        peak_speed=peak(loads, loads.dq[:, k]),
        speed_limit=float(bounds.velocity[k]),
        peak_torque=peak(loads, tau),
        rms_torque=float(np.sqrt(mean(t, tau * tau))),
        mean_torque=mean(t, tau),
        torque_limit=float(bounds.effort[k]),
        peak_power=peak(loads, power),
        mean_power=mean(t, power),
        work=mean(t, power) * (t[-1] - t[0]),
        drawn=mean(t, np.maximum(power, 0)) * (t[-1] - t[0]),
    )


def with_peaks(loads: Loads, x: Array) -> tuple[Array, Array]:
    """Samples and the peaks between them, in the order of time."""
    between = loads.between(x)
    times = np.concatenate([loads.t, between.t])
    order = np.argsort(times, kind="stable")
    return times[order], np.concatenate([x, between(x)])[order]


def peak(loads: Loads, x: Array) -> float:
    """The value furthest from zero, with its sign."""
    x = with_peaks(loads, x)[1]
    return float(x[np.argmax(np.abs(x))])


def mean(t: Array, x: Array) -> float:
    """Mean over time, by trapezoids; of one sample the sample itself."""
    if len(t) == 1:
        return float(x[0])
    return float(np.sum((x[1:] + x[:-1]) / 2 * np.diff(t)) / (t[-1] - t[0]))


def _violations(loads: Loads, bounds: Bounds, tolerance: float) -> Iterator[Violation]:
    for k, name in enumerate(bounds.names):
        limits = (
            (POSITION, loads.q, bounds.lower[k], bounds.upper[k]),
            (SPEED, loads.dq, -bounds.velocity[k], bounds.velocity[k]),
            (TORQUE, loads.tau, -bounds.effort[k], bounds.effort[k]),
        )
        for quantity, x, low, high in limits:
            if quantity == POSITION and bounds.coords[k] < 0:
                continue
            finite = [abs(limit) for limit in (low, high) if np.isfinite(limit)]
            slack = tolerance * max(finite, default=0)
            times, values = with_peaks(loads, x[:, k])
            for sign, limit in ((1, high), (-1, low)):
                excess = sign * (values - limit) - slack if np.isfinite(limit) else 0 * values
                for span in _spans(excess > 0):
                    yield _violation(
                        name, quantity, bool(bounds.sliding[k]), limit, times, values, excess, span
                    )


def _spans(beyond: Array) -> Iterator[tuple[int, int]]:
    """First and last index of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]]).astype(int)))
    for first, after in edges.reshape(-1, 2):
        yield int(first), int(after) - 1


def _violation(
    name: str,
    quantity: str,
    sliding: bool,
    limit: float,
    times: Array,
    values: Array,
    excess: Array,
    span: tuple[int, int],
) -> Violation:
    first, last = span
    worst = first + int(np.argmax(excess[first : last + 1]))
    return Violation(
        joint=name,
        quantity=quantity,
        sliding=sliding,
        limit=float(limit),
        value=float(values[worst]),
        t=float(times[worst]),
        start=_crossing(times, excess, first - 1, first),
        end=_crossing(times, excess, last + 1, last),
    )


def _crossing(times: Array, excess: Array, outside: int, inside: int) -> float:
    """When the limit is crossed between two samples; at an end of the motion, that end."""
    if not 0 <= outside < len(times):
        return float(times[inside])
    share = excess[outside] / (excess[outside] - excess[inside])
    return float(times[outside] + share * (times[inside] - times[outside]))
