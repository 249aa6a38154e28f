"""Uniform time scaling: how much slower, or faster, a motion can run within its limits.

At s times the speed a joint needs tau(s) = a s^2 + b s + c at each sample (see `loads`). Where
|tau(s)| > limit, s is forbidden: open intervals between roots of two quadratics. What is left
when those of all samples and joints are taken away are the speeds that fit, exactly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.motion.bounds import Bounds
from kinetree.motion.dynamics import robot_of
from kinetree.motion.inputs import positive
from kinetree.motion.interpolation import pieces_of
from kinetree.motion.loads import Loads
from kinetree.trajectory import Trajectory

ROUNDING = 1e-12
ROUNDS = 8  # in which the peaks between the samples settle


@dataclass(frozen=True)
class Overload:
    """A joint whose force exceeds its limit however slowly the motion runs."""

    joint: str
    t: float
    torque: float
    limit: float
    gravity: bool  # whether gravity alone is too much; else with Coulomb friction or loads


@dataclass(frozen=True)
class UniformScaling:
    """Factors on the duration that make a motion fit its torque and speed limits.

    slower: the least factor of at least 1 (1: it fits as it is); None where running slower does
    not help. fastest: the least factor of all, below 1 where there is room; None if none fits.
    overloads: where the robot cannot even stand.
    """

    slower: float | None
    fastest: float | None
    overloads: tuple[Overload, ...] = ()


def scale_time(trajectory: Trajectory, factor: float, robot: Any = None) -> Trajectory:
    """The same path at 1/factor of the speed: t * factor, dq / factor, ddq / factor^2.

    tau is that of inverse dynamics where a robot is given, and left out otherwise.
    """
    factor = positive(factor, "factor", "times the duration")
    t = trajectory.t[0] + (trajectory.t - trajectory.t[0]) * factor
    dq, ddq = trajectory.dq / factor, trajectory.ddq / factor**2
    tau = None
    if robot is not None:
        robot = robot_of(trajectory, robot, "a change of speed")
        tau = robot.inverse_dynamics(trajectory.q, dq, ddq)
    pieces = pieces_of(trajectory).slower(factor, float(trajectory.t[0]))
    return trajectory.replace(t=t, dq=dq, ddq=ddq, tau=tau, pieces=pieces)


def scaling_of(robot: Any, loads: Loads, bounds: Bounds, fits: bool) -> UniformScaling:
    """The factors for a motion; `fits` says that it is within its limits as it is."""
    overloads = () if fits else tuple(_overloads(loads, bounds))
    slow, fast = _speeds(loads, bounds) if loads.known else _search(robot, loads, bounds)
    slower = 1.0 if fits else 1 / slow if slow > 0 else None
    return UniformScaling(slower, 1 / fast if fast > 0 else None, overloads)


def _speeds(loads: Loads, bounds: Bounds) -> tuple[float, float]:
    """The largest speed up to 1, and the largest of all; 0 where there is none.

    At another speed forces peak elsewhere between the samples, so these peaks are added and
    the speeds found anew, until they stay.
    """
    samples = _samples(loads)
    parts = [_joined(part, _between(loads, k, 1.0)) for k, part in enumerate(samples)]
    slow, fast = _largest(_gaps(*_forbidden(parts, bounds)))
    for _ in range(ROUNDS):
        before = slow, fast
        for s in {slow, fast} - {0.0, np.inf}:
            parts = [_joined(part, _between(loads, k, s)) for k, part in enumerate(parts)]
        slow, fast = _largest(_gaps(*_forbidden(parts, bounds)))
        if (slow, fast) == before:
            break
    return slow, fast


def _largest(gaps: list[tuple[float, float]]) -> tuple[float, float]:
    slow = [min(high, 1.0) for low, high in gaps if low <= 1]
    return max(slow, default=0.0), max((high for _, high in gaps), default=0.0)


def _samples(loads: Loads) -> list[tuple[Array, ...]]:
    """Per joint: inertial, viscous and static force, and speed, at the samples."""
    parts = (loads.inertial, loads.viscous, loads.static, loads.dq)
    return [tuple(x[:, k] for x in parts) for k in range(loads.dq.shape[1])]


def _between(loads: Loads, k: int, s: float) -> tuple[Array, ...]:
    """The same at the peaks of force at speed s, and of speed, between the samples."""
    columns = _samples(loads)[k]
    force = (columns[0] * s + columns[1]) * s + columns[2]
    marks = [loads.between(x) for x in (force, columns[3])]
    return tuple(np.concatenate([mark(x) for mark in marks]) for x in columns)


def _joined(one: tuple[Array, ...], other: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.concatenate(pair) for pair in zip(one, other, strict=True))


def _overloads(loads: Loads, bounds: Bounds) -> list[Overload]:
    """The worst sample of every joint that cannot be held or set into motion."""
    found = []
    for k, name in enumerate(bounds.names):
        limit = float(bounds.effort[k])
        for force, gravity in ((loads.gravity[:, k], True), (loads.static[:, k], False)):
            worst = int(np.argmax(np.abs(force)))
            if abs(force[worst]) > limit:
                place = float(loads.t[worst]), float(force[worst])
                found.append(Overload(name, *place, limit, gravity))
                break
    return found


def _forbidden(parts: list[tuple[Array, ...]], bounds: Bounds) -> tuple[Array, Array]:
    """Open intervals of s in which some joint exceeds its force or speed somewhere."""
    lows, highs = [np.zeros(0)], [np.zeros(0)]
    for (a, b, c, dq), effort, velocity in zip(parts, bounds.effort, bounds.velocity, strict=True):
        fastest = float(np.max(np.abs(dq)))
        if np.isfinite(velocity) and fastest > 0:
            lows.append(np.array([velocity / fastest]))
            highs.append(np.array([np.inf]))
        if np.isfinite(effort):
            low, high = _too_much(a, b, c, effort)
            lows.append(low)
            highs.append(high)
    return np.concatenate(lows), np.concatenate(highs)


def _too_much(a: Array, b: Array, c: Array, limit: float) -> tuple[Array, Array]:
    """Where |a s^2 + b s + c| > limit for s > 0, as lists of intervals."""
    roots = np.stack([*_roots(a, b, c - limit), *_roots(a, b, c + limit)], axis=1)
    roots = np.where(roots > 0, roots, np.inf)
    infinite = np.full(len(a), np.inf)
    edges = np.column_stack([np.zeros(len(a)), np.sort(roots, axis=1), infinite])
    low, high = edges[:, :-1], edges[:, 1:]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(np.isfinite(high), (low + high) / 2, 2 * low + 1)
        value = (a[:, None] * middle + b[:, None]) * middle + c[:, None]
        beyond = (np.abs(value) > limit) & (low < high)
    return low[beyond], high[beyond]


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Roots of a s^2 + b s + c without cancellation; NaN or infinite where there are none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        half = -(b + np.where(b >= 0, root, -root)) / 2
        return half / a, c / half


def _gaps(low: Array, high: Array) -> list[tuple[float, float]]:
    """What is left of s >= 0 between open intervals: closed ones, none of no width."""
    order = np.argsort(low, kind="stable")
    low = np.append(low[order], np.inf)
    reached = np.concatenate([[0.0], np.maximum.accumulate(high[order])])
    free = low > reached * (1 + ROUNDING)
    return [(float(a), float(b)) for a, b in zip(reached[free], low[free], strict=True)]


def _search(robot: Any, loads: Loads, bounds: Bounds) -> tuple[float, float]:
    """The same for friction that is any function of speed: a search, refined by bisection."""
    rest = loads.static - robot.friction_forces(loads.dq)  # what is no friction

    def fits(s: float) -> bool:
        tau = s * s * loads.inertial + rest + robot.friction_forces(s * loads.dq)
        within = np.abs(tau) <= bounds.effort
        return bool(within.all() and (np.abs(s * loads.dq) <= bounds.velocity).all())

    found = []
    for speeds in (np.geomspace(1, 1e-3, 600), np.geomspace(100, 1, 400)):
        good = next((k for k, s in enumerate(speeds) if fits(float(s))), None)
        if good is None:
            found.append(found[0] if found else 0.0)
        elif good == 0:
            found.append(float(speeds[0]))
        else:
            found.append(_bisect(fits, float(speeds[good]), float(speeds[good - 1])))
    return found[0], found[1]


def _bisect(fits: Any, good: float, bad: float) -> float:
    while bad - good > 1e-12 * bad:
        middle = (good + bad) / 2
        if not good < middle < bad:
            break
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
