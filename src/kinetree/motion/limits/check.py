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
    model, bounds, loads = _read(robot, trajectory, effort, velocity, tolerance)
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


def limit_violations(
    robot: Model | HasModel | None,
    trajectory: Record,
    *,
    effort: StateLike | None = None,
    velocity: StateLike | None = None,
    tolerance: float = 1e-6,
) -> tuple[Violation, ...]:
    """The violations of `check_limits`, which takes the same arguments, without the rest."""
    _, bounds, loads = _read(robot, trajectory, effort, velocity, tolerance)
    return tuple(_violations(loads, bounds, tolerance))


def _read(
    robot: Model | HasModel | None,
    trajectory: Record,
    effort: StateLike | None,
    velocity: StateLike | None,
    tolerance: float,
) -> tuple[Model, Bounds, Loads]:
    """The robot, its limits, and its loads in a motion."""
    model = model_for(trajectory, robot, "a check of limits")
    without_constraints(model, "A check of limits")
    check_single(trajectory, "a check of limits")
    if not 0 <= tolerance < inf:  # with NaN no comparison would find a violation
        raise InputError(f"tolerance is {tolerance}; expected a share of the limits, 0 or more.")
    bounds = with_limits(bounds_of(model), effort, velocity)
    return model, bounds, loads_of(model, trajectory, bounds)


def _joint_load(loads: Loads, bounds: Bounds, k: int) -> JointLoad:
    t, tau = loads.t, loads.tau[:, k]
    power = tau * loads.dq[:, k]
    position = loads.with_peaks(loads.q[:, k])[1]
    moves, share = bounds.coords[k] >= 0, None
    if bounds.curve(k) is not None:  # of the limit at the speed of the moment
        load = loads.with_force_peaks(k, bounds)
        share = float(np.max(force_share(load.tau, load.least, load.most)))
    return JointLoad(
        name=bounds.names[k],
        sliding=bool(bounds.sliding[k]),
        lowest=float(position.min()) if moves else np.nan,
        highest=float(position.max()) if moves else np.nan,
        lower=float(bounds.lower[k]),
        upper=float(bounds.upper[k]),
        peak_speed=_peak(loads, loads.dq[:, k]),
        speed_limit=float(bounds.velocity[k]),
        peak_torque=_peak(loads, tau),
        rms_torque=float(np.sqrt(mean(t, tau * tau))),
        mean_torque=mean(t, tau),
        torque_limit=float(bounds.effort[k]),
        torque_share=share,
        peak_power=_peak(loads, power),
        mean_power=mean(t, power),
        work=mean(t, power) * (t[-1] - t[0]),
        drawn=mean(t, np.maximum(power, 0)) * (t[-1] - t[0]),
    )


def _peak(loads: Loads, x: Array) -> float:
    """The value furthest from zero, with its sign."""
    x = loads.with_peaks(x)[1]
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
    for k, name in enumerate(bounds.names):
        about: dict[str, Any] = {"joint": name, "sliding": bool(bounds.sliding[k])}
        speed = bounds.velocity[k]
        for quantity, x, low, high in (
            (POSITION, loads.q, bounds.lower[k], bounds.upper[k]),
            (SPEED, loads.dq, -speed, speed),
        ):
            if quantity == POSITION and bounds.coords[k] < 0:
                continue
            finite = [abs(limit) for limit in (low, high) if np.isfinite(limit)]
            slack = tolerance * max(finite, default=0)
            t, values = loads.with_peaks(x[:, k])
            for sign, limit in ((1, high), (-1, low)):
                if np.isfinite(limit):
                    excess, limits = sign * (values - limit) - slack, np.full(len(t), limit)
                    yield from _beyond(limits, t, values, excess, None, quantity=quantity, **about)
        slack = tolerance * bounds.effort[k]
        if np.isfinite(slack):
            load = loads.with_force_peaks(k, bounds)
            for sign, limit in ((1, load.most), (-1, load.least)):
                excess = sign * (load.tau - limit) - slack
                below = np.abs(limit) < bounds.effort[k]  # the rate lowers the limit
                rates = None if load.dq is None else np.where(below, load.dq, np.nan)
                yield from _beyond(limit, load.t, load.tau, excess, rates, quantity=TORQUE, **about)
