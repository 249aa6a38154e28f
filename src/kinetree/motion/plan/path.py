"""Paths: the positions of a trajectory without its times, q(s) over the length s of the path."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.curve.pieces import Motion
from kinetree.motion.curve.splines import cubic_coefficients, cubic_spline, evaluate, with_rates
from kinetree.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

FINER = 8  # points in each interval of the trajectory, between which the length is measured
SHARPEST = 0.5  # cosine of the turn between such points below which there is a corner
STRAIGHT = 0.999  # cosine of a turn above which the motion goes straight on
STILL = 1e-9  # share of the largest speed at or below which the robot stands still
LEAST_SPEED_SHARE = 1e-6  # share of the largest speed below which the direction of dq is rounding
RESTING = 1e-12  # rad or m; a joint that moves less rests
APART = 1e-6  # share of an interval; a point nearer to a knot is the knot
TREMBLE = 1e-7  # share of the whole length; a shorter piece is left out
MAX_DEVIATION = 1e-7  # rad or m; a larger deviation from the trajectory requires more knots
# points of every interval at which forces and speeds are evaluated; not its ends, where friction
# may jump
INSIDE = np.linspace(0, 1, 13).clip(1e-6, 1 - 1e-6)


@dataclass(frozen=True, eq=False)
class Path:
    """A smooth piece of a path: a spline over its length, rad and m together.

    Its knots are densest at the ends, where the robot is slow, and in bends. `grid`, (N + 1,), has
    the knots and the points where a joint turns back, so that the sign of a rate, and with it
    friction, changes nowhere between. `deviation` is the distance from the trajectory, rad or m.
    """

    curve: "PPoly"
    grid: Array
    deviation: float

    @property
    def end(self) -> Array:
        """The last position, (n,)."""
        return self.curve(self.grid[-1])

    @cached_property
    def inside(self) -> tuple[Array, Array, Array]:
        """q, q' and q'' at the points INSIDE of every interval, (points, N, n) each."""
        lengths = np.diff(self.grid) * INSIDE[:, None]
        return evaluate(self.taylor, lengths[..., None])

    @cached_property
    def taylor(self) -> tuple[Array, Array, Array, Array]:
        """d0 ... d3 of q(s) = d0 + d1 x + d2 x^2 + d3 x^3, x after a point of the grid; (N, n)."""
        s = self.grid[:-1]
        q, slope, bend = with_rates(self.curve, s)
        return q, slope, bend / 2, self.curve(s, 3) / 6


def paths_of(trajectory: Trajectory, intervals: int) -> list[Path]:
    """The smooth pieces of a trajectory's path; the robot stops in the corners between them.

    At a corner the direction of dq jumps, as at the ends of a swing. Times at which the robot
    stands still are left out. A piece has `intervals` between its knots, or up to four times as
    many if it is so long or so curved that it needs them.
    """
    t, corners, (q, dq, _) = _with_corners(trajectory, _finer(trajectory.t))
    speed = np.linalg.norm(dq, axis=1)
    if not speed.max() > 0:
        raise InputError(f"trajectory {trajectory.name!r} stands still; it has no path to time.")
    pieces = [slice(first, last + 1) for first, last in _pieces(dq, speed, corners)]
    lengths = [_lengths(trajectory, t[here], speed[here]) for here in pieces]
    total = sum(length[-1] for length in lengths)
    paths: list[Path] = []
    for here, length in zip(pieces, lengths, strict=True):
        if length[-1] < TREMBLE * total:
            continue  # jitter of a robot at rest; the next piece is moved to begin where it began
        begin = paths[-1].end if paths else trajectory.q[0]
        for more in (1, 2, 4):
            along = t[here], q[here], dq[here], speed[here], length
            path = _path(trajectory, *along, begin, more * intervals)
            if path.deviation <= MAX_DEVIATION or more == 4:
                paths.append(path)
                break
    return paths


def _finer(t: Array) -> Array:
    """Times with FINER - 1 more in each interval."""
    between = t[:-1, None] + np.diff(t)[:, None] * (np.arange(FINER) / FINER)
    return np.append(between.ravel(), t[-1])


def _with_corners(trajectory: Trajectory, t: Array) -> tuple[Array, Array, Motion]:
    """Times with those of the corners between them added, True at corners, and the motion."""
    motion = trajectory.curve(t)
    dq = motion[1]
    speed = np.linalg.norm(dq, axis=1)
    turn = np.sum(dq[1:] * dq[:-1], axis=1)
    k = np.flatnonzero(turn < SHARPEST * speed[1:] * speed[:-1])
    if not len(k):
        return t, np.zeros(len(t), bool), motion

    def slows(t: Array) -> Array:
        _, v, a = trajectory.curve(t)
        return np.sum(v * a, axis=1) < 0

    low, high = _bisect(t[k], t[k + 1], slows)  # the speed is least where dq . ddq changes sign
    times = np.unique(np.concatenate([t, (low + high) / 2]))
    return times, np.isin(times, (low + high) / 2), trajectory.curve(times)


