"""Wide numbers: fixed-point arithmetic with 256 bits behind the point, the same on every platform.

Frames and mass moments of kernels are computed with more digits than a double has, so that exact
zeros of a design differ clearly from small numbers. Extended precision of C has 64, 80 or 128 bits,
depending on the platform, and would give other constants on each. A `Wide` is an array of integers
that count units of 2^-256, about 1e-77. Sums are exact, and products and quotients are exact to one
unit. Python's integers have no largest value, so nothing overflows before it becomes a double.

An array has at least one axis, so that NumPy computes all its numbers at once.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array

BITS = 256
ONE = 1 << BITS
SMALLEST = 2.0**-BITS

_ROOT = np.frompyfunc(math.isqrt, 1, 1)


class Wide:
    """An array of the numbers `units` / 2^256."""

    __slots__ = ("units",)

    def __init__(self, units: Array) -> None:
        self.units = units

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.units.shape

    def __getitem__(self, at: Any) -> "Wide":
        return Wide(self.units[at])

    def __setitem__(self, at: Any, other: "Wide") -> None:
        self.units[at] = other.units

    def __add__(self, other: "Wide") -> "Wide":
        return Wide(self.units + other.units)

    def __sub__(self, other: "Wide") -> "Wide":
        return Wide(self.units - other.units)

    def __neg__(self) -> "Wide":
        return Wide(-self.units)

    def __mul__(self, other: "Wide") -> "Wide":
        return Wide((self.units * other.units) >> BITS)

    def __matmul__(self, other: "Wide") -> "Wide":
        return Wide((self.units @ other.units) >> BITS)

    def __truediv__(self, other: "Wide") -> "Wide":
        return Wide((self.units << BITS) // other.units)

    def __lt__(self, other: "Wide") -> Array:
        return self.units < other.units

    def sqrt(self) -> "Wide":
        """Square roots of numbers that are not negative."""
        return Wide(np.asarray(_ROOT(self.units << BITS), object))

    def swapaxes(self, a: int, b: int) -> "Wide":
        """The array with two axes exchanged."""
        return Wide(self.units.swapaxes(a, b))

    def astype(self, kind: type[float]) -> Array:
        """The nearest doubles."""
        try:
            return self.units.astype(kind) * SMALLEST  # rounded once: the factor is a power of two
        except OverflowError:
            numbers = [_double(x) for x in self.units.ravel().tolist()]
            return np.array(numbers, kind).reshape(self.shape)

    def __repr__(self) -> str:
        return f"Wide({self.astype(float).tolist()})"


def _double(units: int) -> float:
    try:
        return units / ONE  # Python rounds quotients of integers to the nearest double
    except OverflowError:
        return math.inf if units > 0 else -math.inf


def wide(x: Any) -> Wide:
    """Finite floats or integers as wide numbers."""
    # mantissa 2^53 and its shift: exact, but for digits below 2^-256
    mantissa, exponent = np.frexp(np.atleast_1d(np.asarray(x, np.float64)))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    shift = exponent.astype(int) + (BITS - 53)
    if np.min(shift, initial=0) >= 0:
        return Wide(whole << shift.astype(object))
    left, right = np.maximum(shift, 0).astype(object), np.maximum(-shift, 0).astype(object)
    return Wide((whole << left) >> right)


def where(condition: Array, a: Wide, b: Wide) -> Wide:
    """Numbers of a where the condition is true, else of b."""
    return Wide(np.where(condition, a.units, b.units))


def stack(parts: Sequence[Wide], axis: int = -1) -> Wide:
    """Arrays of one shape as one, along a new axis."""
    return Wide(np.stack([part.units for part in parts], axis))
