"""Polynomials between two states: coefficients, and their values with two derivatives.

Coefficients are listed from the constant upward; t counts from the left end.
"""

from typing import Any

from kinetree.base.arrays import Array


def cubic_coefficients(h: Any, x0: Any, v0: Any, x1: Any, v1: Any) -> tuple[Any, ...]:
    """The cubic with positions x0, x1 and rates v0, v1 at t = 0 and t = h."""
    slope = (x1 - x0) / h
    return x0, v0, (3 * slope - 2 * v0 - v1) / h, (v0 + v1 - 2 * slope) / (h * h)


def quintic_coefficients(
    h: Any, x0: Any, v0: Any, a0: Any, x1: Any, v1: Any, a1: Any
) -> tuple[Any, ...]:
    """The quintic with positions, rates and accelerations of both ends, t = 0 and t = h."""
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


def evaluate(coefficients: tuple[Any, ...], t: Any) -> tuple[Array, Array, Array]:
    """Value, first and second derivative at t (Horner's scheme)."""
    x = dx = ddx = 0 * (coefficients[-1] * t)  # the shape of the result
    for c in reversed(coefficients):
        ddx = ddx * t + 2 * dx
        dx = dx * t + x
        x = x * t + c
    return x, dx, ddx
