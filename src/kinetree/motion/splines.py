"""Cubic splines: piecewise cubics through points, with continuous first and second derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, array
from kinetree.base.tables import counted
from kinetree.errors import InputError, ShapeError
from kinetree.motion.dynamics import check_screws
from kinetree.motion.hermite import cubic_coefficients, evaluate
from kinetree.motion.inputs import between_knots, joint_vector, make, positive
from kinetree.motion.pieces import Polynomials, polynomials
from kinetree.trajectory import Trajectory

CLAMPED, NATURAL, NOT_A_KNOT = "clamped", "natural", "not-a-knot"


@dataclass(frozen=True, eq=False)
class CubicSpline:
    """x(t) through `points`, (K, n), at `knots`, (K,), with the slopes found there."""

    knots: Array
    points: Array
    slopes: Array

    def __call__(self, t: Any) -> tuple[Array, Array, Array]:
        """Value, first and second derivative at times t, (T,); each (T, n)."""
        t = np.asarray(t, float)
        k = self._interval(t)
        return evaluate(self._cubics(k), (t - self.knots[k])[:, None])

    def pieces(self) -> Polynomials:
        """The cubics from knot to knot."""
        c = self._cubics(np.arange(len(self.knots) - 1))
        return polynomials(self.knots, np.stack(c), end=(self.points[-1], self.slopes[-1]))

    def taylor(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """x(t + s) = d0 + d1 s + d2 s^2 + d3 s^3 up to the next knot after t; each (T, n)."""
        k = self._interval(t)
        c = self._cubics(k)
        x, dx, ddx = evaluate(c, (t - self.knots[k])[:, None])
        return x, dx, ddx / 2, c[3]

    def _interval(self, t: Array) -> Array:
        return np.clip(np.searchsorted(self.knots, t, "right") - 1, 0, len(self.knots) - 2)

    def _cubics(self, k: Array) -> tuple[Array, ...]:
        h = (self.knots[k + 1] - self.knots[k])[:, None]
        ends = self.points[k], self.slopes[k], self.points[k + 1], self.slopes[k + 1]
        return cubic_coefficients(h, *ends)


def cubic_spline(
    knots: Array, points: Array, ends: str = NOT_A_KNOT, dq0: Any = 0, dq1: Any = 0
) -> CubicSpline:
    """The spline whose second derivative is continuous.

    ends: "clamped" has slopes dq0 and dq1 there, "natural" no second derivative, "not-a-knot" a
    continuous third derivative at the second and the last but one knot (two points: a line).
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


def _not_a_knot(h0: Array, h1: Array, s0: Array, s1: Array) -> tuple[float, float, Array]:
    """Diagonal, neighbour and right-hand side of the end whose intervals are h0, then h1."""
    both = h0 + h1
    return h1[0], both[0], ((h0 + 2 * both) * h1 * s0 + h0 * h0 * s1) / both


def tridiagonal(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Solve a tridiagonal system for right-hand sides (K, n), by elimination without pivots.

    Rows of splines are diagonally dominant, all but a not-a-knot end, whose pivot is positive too.
    """
    d, x = diagonal.copy(), right.copy()
    for k in range(1, len(d)):
        factor = lower[k] / d[k - 1]
        d[k] -= factor * upper[k - 1]
        x[k] -= factor * x[k - 1]
    x[-1] /= d[-1]
    for k in range(len(d) - 2, -1, -1):
        x[k] = (x[k] - upper[k] * x[k + 1]) / d[k]
    return x


def spline(
    points: Any,
    times: Any,
    dt: float = 0.01,
    *,
    ends: str = CLAMPED,
    dq0: Any = 0,
    dq1: Any = 0,
    robot: Any = None,
    joint_names: Sequence[str] = (),
    name: str = "spline",
) -> Trajectory:
    """The cubic spline through waypoints.

    Args:
        points: positions to pass, (K, n), the first and the last included.
        times: when to pass them, (K,), increasing; or the whole duration in s, which is then
            shared out by the distances between the points.
        dt: largest step between samples, s, uniform from waypoint to waypoint.
        ends: "clamped" starts with rate dq0 and ends with dq1 (rest, unless given), "natural"
            starts and ends without acceleration, "not-a-knot" is smoothest inside.
        dq0: rate at the start, a number or (n,).
        dq1: rate at the end, a number or (n,).
        robot: gives names.
        joint_names: names where there is no robot.
        name: of the trajectory.
    """
    points, knots = _waypoints(points, times, robot)
    if ends not in (CLAMPED, NATURAL, NOT_A_KNOT):
        raise InputError(f"ends is {ends!r}; expected {CLAMPED!r}, {NATURAL!r} or {NOT_A_KNOT!r}.")
    n = points.shape[1]
    curve = cubic_spline(
        knots, points, ends, joint_vector(dq0, n, "dq0"), joint_vector(dq1, n, "dq1")
    )
    t = between_knots(knots, dt)  # waypoints are samples too: accelerations peak there
    pieces = curve.pieces()
    return make(t, pieces(t), robot, joint_names, name, pieces)


def _waypoints(points: Any, times: Any, robot: Any) -> tuple[Array, Array]:
    points = array(points, (None, None), "points").astype(float)
    if robot is not None:
        model = check_screws(robot, "a spline")
        if points.shape[1] != model.n:
            names = ", ".join(model.joint_names)
            raise ShapeError(
                f"points has {counted(points.shape[1], 'column')}; expected {model.n} ({names})."
            )
    if len(points) < 2:
        raise ShapeError(
            f"points has {counted(len(points), 'row')}; expected at least 2 waypoints."
        )
    if np.ndim(times) == 0:
        distance = np.linalg.norm(np.diff(points, axis=0), axis=1)
        knots = np.concatenate([[0], np.cumsum(distance)])
        if not knots[-1] > 0:
            raise InputError("all waypoints are the same position; give times to stand still.")
        knots = knots * (positive(times, "times", "s") / knots[-1])
    else:
        knots = array(times, (None,), "times").astype(float)
    if len(knots) != len(points):
        raise ShapeError(
            f"times has {counted(len(knots), 'entry')}; expected {len(points)}, as points."
        )
    late = np.flatnonzero(np.diff(knots) <= 0)
    if late.size:
        k = int(late[0])
        raise InputError(
            f"waypoint {k + 1} at {knots[k + 1]:.9g} s does not come after waypoint {k} at "
            f"{knots[k]:.9g} s; times must increase, and points may not repeat."
        )
    return points, knots
