"""Fused products, sines and other functions on arrays, with the bits of compiled code.

NumPy has no fused product. float64: the product and the sums are split into a rounded part and its
exact error; the errors are added with rounding to odd, which keeps the last rounding right (Boldo
and Melquiond, Emulation of FMA and correctly rounded sums, 2008). The few values whose exponents
are too extreme for that are computed in whole numbers. float32: the product is exact in float64,
and one rounding to odd suffices.

sin, cos, exp, log, tanh and atan2 run the operations of `sincos.py` and `elementary.py` with these
fused products.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.float_arithmetic import exact_fma, sine_and_cosine
from kinetree.engine.compiler.sincos import LIMIT, sincos

SPLIT = 134217729.0  # 2^27 + 1 cuts 53 bits into halves
SMALL, LARGE = 2.0**-900, 2.0**900  # products in between have exact errors
FACTOR_LARGE = 2.0**990  # factors below can be split


def fma(a: Array | float, b: Array | float, c: Array | float) -> Any:
    """Elementwise a b + c with one rounding; arrays or scalars of float64, or all of float32."""
    if isinstance(a, float) and isinstance(b, float) and isinstance(c, float):
        return np.float64(exact_fma(float(a), float(b), float(c)))  # the quicker way for one
    a, b, c = np.broadcast_arrays(a, b, c)
    with np.errstate(all="ignore"):
        if a.dtype == b.dtype == c.dtype == np.float32:
            return fma32(a, b, c)
        return fma64(*(x.astype(np.float64, copy=False) for x in (a, b, c)))


def fma32(a: Array, b: Array, c: Array) -> Any:
    """Elementwise a b + c of float32 arrays."""
    total, error = two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return round_to_odd(total, error).astype(np.float32)[()]


def fma64(a: Array, b: Array, c: Array) -> Any:
    """Elementwise a b + c of float64 arrays."""
    # a b = high + low and c + low = middle + rest exactly; the last sum is rounded once, because
    # its smaller part was rounded to odd
    high, low = two_product(a, b)
    middle, rest = two_sum(c, low)
    total, error = two_sum(high, middle)
    result = total + round_to_odd(*two_sum(rest, error))
    size = np.abs(high)
    safe = (size > SMALL) & (size < LARGE) & (np.abs(c) < LARGE)
    safe &= (np.abs(a) < FACTOR_LARGE) & (np.abs(b) < FACTOR_LARGE)
    zero = (a == 0) | (b == 0)  # frequent: a resting joint
    result = np.where(zero, high + c, result)
    safe |= zero
    if safe.all():
        return result[()]
    result = np.array(result)
    for k in np.argwhere(~safe):
        index = tuple(k)
        result[index] = exact_fma(float(a[index]), float(b[index]), float(c[index]))
    return result[()]


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its error: a b = high + low exactly (Dekker)."""
    high = a * b
    a1, a2 = halves(a)
    b1, b2 = halves(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def halves(a: Array) -> tuple[Array, Array]:
    """Two numbers of at most 26 bits whose sum is a (Veltkamp)."""
    t = SPLIT * a
    high = t - (t - a)
    return high, a - high


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its error: a + b = total + error exactly (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def round_to_odd(total: Array, error: Array) -> Array:
    """`total + error` rounded to odd: where inexact, the neighbour whose last bit is 1."""
    total = np.ascontiguousarray(total, dtype=np.float64)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & np.isfinite(error) & (bits & 1 == 0)
    step = np.where((error > 0) == (total > 0), 1, -1)  # away from zero or towards it
    return np.where(inexact, bits + step, bits).view(np.float64).reshape(np.shape(error))


def arrays(function: Callable[..., Any]) -> Any:
    """Make a method that returns an array, also for single numbers."""

    def compute(self: "NumpyArithmetic", *values: Array) -> Array:
        return np.asarray(function(*values))

    return compute


class NumpyArithmetic:
    """The operations of `elementary.Arithmetic` on arrays of float64."""

    BITS: dict[str, Callable[..., Any]] = {  # noqa: RUF012 (never changed)
        "add": np.add,
        "sub": np.subtract,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "shl": np.left_shift,
        "lshr": np.right_shift,
        "icmp ugt": np.greater,
        "icmp eq": np.equal,
    }

    def number(self, value: float) -> Array:
        """A constant."""
        return np.array(value)

    def integer(self, value: int) -> Array:
        """A constant integer."""
        return np.array(value % 2**64, np.uint64)

    add, sub, mul, div = map(arrays, (np.add, np.subtract, np.multiply, np.divide))
    neg, fma, select = map(arrays, (np.negative, fma, np.where))
    less = arrays(np.less)
    unordered = arrays(lambda a, b: (a != a) | (b != b))
    bits = arrays(lambda a: a.view(np.uint64))
    from_bits = arrays(lambda a: a.view(np.float64))

    def on_bits(self, operation: str, a: Array, b: Array) -> Array:
        """An operation on integers."""
        return np.asarray(self.BITS[operation](a, b))

    def rarely(self, mask: Array, value: Array, remedy: Callable[[], Array]) -> Array:
        """The remedy where the mask is set, the value elsewhere."""
        return self.select(mask, remedy(), value) if mask.any() else value


def elementary_value(name: str, *args: Array | float) -> Any:
    """Compute one of `elementary.FUNCTIONS`; the result has the type of the arguments."""
    dtype = np.result_type(*args)
    wide = [np.ascontiguousarray(x, np.float64).reshape(np.shape(x)) for x in args]
    with np.errstate(all="ignore"):
        value = elementary.FUNCTIONS[name](NumpyArithmetic(), *wide)
        return value.astype(dtype)[()]


def sincos_value(x: Array | float) -> tuple[Any, Any]:
    """Sine and cosine of float64 or float32 numbers, in their own type."""
    angles = np.asarray(x)
    dtype = "float32" if angles.dtype == np.float32 else "float64"
    wide = np.ascontiguousarray(angles, np.float64).reshape(angles.shape)
    size = np.abs(wide)
    with np.errstate(all="ignore"):
        small = size <= LIMIT[dtype]
        usual = np.where(small, size, 0.0)
        pair = sincos(NumpyArithmetic(), wide, usual, np.asarray(small), dtype)
        sine, cosine = (np.array(value) for value in pair)
        for k in map(tuple, np.argwhere(~small)):
            sine[k], cosine[k] = sine_and_cosine(float(wide[k]), dtype)
        return sine.astype(angles.dtype)[()], cosine.astype(angles.dtype)[()]
