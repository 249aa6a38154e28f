"""Cubic and quintic polynomials between states, and cubic splines through points.

Coefficients are listed from the constant upward; t counts from the left end of a polynomial.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.arrays import Array

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

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


def cubic_spline(
    knots: Array, points: Array, ends: str = NOT_A_KNOT, dq0: Number = 0, dq1: Number = 0
) -> "PPoly":
    """SciPy's spline through points, (K, ...), at knots, (K,), with a continuous second derivative.

    ends: "clamped" has slopes dq0 and dq1 at the ends, "natural" no second derivative there,
    "not-a-knot" a continuous third derivative at the second and the last but one knot (a line
    through two points, a parabola through three).
    """
    from scipy.interpolate import CubicSpline

    slopes: Any = [(1, np.broadcast_to(x, points.shape[1:])) for x in (dq0, dq1)]
    return CubicSpline(knots, points, bc_type=slopes if ends == CLAMPED else ends)


def with_rates(curve: "PPoly", t: Array) -> tuple[Array, Array, Array]:
    """Value, first and second derivative of a curve at times t."""
    return curve(t), curve(t, 1), curve(t, 2)


def spline_rates(t: Array, q: Array, dq: Array | None) -> tuple[Array, Array]:
    """dq and ddq, (T, ..., n), of the spline through q; of the one through dq if that is known."""
    if dq is not None:
        return dq, cubic_spline(t, dq)(t, 1)
    curve = cubic_spline(t, q)
    return curve(t, 1), curve(t, 2)
