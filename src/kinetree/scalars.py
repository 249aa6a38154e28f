"""Elementary functions for every scalar kind that the algorithms run on.

An algorithm takes `sin`, `cos` and so on from here and thereby works on floats, SymPy expressions,
mpmath numbers and traced scalars alike. The module that defines a scalar's type decides: numbers of
Python and NumPy go to `math`, the others to the functions of their own module. Arrays are taken
element by element, so that a control law may write `clip(tau, -20, 20)`.
"""

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import numpy as np


class Scalar(Protocol):
    """A number of any kind: a float, a SymPy expression, an mpmath number or a traced scalar.

    `float` raises TypeError for an expression with symbols and for a traced scalar.
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, exponent: int, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __float__(self) -> float: ...


HOMES = {
    "builtins": "math",
    "numpy": "math",
    "mpmath": "mpmath",
    "sympy": "sympy",
}


def home(x: Scalar) -> ModuleType:
    """Module whose elementary functions fit the scalar `x`."""
    module = type(x).__module__
    package = module.partition(".")[0]
    return importlib.import_module(module if package == "kinetree" else HOMES.get(package, "math"))


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Extend a function of scalars to arrays, which broadcast."""

    @functools.wraps(function)
    def each(*args: "Scalar | np.ndarray[Any, Any]") -> Any:
        if not any(isinstance(x, np.ndarray) for x in args):
            return function(*args)
        rows = np.broadcast(*(np.asarray(x, object) for x in args))
        values = [function(*row) for row in rows]
        return np.array(values).reshape(rows.shape) if rows.shape else values[0]

    return each


@elementwise
def sin(x: Scalar) -> Any:
    """Sine of an angle in rad."""
    return home(x).sin(x)


@elementwise
def cos(x: Scalar) -> Any:
    """Cosine of an angle in rad."""
    return home(x).cos(x)


@elementwise
def sqrt(x: Scalar) -> Any:
    """Square root."""
    return home(x).sqrt(x)


@elementwise
def atan2(y: Scalar, x: Scalar) -> Any:
    """Angle of the point (x, y) in rad, from -pi to pi."""
    return home(y).atan2(y, x)


@elementwise
def where(test: Scalar, positive: Scalar, other: Scalar) -> Any:
    """`positive` where test > 0, `other` elsewhere and where the test is NaN.

    Every scalar kind can do this: both sides are computed, one is taken.
    """
    for x in (test, positive, other):
        module = home(x)
        if hasattr(module, "where"):
            return module.where(test, positive, other)
    if home(test).__name__ == "sympy":
        import sympy

        return sympy.Piecewise((positive, test > 0), (other, True))
    return positive if test > 0 else other


@elementwise
def minimum(x: Scalar, y: Scalar) -> Any:
    """The smaller of two numbers."""
    return where(y - x, x, y)


@elementwise
def maximum(x: Scalar, y: Scalar) -> Any:
    """The larger of two numbers."""
    return where(x - y, x, y)


@elementwise
def clip(x: Scalar, low: Scalar, high: Scalar) -> Any:
    """The number nearest to x between two bounds."""
    return minimum(maximum(x, low), high)


@elementwise
def absolute(x: Scalar) -> Any:
    """Magnitude of x."""
    return x * sign(x)


@elementwise
def sign(x: Scalar) -> Any:
    """Sign of x: -1, 0 or 1; NaN stays NaN."""
    module = home(x)
    if hasattr(module, "sign"):
        return module.sign(x)
    return x if x != x else int(x > 0) - int(x < 0)
