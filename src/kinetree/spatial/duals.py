"""Dual numbers: value + slope e with e e = 0, which differentiate the code that runs on them.

`kinetree.scalars` finds the elementary functions of a dual number in this module. NumPy's functions
of a dual number, such as `np.exp(x)`, come here too.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, Union

import numpy as np

from kinetree import scalars
from kinetree.errors import InputError
from kinetree.scalars import Scalar

Number: TypeAlias = Union["Dual", Scalar]


class Dual:
    """A number and its slope; the slope of a sum is the sum of slopes, and so on."""

    def __init__(self, value: Number, slope: Number) -> None:
        self.value = value
        self.slope = slope

    def __add__(self, other: Number) -> "Dual":
        if isinstance(other, np.ndarray):
            return NotImplemented
        y = dual(other)
        return Dual(self.value + y.value, self.slope + y.slope)

    __radd__ = __add__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __pos__(self) -> "Dual":
        return self

    def __sub__(self, other: Number) -> "Dual":
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self + -dual(other)

    def __rsub__(self, other: Number) -> "Dual":
        return dual(other) + -self

    def __mul__(self, other: Number) -> "Dual":
        if isinstance(other, np.ndarray):
            return NotImplemented
        y = dual(other)
        return Dual(self.value * y.value, self.slope * y.value + self.value * y.slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> "Dual":
        if isinstance(other, np.ndarray):
            return NotImplemented
        y = dual(other)
        ratio = self.value / y.value
        return Dual(ratio, (self.slope - ratio * y.slope) / y.value)

    def __rtruediv__(self, other: Number) -> "Dual":
        return dual(other) / self

    def __pow__(self, k: float) -> "Dual":
        return power(self, k)

    def __rpow__(self, base: float) -> "Dual":
        value = scalars.exp(scalars.log(base) * self.value)
        return Dual(value, value * (scalars.log(base) * self.slope))

    def clip(self, low: Number, high: Number, out: None = None) -> "Dual":
        """Return the nearest number between two bounds, for `np.clip`."""
        return minimum(maximum(self, low), high)

    def __abs__(self) -> "Dual":
        return absolute(self)

    def __lt__(self, other: Number) -> Any:
        return self.value < dual(other).value

    def __gt__(self, other: Number) -> Any:
        return self.value > dual(other).value

    def __le__(self, other: Number) -> Any:
        return self.value <= dual(other).value  # type: ignore[operator]

    def __ge__(self, other: Number) -> Any:
        return self.value >= dual(other).value  # type: ignore[operator]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        function = UFUNCS.get(ufunc.__name__)
        if function is None or method != "__call__" or options:
            raise InputError(scalars.unknown(f"np.{ufunc.__name__}"))
        return scalars.elementwise(function)(*args)


def dual(x: Number) -> Dual:
    """A number as a dual one; constants have slope 0."""
    return x if isinstance(x, Dual) else Dual(x, 0)


def sin(x: Dual) -> Dual:
    """Sine."""
    return Dual(scalars.sin(x.value), scalars.cos(x.value) * x.slope)


def cos(x: Dual) -> Dual:
    """Cosine."""
    return Dual(scalars.cos(x.value), -scalars.sin(x.value) * x.slope)


def sqrt(x: Dual) -> Dual:
    """Square root."""
    root = scalars.sqrt(x.value)
    return Dual(root, x.slope / (2 * root))


def exp(x: Dual) -> Dual:
    """Power of e."""
    value = scalars.exp(x.value)
    return Dual(value, value * x.slope)


def log(x: Dual) -> Dual:
    """Natural logarithm."""
    return Dual(scalars.log(x.value), x.slope / x.value)


def tanh(x: Dual) -> Dual:
    """Hyperbolic tangent."""
    slope = scalars.tanh_slope(x.value)  # type: ignore[arg-type]
    return Dual(scalars.tanh(x.value), slope * x.slope)


def atan2(y: Number, x: Number) -> Dual:
    """Angle of a point."""
    a, b = dual(y), dual(x)
    square = a.value * a.value + b.value * b.value
    slope = (b.value * a.slope - a.value * b.slope) / square
    return Dual(scalars.atan2(a.value, b.value), slope)


def power(x: Dual, exponent: float) -> Dual:
    """Constant power."""
    if exponent == 0:
        return Dual(scalars.power(x.value, 0), 0)
    slope = scalars.power(x.value, exponent - 1) * exponent
    return Dual(scalars.power(x.value, exponent), slope * x.slope)


def absolute(x: Dual) -> Dual:
    """Magnitude; the slope at 0 is 0."""
    return Dual(scalars.absolute(x.value), scalars.sign(x.value) * x.slope)


def minimum(x: Number, y: Number) -> Dual:
    """The smaller number and its slope; y where they are equal."""
    a, b = dual(x), dual(y)
    slope = scalars.where(b.value - a.value, a.slope, b.slope)
    return Dual(scalars.minimum(a.value, b.value), slope)


def maximum(x: Number, y: Number) -> Dual:
    """The larger number and its slope; y where they are equal."""
    a, b = dual(x), dual(y)
    slope = scalars.where(a.value - b.value, a.slope, b.slope)
    return Dual(scalars.maximum(a.value, b.value), slope)


def sign(x: Dual) -> Dual:
    """Sign; it is constant wherever it has a slope."""
    return Dual(scalars.sign(x.value), 0)


def where(test: Number, positive: Number, other: Number) -> Dual:
    """A choice, and the slope of what is chosen."""
    x, y, z = dual(test).value, dual(positive), dual(other)
    return Dual(scalars.where(x, y.value, z.value), scalars.where(x, y.slope, z.slope))


# NumPy's functions and operators, by name
UFUNCS: dict[str, Callable[..., Any]] = scalars.NUMPY | {
    "add": lambda x, y: dual(x) + y,  # x may be a NumPy number, which would ask here again
    "subtract": lambda x, y: dual(x) - y,
    "multiply": lambda x, y: dual(x) * y,
    "divide": lambda x, y: dual(x) / y,
    "less": lambda x, y: dual(x) < y,
    "greater": lambda x, y: dual(x) > y,
    "less_equal": lambda x, y: dual(x) <= y,
    "greater_equal": lambda x, y: dual(x) >= y,
    "negative": lambda x: -x,
    "positive": lambda x: x,
}
