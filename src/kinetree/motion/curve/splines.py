"""Cubic and quintic polynomials between states, and cubic splines through points.

Coefficients are listed from the constant upward; t counts from the left end of a polynomial.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array

CLAMPED, NATURAL, NOT_A_KNOT = "clamped", "natural", "not-a-knot"
Number = float | Array  # one polynomial, or a polynomial for each entry


def cubic_coefficients(
    h: Number, x0: Number, v0: Number, x1: Number, v1: Number
) -> tuple[Number, ...]:
    """Coefficients of the cubic with positions x0, x1 and rates v0, v1 at t = 0 and t = h."""
    slope = (x1 - x0) / h
    return x0, v0, (3 * slope - 2 * v0 - v1) / h, (v0 + v1 - 2 * slope) / (h * h)


def quintic_coefficients(
    h: Number, x0: Number, v0: Number, a0: Number, x1: Number, v1: Number, a1: Number
) -> tuple[Number, ...]:
    """Coefficients of the quintic with position, rate and acceleration at t = 0 and t = h."""
    X = (x1 - x0 - v0 * h - a0 * (h * h / 2)) / (h * h * h)
    V = (v1 - v0 - a0 * h) / (h * h)
    A = (a1 - a0) / (2 * h)
    return (
        x0,
        v0,
        a0 / 2,
        10 * X - 4 * V + A,
        (-15 * X + 7 * V - 2 * A) / h,
        (6 * X - 3 * V + A) / (h * h),
    )


def evaluate(coefficients: Sequence[Number], t: Number) -> tuple[Array, Array, Array]:
    """Value, first and second derivative at t, by Horner's scheme."""
    shape = np.broadcast_shapes(np.shape(t), *map(np.shape, coefficients))
    x, dx, ddx = np.empty(shape), np.empty(shape), np.zeros(shape)
    x[...], dx[...] = coefficients[-1], 0
    # in place: to allocate new arrays would take longer than to compute them
    for k, c in enumerate(reversed(coefficients[:-1])):
        if k == 1:
            np.multiply(2, dx, out=ddx)
        elif k > 1:
            ddx *= t
            ddx += 2 * dx
        dx *= t
        dx += x
        x *= t
        x += c
    return x[()], dx[()], ddx[()]  # numbers if all arguments are


@dataclass(frozen=True, eq=False)
class CubicSpline:
    """x(t) through `points`, (K, n), at `knots`, (K,), with `slopes`, (K, n), at the knots."""

    knots: Array
    points: Array
    slopes: Array

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """Value, first and second derivative at times t, (T,); each (T, n)."""
        k = self._interval(t)
        return evaluate(self.cubics(k), (t - self.knots[k])[:, None])

    def cubics(self, k: Array) -> tuple[Number, ...]:
        """Coefficients of the cubics in intervals k, (K,); each (K, n)."""
        h = (self.knots[k + 1] - self.knots[k])[:, None]
        ends = self.points[k], self.slopes[k], self.points[k + 1], self.slopes[k + 1]
        return cubic_coefficients(h, *ends)

    def taylor(self, t: Array) -> tuple[Array, Array, Array, Number]:
        """d0 ... d3 of x(t + s) = d0 + d1 s + d2 s^2 + d3 s^3, up to the knot after t; (T, n)."""
        k = self._interval(t)
        c = self.cubics(k)
        x, dx, ddx = evaluate(c, (t - self.knots[k])[:, None])
        return x, dx, ddx / 2, c[3]

    def _interval(self, t: Array) -> Array:
        return np.clip(np.searchsorted(self.knots, t, "right") - 1, 0, len(self.knots) - 2)


def cubic_spline(
    knots: Array, points: Array, ends: str = NOT_A_KNOT, dq0: Number = 0, dq1: Number = 0
) -> CubicSpline:
    """Spline through points, (K, n), at knots, (K,), with a continuous second derivative.

    ends: "clamped" has slopes dq0 and dq1 at the ends, "natural" no second derivative there,
    "not-a-knot" a continuous third derivative at the second and the last but one knot (a line
    through two points, a parabola through three).
    """
    h = np.diff(knots)[:, None]
    slope = np.diff(points, axis=0) / h
    if len(knots) == 2 and ends != CLAMPED:
        return CubicSpline(knots, points, np.repeat(slope, 2, axis=0))
    if len(knots) == 3 and ends == NOT_A_KNOT:  # the parabola through three points
        bend = (slope[1] - slope[0]) / (h[0] + h[1])
        middle = slope[0] + bend * h[0]
        slopes = np.array([slope[0] - bend * h[0], middle, slope[1] + bend * h[1]])
        return CubicSpline(knots, points, slopes)
    lower, upper = np.zeros_like(knots), np.zeros_like(knots)
    diagonal, right = np.ones_like(knots), np.zeros_like(points)
    inner = 1 / h[:-1, 0], 1 / h[1:, 0]
    lower[1:-1], upper[1:-1], diagonal[1:-1] = inner[0], inner[1], 2 * (inner[0] + inner[1])
    right[1:-1] = 3 * (slope[:-1] / h[:-1] + slope[1:] / h[1:])
    if ends == CLAMPED:
        right[0], right[-1] = dq0, dq1
    elif ends == NATURAL:
        diagonal[0], upper[0], right[0] = 2, 1, 3 * slope[0]
        diagonal[-1], lower[-1], right[-1] = 2, 1, 3 * slope[-1]
    else:
        diagonal[0], upper[0], right[0] = _not_a_knot(h[0], h[1], slope[0], slope[1])
        diagonal[-1], lower[-1], right[-1] = _not_a_knot(h[-1], h[-2], slope[-1], slope[-2])
    return CubicSpline(knots, points, tridiagonal(lower, diagonal, upper, right))


def spline_rates(t: Array, q: Array, dq: Array | None) -> tuple[Array, Array]:
    """dq and ddq, (T, ..., n), of the spline through q; of the one through dq if that is known."""
    known = q if dq is None else dq
    flat = known.reshape(len(t), -1)
    _, slope, bend = cubic_spline(t, flat)(t)
    rates = (slope, bend) if dq is None else (flat, slope)
    return rates[0].reshape(known.shape), rates[1].reshape(known.shape)


def _not_a_knot(h0: Array, h1: Array, s0: Array, s1: Array) -> tuple[float, float, Array]:
    """Diagonal, neighbour and right-hand side at an end, whose intervals are h0, then h1."""
    both = h0 + h1
    return h1[0], both[0], ((h0 + 2 * both) * h1 * s0 + h0 * h0 * s1) / both


def tridiagonal(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Solution of a tridiagonal system for right-hand sides (K, n), by elimination.

    No pivots are exchanged: the rows of splines are diagonally dominant, except the row of a
    not-a-knot end, whose pivot is positive too.
    """
    low, d, up = lower.tolist(), diagonal.tolist(), upper.tolist()  # Python's numbers are faster
    factors = [0.0]
    for k in range(1, len(d)):
        factors.append(low[k] / d[k - 1])
        d[k] -= factors[k] * up[k - 1]
    found: list[list[float]] = []
    for column in right.T.tolist():
        x = column[0]
        for k in range(1, len(d)):
            x = column[k] = column[k] - factors[k] * x
        x = column[-1] = column[-1] / d[-1]
        for k in range(len(d) - 2, -1, -1):
            x = column[k] = (column[k] - up[k] * x) / d[k]
        found.append(column)
    return np.array(found).T.copy()
