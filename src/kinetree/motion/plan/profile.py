"""Speed profiles along a path, and the fastest one within linear bounds (the phase plane).

With x = (ds/dt)^2 and u = d2s/dt2 constant between knots, x grows by 2 u times the length of the
interval, and every joint force is A(s) u + B(s) x + C(s). Each bound of it, at the left and at the
right end of an interval, is a row a u + b x <= c. A pass from the goal to the start finds, for each
knot, the largest x from which the goal can still be reached; a pass forward then takes the
largest u that stays below. Both solve problems of two unknowns, exactly, by eliminating u: rows of
one interval alone bound x by a number (`largest_x`), and rows together with a bound of the next x
bound it by lines of that. So each pass goes over lines that are made for all intervals at once:

    x[k + 1] = max(floor, min(cap[k], P[k, 0] + Q[k, 0] x[k], P[k, 1] + ...))
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.motion.plan.path import INSIDE, Path

FLAT_ROW = 1e-13  # share of the largest entry; a row with a smaller a does not depend on u
LARGEST_X = 1e12  # (rad/s)^2 or (m/s)^2; x is not larger
CREEP = 1e-9  # rad/s or m/s; friction of motion, not of rest, is evaluated at least at this rate


def scan(P: Array, Q: Array, cap: Array, floor: float) -> Array:
    """x at all knots, (N + 1,), from x[0] = 0.

    Args:
        P: of the lines of every knot, (N, L); infinite where there is none.
        Q: their slopes, (N, L), finite.
        cap: upper bounds, (N,).
        floor: lower bound, which counts before the upper bounds and the lines.
    """
    x = [0.0]
    for p, q, most in zip(P, Q, cap.tolist(), strict=True):
        x.append(max(floor, min(most, float((p + q * x[-1]).min()))))
    return np.array(x)


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

    def coefficients(self) -> Array:
        """Coefficients of q as polynomials of the time since each knot, (7, N, n).

        Between knots the path is a cubic of s, and s = v t + u t^2 / 2.
        """
        d0, d1, d2, d3 = self.path.taylor
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
        """q, dq and ddq at the points INSIDE of every interval, (points, N, n)."""
        q, slope, bend = self.path.inside
        x = self.x[:-1] + 2 * self.u * np.diff(self.path.grid) * INSIDE[:, None]
        speed = np.maximum(np.sqrt(np.maximum(x, 0)), CREEP)[..., None]
        return q, slope * speed, bend * (speed * speed) + slope * self.u[:, None]

    def slower(self, factor: float) -> "Profile":
        """The same path at 1/factor of the speed."""
        return Profile(self.path, self.x / factor**2, self.u / factor**2)


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

    Args:
        rows: bounds of u and x in every interval.
    """
    length = 2 * rows.lengths
    flat = FLAT_ROW * np.maximum(np.abs(rows.a).max(axis=1, initial=0), length)[:, None]
    one = np.ones((len(length), 1))  # the next x, x + length u, is not negative: a further row
    largest = largest_x(
        np.concatenate([rows.a, -length[:, None]], axis=1),
        np.concatenate([rows.b, -one], axis=1),
        np.concatenate([rows.c, 0 * one], axis=1),
        rows.most[:-1],
        flat,
    )
    P, Q = _lines_back(rows, length, flat)
    reach = scan(P[::-1], Q[::-1], largest[::-1], -np.inf)[::-1]
    if not np.all(reach >= 0):
        return None  # there is a knot from which the end cannot be reached
    P, Q = _lines_forward(rows, length, flat)
    cap = reach[1:].copy()
    cap[-1] = 0
    x = scan(P, Q, cap, 0.0)
    if not np.all(np.maximum(x[1:], x[:-1]) > 0):
        return None  # at rest at both ends of an interval: the robot would never leave it
    return x, np.diff(x) / length


def _lines_back(rows: Rows, length: Array, flat: Array) -> tuple[Array, Array]:
    """Lines P + Q r, (N, rows) each, that bound x if the next x is at most r.

    A row with a < 0 bounds u from below, and x + length u <= r from above; without u, that is
    (length b - a) x <= length c - a r.
    """
    length = length[:, None]
    slope = length * rows.b - rows.a
    bounding = (rows.a < -flat) & (slope > FLAT_ROW * (np.abs(length * rows.b) + np.abs(rows.a)))
    slope = np.where(bounding, slope, 1)
    return np.where(bounding, length * rows.c / slope, np.inf), np.where(
        bounding, -rows.a / slope, 0
    )


def _lines_forward(rows: Rows, length: Array, flat: Array) -> tuple[Array, Array]:
    """Lines P + Q x, (N, rows) each, that bound the next x: x + length u with u <= (c - b x)/a."""
    bounding = rows.a > flat
    step = length[:, None] / np.where(bounding, rows.a, 1)
    return np.where(bounding, rows.c * step, np.inf), np.where(bounding, 1 - rows.b * step, 0)


def largest_x(a: Array, b: Array, c: Array, most: Array, flat: Array) -> Array:
    """The largest x up to `most`, (N,), for which some u satisfies all rows, (N, rows).

    Rows with a > 0 bound u from above by lines of x, rows with a < 0 from below. The gap between
    the least upper and the largest lower line is a concave function of x. From far outside, every
    step goes to the zero of the two lines that are in force; it takes a few steps to the zero of
    the gap, which is exact.

    Args:
        a: of the rows.
        b: of the rows.
        c: of the rows.
        most: upper bounds of x.
        flat: (N, 1); rows with a smaller |a| do not depend on u.
    """
    up, down = a > flat, a < -flat
    scale = np.where(up | down, a, 1)
    tilt, level = b / scale, c / scale  # u <= level - tilt x, or >=
    level = np.stack([np.where(up, level, np.inf), np.where(down, level, -np.inf)])
    tilt = np.stack([np.where(up, tilt, 0), np.where(down, tilt, 0)])
    level_of_flat = np.where(
        ~(up | down) & (b > FLAT_ROW * np.abs(b).max(axis=1)[:, None]), b, np.nan
    )
    with np.errstate(invalid="ignore"):
        bound = np.fmin.reduce(c / level_of_flat, axis=1, initial=np.inf)
    x = np.minimum(np.minimum(most, bound), LARGEST_X)
    open_ = np.arange(len(x))  # intervals in which x may still be too large
    for _ in range(a.shape[1] ** 2 if len(a) else 0):
        lines = level[:, open_] - tilt[:, open_] * x[open_, None]
        k, l = lines[0].argmin(axis=1), lines[1].argmax(axis=1)
        each = np.arange(len(open_))
        slope = tilt[0, open_, k] - tilt[1, open_, l]
        room = level[0, open_, k] - level[1, open_, l]
        size = np.abs(tilt[0, open_, k]) + np.abs(tilt[1, open_, l])
        too_large = (lines[0, each, k] < lines[1, each, l]) & (slope > FLAT_ROW * size)
        zero = np.where(too_large, room, 0) / np.where(too_large, slope, 1)
        closer = too_large & (zero < x[open_])
        x[open_[closer]] = zero[closer]
        open_ = open_[closer]
        if not len(open_):
            break
    return np.where(x >= LARGEST_X, np.minimum(most, bound), x)