def _pieces(dq: Array, speed: Array, corners: Array) -> Iterator[tuple[int, int]]:
    """First and last point of every piece between corners, standstills and the ends."""
    still = speed <= STILL * speed.max()
    special = np.flatnonzero(corners | still)
    first = None
    # a piece can end at a special point alone, and begin there, at the next point or at the first
    for k in sorted({0, *special.tolist(), *(special[special < len(speed) - 1] + 1).tolist()}):
        if first is not None and (corners[k] or (still[k] and not _passes(dq, speed, k))):
            yield first, k
            first = None
        if first is None and k + 1 < len(speed) and not (still[k] and still[k + 1]):
            first = k
    if first is not None:
        yield first, len(speed) - 1


def _passes(dq: Array, speed: Array, k: int) -> bool:
    """Return True if the motion goes straight on through point k, where it is at rest."""
    if not 0 < k < len(speed) - 1:
        return False
    return bool(dq[k - 1] @ dq[k + 1] > STRAIGHT * speed[k - 1] * speed[k + 1])


def _lengths(trajectory: Trajectory, t: Array, speed: Array) -> Array:
    """Length of the path up to every point, by Simpson's rule."""
    h = np.diff(t)
    middle = np.linalg.norm(trajectory.curve(t[:-1] + h / 2)[1], axis=1)
    return np.concatenate([[0], np.cumsum(h / 6 * (speed[:-1] + 4 * middle + speed[1:]))])


def _path(
    trajectory: Trajectory,
    t: Array,
    q: Array,
    dq: Array,
    speed: Array,
    length: Array,
    begin: Array,
    intervals: int,
) -> Path:
    """The spline through points at chosen lengths, moved to start at `begin`."""
    knots = _knots(length, _turning(dq, speed), intervals)
    points = trajectory.curve(_times_at(knots, t, length, speed))[0]
    points = points + (begin - points[0])
    points = np.where(np.ptp(q, axis=0) < RESTING, begin, points)
    curve = cubic_spline(knots, points)
    return Path(curve, _grid(curve), float(np.abs(curve(length) - q).max()))


def _turning(dq: Array, speed: Array) -> Array:
    """Angle by which the direction of motion has turned up to every point, rad."""
    moving = speed > LEAST_SPEED_SHARE * speed.max()
    along = dq / np.where(moving, speed, 1)[:, None]
    chord = np.linalg.norm(np.diff(along, axis=0), axis=1)
    angle = 2 * np.arcsin(np.minimum(chord / 2, 1))
    return np.concatenate([[0], np.cumsum(np.where(moving[1:] & moving[:-1], angle, 0))])


def _knots(length: Array, turning: Array, intervals: int) -> Array:
    """Lengths at equal steps of a weighted mean of two shares, which both go from 0 to 1.

    The first grows fastest at the ends, like Chebyshev points; the second is the share of the whole
    turning. The second has up to half the weight.
    """
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


def _grid(curve: "PPoly") -> Array:
    """The knots, and the points between them where the slope of a joint changes its sign."""
    knots = curve.x
    slope = curve(knots, 1)
    k, joint = np.nonzero(slope[:-1] * slope[1:] < 0)
    left, right = knots[k], knots[k + 1]
    rises = slope[k + 1, joint] > 0
    c3, c2, c1, _ = curve.c[:, k, joint]

    def before(s: Array) -> Array:
        t = s - left
        return ((3 * c3 * t + 2 * c2) * t + c1 > 0) != rises

    turn = _bisect(left, right, before)[1]
    near = APART * (right - left)
    inner = (turn - left > near) & (right - turn > near)
    grid = np.union1d(knots, turn[inner])
    apart = np.diff(grid) > 1e-14 * grid[-1]
    return grid[np.concatenate([[True], apart])]


def _times_at(wanted: Array, t: Array, length: Array, speed: Array) -> Array:
    """Times at which the path has given lengths, by bisection on cubics through the points."""
    k = np.clip(np.searchsorted(length, wanted, "right") - 1, 0, len(t) - 2)
    h = t[k + 1] - t[k]
    c = cubic_coefficients(h, length[k], speed[k], length[k + 1], speed[k + 1])
    remaining = wanted - c[0]
    low, high = _bisect(
        np.zeros_like(h), h, lambda t: ((c[3] * t + c[2]) * t + c[1]) * t < remaining
    )
    return np.clip(t[k] + (low + high) / 2, t[0], t[-1])


def _bisect(low: Array, high: Array, before: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Neighbours of the points between low and high at which `before` turns from True to False."""
    for _ in range(54 if len(low) else 0):  # down to rounding: floats have 53 binary digits
        middle = (low + high) / 2
        left = before(middle)
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return low, high
