"""Graphs computed with the bits of compiled code: the reference for emitted code.

NumPy has no fused product. float64: the product and the sums are split into a rounded part and its
exact error; the errors are added with rounding to odd, which keeps the last rounding right (Boldo
and Melquiond, Emulation of FMA and correctly rounded sums, 2008). The few values whose exponents
are too extreme for that are computed in whole numbers. float32: the product is exact in float64,
and one rounding to odd suffices. sin, cos, exp, log, tanh and atan2 run the operations of
`compiler.sincos` and `compiler.elementary`.
"""

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.graph import Graph, Sweep
from kinetree.engine.compiler.interpret import gather, parted, prepare
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.compiler.sincos import (
    EVALUATE,
    LIMIT,
    REDUCE,
    turn,
)

Array = np.ndarray
WORD = 2**64
_DOUBLE, _INTEGER = struct.Struct("<d"), struct.Struct("<Q")
SPLIT = 134217729.0  # 2^27 + 1 cuts 53 bits into halves
SMALL, LARGE = 2.0**-900, 2.0**900  # products in between have exact errors
FACTOR_LARGE = 2.0**990  # factors below can be split


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
    fma: Any = staticmethod(exact_fma)
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


def sincos(f: Any, x: Any, size: Any, small: Any, dtype: str) -> tuple[Any, Any]:
    """Sine and cosine of x, in float64, where `small` is set: size = |x| is at most LIMIT."""
    t, low, n = REDUCE[dtype](f, size, small)
    sine, cosine = EVALUATE[dtype](f, t, low)
    odd = f.on_bits("icmp eq", f.on_bits("and", n, f.integer(1)), f.integer(1))
    return turn(f, sine, cosine, n, odd, x)


def sine_and_cosine(x: float, dtype: str = "float64") -> tuple[float, float]:
    """Sine and cosine of a float; those of a float32 are still to be rounded to it."""
    size = abs(x)
    if size <= LIMIT[dtype]:
        return sincos(FloatArithmetic(), x, size, True, dtype)
    if math.isfinite(x):
        return math.sin(x), math.cos(x)  # of the C library, as in compiled code
    return x - x, x - x  # NaN


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


MEANING: dict[str, Callable[..., Any]] = {
    "fma": fma,
    "fms": lambda a, b, c: fma(a, b, -c),
    "fnma": lambda a, b, c: fma(-a, b, c),
    "sin": lambda x: sincos_value(x)[0],
    "cos": lambda x: sincos_value(x)[1],
    "exp": lambda x: elementary_value("exp", x),
    "log": lambda x: elementary_value("log", x),
    "tanh": lambda x: elementary_value("tanh", x),
    "atan2": lambda y, x: elementary_value("atan2", y, x),
}


def interpret(graph: Graph, *arrays: Any) -> tuple[Array, ...]:
    """As `kinetree.engine.interpret`, with the bits of compiled code."""
    batch, dtype, inputs = prepare(graph, arrays)
    with np.errstate(all="ignore"):
        values = run(graph, [[x[..., k] for k in range(x.shape[-1])] for x in inputs], dtype.type)
    parts = parted(graph.outputs, values)
    return tuple(gather(p, x, batch, dtype) for p, x in zip(graph.outputs, parts, strict=True))


def run(graph: Graph, inputs: Any, constant: Any) -> list[Any]:
    """The elements of all outputs."""
    values: list[Any] = []
    for op, args, value in graph.nodes:
        given = [values[arg] for arg in args]
        if op == "const":
            values.append(constant(value))
        elif op == "input":
            values.append(inputs[value[0]][value[1]])
        elif isinstance(value, Sweep):
            carried, others = given[: value.carried], given[value.carried :]
            fixed, results = others[: value.fixed], []
            for k in range(value.rounds):
                if not value.scans and not np.any(carried[0] > 0):
                    break
                at = value.fixed + k * value.row
                row = [others[at : at + value.row]] * value.scans
                made = run(value.graph, (carried, fixed, *row), constant)
                carried = made[: value.carried]
                results += made[value.carried :]
            values.append([*carried, *results])
        elif op == "carried":
            values.append(given[0][value[1]])
        else:
            values.append(MEANING.get(op, OPERATIONS[op].numpy)(*given))
    return [values[node] for node in graph.roots()]
