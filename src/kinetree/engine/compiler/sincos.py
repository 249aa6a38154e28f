"""Sine and cosine as sequences of machine operations, written once for every backend.

|x| = n pi/2 + t with |t| <= pi/4, then two polynomials. The operations are those of
`elementary.Arithmetic`: the LLVM backend writes vector code with them and CUDA writes C. Both round
alike, so they give the same bits.

float64: error below 1 ulp. The angle is reduced with three parts of pi/2, and the part `low` of t
that no double holds is carried along. float32: the angle is widened and everything happens in
float64, which leaves an error close to half an ulp.

Beyond `LIMIT` the reduction needs more digits of pi: there the C library and CUDA compute.
Angles enter as |x| and the sign returns at the end, so that sin(-0) is -0 and sin(-x) is exactly
-sin(x).

Sine and cosine on |t| <= pi/4 are t + t z S(z) and 1 - z/2 + z^2 C(z) with z = t^2; S and C are
minimax polynomials, lowest power first. `tools/sincos_coefficients.py` derives and prints them.
"""

from kinetree.engine.compiler.elementary import (
    ROUNDER,
    SIGN,
    Arithmetic,
    X,
    exact,
    polynomial,
)

# for results in float64; greatest relative error of the sine 2^-57.9
SINE_64 = exact("""
    -0x1.5555555555548p-3 0x1.111111110f730p-7 -0x1.a01a019be9217p-13 0x1.71de35552b59fp-19
    -0x1.ae5e4b83f4186p-26 0x1.5d8b559cf4183p-33
""")
# 2^-63.9 of the cosine
COSINE_64 = exact("""
    0x1.555555555554bp-5 -0x1.6c16c16c15015p-10 0x1.a01a019c8f255p-16 -0x1.27e4f7f19164fp-22
    0x1.1ee9dbcf1ca8ep-29 -0x1.8fa684a043091p-37
""")
# for results in float32, evaluated in float64; 2^-28.0
SINE_32 = exact("-0x1.5555452684253p-3 0x1.11073afad06d4p-7 -0x1.9943e0325caddp-13")
# 2^-33.0
COSINE_32 = exact("0x1.55554a1156d61p-5 -0x1.6c0c33a548168p-10 0x1.99eb9b76813eap-16")

# pi/2 = first + second + third; `second` has at most 36 bits, so that n times it is exact
# for whole n below 2^17
HALF_PI = exact("0x1.921fb54442d18p+0 0x1.1a62633140000p-54 0x1.701b839a25205p-92")
# pi/2 - first, rounded
HALF_PI_REST = float.fromhex("0x1.1a62633145c07p-54")
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")

# greatest |x| for the short reduction: n stays below 2^17 in float64, where n times the second part
# of pi/2 is exact; in float32 the two parts used leave an error of 2^-78 of a turn
LIMIT = {"float64": 131072.0, "float32": 1073741824.0}


def reduce_64(f: Arithmetic[X], x: X, small: X) -> tuple[X, X, X]:
    """Reduces 0 <= x <= LIMIT to t, low, n: x = n pi/2 + t + low, n in the low bits of an integer.

    The first product cancels exactly: x and n times the first part are multiples of 2^-53 and their
    difference is below 1. `low` is what the rounding of t left, exactly, less the third part.
    `small` is the mask of the angles up to LIMIT, and t is 0 elsewhere, so that no flag is raised
    there; AVX-512 applies it while it computes t.
    """
    first, second, third = (f.number(-part) for part in HALF_PI)
    shifted = f.fma(x, f.number(TWO_OVER_PI), f.number(ROUNDER))
    n = f.sub(shifted, f.number(ROUNDER))
    rest = f.fma(n, first, x)
    t = f.select(small, f.fma(n, second, rest), f.number(0.0))
    left = f.fma(n, second, f.sub(rest, t))
    return t, f.fma(n, third, left), f.bits(shifted)


def reduce_32(f: Arithmetic[X], x: X, small: X) -> tuple[X, X, X]:
    """The same for an angle that came from float32; `low` is not needed and is t again."""
    shifted = f.fma(x, f.number(TWO_OVER_PI), f.number(ROUNDER))
    n = f.sub(shifted, f.number(ROUNDER))
    rest = f.fma(n, f.number(-HALF_PI[0]), x)
    t = f.select(small, f.fma(n, f.number(-HALF_PI_REST), rest), f.number(0.0))
    return t, t, f.bits(shifted)


def evaluate_64(f: Arithmetic[X], t: X, low: X) -> tuple[X, X]:
    """Sine and cosine of t + low, |t| <= pi/4."""
    half, one = f.number(-0.5), f.number(1.0)
    z = f.mul(t, t)
    z2 = f.mul(z, z)
    head = f.fma(z, half, one)  # of the cosine; also close to the derivative of the sine
    small = f.fma(f.mul(t, z), polynomial(f, SINE_64, z, z2), f.mul(low, head))
    sine = f.add(t, small)
    lost = f.fma(z, half, f.sub(one, head))  # what rounding took from the head, exactly
    small = f.fma(z2, polynomial(f, COSINE_64, z, z2), lost)
    cosine = f.add(head, f.fma(f.neg(t), low, small))
    return sine, cosine


def evaluate_32(f: Arithmetic[X], t: X, low: X) -> tuple[X, X]:
    """Sine and cosine of t, |t| <= pi/4, for results in float32."""
    z = f.mul(t, t)
    z2 = f.mul(z, z)
    sine = f.fma(f.mul(t, z), polynomial(f, SINE_32, z, z2), t)
    head = f.fma(z, f.number(-0.5), f.number(1.0))
    return sine, f.fma(z2, polynomial(f, COSINE_32, z, z2), head)


REDUCE = {"float64": reduce_64, "float32": reduce_32}
EVALUATE = {"float64": evaluate_64, "float32": evaluate_32}


def turn(f: Arithmetic[X], sine: X, cosine: X, n: X, odd: X, x: X) -> tuple[X, X]:
    """Sine and cosine of n pi/2 + t from those of t; the sine takes the sign of x as well.

    An odd n makes sine and cosine change places, and one of them its sign; the second bit of n
    changes both signs. `odd` is the mask of odd n.
    """
    sign = f.integer(SIGN)
    opposite = f.from_bits(f.on_bits("xor", f.bits(sine), sign))
    s = f.bits(f.select(odd, cosine, sine))
    c = f.bits(f.select(odd, opposite, cosine))
    half = f.on_bits("shl", n, f.integer(62))
    s_turn = f.on_bits("and", f.on_bits("xor", half, f.bits(x)), sign)
    s = f.on_bits("xor", s, s_turn)
    c = f.on_bits("xor", c, f.on_bits("and", half, sign))
    return f.from_bits(s), f.from_bits(c)
