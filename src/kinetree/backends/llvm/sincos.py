"""Sine and cosine together, on vectors: |x| = n pi/2 + t with |t| <= pi/4, then two polynomials.

float64: error below 1 ulp. The angle is reduced with three parts of pi/2, and the part `low` of t
that no double holds is carried along. float32: the angle is widened and everything happens in
float64, which leaves an error close to half an ulp.

Beyond `LIMIT` the reduction needs more digits of pi; those lanes are computed again by the function
in `careful.py`. Until then t is zero there, so that no flag is raised for their sake. Angles enter
as |x| and the sign returns at the end, so that sin(-0) is -0 and sin(-x) is exactly -sin(x). No
comparison here raises a floating-point flag for a NaN.

Sine and cosine on |t| <= pi/4 are t + t z S(z) and 1 - z/2 + z^2 C(z) with z = t^2; S and C are
minimax polynomials, lowest power first. `tools/sincos_coefficients.py` derives and prints them.
"""

import struct

from kinetree.backends.llvm.text import SCALARS, Floats, Writer, vector


def exact(*digits: str) -> tuple[float, ...]:
    """Return doubles from hexadecimal digits, which are exact."""
    return tuple(float.fromhex(d) for d in digits)


# for results in float64; greatest relative error of the sine 2^-57.9
SINE_64 = exact(
    "-0x1.5555555555548p-3",
    "0x1.111111110f730p-7",
    "-0x1.a01a019be9217p-13",
    "0x1.71de35552b59fp-19",
    "-0x1.ae5e4b83f4186p-26",
    "0x1.5d8b559cf4183p-33",
)
# 2^-63.9 of the cosine
COSINE_64 = exact(
    "0x1.555555555554bp-5",
    "-0x1.6c16c16c15015p-10",
    "0x1.a01a019c8f255p-16",
    "-0x1.27e4f7f19164fp-22",
    "0x1.1ee9dbcf1ca8ep-29",
    "-0x1.8fa684a043091p-37",
)
# for results in float32, evaluated in float64; 2^-28.0
SINE_32 = exact("-0x1.5555452684253p-3", "0x1.11073afad06d4p-7", "-0x1.9943e0325caddp-13")
# 2^-33.0
COSINE_32 = exact("0x1.55554a1156d61p-5", "-0x1.6c0c33a548168p-10", "0x1.99eb9b76813eap-16")

# pi/2 = first + second + third; `second` has at most 36 bits, so that n times it is exact
# for whole n below 2^17
HALF_PI = exact("0x1.921fb54442d18p+0", "0x1.1a62633140000p-54", "0x1.701b839a25205p-92")
# pi/2 - first, rounded
HALF_PI_REST = float.fromhex("0x1.1a62633145c07p-54")
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")

# the binary digits of 2/pi in words of 64 bits, most significant first, behind one word of zeros
TWO_OVER_PI_WORDS = (
    0x0000000000000000,
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)

# greatest |x| for the short reduction: n stays below 2^17 in float64, where n times the second part
# of pi/2 is exact; in float32 the two parts used leave an error of 2^-78 of a turn
LIMIT = {"float64": 131072.0, "float32": 1073741824.0}

# adding it rounds to a whole number, which is then in the lowest bits
ROUNDER = 1.5 * 2.0**52

# bytes of a vector from which comparisons of x86 (AVX-512) have registers of their own for masks
MASKED = 64

# vectors of angles that are evaluated at a time
GROUP = 4

SIGN = -(2**63)
MAGNITUDE = 2**63 - 1


def limit_bits(dtype: str) -> int:
    """The bits of LIMIT as an integer; those of a greater magnitude, inf and NaN are greater."""
    number, integer = {"float64": ("<d", "<q"), "float32": ("<f", "<i")}[dtype]
    (bits,) = struct.unpack(integer, struct.pack(number, LIMIT[dtype]))
    return bits


