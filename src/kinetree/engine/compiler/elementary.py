"""exp, log, tanh and atan2 as sequences of machine operations, written once for every backend.

Each function is a straight line of additions, products, quotients, fused products, comparisons and
operations on the bits of float64 numbers, without tables and library calls. `Arithmetic` writes
one operation: the LLVM backend writes vector code with it, CUDA writes C++. Both perform the same
operations in the same order, so they give the same bits. Exported C and the interpreter call the
functions of their libraries. Errors stay below 1 ulp of the result (see `benchmarks/results`).
Numbers of float32 are widened and the result is rounded.

The method of each function: split the argument exactly so that a short polynomial is left
(`tools/function_coefficients.py` derives the coefficients), and carry the digits that a rounding
loses as a second number until the last addition. exp and tanh: x = n ln 2 + r. log: x = 2^k m with
m between sqrt(1/2) and sqrt(2). atan2: quotient of the smaller by the larger coordinate, less 1
above tan(pi/8).

The range of exp and tanh is limited by comparisons that let NaN pass. log has a branch for zero,
infinity, NaN, negative and subnormal numbers. atan2 selects by comparing bits.
"""
# ruff: noqa: D102 (the class `Arithmetic` describes its methods)

import struct
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

X = TypeVar("X")


class Arithmetic(Protocol[X]):
    """Operations on float64 numbers, on integers of 64 bits, and on the results of comparisons.

    number, integer: constants. add, sub, mul, div, neg: rounded to nearest. fma: a b + c, rounded
    once. select: a where the mask is set, b elsewhere. less: mask, a < b, not set for NaN.
    unordered: mask, a or b is NaN. bits, from_bits: the integer with the bits of a number, and
    back. on_bits: one of BIT_OPERATIONS, of which comparisons give a mask. rarely: the value of
    `remedy` where the mask is set, `value` elsewhere; the remedy may be left out where no number
    needs it. It has the last word in a function, and occurs once in it.
    """

    def number(self, value: float) -> X: ...
    def integer(self, value: int) -> X: ...
    def add(self, a: X, b: X) -> X: ...
    def sub(self, a: X, b: X) -> X: ...
    def mul(self, a: X, b: X) -> X: ...
    def div(self, a: X, b: X) -> X: ...
    def neg(self, a: X) -> X: ...
    def fma(self, a: X, b: X, c: X) -> X: ...
    def select(self, mask: X, a: X, b: X) -> X: ...
    def less(self, a: X, b: X) -> X: ...
    def unordered(self, a: X, b: X) -> X: ...
    def bits(self, a: X) -> X: ...
    def from_bits(self, a: X) -> X: ...
    def on_bits(self, operation: str, a: X, b: X) -> X: ...
    def rarely(self, mask: X, value: X, remedy: Callable[[], X]) -> X: ...


BIT_OPERATIONS = ("add", "sub", "and", "or", "xor", "shl", "lshr", "icmp ugt", "icmp eq")


def exact(digits: str) -> tuple[float, ...]:
    """Return doubles from hexadecimal digits, which are exact."""
    return tuple(map(float.fromhex, digits.split()))


def bits_of(value: float) -> int:
    """Return the bits of a double as an integer, negative for a negative double."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


# greatest relative error 2^-57.12
EXP = exact("""
    0x1.5555555555501p-3 0x1.5555555553209p-5 0x1.11111111289fbp-7 0x1.6c16c17cc2605p-10
    0x1.a01a011b7b3d5p-13 0x1.a019ab372d308p-16 0x1.71df581e7b3c9p-19 0x1.289f7ae26960cp-22
    0x1.ad186cd6c9644p-26
""")
# 2^-61.0, for tanh, which needs e^x - 1
EXP_FOR_TANH = exact("""
    0x1.555555555555ap-3 0x1.555555555549cp-5 0x1.111111110f0b3p-7 0x1.6c16c16c4bf7ap-10
    0x1.a01a01b2b0b72p-13 0x1.a01a01132c117p-16 0x1.71ddf0470eb1ep-19 0x1.27e53d0bb1c32p-22
    0x1.af6e1891c4f52p-26 0x1.1febfbfa009fdp-29
