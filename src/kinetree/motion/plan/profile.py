"""Speed profiles along a path, and the fastest one within linear bounds (the phase plane).

With x = (ds/dt)^2 and u = d2s/dt2 constant between knots, x grows by 2 u times the length of the
interval, and every joint force is A(s) u + B(s) x + C(s). Each bound of it, at the left and at the
right end of an interval, is a row a u + b x <= c. A pass from the goal to the start finds, for each
knot, the largest x from which the goal can still be reached; a pass forward then takes the
largest u that stays below. Both solve problems of two unknowns, exactly, by eliminating u.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.motion.plan.path import Path

# points of every interval at which forces and speeds are evaluated; not its ends, where friction
# may jump
INSIDE = np.linspace(0, 1, 13).clip(1e-6, 1 - 1e-6)
FLAT = 1e-13  # share of the largest entry; a row with a smaller a does not depend on u
CREEP = 1e-9  # rad/s or m/s; friction of motion, not of rest, is evaluated at least at this rate


@dataclass(frozen=True, eq=False)
class Profile:
    """x = (ds/dt)^2 at the knots of a path, (N + 1,), and u = d2s/dt2 between them, (N,)."""

    path: Path
    x: Array
    u: Array

    @property
    def times(self) -> Array:
        """Times at which the knots are passed, (N + 1,), s."""
        v = np.sqrt(self.x)
        return np.concatenate([[0], np.cumsum(2 * np.diff(self.path.grid) / (v[1:] + v[:-1]))])

    @property
    def duration(self) -> float:
        """Time from end to end, s."""
        return float(self.times[-1])

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q, dq and ddq at times t, (T,)."""
        times, knots = self.times, self.path.grid
        k = np.clip(np.searchsorted(times, t, "right") - 1, 0, len(self.u) - 1)
        since, v = t - times[k], np.sqrt(self.x[k])
        s = np.clip(knots[k] + (v + self.u[k] * since / 2) * since, knots[k], knots[k + 1])
        return self._motion(s, np.maximum(v + self.u[k] * since, 0), self.u[k])

    def coefficients(self) -> Array:
        """Coefficients of q as polynomials of the time since each knot, (7, N, n).

        Between knots the path is a cubic of s, and s = v t + u t^2 / 2.
        """
        d0, d1, d2, d3 = self.path.curve.taylor(self.path.grid[:-1])
        v, w = np.sqrt(self.x[:-1])[:, None], self.u[:, None] / 2
        return np.stack([
            d0,
            d1 * v,
            d1 * w + d2 * v * v,
            (2 * d2 * w + d3 * v * v) * v,
            (d2 * w + 3 * d3 * v * v) * w,
            3 * d3 * v * w * w,
            d3 * w * w * w,
        ])  # fmt: skip

    def inside(self) -> tuple[Array, Array, Array]:
        """q, dq and ddq at the points INSIDE of every interval, (N, points, n)."""
        lengths = np.diff(self.path.grid)[:, None] * INSIDE
        s = self.path.grid[:-1, None] + lengths
        x = np.maximum(self.x[:-1, None] + 2 * self.u[:, None] * lengths, 0)
        u = np.repeat(self.u[:, None], len(INSIDE), axis=1)
        speed = np.maximum(np.sqrt(x), CREEP)
        motion = self._motion(s.ravel(), speed.ravel(), u.ravel())
        q, dq, ddq = (part.reshape(*s.shape, -1) for part in motion)
        return q, dq, ddq

    def slower(self, factor: float) -> "Profile":
        """The same path at 1/factor of the speed."""
        return Profile(self.path, self.x / factor**2, self.u / factor**2)

    def _motion(self, s: Array, ds: Array, dds: Array) -> tuple[Array, Array, Array]:
        q, slope, bend = self.path.curve(s)
        return q, slope * ds[:, None], bend * (ds * ds)[:, None] + slope * dds[:, None]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows a u + b x <= c of every interval, (N, rows) each, for x at the left knot.

    `most` bounds x at the knots, (N + 1,).
    """

    a: Array
    b: Array
    c: Array
    most: Array
    lengths: Array


def fastest_profile(rows: Rows) -> tuple[Array, Array] | None:
    """x at the knots, (N + 1,), and u in the intervals, (N,), at rest at both ends.

    None if the rows do not allow the robot to move.
    """
    reach = _reachable(rows)
    if reach is None:
        return None
    x: list[float] = [0.0]
    us: list[float] = []
    for i, length in enumerate(rows.lengths):
        u = _largest_u(rows.a[i], rows.b[i], rows.c[i], x[-1], length, reach[i + 1])
        last = i + 1 == len(rows.lengths)
        after = 0.0 if last else max(min(x[-1] + 2 * length * u, reach[i + 1]), 0.0)
        if not max(after, x[-1]) > 0:
            return None  # at rest at both ends of an interval: the robot would never leave it
        us.append((after - x[-1]) / (2 * length))
        x.append(after)
    return np.array(x), np.array(us)


def _reachable(rows: Rows) -> Array | None:
    """The largest x at each knot from which the end can be reached; None if there is none."""
    reach = np.zeros(len(rows.lengths) + 1)
    for i in range(len(rows.lengths) - 1, -1, -1):
        length = 2 * rows.lengths[i]
        # the next x, which is x + length u, must be between 0 and reach[i + 1]
        a = np.append(rows.a[i], [length, -length])
        b = np.append(rows.b[i], [1.0, -1.0])
        c = np.append(rows.c[i], [reach[i + 1], 0.0])
        x = min(_largest_x(a, b, c), rows.most[i])
        if not x >= 0:
            return None
        reach[i] = x
    return reach


def _largest_x(a: Array, b: Array, c: Array) -> float:
    """The largest x for which some u satisfies all rows: pairs of rows with u eliminated."""
    small = FLAT * np.max(np.abs(a))
    up, down, flat = a > small, a < -small, np.abs(a) <= small
    # a_k > 0 bounds u from above, a_l < 0 from below: a_k row_l - a_l row_k is free of u
    slope = np.outer(a[up], b[down]) - np.outer(b[up], a[down])
    bound = np.outer(a[up], c[down]) - np.outer(c[up], a[down])
    slope = np.append(slope.ravel(), b[flat])
    bound = np.append(bound.ravel(), c[flat])
    growing = slope > FLAT * np.max(np.abs(slope))
    return float(np.min(bound[growing] / slope[growing], initial=np.inf))


def _largest_u(a: Array, b: Array, c: Array, x: float, length: float, reach: float) -> float:
    """The largest u at x that the rows allow and with which the next x is at most `reach`."""
    up = a > FLAT * np.max(np.abs(a))
    rest = c[up] - b[up] * x
    return min(float(np.min(rest / a[up], initial=np.inf)), (reach - x) / (2 * length))
