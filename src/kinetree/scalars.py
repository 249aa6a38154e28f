"""Elementary functions for every scalar kind that the algorithms run on.

An algorithm takes `sin`, `cos` and so on from here and thereby works on floats, SymPy expressions,
mpmath numbers, dual numbers and traced scalars alike. The module that defines a scalar's type
decides: numbers of Python and NumPy go to `math`, the others to the functions of their own module.
Arrays are taken element by element, so that a control law may write `clip(tau, -20, 20)`.

Sine and cosine of a float are the doubles nearest to the exact values. The numbers of a robot are
made with them, and libraries of C and vector code of NumPy differ in the last bit.

Outside their domains the functions of floats give infinity or NaN, as compiled kernels do: exp of a
large number is infinity, log(0) is -infinity, log and fractional powers of numbers below 0 are NaN.
"""

import functools
import importlib
import math
import operator
from collections.abc import Callable
from numbers import Rational
from types import ModuleType
from typing import Any, NoReturn, Protocol

import numpy as np

from kinetree.errors import InputError

# every function of this module, in the order of the documentation
FUNCTIONS = (
    *("sin", "cos", "sqrt", "exp", "log", "tanh", "atan2", "power"),
    *("sign", "absolute", "minimum", "maximum", "clip", "where"),
)


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


HOMES = {"mpmath": "mpmath", "sympy": "sympy"}


def home(x: Scalar) -> ModuleType:
    """Module whose elementary functions fit the scalar `x`."""
    return _home_of(type(x).__module__)


@functools.cache
def _home_of(module: str) -> ModuleType:
    """The same for scalars whose type is defined in a module."""
    package = module.partition(".")[0]
    if package == "kinetree":
        return importlib.import_module(module)
    return importlib.import_module(HOMES[package]) if package in HOMES else math


def home_of(*args: Scalar) -> ModuleType:
    """Module of the first argument that is not a plain number, `math` where all are."""
    return next((module for module in map(home, args) if module is not math), math)


