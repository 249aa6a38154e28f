"""The operations of a graph on Python floats: the quick way to interpret a few states.

An operation on a NumPy array of one element takes microseconds, and a fused product, which NumPy
does not have, some sixty. Python floats are doubles with the same roundings: sums, products,
quotients and roots are those of the processor, fused products are computed in whole numbers (or by
`math.fma`, Python 3.13 and later), and sines and the other functions consist of these. So the
results have the bits of compiled kernels.

Python raises an error where IEEE 754 has infinity or NaN: for a quotient by zero, the root of a
negative number, a fused product that overflows. `interpret.py` then computes the state with NumPy.
"""

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.sincos import LIMIT, WORD, large_angle, sincos

Fused = Callable[[float, float, float], float]

TROUBLE = (ArithmeticError, ValueError)  # raised in place of infinity and NaN
_DOUBLE, _INTEGER = struct.Struct("<d"), struct.Struct("<Q")

# a, b, c whose fused product is easily wrong: rounded twice, with the sign of a zero, subnormal
HARD = (
    (1 + 2.0**-27, 1 + 2.0**-27, 2.0**-107),
    (1 + 2.0**-30, 1 - 2.0**-30, -1.0),
    (2.0**-540, -(2.0**-540), 0.0),
    (2.0**-537, 2.0**-537, -0.0),
    (2.0**-600, 1.5 * 2.0**-474, 2.0**-1074),
    (3.0, -5.0, 15.0),
    (-0.0, 5.0, 0.0),
    (-0.0, 5.0, -0.0),
    (1e308, 2.5, -1.7e308),
)


def whole_fma(a: float, b: float, c: float) -> float:
    """Return a b + c with one rounding, in whole numbers; an error beyond finite floats."""
    a_over, a_under = a.as_integer_ratio()
    b_over, b_under = b.as_integer_ratio()
    c_over, c_under = c.as_integer_ratio()
    under = a_under * b_under
    total = a_over * b_over * c_under + c_over * under
    if not total:
        return a * b + c  # the product is exact here, and the sum has the right sign of zero
    return total / (under * c_under)  # Python rounds the quotient of whole numbers once


def exact_fma(a: float, b: float, c: float) -> float:
    """Return a b + c with one rounding; zeros, infinities and NaN as in IEEE 754."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        # a finite product that overflows must not become an infinity that is added to c
        return a * b + c if not (math.isfinite(a) and math.isfinite(b)) else c
    try:
        return whole_fma(a, b, c)
    except OverflowError:
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def chosen_fma() -> Fused:
    """Return `math.fma` where Python has one that rounds rightly, otherwise `whole_fma`."""
    platform_fma: Fused | None = getattr(math, "fma", None)
    if platform_fma is None:
        return whole_fma
    for case in HARD:
        try:
            result, right = platform_fma(*case), whole_fma(*case)
        except TROUBLE:
            return whole_fma
        if _DOUBLE.pack(result) != _DOUBLE.pack(right):
            return whole_fma
    return platform_fma


fma = chosen_fma()


class FloatArithmetic:
    """The operations of `elementary.Arithmetic` on Python floats; integers are below 2^64."""

    BITS: dict[str, Callable[[int, int], int | bool]] = {  # noqa: RUF012 (never changed)
        "add": lambda a, b: (a + b) % WORD,
        "sub": lambda a, b: (a - b) % WORD,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
        "shl": lambda a, b: (a << b) % WORD,
        "lshr": operator.rshift,
        "icmp ugt": operator.gt,
        "icmp eq": operator.eq,
    }

    add: Any = staticmethod(operator.add)
    sub: Any = staticmethod(operator.sub)
    mul: Any = staticmethod(operator.mul)
    div: Any = staticmethod(operator.truediv)
    neg: Any = staticmethod(operator.neg)
    fma: Any = staticmethod(fma)
    number: Any = staticmethod(lambda value: value)
    integer: Any = staticmethod(lambda value: value % WORD)
    select: Any = staticmethod(lambda mask, a, b: a if mask else b)
    less: Any = staticmethod(operator.lt)
    unordered: Any = staticmethod(lambda a, b: a != a or b != b)
    bits: Any = staticmethod(lambda a: _INTEGER.unpack(_DOUBLE.pack(a))[0])
    from_bits: Any = staticmethod(lambda a: _DOUBLE.unpack(_INTEGER.pack(a))[0])
    rarely: Any = staticmethod(lambda mask, value, remedy: remedy() if mask else value)

    def on_bits(self, operation: str, a: Any, b: Any) -> Any:
        """An operation on integers; a comparison gives True or False."""
        return self.BITS[operation](a, b)


FLOAT = FloatArithmetic()


def sine_and_cosine(x: float, dtype: str = "float64") -> tuple[float, float]:
    """Sine and cosine of a float; those of a float32 are still to be rounded to it."""
    size = abs(x)
    if size <= LIMIT[dtype]:
        return sincos(FLOAT, x, size, True, dtype)
    if math.isfinite(x):
        return large_angle(FLOAT, x, dtype)
    return x - x, x - x  # NaN


def sign(x: float) -> float:
    """Return 1, 0 or -1; NaN of NaN."""
    return x if x != x else float((x > 0) - (x < 0))


SINGLE: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "fma": fma,
    "fms": lambda a, b, c: fma(a, b, -c),
    "fnma": lambda a, b, c: fma(-a, b, c),
    "sincos": sine_and_cosine,
    "sqrt": math.sqrt,
    "sign": sign,
    "select": lambda a, b, c: b if a > 0 else c,
    "exp": lambda x: elementary.exp(FLOAT, x),
    "log": lambda x: elementary.log(FLOAT, x),
    "tanh": lambda x: elementary.tanh(FLOAT, x),
    "atan2": lambda y, x: elementary.atan2(FLOAT, y, x),
    "abs": abs,
    "min": lambda a, b: a if a < b or a != a else b,
    "max": lambda a, b: a if a > b or a != a else b,
}
