"""exp, log, tanh and atan2 as sequences of machine operations, written once for every backend.

Each function is a straight line of additions, products, quotients, fused products and operations on
the bits of float64 numbers, without branches, tables and library calls. `Arithmetic` writes or runs
one operation: the LLVM backend writes vector code with it, CUDA and exported C write C, and the
interpreter computes with NumPy. All of them perform the same operations in the same order, so they
give the same bits; so does a constant that is folded while tracing. Errors stay below 1 ulp of the
result (see `benchmarks/results`). Numbers of float32 are widened and the result is rounded.

The method of each function: split the argument exactly so that a short polynomial is left
(`tools/function_coefficients.py` derives the coefficients), and carry the digits that a rounding
loses as a second number until the last addition. exp and tanh: x = n ln 2 + r. log: x = 2^k m with
m between sqrt(1/2) and sqrt(2). atan2: quotient of the smaller by the larger coordinate, less 1
above tan(pi/8).

Zeros, infinities and NaN are selected by comparing bits, which raises no floating-point flag.
"""
# ruff: noqa: D102 (the class `Arithmetic` describes its methods)

import struct
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

X = TypeVar("X")


class Arithmetic(Protocol[X]):
    """Operations on float64 numbers, on integers of 64 bits, and on the results of comparisons.

    number, integer: constants. add, sub, mul, div, neg: rounded to nearest. fma: a b + c, rounded
    once. select: a where the mask is set, b elsewhere. unordered: mask, a or b is NaN. bits,
    from_bits: the integer with the bits of a number, and back. on_bits: one of BIT_OPERATIONS, of
    which comparisons give a mask.
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
    def unordered(self, a: X, b: X) -> X: ...
    def bits(self, a: X) -> X: ...
    def from_bits(self, a: X) -> X: ...
    def on_bits(self, operation: str, a: X, b: X) -> X: ...


BIT_OPERATIONS = ("add", "sub", "and", "or", "xor", "shl", "lshr", "icmp ugt", "icmp eq")


def exact(*digits: str) -> tuple[float, ...]:
    """Return doubles from hexadecimal digits, which are exact."""
    return tuple(float.fromhex(d) for d in digits)


def bits_of(value: float) -> int:
    """Return the bits of a double as an integer, negative for a negative double."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


# greatest relative error 2^-61.0
EXP = exact(
    "0x1.555555555555ap-3",
    "0x1.555555555549cp-5",
    "0x1.111111110f0b3p-7",
    "0x1.6c16c16c4bf7ap-10",
    "0x1.a01a01b2b0b72p-13",
    "0x1.a01a01132c117p-16",
    "0x1.71ddf0470eb1ep-19",
    "0x1.27e53d0bb1c32p-22",
    "0x1.af6e1891c4f52p-26",
    "0x1.1febfbfa009fdp-29",
)
# greatest relative error 2^-66.6
LOG = exact(
    "0x1.5555555555555p-1",
    "0x1.9999999999d10p-2",
    "0x1.24924924399bep-2",
    "0x1.c71c724b41271p-3",
    "0x1.745ce1d52b4bcp-3",
    "0x1.3b20225aa9e59p-3",
    "0x1.0f67748c4f5bep-3",
    "0x1.0f0c206e4c840p-3",
)
# greatest relative error 2^-63.85
ATAN = exact(
    "-0x1.5555555555554p-2",
    "0x1.9999999999584p-3",
    "-0x1.249249246f58dp-3",
    "0x1.c71c71b458cedp-4",
    "-0x1.745d14504726ap-4",
    "0x1.3b1364f00d587p-4",
    "-0x1.110beb74e33d8p-4",
    "0x1.e167bb3e5dd83p-5",
    "-0x1.ab3bf2d41f3e0p-5",
    "0x1.6fe4eca76ba88p-5",
    "-0x1.0fd54d01e8f9ep-5",
    "0x1.e84ca4d75aceap-7",
)
LN2 = exact("0x1.62e42fefa3000p-1", "0x1.3de6af278ece6p-42")
QUARTER_PI = exact("0x1.921fb54442d18p-1", "0x1.1a62633145c07p-55")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
TAN_PI_8 = float.fromhex("0x1.a827999fcef32p-2")
SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")

ROUNDER = 1.5 * 2.0**52  # adding it rounds to a whole number, which is then in the lowest bits
SIGN = -(2**63)
MAGNITUDE = 2**63 - 1
FRACTION = 2**52 - 1
ONE = bits_of(1.0)
INFINITY = bits_of(float("inf"))
BIAS = 1023  # of exponents
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


def limited(f: Arithmetic[X], x: X, limit: float) -> X:
    """The number x, or the limit with the sign of x where |x| is greater or x is NaN."""
    bits = f.bits(x)
    beyond = f.on_bits("icmp ugt", magnitude(f, x), f.integer(bits_of(limit)))
    sign = f.on_bits("and", bits, f.integer(SIGN))
    edge = f.from_bits(f.on_bits("or", sign, f.integer(bits_of(limit))))
    return f.select(beyond, edge, x)


def magnitude(f: Arithmetic[X], x: X) -> X:
    """The bits of |x|; infinity and NaN have the greatest."""
    return f.on_bits("and", f.bits(x), f.integer(MAGNITUDE))


def with_sign(f: Arithmetic[X], x: X, of: X) -> X:
    """A number x >= 0 with the sign of another one."""
    sign = f.on_bits("and", f.bits(of), f.integer(SIGN))
    return f.from_bits(f.on_bits("or", f.bits(x), sign))


