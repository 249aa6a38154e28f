"""a b + c rounded once, for arrays of floats, without hardware support.

float64: the product and the sums are split into a rounded part and its exact error; the errors are
added with rounding to odd, which keeps the last rounding right (Boldo and Melquiond, Emulation of
FMA and correctly rounded sums, 2008). The few values whose exponents are too extreme for that are
computed with fractions. float32: the product is exact in float64, and one rounding to odd suffices.
"""

from fractions import Fraction
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPLIT = 134217729.0  # 2^27 + 1 cuts 53 bits into halves
SMALL, LARGE = 2.0**-900, 2.0**900  # products in between have exact errors
FACTOR_LARGE = 2.0**990  # factors below can be split


def fma(a: Any, b: Any, c: Any) -> Any:
    """Elementwise a b + c with one rounding; arrays or scalars of float64, or all of float32."""
    if isinstance(a, float) and isinstance(b, float) and isinstance(c, float):
        return np.float64(exact_fma(float(a), float(b), float(c)))  # the quicker way for one
    a, b, c = np.broadcast_arrays(a, b, c)
    with np.errstate(all="ignore"):
        if a.dtype == b.dtype == c.dtype == np.float32:
            return fma32(a, b, c)
        return fma64(*(x.astype(np.float64) for x in (a, b, c)))


def fma32(a: Any, b: Any, c: Any) -> Any:
    """Elementwise a b + c of float32 arrays."""
    total, error = two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return round_to_odd(total, error).astype(np.float32)[()]


def fma64(a: Array, b: Array, c: Array) -> Any:
    """Elementwise a b + c of float64 arrays."""
    high, low = two_product(a, b)
    middle, rest = two_sum(c, low)
    total, error = two_sum(high, middle)
    result = total + round_to_odd(*two_sum(rest, error))
    size = np.abs(high)
    safe = (size > SMALL) & (size < LARGE) & (np.abs(c) < LARGE)
    safe &= (np.abs(a) < FACTOR_LARGE) & (np.abs(b) < FACTOR_LARGE)
    if safe.all():
        return result[()]
    result = np.array(result)
    for k in np.argwhere(~safe):
        index = tuple(k)
        result[index] = exact_fma(float(a[index]), float(b[index]), float(c[index]))
    return result[()]


def exact_fma(a: float, b: float, c: float) -> float:
    """The same for three floats, through fractions; zeros, infinities, NaN as in IEEE 754."""
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        # a finite product that overflows must not become an infinity that meets c
        return a * b + c if not (isfinite(a) and isfinite(b)) else c
    if a == 0 or b == 0:
        return a * b + c
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        return 0.0
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return inf if total > 0 else -inf


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
