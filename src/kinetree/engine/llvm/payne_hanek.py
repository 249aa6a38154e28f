"""Sine and cosine of very large angles, one at a time: 2/pi times the angle in integers.

An angle is m 2^e with a whole m below 2^53. Only some digits of 2/pi matter for m 2^e 2/pi modulo
4: those before them give multiples of 4, those behind them are too small. 192 of them, read from a
table, leave an error of 2^-137, while no double is closer to a multiple of pi/2 than about 2^-61.
"""

from kinetree.engine.compiler.elementary import MAGNITUDE
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, REAL, TEST, Value, Vector
from kinetree.engine.compiler.sincos import EVALUATE, TWO_OVER_PI_WORDS, times_half_pi
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.sincos import limit_bits, narrow, turned, widen
from kinetree.engine.llvm.text import Floats, Writer

INFINITY_BITS = 0x7FF << 52


def digits(w: Writer, name: str, exponent: str) -> tuple[str, str, str]:
    """192 digits of 2/pi, most significant word first, from the one that e moves to weight 2."""
    # digit i of 2/pi weighs 2^-i, the wanted one is i = e - 1; 64 zeros precede digit 1
    start = w.let(f"add i64 {exponent}, 62")
    word = w.let(f"lshr i64 {start}, 6")
    shift = w.let(f"and i64 {start}, 63")
    table = w.let(f"getelementptr inbounds i64, ptr @{name}_two_over_pi, i64 {word}")
    words = [w.let(f"load i64, ptr {w.at(table, k, 'i64')}, align 8") for k in range(4)]
    a, b, c = (
        w.let(f"call i64 @llvm.fshl.i64(i64 {words[k]}, i64 {words[k + 1]}, i64 {shift})")
        for k in range(3)
    )
    return a, b, c


def product(w: Writer, m: str, factor: tuple[str, str, str]) -> tuple[str, str, str]:
    """Product m times a number of three words, modulo 2^192."""
    wide = w.let(f"zext i64 {m} to i128")
    carry = "0"
    words = []
    for word in reversed(factor[1:]):
        partial = w.let(f"mul i128 {wide}, {w.let(f'zext i64 {word} to i128')}")
        total = w.let(f"add i128 {partial}, {carry}")
        words.append(w.let(f"trunc i128 {total} to i64"))
        carry = w.let(f"lshr i128 {total}, 64")
    top = w.let(f"mul i64 {m}, {factor[0]}")
    top = w.let(f"add i64 {top}, {w.let(f'trunc i128 {carry} to i64')}")
    return top, words[1], words[0]


def fraction(f: Floats, value: tuple[str, str, str]) -> tuple[list[str], str, str]:
    """Splits a fixed-point number with two whole bits into n and a fraction in [-1/2, 1/2).

    Returns the fraction's magnitude as a sum of four doubles, the largest first, a scale with its
    sign that they still need, and n.
    """
    w = f.writer
    top, middle, bottom = value
    n = w.let(f"lshr i64 {top}, 62")
    a = w.let(f"call i64 @llvm.fshl.i64(i64 {top}, i64 {middle}, i64 2)")
    b = w.let(f"call i64 @llvm.fshl.i64(i64 {middle}, i64 {bottom}, i64 2)")
    c = w.let(f"shl i64 {bottom}, 2")
    negative = w.let(f"icmp slt i64 {a}, 0")
    flip = w.let(f"ashr i64 {a}, 63")
    n = w.let(f"sub i64 {n}, {flip}")  # a fraction of one half or more rounds up
    # complement instead of negation: the difference, 2^-192, does not matter
    a, b, c = (w.let(f"xor i64 {part}, {flip}") for part in (a, b, c))
    tiny = w.let(f"icmp eq i64 {a}, 0")
    high = w.let(f"select i1 {tiny}, i64 {b}, i64 {a}")
    rest = w.let(f"select i1 {tiny}, i64 {c}, i64 {b}")
    scale = f.select(tiny, f.number(2.0**-128), f.number(2.0**-64))
    scale = f.select(negative, f.neg(scale), scale)

    pieces: list[str] = []  # 32 bits each, so that the conversion is exact
    for word, unit in ((high, 1.0), (rest, 2.0**-64)):
        for bits, weight in (
            (f"lshr i64 {word}, 32", 2.0**32),
            (f"and i64 {word}, {2**32 - 1}", 1),
        ):
            piece = w.let(f"uitofp i64 {w.let(bits)} to double")
            pieces.append(f.mul(piece, f.number(unit * weight)))
    return pieces, scale, n


def reduce_any(f: Floats, name: str, bits: str) -> tuple[str, str, str]:
    """t, low and n with |x| = n pi/2 + t + low, from the bits of a finite |x| of 2^17 or more."""
    w = f.writer
    exponent = w.let(f"sub i64 {w.let(f'lshr i64 {bits}, 52')}, 1075")
    m = w.let(f"and i64 {bits}, {2**52 - 1}")
    m = w.let(f"or i64 {m}, {2**52}")
    pieces, scale, n = fraction(f, product(w, m, digits(w, name, exponent)))
    t, low = times_half_pi(f, pieces)
    return f.mul(t, scale), f.mul(low, scale), n


def emit_table(name: str) -> str:
    """The digits of 2/pi as a constant array."""
    words = ", ".join(f"i64 {word}" for word in TWO_OVER_PI_WORDS)
    count = len(TWO_OVER_PI_WORDS)
    return f"@{name}_two_over_pi = internal constant [{count} x i64] [{words}], align 64\n"


def emit_payne_hanek(name: str, dtype: str) -> str:
    """Text of `@{name}_sincos_payne_hanek(ptr x, ptr s, ptr c, i64 count)`.

    Of `count` angles at x, those beyond LIMIT are evaluated and their sines and cosines written
    to s and c, over what the short reduction wrote there.
    """
    arguments = [*((word, ADDRESS) for word in "xsc"), ("count", INTEGER)]
    function = f"{name}_sincos_payne_hanek"
    code = LlvmLoops(1, function, arguments, attributes=" cold noinline", dtype=dtype)
    x, sines, cosines = (Vector(code.arguments[word]) for word in "xsc")
    narrower, f = Floats(code.w, dtype, 1), Floats(code.w, "float64", 1)
    greatest = narrower.integer(2 ** (8 * code.scalar.size - 1) - 1)
    with code.each(0, code.arguments["count"]) as i:
        angle = x[i]
        size = narrower.on_bits("and", narrower.bits(angle.name), greatest)
        large = narrower.on_bits("icmp ugt", size, narrower.integer(limit_bits(dtype)))
        with code.when(Value(code, large, TEST)):
            wide = widen(code.w, dtype, 1, angle.name)
            bits = f.on_bits("and", f.bits(wide), f.integer(MAGNITUDE))
            finite = Value(code, f.on_bits("icmp ult", bits, f.integer(INFINITY_BITS)), TEST)
            with code.when(finite):
                t, low, n = reduce_any(f, name, bits)
                results = turned(f, *EVALUATE[dtype](f, t, low), n, wide)
                for target, result in zip((sines, cosines), results, strict=True):
                    target[i] = Value(code, narrow(code.w, dtype, 1, result), REAL)
            with code.when(~finite):  # NaN, with the flag for an invalid operation if infinite
                sines[i] = cosines[i] = angle - angle
    return code.text()
