"""Dual numbers: value + slope e with e e = 0, which differentiate the code that runs on them.

`kinetree.scalars` finds the elementary functions of a dual number in this module.
"""

from typing import TypeAlias, Union

from kinetree import scalars
from kinetree.scalars import Scalar

Number: TypeAlias = Union["Dual", Scalar]


class Dual:
    """A number and its slope; the slope of a sum is the sum of slopes, and so on."""

    __array_ufunc__ = None  # a NumPy number on the left must ask us

    def __init__(self, value: Number, slope: Number) -> None:
        self.value = value
        self.slope = slope

    def __add__(self, other: Number) -> "Dual":
        y = dual(other)
        return Dual(self.value + y.value, self.slope + y.slope)

    __radd__ = __add__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __pos__(self) -> "Dual":
        return self

    def __sub__(self, other: Number) -> "Dual":
        return self + -dual(other)

    def __rsub__(self, other: Number) -> "Dual":
        return dual(other) + -self

    def __mul__(self, other: Number) -> "Dual":
        y = dual(other)
        return Dual(self.value * y.value, self.slope * y.value + self.value * y.slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> "Dual":
        y = dual(other)
        ratio = self.value / y.value
        return Dual(ratio, (self.slope - ratio * y.slope) / y.value)

    def __rtruediv__(self, other: Number) -> "Dual":
        return dual(other) / self

    def __pow__(self, k: int) -> "Dual":
        return Dual(self.value**k, self.slope * (k * self.value ** (k - 1)))


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


def sign(x: Dual) -> Dual:
    """Sign; it is constant wherever it has a slope."""
    return Dual(scalars.sign(x.value), 0)


def where(test: Number, positive: Number, other: Number) -> Dual:
    """A choice, and the slope of what is chosen."""
    x, y, z = dual(test).value, dual(positive), dual(other)
    return Dual(scalars.where(x, y.value, z.value), scalars.where(x, y.slope, z.slope))
