"""Wide numbers: fixed-point arithmetic with 256 bits behind the point, the same on every platform.

Frames and mass moments of kernels are computed with more digits than a double has, so that exact
zeros of a design differ clearly from small numbers. Extended precision of C has 64, 80 or 128 bits,
depending on the platform, and would give other constants on each. A `Wide` is an integer that
counts units of 2^-256, about 1e-77. Sums are exact, and products and quotients are exact to one
unit. Python's integers have no largest value, so nothing overflows before it becomes a double.

Arrays of wide numbers are NumPy arrays of objects: slices, `+`, `*`, comparisons, `np.where` and
`np.sqrt` work on them. Use `wide_product` instead of `@`: it is faster.
"""

import math
from operator import attrgetter
from typing import Any

import numpy as np

from kinetree.base.arrays import Array

BITS = 256
ONE = 1 << BITS


class Wide:
    """The number `units` / 2^256."""

    __slots__ = ("units",)

    def __init__(self, units: int) -> None:
        self.units = units

    def __add__(self, other: Any) -> "Wide":
        return Wide(self.units + (other.units if type(other) is Wide else units_of(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Wide":
        return Wide(self.units - (other.units if type(other) is Wide else units_of(other)))

    def __rsub__(self, other: Any) -> "Wide":
        return Wide(units_of(other) - self.units)

    def __mul__(self, other: Any) -> "Wide":
        if type(other) is Wide:
            return Wide((self.units * other.units) >> BITS)
        if type(other) is int:
            return Wide(self.units * other)
        return Wide((self.units * units_of(other)) >> BITS)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Wide":
        return Wide((self.units << BITS) // units_of(other))

    def __neg__(self) -> "Wide":
        return Wide(-self.units)

    def __abs__(self) -> "Wide":
        return Wide(abs(self.units))

    def sqrt(self) -> "Wide":
        """Square root of a number that is not negative."""
        return Wide(math.isqrt(self.units << BITS))

    def __lt__(self, other: Any) -> bool:
        return self.units < units_of(other)

    def __le__(self, other: Any) -> bool:
        return self.units <= units_of(other)

    def __gt__(self, other: Any) -> bool:
        return self.units > units_of(other)

    def __ge__(self, other: Any) -> bool:
        return self.units >= units_of(other)

    def __eq__(self, other: object) -> bool:
        return self.units == units_of(other)

    def __hash__(self) -> int:
        return hash(self.units)

    def __float__(self) -> float:
        try:
            return self.units / ONE  # Python rounds quotients of integers to the nearest double
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf

    def __repr__(self) -> str:
        return f"Wide({float(self)!r})"


def units_of(x: Any) -> int:
    """Units of a wide number, an integer, or a float."""
    if type(x) is Wide:
        return x.units
    if isinstance(x, int | np.integer):
        return int(x) << BITS
    numerator, denominator = float(x).as_integer_ratio()
    return (numerator << BITS) // denominator


_WRAP = np.frompyfunc(Wide, 1, 1)
_UNITS = np.frompyfunc(attrgetter("units"), 1, 1)


def wide(x: Array) -> Array:
    """An array of finite floats or integers, or of wide numbers, as wide numbers."""
    x = np.asarray(x)
    if x.dtype == object:
        return x
    # mantissa 2^53 and its shift: exact, but for digits below 2^-256
    mantissa, exponent = np.frexp(x.astype(np.float64))
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    shift = exponent.astype(int) + (BITS - 53)
    if np.min(shift, initial=0) >= 0:
        units = whole << shift.astype(object)
    else:
        left, right = np.maximum(shift, 0).astype(object), np.maximum(-shift, 0).astype(object)
        units = (whole << left) >> right
    return np.asarray(_WRAP(units), object)


def is_wide(x: Array) -> bool:
    """Return True for an array of wide numbers, which may have whole zeros among them."""
    return x.dtype == object and all(type(entry) in (Wide, int) for entry in x.flat)


def wide_product(a: Array, b: Array) -> Array:
    """Matrix product of wide numbers, over any leading axes."""
    return np.asarray(_WRAP((_UNITS(a) @ _UNITS(b)) >> BITS), object)
