"""Sine and cosine together, on vectors: the operations of `compiler.sincos` as LLVM IR.

Angles beyond `LIMIT` are computed again, one by one, by `sin` and `cos` of the C library. Until
then t is zero there, so that no flag is raised for their sake. No comparison of vectors raises a
floating-point flag for a NaN.
"""

import struct
from collections.abc import Iterable

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, REAL, Value, Vector
from kinetree.engine.compiler.sincos import EVALUATE, LIMIT, REDUCE, turn
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.text import SCALARS, Floats, Writer, vector

# bytes of a vector from which comparisons of x86 (AVX-512) have registers of their own for masks
MASKED = 64

# vectors of angles that are evaluated at a time
GROUP = 4


def limit_bits(dtype: str) -> int:
    """The bits of LIMIT as an integer; those of a greater magnitude, inf and NaN are greater."""
    number, integer = {"float64": ("<d", "<q"), "float32": ("<f", "<i")}[dtype]
    (bits,) = struct.unpack(integer, struct.pack(number, LIMIT[dtype]))
    return bits


def large_angles(name: str, dtype: str) -> str:
    """Text of `@{name}_large_angles(ptr x, ptr s, ptr c, i64 count)`.

    Of `count` angles at x, those beyond LIMIT, NaN among them, get their sines and cosines at s and
    c, over what the short reduction wrote there.
    """
    arguments = [*((word, ADDRESS) for word in "xsc"), ("count", INTEGER)]
    function = f"{name}_large_angles"
    code = LlvmLoops(1, function, arguments, attributes=" cold noinline", dtype=dtype)
    x, *results = (Vector(code.arguments[word]) for word in "xsc")
    with code.each(0, code.arguments["count"]) as i:
        angle = x[i]
        with code.when(~((angle <= LIMIT[dtype]) & (angle >= -LIMIT[dtype]))):
            wide = widen(code.w, dtype, 1, angle.name)
            for result, called in zip(results, ("sin", "cos"), strict=True):
                value = code.w.let(f"call double @{called}(double {wide})")
                result[i] = Value(code, narrow(code.w, dtype, 1, value), REAL)
    return code.text()


def emit_sines(name: str, dtype: str, lanes: int, counts: Iterable[int]) -> list[str]:
    """Text of all functions for sines; counts: how many vectors of angles go into one call."""
    sizes = sorted(set(counts))
    texts = [emit_sincos(name, dtype, lanes, count) for count in sizes]
    return [large_angles(name, dtype), *texts] if sizes else []


def turned(
    f: Floats, sine: str, cosine: str, n: str, x: str, masked: bool = False
) -> tuple[str, str]:
    """Sine and cosine of n pi/2 + t from those of t, with the mask of odd n made first.

    `masked`: the processor tests a bit and keeps the result in a register for masks, in one step.
    """
    if masked:
        odd = f.on_bits("icmp ne", f.on_bits("and", n, f.integer(1)), f.integer(0))
    else:
        odd = f.writer.let(f"trunc {f.integers} {n} to {f.masks}")
    return turn(f, sine, cosine, n, odd, x)


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
    floats, f = Floats(w, dtype, lanes), Floats(w, "float64", lanes)
    size = SCALARS[dtype].size
    px, ps, pc = (f"%{p}{member}" for p in "xsc")
    x = w.let(f"load {floats.type}, ptr {px}, align {size * lanes}")
    magnitude = floats.on_bits("and", floats.bits(x), floats.integer(2 ** (8 * size - 1) - 1))
    small = floats.on_bits("icmp ule", magnitude, floats.integer(limit_bits(dtype)))
    t, low, n = REDUCE[dtype](f, widen(w, dtype, lanes, floats.from_bits(magnitude)), small)
    sine, cosine = EVALUATE[dtype](f, t, low)
    masked = size * lanes >= MASKED
    sine, cosine = turned(f, sine, cosine, n, widen(w, dtype, lanes, x), masked)
    for value, pointer in ((sine, ps), (cosine, pc)):
        value = narrow(w, dtype, lanes, value)
        w.do(f"store {floats.type} {value}, ptr {pointer}, align {size * lanes}")
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
  tail call void @{name}_large_angles(ptr %x, ptr %s, ptr %c, i64 {count * lanes})
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