def function(name: str, *args: Scalar) -> Callable[..., Any]:
    """Return the function `name` for scalars of the kind of the arguments."""
    module = home_of(*args)
    found = OWN.get(module.__name__, {}).get(name) or getattr(module, name, None)
    if found is None:
        kind = type(next(x for x in args if home(x) is module)).__name__
        there = [known for known in FUNCTIONS if hasattr(module, known)]
        raise InputError(
            f"{name} of kinetree.scalars has no form for a {kind}, which has {', '.join(there)}."
        )
    return found


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Extend a function of scalars to arrays, which broadcast."""

    @functools.wraps(function)
    def each(*args: "Scalar | np.ndarray[Any, Any]") -> Any:
        if not any(isinstance(x, np.ndarray) for x in args):
            try:
                return function(*args)
            except TypeError:
                _refuse_kind(function.__name__, args)
                raise
        rows = np.broadcast(*(np.asarray(x, object) for x in args))
        values = [function(*row) for row in rows]
        return np.array(values).reshape(rows.shape) if rows.shape else values[0]

    return each


def _refuse_kind(name: str, args: tuple[object, ...]) -> None:
    """Raise InputError if an argument is not a number of any kind."""
    for x in args:
        if home_of(x) is math and not hasattr(type(x), "__float__"):  # type: ignore[arg-type]
            raise InputError(
                f"{name} of kinetree.scalars was given a {type(x).__name__}, {x!r}; expected a "
                "number, a SymPy expression, an mpmath number, a traced scalar or an array of them."
            ) from None


def unknown(name: str) -> str:
    """Text of the error for a function that does not exist, with the list of those that do."""
    more = sorted({*NUMPY} - {*FUNCTIONS, *COMPARISONS})
    return (
        f"{name} is not defined for traced scalars and dual numbers, with which functions are "
        f"compiled and differentiated. Write it with the functions of kinetree.scalars: "
        f"{', '.join(FUNCTIONS)}. Of NumPy these are known under the same names, and "
        f"{', '.join(more)}."
    )


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"kinetree.scalars has no function {name!r}; its functions are {', '.join(FUNCTIONS)}."
    )


@elementwise
def sin(x: Scalar) -> Any:
    """Sine of an angle in rad; of a float, the double nearest to it."""
    module = home(x)
    return _float_sin(float(x)) if module is math else module.sin(x)


@elementwise
def cos(x: Scalar) -> Any:
    """Cosine of an angle in rad; of a float, the double nearest to it."""
    module = home(x)
    return _float_cos(float(x)) if module is math else module.cos(x)


@elementwise
def sqrt(x: Scalar) -> Any:
    """Square root."""
    return home(x).sqrt(x)


@elementwise
def exp(x: Scalar) -> Any:
    """Power e^x."""
    return function("exp", x)(x)


@elementwise
def log(x: Scalar) -> Any:
    """Natural logarithm of x > 0; -infinity at 0, NaN below it."""
    return function("log", x)(x)


@elementwise
def tanh(x: Scalar) -> Any:
    """Hyperbolic tangent, from -1 to 1."""
    return function("tanh", x)(x)


@elementwise
def atan2(y: Scalar, x: Scalar) -> Any:
    """Angle of the point (x, y) in rad, from -pi to pi."""
    return function("atan2", y, x)(y, x)


@elementwise
def power(x: Scalar, exponent: float) -> Any:
    """Power x^exponent for an exponent that is a plain number.

    Whole exponents are defined for every x; half-integer ones for x >= 0, through the square root;
    any other one is exp(exponent log(x)), for x >= 0. Negative x give NaN there. 0 to a negative
    power is infinity.
    """
    if home(exponent) is not math:
        raise InputError(
            f"power of kinetree.scalars was given the exponent {exponent!r}, a "
            f"{type(exponent).__name__}; expected a plain number. Write exp(y * log(x)) for x^y."
        )
    return function("power", x)(x, exponent)


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
    """The smaller of two numbers; NaN if one is NaN.

    Where both are equal it is y: a derivative there is that of y.
    """
    return function("minimum", x, y)(x, y)


@elementwise
def maximum(x: Scalar, y: Scalar) -> Any:
    """The larger of two numbers; NaN if one is NaN.

    Where both are equal it is y: a derivative there is that of y.
    """
    return function("maximum", x, y)(x, y)


@elementwise
def clip(x: Scalar, low: Scalar, high: Scalar) -> Any:
    """The number nearest to x between two bounds; its derivative is 0 at the bounds."""
    return minimum(maximum(x, low), high)


@elementwise
def absolute(x: Scalar) -> Any:
    """Magnitude of x; its derivative is the sign of x, 0 at 0."""
    return function("absolute", x)(x)


@elementwise
def sign(x: Scalar) -> Any:
    """Sign of x: -1, 0 or 1; NaN stays NaN."""
    module = home(x)
    if hasattr(module, "sign"):
        return module.sign(x)
    return x if x != x else int(x > 0) - int(x < 0)


def tanh_slope(x: Scalar) -> Any:
    """Slope of tanh, 1 / cosh(x)^2, with all digits where 1 - tanh(x)^2 would lose them."""
    module = home(x)
    if module.__name__ == "sympy":
        return 1 - tanh(x) ** 2
    if module.__name__ == "mpmath":
        e = exp(x)
    else:
        # beyond FLAT the slope is below 1e-85 and taken as constant, so that no power of e and no
        # further slope is infinity / infinity
        e = exp(maximum(minimum(x, FLAT), -FLAT))
    sech = 2 / (e + 1 / e)
    return sech * sech


FLAT = 100.0


TINY = 2.0**-27  # smaller angles are their own sine, and 1 their cosine, to half a unit
FIRST_BITS, MORE_BITS = 112, 96  # of fixed point, and added where they do not decide the rounding


def _float_sin(x: float) -> float:
    if -TINY < x < TINY or not math.isfinite(x):
        return x if x == x and math.isfinite(x) else math.sin(x)
    return _sine_and_cosine(x)[0]


def _float_cos(x: float) -> float:
    return _sine_and_cosine(x)[1] if math.isfinite(x) else math.cos(x)


@functools.lru_cache(maxsize=4096)  # the same few angles return in every robot
def _sine_and_cosine(x: float) -> tuple[float, float]:
    """Sine and cosine of a finite angle, each the nearest double.

    They are computed with integers: x = n pi/2 + t is exact to 112 bits behind the point, the sine
    of t is its series, the cosine is the root of 1 - sine^2. If the error could change a rounding,
    which it does for one angle in a thousand million, more bits are taken.
    """
    numerator, denominator = x.as_integer_ratio()
    whole = max(0, numerator.bit_length() - denominator.bit_length())
    bits = FIRST_BITS + whole + max(0, denominator.bit_length() - numerator.bit_length())
    while True:
        one, half_turn = 1 << bits, _half_pi(bits + whole)
        shifted = (numerator << (bits + whole)) // denominator
        n = (2 * shifted + half_turn) // (2 * half_turn)
        t = (shifted - n * half_turn) >> whole
        sine = term = t
        square, k = (t * t) >> bits, 1
        while term:
            term = -((term * square) >> bits) // ((k + 1) * (k + 2))
            sine += term
            k += 2
        cosine = math.isqrt(one * one - sine * sine)
        turned = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[n % 4]
        found = [_nearest(value, bits) for value in turned]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
        bits += MORE_BITS


def _nearest(value: int, bits: int) -> float | None:
    """Nearest double to value / 2^bits; None if an error of 2^-bits times 4096 could change it."""
    low, high = (value - 4096) / (1 << bits), (value + 4096) / (1 << bits)
    return low if low == high else None


@functools.lru_cache(maxsize=64)
def _half_pi(bits: int) -> int:
    """Value of 2^bits pi/2, to an error below 1: Machin's 16 atan(1/5) - 4 atan(1/239)."""
    one = 1 << (bits + 16)

    def arc(x: int) -> int:
        power = total = one // x
        k, sign = 1, 1
        while power:
            power //= x * x
            k, sign = k + 2, -sign
            total += sign * (power // k)
        return total

    return (8 * arc(5) - 2 * arc(239)) >> 16


def _float_exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _float_log(x: float) -> float:
    if x == 0:
        return -math.inf
    return math.log(x) if not x < 0 else math.nan


def _float_power(x: Any, exponent: Any) -> Any:
    exact = isinstance(x, Rational) and exponent == int(exponent) and (x != 0 or exponent >= 0)
    if exact:
        return x ** int(exponent)
    with np.errstate(all="ignore"):  # infinity and NaN are results
        return float(np.power(float(x), float(exponent)))


def _mpmath_log(x: Any) -> Any:
    import mpmath

    return mpmath.nan if x < 0 else mpmath.log(x)


def _mpmath_power(x: Any, exponent: Any) -> Any:
    import mpmath

    if exponent == int(exponent):
        exponent = int(exponent)
    elif x < 0:
        return mpmath.nan
    return mpmath.inf if x == 0 and exponent < 0 else x**exponent


def _sympy_power(x: Any, exponent: Any) -> Any:
    import sympy

    # binary fractions such as 0.5 and 2.5 stay exact: x^(5/2)
    short: Any = sympy.Rational(exponent)
    return x ** (short if short.q <= 2 else sympy.sympify(exponent))


def _smaller(x: Any, y: Any) -> Any:
    return x if x < y or x != x else y


def _larger(x: Any, y: Any) -> Any:
    return x if x > y or x != x else y


@elementwise
def _any_power(x: Any, exponent: Any) -> Any:
    """Power with any exponent; x > 0 where the exponent is not a plain number."""
    return power(x, exponent) if home(exponent) is math else exp(exponent * log(x))


# NumPy's functions by name, for kinds that NumPy asks about them
NUMPY: dict[str, Callable[..., Any]] = {
    **{name: globals()[name] for name in ("sin", "cos", "sqrt", "exp", "log", "tanh")},
    **{name: globals()[name] for name in ("sign", "absolute", "minimum", "maximum", "clip")},
    "fabs": absolute,
    "power": _any_power,
    "float_power": _any_power,
    "arctan2": atan2,
    "arctan": lambda x: atan2(x, 1),
    "tan": lambda x: sin(x) / cos(x),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "hypot": lambda x, y: sqrt(x * x + y * y),
    "conjugate": lambda x: x,
    "less": elementwise(operator.lt),
    "greater": elementwise(operator.gt),
    "less_equal": elementwise(operator.le),
    "greater_equal": elementwise(operator.ge),
}
COMPARISONS = ("less", "greater", "less_equal", "greater_equal")

# module -> functions that differ there from the module's own, or that it does not have
OWN: dict[str, dict[str, Callable[..., Any]]] = {
    "math": {
        "exp": _float_exp,
        "log": _float_log,
        "power": _float_power,
        "absolute": abs,
        "minimum": _smaller,
        "maximum": _larger,
    },
    "mpmath": {
        "log": _mpmath_log,
        "power": _mpmath_power,
        "absolute": abs,
        "minimum": _smaller,
        "maximum": _larger,
    },
    "sympy": {
        "power": _sympy_power,
        "absolute": lambda x: x * sign(x),
        "minimum": lambda x, y: where(y - x, x, y),
        "maximum": lambda x, y: where(x - y, x, y),
    },
}
