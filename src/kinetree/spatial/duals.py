"""Dual numbers: value + slope e with e e = 0, which differentiate the code that runs on them.

`kinetree.scalars` finds the elementary functions of a dual number in this module. Operators and
NumPy's functions of a dual number, such as `np.exp(x)`, come here too.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias, Union

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from kinetree import scalars
from kinetree.errors import InputError
from kinetree.scalars import Scalar

Number: TypeAlias = Union["Dual", Scalar]


class Dual(NDArrayOperatorsMixin):
    """A number and its slope; the slope of a sum is the sum of slopes, and so on."""

    def __init__(self, value: Number, slope: Number) -> None:
        self.value = value
        self.slope = slope

    def clip(self, low: Number, high: Number, out: None = None) -> "Dual":
        """Return the nearest number between two bounds, for `np.clip`."""
        return minimum(maximum(self, low), high)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        function = UFUNCS.get(ufunc.__name__)
        if function is None or method != "__call__" or options:
            raise InputError(scalars.unknown(f"np.{ufunc.__name__}"))
        return scalars.elementwise(function)(*args)


def dual(x: Number) -> Dual:
    """A number as a dual one; constants have slope 0."""
    return x if isinstance(x, Dual) else Dual(x, 0)


def _sum(x: Number, y: Number) -> Dual:
    a, b = dual(x), dual(y)
    return Dual(a.value + b.value, a.slope + b.slope)


def _negative(x: Dual) -> Dual:
    return Dual(-x.value, -x.slope)


def _product(x: Number, y: Number) -> Dual:
    a, b = dual(x), dual(y)
    return Dual(a.value * b.value, a.slope * b.value + a.value * b.slope)


def _quotient(x: Number, y: Number) -> Dual:
    a, b = dual(x), dual(y)
    ratio = a.value / b.value
    return Dual(ratio, (a.slope - ratio * b.slope) / b.value)


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


def power(x: Number, exponent: Number) -> Dual:
    """Power of a constant exponent, or of a constant base."""
    if isinstance(exponent, Dual):
        return exp(_product(scalars.log(x), exponent))
    base = dual(x)
    if exponent == 0:
        return Dual(scalars.power(base.value, 0), 0)
    slope = scalars.power(base.value, exponent - 1) * exponent
    return Dual(scalars.power(base.value, exponent), slope * base.slope)


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


def _compared(of_values: Callable[[Any, Any], Any]) -> Callable[[Number, Number], Any]:
    return lambda x, y: of_values(dual(x).value, dual(y).value)


# operators and NumPy's functions, by the name of the latter
UFUNCS: dict[str, Callable[..., Any]] = scalars.NUMPY | {
    "add": _sum,
    "subtract": lambda x, y: _sum(x, _negative(dual(y))),
    "multiply": _product,
    "divide": _quotient,
    "negative": _negative,
    "positive": lambda x: x,
    "power": power,
    "less": _compared(operator.lt),
    "greater": _compared(operator.gt),
    "less_equal": _compared(operator.le),
    "greater_equal": _compared(operator.ge),
}