def polynomial(f: Floats, c: tuple[float, ...], z: str, z2: str) -> str:
    """Value of c[0] + c[1] z + ..., two powers at a time: a short chain for the same operations."""
    pairs = []
    for k in range(0, len(c) - 1, 2):
        pairs.append(f.fma(z, f.number(c[k + 1]), f.number(c[k])))
    if len(c) % 2:
        pairs.append(f.number(c[-1]))
    value = pairs.pop()
    while pairs:
        value = f.fma(z2, value, pairs.pop())
    return value


def reduce_64(f: Floats, x: str, small: str) -> tuple[str, str, str]:
    """Reduces 0 <= x <= LIMIT to t, low, n: x = n pi/2 + t + low, n in the low bits of an integer.

    The first product cancels exactly: x and n times the first part are multiples of 2^-53 and their
    difference is below 1. `low` is what the rounding of t left, exactly, less the third part.
    `small` is the mask of the angles up to LIMIT; AVX-512 applies it while it computes t.
    """
    first, second, third = (f.number(-part) for part in HALF_PI)
    shifted = f.fma(x, f.number(TWO_OVER_PI), f.number(ROUNDER))
    n = f.sub(shifted, f.number(ROUNDER))
    rest = f.fma(n, first, x)
    t = f.select(small, f.fma(n, second, rest), f.number(0.0))
    left = f.fma(n, second, f.sub(rest, t))
    return t, f.fma(n, third, left), f.bits(shifted)


def reduce_32(f: Floats, x: str, small: str) -> tuple[str, str, str]:
    """The same for an angle that came from float32; `low` is not needed and is empty."""
    shifted = f.fma(x, f.number(TWO_OVER_PI), f.number(ROUNDER))
    n = f.sub(shifted, f.number(ROUNDER))
    rest = f.fma(n, f.number(-HALF_PI[0]), x)
    t = f.select(small, f.fma(n, f.number(-HALF_PI_REST), rest), f.number(0.0))
    return t, "", f.bits(shifted)


def evaluate_64(f: Floats, t: str, low: str) -> tuple[str, str]:
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


def evaluate_32(f: Floats, t: str, low: str) -> tuple[str, str]:
    """Sine and cosine of t, |t| <= pi/4, for results in float32."""
    z = f.mul(t, t)
    z2 = f.mul(z, z)
    sine = f.fma(f.mul(t, z), polynomial(f, SINE_32, z, z2), t)
    head = f.fma(z, f.number(-0.5), f.number(1.0))
    return sine, f.fma(z2, polynomial(f, COSINE_32, z, z2), head)


def turn(
    f: Floats, sine: str, cosine: str, n: str, x: str, masked: bool = False
) -> tuple[str, str]:
    """Sine and cosine of n pi/2 + t from those of t; the sine takes the sign of x as well.

    An odd n makes sine and cosine change places, and one of them its sign; the second bit of n
    changes both signs.

    `masked`: the processor tests a bit and keeps the result in a register for masks, in one step.
    """
    sign = f.integer(SIGN)
    if masked:
        odd = f.on_bits("icmp ne", f.on_bits("and", n, f.integer(1)), f.integer(0))
    else:
        odd = f.writer.let(f"trunc {f.integers} {n} to {f.masks}")
    opposite = f.from_bits(f.on_bits("xor", f.bits(sine), sign))
    s = f.bits(f.select(odd, cosine, sine))
    c = f.bits(f.select(odd, opposite, cosine))
    half = f.on_bits("shl", n, f.integer(62))
    s_turn = f.on_bits("and", f.on_bits("xor", half, f.bits(x)), sign)
    s = f.on_bits("xor", s, s_turn)
    c = f.on_bits("xor", c, f.on_bits("and", half, sign))
    return f.from_bits(s), f.from_bits(c)


REDUCE = {"float64": reduce_64, "float32": reduce_32}
EVALUATE = {"float64": evaluate_64, "float32": evaluate_32}


def widen(writer: Writer, dtype: str, lanes: int, x: str) -> str:
    """The angle in float64."""
    if dtype == "float64":
        return x
    return writer.let(f"fpext {vector('float', lanes)} {x} to {vector('double', lanes)}")