""")
# greatest relative error 2^-59.5
LOG = exact("""
    0x1.5555555555592p-1 0x1.999999997ff62p-2 0x1.24924941db5e1p-2 0x1.c71c521a044f4p-3
    0x1.74663ba83b93ep-3 0x1.39a20b1881272p-3 0x1.2f025775cbb97p-3
""")
# greatest relative error 2^-63.85
ATAN = exact("""
    -0x1.5555555555554p-2 0x1.9999999999584p-3 -0x1.249249246f58dp-3 0x1.c71c71b458cedp-4
    -0x1.745d14504726ap-4 0x1.3b1364f00d587p-4 -0x1.110beb74e33d8p-4 0x1.e167bb3e5dd83p-5
    -0x1.ab3bf2d41f3e0p-5 0x1.6fe4eca76ba88p-5 -0x1.0fd54d01e8f9ep-5 0x1.e84ca4d75aceap-7
""")
LN2 = exact("0x1.62e42fefa3000p-1 0x1.3de6af278ece6p-42")
QUARTER_PI = exact("0x1.921fb54442d18p-1 0x1.1a62633145c07p-55")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
TAN_PI_8 = float.fromhex("0x1.a827999fcef32p-2")
SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")

ROUNDER = 1.5 * 2.0**52  # adding it rounds to a whole number, which is then in the lowest bits
SIGN = -(2**63)
MAGNITUDE = 2**63 - 1
FRACTION = 2**52 - 1
INFINITY = bits_of(float("inf"))
BIAS = 1023  # of exponents
LOG_SMALLEST = bits_of(SQRT_HALF * 2.0**-1021)  # of the numbers without a branch in log
# beyond them exp is infinite or 0, and tanh is 1 or -1; the reduction is exact up to there
EXP_LIMIT, TANH_LIMIT = 746.0, 20.0


def polynomial(f: Arithmetic[X], c: tuple[float, ...], z: X, z2: X) -> X:
    """Value of c[0] + c[1] z + ..., two powers at a time; z2 = z^2."""
    pairs = [
        f.fma(z, f.number(c[k + 1]), f.number(c[k])) if k + 1 < len(c) else f.number(c[k])
        for k in range(0, len(c), 2)
    ]
    value = pairs.pop()
    while pairs:
        value = f.fma(z2, value, pairs.pop())
    return value


def fast_two_sum(f: Arithmetic[X], a: X, b: X) -> tuple[X, X]:
    """Sum and its rounding error, exactly, where |a| >= |b| or a = 0."""
    total = f.add(a, b)
    return total, f.sub(b, f.sub(total, a))


def at_most(f: Arithmetic[X], x: X, limit: float) -> X:
    """The number x, or the limit where x is greater; NaN stays."""
    edge = f.number(limit)
    return f.select(f.less(edge, x), edge, x)


def magnitude(f: Arithmetic[X], x: X) -> X:
    """The bits of |x|; infinity and NaN have the greatest."""
    return f.on_bits("and", f.bits(x), f.integer(MAGNITUDE))


def with_sign(f: Arithmetic[X], x: X, of: X) -> X:
    """A number x >= 0 with the sign of another one."""
    sign = f.on_bits("and", f.bits(of), f.integer(SIGN))
    return f.from_bits(f.on_bits("or", f.bits(x), sign))


def power_of_two(f: Arithmetic[X], exponent: X) -> X:
    """Return 2^(exponent - BIAS) for an integer whose 12 lowest bits are between 1 and 2046."""
    return f.from_bits(f.on_bits("shl", exponent, f.integer(52)))


def reduced_exponential(
    f: Arithmetic[X], x: X, series: tuple[float, ...], offset: int
) -> tuple[X, X, X]:
    """Split exp(x) = 2^n (1 + high + low), |x| <= EXP_LIMIT; n + offset is in the 12 lowest bits.

    n LN2[0] is exact, since LN2[0] has 41 bits; x and it cancel exactly.
    """
    rounder = f.number(ROUNDER + offset)
    shifted = f.fma(x, f.number(LOG2_E), rounder)
    n = f.sub(shifted, rounder)
    high = f.fma(n, f.number(-LN2[0]), x)
    low = f.mul(n, f.number(-LN2[1]))
    r, lost = fast_two_sum(f, high, low)
    low = f.fma(r, lost, low)  # the slope of what follows times the error of r
    square = f.mul(r, r)
    return f.bits(shifted), high, f.fma(square, polynomial(f, (0.5, *series), r, square), low)


def exp(f: Arithmetic[X], x: X) -> X:
    """Return e^x: 0 below the range of doubles, infinity above it."""
    x = at_most(f, x, EXP_LIMIT)
    least = f.number(-EXP_LIMIT)
    x = f.select(f.less(x, least), least, x)
    both, high, low = reduced_exponential(f, x, EXP, 2 * BIAS)
    head, lost = fast_two_sum(f, f.number(1.0), high)
    value = f.add(head, f.add(lost, low))
    # two factors: 2^n itself may be beyond the range where the result is not
    first = f.on_bits("lshr", both, f.integer(1))
    second = f.on_bits("sub", both, first)
    return f.mul(f.mul(value, power_of_two(f, first)), power_of_two(f, second))


def log(f: Arithmetic[X], x: X) -> X:
    """Natural logarithm: -infinity at 0, NaN below it."""
    above = f.on_bits("sub", f.bits(x), f.integer(LOG_SMALLEST))
    rare = f.on_bits("icmp ugt", above, f.integer(INFINITY - LOG_SMALLEST - 1))
    return f.rarely(rare, normal_log(f, above, BIAS), lambda: special_log(f, x))


def normal_log(f: Arithmetic[X], above: X, bias: int) -> X:
    """Return log(x 2^(BIAS - bias)) of a number x, finite and not below LOG_SMALLEST.

    above: the bits of x less those of LOG_SMALLEST. log(m) = t - s t + s z L(z) with t = m - 1,
    s = t / (m + 1) and z = s^2.
    """
    fraction = f.on_bits("and", above, f.integer(FRACTION))
    m = f.from_bits(f.on_bits("add", fraction, f.integer(bits_of(SQRT_HALF))))
    # the exponent as a number: in the lowest bits of 2^52, which is subtracted
    whole = f.on_bits("lshr", above, f.integer(52))
    whole = f.from_bits(f.on_bits("or", whole, f.integer(bits_of(2.0**52))))
    k = f.sub(whole, f.number(2.0**52 + bias - 2))
    t = f.sub(m, f.number(1.0))
    s = f.div(t, f.add(m, f.number(1.0)))
    z = f.mul(s, s)
    head, lost = fast_two_sum(f, f.mul(k, f.number(LN2[0])), t)
    small = f.fma(k, f.number(LN2[1]), lost)
    small = f.fma(f.mul(s, z), polynomial(f, LOG, z, f.mul(z, z)), small)
    return f.add(head, f.fma(f.neg(s), t, small))


def special_log(f: Arithmetic[X], x: X) -> X:
    """Logarithm of infinity, NaN, or a number below LOG_SMALLEST."""
    large = f.bits(f.mul(x, f.number(2.0**54)))
    value = normal_log(f, f.on_bits("sub", large, f.integer(LOG_SMALLEST)), BIAS + 54)
    beyond = f.select(f.less(x, f.number(0.0)), f.number(float("nan")), x)
    value = f.select(f.on_bits("icmp ugt", f.bits(x), f.integer(INFINITY - 1)), beyond, value)
    zero = f.on_bits("icmp eq", magnitude(f, x), f.integer(0))
    return f.select(zero, f.number(float("-inf")), value)


def tanh(f: Arithmetic[X], x: X) -> X:
    """Hyperbolic tangent (e - 1) / (e + 1) of e = exp(2 |x|), with the sign of x."""
    size = at_most(f, f.from_bits(magnitude(f, x)), TANH_LIMIT)
    n, high, low = reduced_exponential(f, f.add(size, size), EXP_FOR_TANH, BIAS)
    high, low = fast_two_sum(f, high, low)  # low must be below the last digit of high from here on
    scale = power_of_two(f, n)
    high, low = f.mul(high, scale), f.mul(low, scale)
    above, below = [sum_with_unit(f, scale, unit, high, low) for unit in (-1.0, 1.0)]
    value, correction = quotient(f, above, below)
    return with_sign(f, f.add(value, correction), x)


def sum_with_unit(f: Arithmetic[X], scale: X, unit: float, high: X, low: X) -> tuple[X, X]:
    """Sum of scale >= 1, a unit, high and low as two numbers; |high| < scale."""
    first, lost = fast_two_sum(f, scale, f.number(unit))
    total, left = fast_two_sum(f, first, high)
    return total, f.add(f.add(lost, left), low)


def quotient(f: Arithmetic[X], above: tuple[X, X], below: tuple[X, X]) -> tuple[X, X]:
    """Quotient of two sums of two numbers, and its correction."""
    inverse = f.div(f.number(1.0), below[0])
    value = f.mul(above[0], inverse)
    rest = f.fma(f.neg(value), below[0], above[0])
    rest = f.add(rest, f.fma(f.neg(value), below[1], above[1]))
    return value, f.mul(rest, inverse)


def atan2(f: Arithmetic[X], y: X, x: X) -> X:
    """Angle of the point (x, y), from -pi to pi; signs of zeros and infinities count as in C."""
    ay, ax = magnitude(f, y), magnitude(f, x)
    steep = f.on_bits("icmp ugt", ay, ax)  # |y| > |x|
    far = f.select(steep, f.from_bits(ay), f.from_bits(ax))
    near = f.select(steep, f.from_bits(ax), f.from_bits(ay))
    far, near = tamed(f, far, near)
    # beyond tan(pi/8) the quotient is (near - far) / (near + far), which lies pi/4 lower
    edge = f.bits(f.mul(far, f.number(TAN_PI_8)))
    wide = f.on_bits("icmp ugt", f.bits(near), edge)
    minus, minus_low = fast_two_sum(f, f.neg(far), near)
    plus, plus_low = fast_two_sum(f, far, near)
    zero = f.number(0.0)
    above = f.select(wide, minus, near), f.select(wide, minus_low, zero)
    below = f.select(wide, plus, far), f.select(wide, plus_low, zero)
    t, low = quotient(f, above, below)
    z = f.mul(t, t)
    small = f.fma(f.mul(t, z), polynomial(f, ATAN, z, f.mul(z, z)), low)
    # angle = turns pi/4 + sense (t + small); the turns are 0, 1, 2, 3 or 4
    turns = f.select(wide, f.number(1.0), zero)
    turns = f.select(steep, f.sub(f.number(2.0), turns), turns)
    left = f.on_bits("icmp ugt", f.bits(x), f.integer(MAGNITUDE))  # the sign of x, also of -0
    turns = f.select(left, f.sub(f.number(4.0), turns), turns)
    sense = f.select(steep, f.number(-1.0), f.number(1.0))
    sense = f.select(left, f.neg(sense), sense)
    base = f.mul(turns, f.number(QUARTER_PI[0]))
    base_low = f.fma(turns, f.number(QUARTER_PI[0]), f.neg(base))
    base_low = f.fma(turns, f.number(QUARTER_PI[1]), base_low)
    head, lost = fast_two_sum(f, base, f.mul(sense, t))
    angle = f.add(head, f.add(lost, f.fma(sense, small, base_low)))
    return f.select(f.unordered(y, x), f.add(y, x), with_sign(f, angle, y))


def tamed(f: Arithmetic[X], far: X, near: X) -> tuple[X, X]:
    """Both coordinates times a power of two, so that their quotient and its rest are exact.

    far >= near >= 0. Their quotient stays, unless it is below the range of doubles. (0, 0) becomes
    (1, 0), (infinity, infinity) becomes (1, 1) and (infinity, y) becomes (1, 0).
    """
    bits = f.bits(far)
    large = f.on_bits("icmp ugt", bits, f.integer(bits_of(2.0**400)))
    usual = f.on_bits("icmp ugt", bits, f.integer(bits_of(2.0**-200)))
    scale = f.select(usual, f.number(2.0**400), f.number(2.0**1000))
    scale = f.select(large, f.number(2.0**-200), scale)
    one, zero = f.number(1.0), f.number(0.0)
    infinite = f.on_bits("icmp ugt", bits, f.integer(INFINITY - 1))
    both = f.on_bits("icmp ugt", f.bits(near), f.integer(INFINITY - 1))
    none = f.on_bits("icmp eq", bits, f.integer(0))
    far = f.select(none, one, f.select(infinite, one, far))
    near = f.select(both, one, f.select(infinite, zero, near))
    return f.mul(far, scale), f.mul(near, scale)


# name in the graph -> its operations; the arguments follow the arithmetic
FUNCTIONS: dict[str, Callable[..., Any]] = {"exp": exp, "log": log, "tanh": tanh, "atan2": atan2}
