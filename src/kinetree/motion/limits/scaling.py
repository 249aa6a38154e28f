"""Uniform time scaling: how much slower, or faster, a motion can run within its limits.

At s times the speed a joint needs tau(s) = a s^2 + b s + c at each sample (see `loads`). Speeds s
with |tau(s)| > limit are forbidden: open intervals between the roots of two quadratics. The speeds
that remain after the intervals of all samples and joints are removed fit exactly. With a
torque-speed curve, the limit is a straight line of s between its corners, and the roots are those
of quadratics again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import typed
from kinetree.engine.kernels.memo import kernel
from kinetree.files.description.drive import Curve
from kinetree.model import HasModel, Model
from kinetree.model.bounds import Bounds, curve_values
from kinetree.motion.gear_losses import with_losses, without_load_friction
from kinetree.motion.inputs import model_for, positive
from kinetree.motion.limits.loads import Loads, passing
from kinetree.motion.record import Record

ROUNDING = 1e-12  # relative width of a gap between forbidden intervals that is rounding
MAX_PEAK_ROUNDS = 8  # after which the peaks between the samples are taken as final

AnyRecord = TypeVar("AnyRecord", bound=Record)
Parts = tuple[Array, Array, Array, Array]  # inertial, viscous and static force, and speed


@dataclass(frozen=True)
class Overload:
    """A joint whose force exceeds its limit however slowly the motion runs.

    Args:
        joint: name of the joint.
        t: time, s.
        torque: joint force, N m or N.
        limit: limit of the joint force, N m or N.
        gravity: whether weight and springs alone exceed the limit; False: with friction.
        springs: whether the robot has springs.
    """

    joint: str
    t: float
    torque: float
    limit: float
    gravity: bool  # True if gravity alone is too much; False if with Coulomb friction or loads
    springs: bool = False  # True if the robot has springs, whose forces count with gravity


@dataclass(frozen=True)
class UniformScaling:
    """Factors on the duration that make a motion fit its torque and speed limits.

    Args:
        slower: the least factor of at least 1, dimensionless (1: it fits as it is); None: running
            slower does not help.
        fastest: the least factor of all, dimensionless, below 1 if the motion can run faster; None:
            no factor fits.
        overloads: joints that cannot even keep the robot still somewhere on the path.
    """

    slower: float | None
    fastest: float | None
    overloads: tuple[Overload, ...] = ()


@typed
def scale_time(
    trajectory: AnyRecord, factor: float, robot: Model | HasModel | None = None
) -> AnyRecord:
    """The same path at 1/factor of the speed: t * factor, dq / factor, ddq / factor^2.

    tau is that of inverse dynamics if a robot is given, and None otherwise.

    Args:
        trajectory: a motion, or a batch.
        factor: factor on the duration, dimensionless; above 1 is slower.
        robot: the robot, for the new joint forces; None: tau is left out.
    """
    factor = positive(factor, "factor", "times the duration")
    t = trajectory.t[0] + (trajectory.t - trajectory.t[0]) * factor
    dq, ddq = trajectory.dq / factor, trajectory.ddq / factor**2
    tau = None
    if robot is not None:
        model = model_for(trajectory, robot, "a change of speed")
        tau = kernel(model, "inverse_dynamics")(trajectory.q, dq, ddq)
    pieces = trajectory.curve.slower(factor, float(trajectory.t[0]))
    return trajectory.replace(t=t, dq=dq, ddq=ddq, tau=tau, pieces=pieces)


def scaling_of(model: Model, loads: Loads, bounds: Bounds, fits: bool) -> UniformScaling:
    """Factors for a motion; `fits` is True if it is within its limits as it is."""
    overloads = () if fits else tuple(_overloads(loads, bounds))
    slow, fast = _speeds(loads, bounds) if loads.known else _search(model, loads, bounds)
    slower = 1.0 if fits else 1 / slow if slow > 0 else None
    return UniformScaling(slower, 1 / fast if fast > 0 else None, overloads)


def _speeds(loads: Loads, bounds: Bounds) -> tuple[float, float]:
    """The largest speed up to 1, and the largest of all; 0 if there is none.

    At another speed forces peak elsewhere between the samples. So these peaks are added and the
    speeds computed again, until they no longer change.
    """
    parts = _with_peaks(loads, bounds, _samples(loads), 1.0)
    slow, fast = _largest(_gaps(*_forbidden(parts, bounds)))
    for _ in range(MAX_PEAK_ROUNDS):
        before = slow, fast
        for s in {slow, fast} - {0.0, np.inf}:
            parts = _with_peaks(loads, bounds, parts, s)
        slow, fast = _largest(_gaps(*_forbidden(parts, bounds)))
        if (slow, fast) == before:
            break
    return slow, fast


def _largest(gaps: list[tuple[float, float]]) -> tuple[float, float]:
    slow = [min(high, 1.0) for low, high in gaps if low <= 1]
    return max(slow, default=0.0), max((high for _, high in gaps), default=0.0)


def _samples(loads: Loads) -> list[Parts]:
    """Parts of every joint at the samples."""
    n = range(loads.dq.shape[1])
    a, b, c, dq = loads.inertial, loads.viscous, loads.static, loads.dq
    return [(a[:, k], b[:, k], c[:, k], dq[:, k]) for k in n]


def _with_peaks(loads: Loads, bounds: Bounds, parts: list[Parts], s: float) -> list[Parts]:
    """The parts with those at the peaks of force at speed s, and of speed, between the samples."""
    extended: list[Parts] = []
    for k, (known, samples) in enumerate(zip(parts, _samples(loads), strict=True)):
        a, b, c, dq = samples
        tau, curve = (a * s + b) * s + c, bounds.curve(k)
        peaks = [loads.between(x) for x in (tau, dq)]
        if curve is not None:
            ahead, behind = (curve_values(curve, np.maximum(x, 0)) for x in (s * dq, -s * dq))
            peaks += [loads.between(x) for x in (tau - ahead, -behind - tau)]
            if loads.smooth:
                peaks += [passing(loads.t, np.abs(s * dq), speed) for speed, _ in curve[1:]]
        a, b, c, dq = (
            np.concatenate([before, *(peak(x) for peak in peaks)])
            for before, x in zip(known, samples, strict=True)
        )
        extended.append((a, b, c, dq))
    return extended


def _overloads(loads: Loads, bounds: Bounds) -> list[Overload]:
    """The worst sample of every joint that cannot be held or set into motion."""
    overloads: list[Overload] = []
    for k, name in enumerate(bounds.names):
        limit = float(bounds.effort[k])
        for force, gravity in ((loads.held[:, k], True), (loads.static[:, k], False)):
            worst = int(np.argmax(np.abs(force)))
            if abs(force[worst]) > limit:
                place = float(loads.t[worst]), float(force[worst])
                overloads.append(Overload(name, *place, limit, gravity, loads.springs))
                break
    return overloads


def _forbidden(parts: list[Parts], bounds: Bounds) -> tuple[Array, Array]:
    """Open intervals of s in which some joint exceeds its force or speed somewhere."""
    lows, highs = [np.zeros(0)], [np.zeros(0)]
    for k, (a, b, c, dq) in enumerate(parts):
        effort, velocity, curve = bounds.effort[k], bounds.velocity[k], bounds.curve(k)
        fastest = float(np.max(np.abs(dq)))
        if np.isfinite(velocity) and fastest > 0:
            lows.append(np.array([velocity / fastest]))
            highs.append(np.array([np.inf]))
        if np.isfinite(effort):
            if curve is None:
                low, high = _too_much(a, b, c, effort)
            else:
                low, high = _too_much_ahead(a, b, c, dq, effort, curve)
            lows.append(low)
            highs.append(high)
    return np.concatenate(lows), np.concatenate(highs)


def _too_much(a: Array, b: Array, c: Array, limit: float) -> tuple[Array, Array]:
    """Lower and upper ends of the intervals of s > 0 in which |a s^2 + b s + c| > limit."""

    def beyond(s: Array) -> Array:
        return np.abs((a[:, None] * s + b[:, None]) * s + c[:, None]) > limit

    return _intervals([*_roots(a, b, c - limit), *_roots(a, b, c + limit)], beyond)


def _intervals(roots: list[Array], beyond: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Ends of the intervals of s > 0 between roots, (T,) each, that are `beyond` a limit."""
    between = np.stack(roots, axis=1)
    between = np.where(between > 0, between, np.inf)
    count = len(between)
    edges = np.column_stack([np.zeros(count), np.sort(between, axis=1), np.full(count, np.inf)])
    low, high = edges[:, :-1], edges[:, 1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(np.isfinite(high), (low + high) / 2, 2 * low + 1)
        outside = beyond(middle) & (low < high)
    return low[outside], high[outside]


def _too_much_ahead(
    a: Array, b: Array, c: Array, dq: Array, effort: float, curve: Curve
) -> tuple[Array, Array]:
    """Intervals of s > 0 in which a force in the direction of motion is above a curve.

    Or above `effort`, in either direction. Every line of the curve gives two roots; those beyond
    its own ends divide an interval into two that are judged alike.
    """
    speed, sign = np.abs(dq), np.where(dq < 0, -1.0, 1.0)
    a, b, c = sign * a, sign * b, sign * c  # the motion counts as forward
    roots = [*_roots(a, b, c - effort), *_roots(a, b, c + effort), *_roots(a, b, c)]
    for (v0, f0), (v1, f1) in pairwise(curve):
        rise = (f1 - f0) / (v1 - v0)
        roots += _roots(a, b - rise * speed, c - (f0 - rise * v0))
    with np.errstate(divide="ignore", invalid="ignore"):
        roots += [v / speed for v, _ in curve[1:]]

    def beyond(s: Array) -> Array:
        tau = (a[:, None] * s + b[:, None]) * s + c[:, None]
        most = np.minimum(curve_values(curve, speed[:, None] * s), effort)
        return (tau > most) | (tau < -effort)

    return _intervals(roots, beyond)


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Roots of a s^2 + b s + c, without cancellation; NaN or infinite if there are none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        half = -(b + np.where(b >= 0, root, -root)) / 2
        return half / a, c / half


def _gaps(low: Array, high: Array) -> list[tuple[float, float]]:
    """The closed intervals of s >= 0 that open intervals leave free, without empty ones."""
    order = np.argsort(low, kind="stable")
    low = np.append(low[order], np.inf)
    reached = np.concatenate([[0.0], np.maximum.accumulate(high[order])])
    free = low > reached * (1 + ROUNDING)
    return [(float(a), float(b)) for a, b in zip(reached[free], low[free], strict=True)]


def _search(model: Model, loads: Loads, bounds: Bounds) -> tuple[float, float]:
    """The same as `_speeds` for any friction, by search and bisection."""
    friction_forces = kernel(without_load_friction(model), "friction_forces")
    rest = loads.held + loads.further

    def forces(s: float) -> Array:
        load = with_losses(loads.losses, s * s * loads.inertial + rest, loads.dq)
        return load + friction_forces(s * loads.dq)

    def fits(s: float) -> bool:
        tau = forces(s)
        least, most = bounds.forces(s * loads.dq)
        within = (tau <= most) & (tau >= least)
        return bool(within.all() and (np.abs(s * loads.dq) <= bounds.velocity).all())

    speeds_that_fit: list[float] = []
    for speeds in (np.geomspace(1, 1e-3, 600), np.geomspace(100, 1, 400)):
        good = next((k for k, s in enumerate(speeds) if fits(float(s))), None)
        if good is None:
            speeds_that_fit.append(speeds_that_fit[0] if speeds_that_fit else 0.0)
        elif good == 0:
            speeds_that_fit.append(float(speeds[0]))
        else:
            speeds_that_fit.append(_bisect(fits, float(speeds[good]), float(speeds[good - 1])))

    def fits_between(s: float) -> bool:
        return _fits_between(replace(loads, tau=forces(s), dq=s * loads.dq), bounds)

    slow, fast = (_less(fits_between, s) if loads.smooth and s > 0 else s for s in speeds_that_fit)
    return slow, fast


def _fits_between(loads: Loads, bounds: Bounds) -> bool:
    """Return True if forces and speeds are within their limits at the peaks between samples too."""
    for k in range(len(bounds.names)):
        load, slack = loads.with_force_peaks(k, bounds), 1e-9 * float(bounds.effort[k])
        if np.any(load.tau > load.most + slack) or np.any(load.tau < load.least - slack):
            return False
        if np.max(np.abs(loads.with_peaks(loads.dq[:, k])[1])) > bounds.velocity[k] * (1 + 1e-9):
            return False
    return True


def _less(fits: Callable[[float], bool], s: float) -> float:
    """A speed at most a tenth below s that fits, the largest one; s itself if there is none."""
    if fits(s):
        return s
    for share in (1e-5, 1e-4, 1e-3, 1e-2, 0.1):
        if fits(s * (1 - share)):
            return _bisect(fits, s * (1 - share), s)
    return s


def _bisect(fits: Callable[[float], bool], good: float, bad: float) -> float:
    """The largest speed that fits, between one that does and one that does not."""
    while bad - good > 1e-12 * bad:
        middle = (good + bad) / 2
        if not good < middle < bad:
            break
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