def power_of_two(f: Arithmetic[X], exponent: X) -> X:
    """Return 2^(exponent - BIAS) for an integer between 1 and 2046."""
    return f.from_bits(f.on_bits("shl", exponent, f.integer(52)))


def reduced_exponential(f: Arithmetic[X], x: X) -> tuple[X, X, X]:
    """Split exp(x) = 2^n (1 + high + low), |x| <= EXP_LIMIT; n is an integer.

    n LN2[0] is exact, since LN2[0] has 41 bits; x and it cancel exactly.
    """
    shifted = f.fma(x, f.number(LOG2_E), f.number(ROUNDER))
    n = f.sub(shifted, f.number(ROUNDER))
    rest = f.fma(n, f.number(-LN2[0]), x)
    r = f.fma(n, f.number(-LN2[1]), rest)
    lost = f.fma(n, f.number(-LN2[1]), f.sub(rest, r))
    half = f.mul(r, f.number(0.5))
    square = f.mul(r, r)
    quadratic = f.mul(half, r)
    rounding = f.fma(half, r, f.neg(quadratic))
    cubic = f.fma(f.mul(square, r), polynomial(f, EXP, r, square), f.add(lost, rounding))
    high, low = fast_two_sum(f, r, quadratic)
    return f.on_bits("sub", f.bits(shifted), f.integer(bits_of(ROUNDER))), high, f.add(low, cubic)


def exp(f: Arithmetic[X], x: X) -> X:
    """Return e^x: 0 below the range of doubles, infinity above it."""
    nan = f.unordered(x, x)
    size = f.select(nan, f.number(0.0), limited(f, x, EXP_LIMIT))  # the limit would raise a flag
    n, high, low = reduced_exponential(f, size)
    head, lost = fast_two_sum(f, f.number(1.0), high)
    value = f.add(head, f.add(lost, low))
    # two factors: 2^n itself may be beyond the range where the result is not
    both = f.on_bits("add", n, f.integer(2 * BIAS))
    first = f.on_bits("lshr", both, f.integer(1))
    second = f.on_bits("sub", both, first)
    value = f.mul(f.mul(value, power_of_two(f, first)), power_of_two(f, second))
    return f.select(nan, x, value)


def log(f: Arithmetic[X], x: X) -> X:
    """Natural logarithm: -infinity at 0, NaN below it."""
    argument_bits = f.bits(x)
    tiny = f.on_bits("icmp ugt", f.integer(FRACTION + 1), argument_bits)  # 0 and subnormal numbers
    large = f.mul(f.select(tiny, x, f.number(1.0)), f.number(2.0**54))
    bits = f.bits(f.select(tiny, large, x))
    half = bits_of(SQRT_HALF)
    shifted = f.on_bits("add", bits, f.integer(ONE - half))
    fraction = f.on_bits("and", shifted, f.integer(FRACTION))
    m = f.from_bits(f.on_bits("add", fraction, f.integer(half)))
    # the exponent as a number: in the lowest bits of 2^52, which is subtracted
    whole = f.on_bits("lshr", shifted, f.integer(52))
    whole = f.from_bits(f.on_bits("or", whole, f.integer(bits_of(2.0**52))))
    offset = f.select(tiny, f.number(2.0**52 + BIAS + 54), f.number(2.0**52 + BIAS))
    k = f.sub(whole, offset)
    t = f.sub(m, f.number(1.0))
    s = f.div(t, f.add(t, f.number(2.0)))
    z = f.mul(s, s)
    series = f.mul(z, polynomial(f, LOG, z, f.mul(z, z)))
    half_t = f.mul(t, f.number(0.5))
    quadratic = f.mul(half_t, t)
    rounding = f.fma(half_t, t, f.neg(quadratic))
    big, lost = fast_two_sum(f, t, f.neg(quadratic))
    small = f.fma(s, f.add(quadratic, series), f.sub(lost, rounding))
    head, left = fast_two_sum(f, f.mul(k, f.number(LN2[0])), big)
    value = f.add(head, f.add(left, f.fma(k, f.number(LN2[1]), small)))
    nan = f.select(f.unordered(x, x), x, f.number(float("nan")))
    value = f.select(f.on_bits("icmp ugt", argument_bits, f.integer(INFINITY)), nan, value)
    value = f.select(f.on_bits("icmp eq", argument_bits, f.integer(INFINITY)), x, value)
    zero = f.on_bits("icmp eq", magnitude(f, x), f.integer(0))
    return f.select(zero, f.number(float("-inf")), value)


def tanh(f: Arithmetic[X], x: X) -> X:
    """Hyperbolic tangent (e - 1) / (e + 1) of e = exp(2 |x|), with the sign of x."""
    size = f.from_bits(magnitude(f, limited(f, x, TANH_LIMIT)))
    n, high, low = reduced_exponential(f, f.add(size, size))
    high, low = fast_two_sum(f, high, low)  # low must be below the last digit of high from here on
    scale = power_of_two(f, f.on_bits("add", n, f.integer(BIAS)))
    high, low = f.mul(high, scale), f.mul(low, scale)
    above, below = [sum_with_unit(f, scale, unit, high, low) for unit in (-1.0, 1.0)]
    value, correction = quotient(f, above, below)
    value = with_sign(f, f.add(value, correction), x)
    return f.select(f.unordered(x, x), x, value)


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
