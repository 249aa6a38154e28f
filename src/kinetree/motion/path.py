"""Paths: the places of a trajectory without its times, q(s) over the length s of the path."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.hermite import cubic_coefficients, evaluate
from kinetree.motion.interpolation import motion_at
from kinetree.motion.splines import CubicSpline, cubic_spline
from kinetree.trajectory import Trajectory

FINER = 8  # points in each interval of the trajectory along which the length is measured
SHARPEST = 0.5  # cosine of the turn from one such point to the next that counts as a corner
STRAIGHT = 0.999  # cosine of a turn that counts as none
STILL = 1e-9  # share of the largest speed that counts as none
SLOW = 1e-6  # share of the largest speed below which a direction is not taken seriously
RESTING = 1e-12  # rad or m that a joint may move and still be said to rest
APART = 1e-6  # of an interval: a place nearer to a knot is the knot
TREMBLE = 1e-7  # share of the whole length that counts as none
FAR = 1e-7  # deviation from the trajectory, rad or m, that asks for more knots


@dataclass(frozen=True, eq=False)
class Path:
    """A smooth piece of a path: a spline over its length, rad and m together.

    Its knots lie densest at the ends, where the robot is slow, and in bends. `grid`, (N + 1,), has
    them and the places where a joint turns back, so that friction changes nowhere between.
    `deviation` is the distance from the trajectory that it was taken from, rad or m.
    """

    curve: CubicSpline
    grid: Array
    deviation: float


def paths_of(trajectory: Trajectory, intervals: int) -> list[Path]:
    """The smooth pieces of a trajectory's path; the robot stops in the corners between them.

    A corner is where the direction of dq turns at once, as at the ends of a swing. Places where
    the robot stands still are passed over. A piece has `intervals` between its knots, or up to
    four times as many where it is so long or so curved that it needs them.
    """
    t, corners = _with_corners(trajectory, _finer(trajectory.t))
    _, dq, _ = motion_at(trajectory, t)
    speed = np.linalg.norm(dq, axis=1)
    if not speed.max() > 0:
        raise InputError(f"trajectory {trajectory.name!r} stands still; it has no path to time.")
    pieces = [slice(first, last + 1) for first, last in _pieces(dq, speed, corners)]
    lengths = [_lengths(trajectory, t[here], speed[here]) for here in pieces]
    total = sum(length[-1] for length in lengths)
    paths: list[Path] = []
    for here, length in zip(pieces, lengths, strict=True):
        if length[-1] < TREMBLE * total:
            continue  # jitter of a robot at rest; what follows is moved to begin where it began
        begin = paths[-1].curve.points[-1] if paths else trajectory.q[0]
        for more in (1, 2, 4):
            path = _path(trajectory, t[here], speed[here], length, begin, more * intervals)
            if path.deviation <= FAR:
                break
        paths.append(path)
    return paths


def _finer(t: Array) -> Array:
    between = t[:-1, None] + np.diff(t)[:, None] * (np.arange(FINER) / FINER)
    return np.append(between.ravel(), t[-1])


def _with_corners(trajectory: Trajectory, t: Array) -> tuple[Array, Array]:
    """Times with those of the corners between them added, and which are corners."""
    dq = motion_at(trajectory, t)[1]
    speed = np.linalg.norm(dq, axis=1)
    turn = np.sum(dq[1:] * dq[:-1], axis=1)
    k = np.flatnonzero(turn < SHARPEST * speed[1:] * speed[:-1])
    low, high = t[k], t[k + 1]
    for _ in range(54):  # where the speed is least, dq . ddq changes its sign
        middle = (low + high) / 2
        _, v, a = motion_at(trajectory, middle)
        slows = np.sum(v * a, axis=1) < 0
        low, high = np.where(slows, middle, low), np.where(slows, high, middle)
    times = np.unique(np.concatenate([t, (low + high) / 2]))
    return times, np.isin(times, (low + high) / 2)


def _pieces(dq: Array, speed: Array, corners: Array) -> Iterator[tuple[int, int]]:
    """First and last point of every piece between corners, standstills and the ends."""
    still = speed <= STILL * speed.max()
    first = None
    for k in range(len(speed)):
        if first is not None and (corners[k] or (still[k] and not _passes(dq, speed, k))):
            yield first, k
            first = None
        if first is None and k + 1 < len(speed) and not (still[k] and still[k + 1]):
            first = k
    if first is not None:
        yield first, len(speed) - 1


def _passes(dq: Array, speed: Array, k: int) -> bool:
    """Whether the motion goes straight on through a point where it is at rest."""
    if not 0 < k < len(speed) - 1:
        return False
    return bool(dq[k - 1] @ dq[k + 1] > STRAIGHT * speed[k - 1] * speed[k + 1])


def _lengths(trajectory: Trajectory, t: Array, speed: Array) -> Array:
    """The length of the path up to every point (Simpson's rule)."""
    h = np.diff(t)
    middle = np.linalg.norm(motion_at(trajectory, t[:-1] + h / 2)[1], axis=1)
    return np.concatenate([[0], np.cumsum(h / 6 * (speed[:-1] + 4 * middle + speed[1:]))])


def _path(
    trajectory: Trajectory, t: Array, speed: Array, length: Array, begin: Array, intervals: int
) -> Path:
    """The spline through places at chosen lengths, from `begin` on; its distance from the rest."""
    q, dq, _ = motion_at(trajectory, t)
    knots = _knots(length, _turning(dq, speed), intervals)
    points = motion_at(trajectory, _times_at(knots, t, length, speed))[0]
    points = points + (begin - points[0])
    points = np.where(np.ptp(q, axis=0) < RESTING, begin, points)
    curve = cubic_spline(knots, points)
    return Path(curve, _grid(curve), float(np.abs(curve(length)[0] - q).max()))


def _turning(dq: Array, speed: Array) -> Array:
    """How far the direction of motion has turned up to every point, rad."""
    moving = speed > SLOW * speed.max()
    along = dq / np.where(moving, speed, 1)[:, None]
    chord = np.linalg.norm(np.diff(along, axis=0), axis=1)
    angle = 2 * np.arcsin(np.minimum(chord / 2, 1))
    return np.concatenate([[0], np.cumsum(np.where(moving[1:] & moving[:-1], angle, 0))])


def _knots(length: Array, turning: Array, intervals: int) -> Array:
    """Lengths in equal steps of two angles: one grows fastest at the ends, one is turning."""
    total = length[-1]
    angle = np.linspace(0, np.pi, 4 * intervals + 1)
    table = np.union1d(total * (1 - np.cos(angle)) / 2, length)
    ends = np.arccos(np.clip(1 - 2 * table / total, -1, 1)) / np.pi
    share = 0.5 * min(1.0, turning[-1] / np.pi)
    if share > 0:
        ends = (1 - share) * ends + share * np.interp(table, length, turning) / turning[-1]
    knots = np.interp(np.linspace(0, 1, intervals + 1), ends, table)
    knots[0], knots[-1] = 0, total
    return knots


def _grid(curve: CubicSpline) -> Array:
    """The knots, and where the slope of a joint changes its sign between two of them."""
    slope = curve(curve.knots)[1]
    k, joint = np.nonzero(slope[:-1] * slope[1:] < 0)
    low, high = curve.knots[k], curve.knots[k + 1]
    length, rises = high - low, slope[k + 1, joint] > 0
    for _ in range(54):
        middle = (low + high) / 2
        beyond = (curve(middle)[1][np.arange(len(k)), joint] > 0) == rises
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    inner = (high - curve.knots[k] > APART * length) & (curve.knots[k + 1] - high > APART * length)
    grid = np.union1d(curve.knots, high[inner])
    apart = np.diff(grid) > 1e-14 * grid[-1]
    return grid[np.concatenate([[True], apart])]


def _times_at(wanted: Array, t: Array, length: Array, speed: Array) -> Array:
    """When the length is as wanted: bisection on the cubics with the speeds at both ends."""
    k = np.clip(np.searchsorted(length, wanted, "right") - 1, 0, len(t) - 2)
    h = t[k + 1] - t[k]
    c = cubic_coefficients(h, length[k], speed[k], length[k + 1], speed[k + 1])
    low, high = np.zeros_like(h), h.copy()
    for _ in range(54):
        middle = (low + high) / 2
        short = evaluate(c, middle)[0] < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.clip(t[k] + (low + high) / 2, t[0], t[-1])
