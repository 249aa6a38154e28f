"""Paths: the positions of a trajectory without its times, q(s) over the length s of the path."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.curve.splines import cubic_spline, evaluate, with_rates
from kinetree.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

FINER = 32  # points in each interval of the trajectory, between which the length is measured
SHARPEST = 0.5  # cosine of the turn at such a point below which there is a corner
SHORTEST = 1e-12  # share of the whole length of a chord that the robot stands still in
TREMBLE = 1e-7  # share of the whole length; a shorter piece is left out
RESTING = 1e-12  # rad or m; a joint that moves less rests
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

    At a corner the direction of motion jumps, as at the ends of a swing. Times at which the robot
    stands still are left out. A piece has `intervals` between its knots, or up to four times as
    many if it is so long or so curved that it needs them.
    """
    t = trajectory.t
    between = t[:-1, None] + np.diff(t)[:, None] * (np.arange(FINER) / FINER)
    q = trajectory.curve(np.append(between.ravel(), t[-1]))[0]
    chords = np.linalg.norm(np.diff(q, axis=0), axis=1)
    total = float(chords.sum())
    if not total > 0:
        raise InputError(f"trajectory {trajectory.name!r} stands still; it has no path to time.")
    q = q[np.append(True, chords > SHORTEST * total)]
    along = np.diff(q, axis=0)
    chords = np.linalg.norm(along, axis=1)
    along = along / chords[:, None]
    corners = 1 + np.flatnonzero(np.sum(along[1:] * along[:-1], axis=1) < SHARPEST)
    ends = [0, *corners.tolist(), len(q) - 1]
    paths: list[Path] = []
    for first, last in pairwise(ends):
        if chords[first:last].sum() < TREMBLE * total:
            continue  # jitter of a robot at rest; the next piece is moved to begin where it began
        begin = paths[-1].end if paths else trajectory.q[0]
        points = q[first : last + 1]
        for more in (1, 2, 4):
            path = _path(points + (begin - points[0]), along[first:last], more * intervals)
            if path.deviation <= MAX_DEVIATION or more == 4:
                paths.append(path)
                break
    return paths


def _path(q: Array, along: Array, intervals: int) -> Path:
    """The spline through points at chosen lengths of the path through q, (K, n).

    along: directions of the chords, (K - 1, n).
    """
    length = np.append(0, np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1)))
    cosines = np.clip(np.sum(along[1:] * along[:-1], axis=1), -1, 1)
    turning = np.concatenate([[0], np.cumsum(np.arccos(cosines)), [0]])
    turning[-1] = turning[-2]
    knots = _knots(length, turning, intervals)
    points = cubic_spline(length, q)(knots) if len(q) > 2 else q[0] + knots[:, None] * along[0]
    points = np.where(np.ptp(q, axis=0) < RESTING, q[0], points)
    points[0], points[-1] = q[0], q[-1]
    curve = cubic_spline(knots, points)
    return Path(curve, _grid(curve), float(np.abs(curve(length) - q).max()))


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
    from scipy.interpolate import PPoly

    knots, slope = curve.x, curve.derivative()
    turns = [np.zeros(0)]
    for k in range(curve.c.shape[-1]):
        if np.abs(slope.c[..., k]).max() > 0:
            found = PPoly(slope.c[..., k], slope.x).roots(extrapolate=False)
            turns.append(found[np.isfinite(found)])
    inner = np.concatenate(turns)
    k = np.clip(np.searchsorted(knots, inner) - 1, 0, len(knots) - 2)
    near = 1e-6 * np.diff(knots)[k]  # a point nearer to a knot is the knot
    inner = inner[(inner - knots[k] > near) & (knots[k + 1] - inner > near)]
    grid = np.union1d(knots, inner)
    return grid[np.append(True, np.diff(grid) > 1e-14 * grid[-1])]