def narrow(writer: Writer, dtype: str, lanes: int, x: str) -> str:
    """A float64 result rounded to the dtype."""
    if dtype == "float64":
        return x
    return writer.let(f"fptrunc {vector('double', lanes)} {x} to {vector('float', lanes)}")


def chain(dtype: str, lanes: int, member: int) -> tuple[list[str], str]:
    """Statements for vector %x{member} of angles, and the mask of those up to LIMIT."""
    w = Writer(f"v{member}_")
    own, f = Floats(w, dtype, lanes), Floats(w, "float64", lanes)
    size = SCALARS[dtype].size
    px, ps, pc = (f"%{p}{member}" for p in "xsc")
    x = w.let(f"load {own.type}, ptr {px}, align {size * lanes}")
    magnitude = own.on_bits("and", own.bits(x), own.integer(2 ** (8 * size - 1) - 1))
    small = own.on_bits("icmp ule", magnitude, own.integer(limit_bits(dtype)))
    t, low, n = REDUCE[dtype](f, widen(w, dtype, lanes, own.from_bits(magnitude)), small)
    sine, cosine = EVALUATE[dtype](f, t, low)
    masked = size * lanes >= MASKED
    sine, cosine = turn(f, sine, cosine, n, widen(w, dtype, lanes, x), masked)
    for value, pointer in ((sine, ps), (cosine, pc)):
        value = narrow(w, dtype, lanes, value)
        w.do(f"store {own.type} {value}, ptr {pointer}, align {size * lanes}")
    return w.lines, small


def emit_sincos(name: str, dtype: str, lanes: int, count: int) -> str:
    """Text of `@{name}_sincos{count}(ptr x, ptr s, ptr c)`.

    Reads `count` vectors of angles at x and writes their sines to s and cosines to c, all aligned
    to a vector. The vectors take turns, statement by statement: a chain of operations that wait for
    each other leaves the processor time for other chains.
    """
    chains = [chain(dtype, lanes, member) for member in range(count)]
    kind = vector(SCALARS[dtype].word, lanes)
    body = [
        f"  %{p}{member} = getelementptr inbounds {kind}, ptr %{p}, i64 {member}"
        for p in "xsc"
        for member in range(count)
    ]
    for together in zip(*(lines for lines, _ in chains), strict=True):
        body.extend(together)
    w = Writer("m")
    masks, every = vector("i1", lanes), chains[0][1]
    for _, small in chains[1:]:
        every = w.let(f"and {masks} {every}, {small}")
    packed = w.let(f"bitcast {masks} {every} to i{lanes}")
    some = w.let(f"icmp ne i{lanes} {packed}, -1")
    text = "\n".join(body + w.lines)
    return f"""\
define internal void @{name}_sincos{count}(ptr noalias %x, ptr noalias %s, ptr noalias %c) \
"stackrealign" {{
{text}
  br i1 {some}, label %beyond, label %done, !prof !0
beyond:
  tail call void @{name}_sincos_careful(ptr %x, ptr %s, ptr %c, i64 {count * lanes})
  br label %done
done:
  ret void
}}
"""


def shares(count: int) -> list[int]:
    """Divide `count` vectors among calls, as evenly as possible, GROUP at most."""
    calls = -(-count // GROUP)
    return [count // calls + (k < count % calls) for k in range(calls)]


def call_sincos(name: str, dtype: str, lanes: int, count: int, pointers: list[str]) -> list[str]:
    """Statements that evaluate `count` vectors of angles; pointers to x, s and c."""
    w = Writer(pointers[1].lstrip("%") + "_")
    done = 0
    for share in shares(count):
        step = done * lanes * SCALARS[dtype].size
        arguments = ", ".join(f"ptr {w.at(p, step)}" for p in pointers)
        w.do(f"call void @{name}_sincos{share}({arguments})")
        done += share
    return w.lines
