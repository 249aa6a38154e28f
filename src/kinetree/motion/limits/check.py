"""The limit check: loads of every joint in a motion against the limits of the joint."""

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import typed
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds, bounds_of, force_share, with_limits
from kinetree.model.constrain import without_constraints
from kinetree.motion.inputs import check_single, model_for
from kinetree.motion.limits.loads import Loads, loads_of
from kinetree.motion.limits.report import JointLoad, LimitReport, Violation
from kinetree.motion.limits.scaling import scaling_of
from kinetree.motion.record import Record

POSITION, SPEED, TORQUE = "position", "speed", "torque"


@typed
def check_limits(
    robot: Model | HasModel | None,
    trajectory: Record,
    *,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
    tolerance: float = 1e-6,
) -> LimitReport:
    """Peaks, means, power and energy of every joint, and every violation of its limits.

    Joint forces are those of the trajectory, or else of inverse dynamics, then on both sides of
    every jump of acceleration. Peaks between the samples count too (see
    `kinetree.motion.limits.loads`), unless the trajectory states that its accelerations jump:
    meta["smooth"] is False. A joint whose drive has a torque-speed curve is checked against the
    force that the drive gives at the rate of the moment. The report has the factor by which the
    motion must run slower to fit.

    Args:
        robot: the robot; None is the one that the trajectory was made with.
        trajectory: one motion.
        effort: limits of force to use instead of the effort limits of the joints, a number or
            (n,), N m or N; drives (`kt.joints.Drive`) count besides.
        velocity: limits of speed to use instead, a number or (n,), rad/s or m/s.
        tolerance: share of a limit by which it may be exceeded without being violated,
            dimensionless.
    """
    model = model_for(trajectory, robot, "a check of limits")
    without_constraints(model, "A check of limits")
    check_single(trajectory, "a check of limits")
    if not 0 <= tolerance < inf:  # with NaN no comparison would find a violation
        raise InputError(f"tolerance is {tolerance}; expected a share of the limits, 0 or more.")
    bounds = with_limits(bounds_of(model), effort, velocity)
    loads = loads_of(model, trajectory, bounds)
    violations = tuple(_violations(loads, bounds, tolerance))
    return LimitReport(
        robot=model.name,
        trajectory=trajectory.name,
        duration=trajectory.duration,
        samples=len(trajectory),
        joints=tuple(_joint_load(loads, bounds, k) for k in range(len(bounds.names))),
        violations=violations,
        scaling=scaling_of(model, loads, bounds, all(x.quantity == POSITION for x in violations)),
    )


def _joint_load(loads: Loads, bounds: Bounds, k: int) -> JointLoad:
    t, tau = loads.t, loads.tau[:, k]
    power = tau * loads.dq[:, k]
    position, moves, share = loads.q[:, k], bounds.coords[k] >= 0, None
    if bounds.curve(k) is not None:  # of the limit at the speed of the moment
        least, most = (x[:, k] for x in bounds.forces(loads.dq))
        share = float(np.max(force_share(tau, least, most)))
    return JointLoad(
        name=bounds.names[k],
        sliding=bool(bounds.sliding[k]),
        lowest=float(position.min()) if moves else np.nan,
        highest=float(position.max()) if moves else np.nan,
        lower=float(bounds.lower[k]),
        upper=float(bounds.upper[k]),
        peak_speed=_peak(loads.dq[:, k]),
        speed_limit=float(bounds.velocity[k]),
        peak_torque=_peak(tau),
        rms_torque=float(np.sqrt(mean(t, tau * tau))),
        mean_torque=mean(t, tau),
        torque_limit=float(bounds.effort[k]),
        torque_share=share,
        peak_power=_peak(power),
        mean_power=mean(t, power),
        work=mean(t, power) * (t[-1] - t[0]),
        drawn=mean(t, np.maximum(power, 0)) * (t[-1] - t[0]),
    )


def _peak(x: Array) -> float:
    """The value furthest from zero, with its sign."""
    return float(x[np.argmax(np.abs(x))])


def mean(t: Array, x: Array) -> float:
    """Mean over time, by trapezoids; the sample itself if there is only one."""
    if len(t) == 1:
        return float(x[0])
    return float(np.sum((x[1:] + x[:-1]) / 2 * np.diff(t)) / (t[-1] - t[0]))


def _beyond(
    limit: Array, t: Array, x: Array, excess: Array, rates: Array | None, **about: Any
) -> Iterator[Violation]:
    """A violation for every run of values x whose excess over a limit is positive, (K,) each."""

    def crossing(outside: int, inside: int) -> float:
        """Time at which the limit is crossed between two samples, or the end of the motion."""
        if not 0 <= outside < len(t):
            return float(t[inside])
        share = excess[outside] / (excess[outside] - excess[inside])
        return float(t[outside] + share * (t[inside] - t[outside]))

    over = np.concatenate([[False], excess > 0, [False]]).astype(int)
    for first, after in np.flatnonzero(np.diff(over)).reshape(-1, 2).tolist():
        worst = first + int(np.argmax(excess[first:after]))
        yield Violation(
            **about,
            limit=float(limit[worst]),
            value=float(x[worst]),
            t=float(t[worst]),
            start=crossing(first - 1, first),
            end=crossing(after, after - 1),
            rate=None if rates is None or np.isnan(rates[worst]) else float(rates[worst]),
        )


def _violations(loads: Loads, bounds: Bounds, tolerance: float) -> Iterator[Violation]:
    t, one, (least, most) = loads.t, np.ones(len(loads.t)), bounds.forces(loads.dq)
    for k, name in enumerate(bounds.names):
        lower, upper, speed = bounds.lower[k], bounds.upper[k], bounds.velocity[k]
        size = max((abs(x) for x in (lower, upper) if np.isfinite(x)), default=np.inf)
        for quantity, x, low, high, scale in (
            (POSITION, loads.q[:, k], lower * one, upper * one, size),
            (SPEED, loads.dq[:, k], -speed * one, speed * one, speed),
            (TORQUE, loads.tau[:, k], least[:, k], most[:, k], bounds.effort[k]),
        ):
            if not np.isfinite(scale) or (quantity == POSITION and bounds.coords[k] < 0):
                continue
            for sign, limit in ((1, high), (-1, low)):
                excess, rates = sign * (x - limit) - tolerance * scale, None
                if quantity == TORQUE and bounds.curve(k) is not None:
                    below = np.abs(limit) < bounds.effort[k]  # the rate lowers the limit
                    rates = np.where(below, loads.dq[:, k], np.nan)
                about: dict[str, Any] = {"joint": name, "quantity": quantity}
                about["sliding"] = bool(bounds.sliding[k])
                yield from _beyond(limit, t, x, excess, rates, **about)
