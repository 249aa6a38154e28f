"""The reference meaning of a graph, for floats over any batch and for every other scalar kind.

When two backends disagree, this file decides which is right. It also runs kernels, slowly, where
nothing can be compiled.

Fused operations are computed here without hardware support. float64: the product and the sums are
split into a rounded part and its exact error; the errors are added with rounding to odd, which
keeps the last rounding right (Boldo and Melquiond, Emulation of FMA and correctly rounded sums,
2008). The few values whose exponents are too extreme for that are computed with fractions. float32:
the product is exact in float64, and one rounding to odd suffices.

exp, log, tanh and atan2 run the operations of `elementary.py` with these fused products, so they
have the bits of compiled kernels. sin and cos are those of NumPy, which may differ in the last bit.
"""

import operator
from collections.abc import Callable
from fractions import Fraction
from math import inf, isfinite
from typing import Any

import numpy as np

from kinetree import scalars
from kinetree.base.arrays import Array, ArrayLike
from kinetree.compiler import elementary
from kinetree.compiler.graph import Graph, Port
from kinetree.errors import ShapeError

Meaning = dict[str, Callable[..., Any]]

ARITHMETIC: Meaning = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}

FLOATS: Meaning = ARITHMETIC | {
    "fma": lambda a, b, c: fma(a, b, c),
    "fms": lambda a, b, c: fma(a, b, -c),
    "fnma": lambda a, b, c: fma(-a, b, c),
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sign": lambda x: np.sign(x) + 0,  # no negative zero
    "select": lambda a, b, c: np.where(a > 0, b, c),
    "exp": lambda x: elementary_value("exp", x),
    "log": lambda x: elementary_value("log", x),
    "tanh": lambda x: elementary_value("tanh", x),
    "atan2": lambda y, x: elementary_value("atan2", y, x),
    "abs": np.abs,
    "min": lambda a, b: np.where((a < b) | (a != a), a, b),  # NaN stays; b where they are equal
    "max": lambda a, b: np.where((a > b) | (a != a), a, b),
}


def each(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of `count` scalars for arrays of objects, and for single scalars as they are.

    NumPy would ask a traced scalar itself for the function, which knows NumPy's own by name only.
    """
    loop = np.frompyfunc(function, count, 1)

    def apply(*args: Any) -> Any:
        return (loop if any(isinstance(x, np.ndarray) for x in args) else function)(*args)

    return apply


ANY_KIND: Meaning = ARITHMETIC | {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sin": each(scalars.sin, 1),
    "cos": each(scalars.cos, 1),
    "sqrt": each(scalars.sqrt, 1),
    "sign": each(scalars.sign, 1),
    "select": each(scalars.where, 3),
    "exp": each(scalars.exp, 1),
    "log": each(scalars.log, 1),
    "tanh": each(scalars.tanh, 1),
    "atan2": each(scalars.atan2, 2),
    "abs": each(scalars.absolute, 1),
    "min": each(scalars.minimum, 2),
    "max": each(scalars.maximum, 2),
}


def interpret(graph: Graph, *arrays: ArrayLike) -> tuple[Array, ...]:
    """Compute the outputs of a graph, operation by operation.

    Args:
        graph: what to compute.
        arrays: one for each input, shape (..., *port.shape); leading axes broadcast. Arrays of
            float32 are computed in float32, other real numbers in float64. Arrays of objects
            (mpmath numbers, fractions, symbols, traced scalars) are computed in the arithmetic of
            their elements, where constants are exact and only the kind itself rounds.

    Returns:
        One array for each output, shape (..., *port.shape).
    """
    batch, dtype, inputs = prepare(graph, arrays)
    generic = dtype.hasobject
    meaning = ANY_KIND if generic else FLOATS
    constant = exact_constant(inputs) if generic else dtype.type
    values: list[Any] = []
    last = {arg: i for i, node in enumerate(graph.nodes) for arg in node.args}
    last |= dict.fromkeys(graph.roots(), len(graph.nodes))
    with np.errstate(all="ignore"):  # NaN and infinity are results here, as in compiled code
        for i, node in enumerate(graph.nodes):
            if node.op == "const":
                values.append(constant(node.number))
            elif node.op == "input":
                port, element = node.place
                values.append(inputs[port][..., element])
            else:
                values.append(meaning[node.op](*[values[arg] for arg in node.args]))
                for arg in node.args:
                    if last[arg] == i:
                        values[arg] = None  # a million states would fill the memory
    return tuple(
        gather(port, [values[node] for node in result], batch, dtype)
        for port, result in zip(graph.outputs, graph.results, strict=True)
    )


def prepare(
    graph: Graph, arrays: tuple[ArrayLike, ...]
) -> tuple[tuple[int, ...], np.dtype[Any], list[Array]]:
    """Return the batch shape, the element type, and each input as an array (..., size)."""
    if len(arrays) != len(graph.inputs):
        names = ", ".join(port.name for port in graph.inputs)
        raise ShapeError(f"{len(arrays)} arrays given for {len(graph.inputs)} inputs: {names}.")
    given = [np.asarray(array) for array in arrays]
    leading: list[tuple[int, ...]] = []
    for port, array in zip(graph.inputs, given, strict=True):
        lead = port.leading(array.shape)
        if lead is None:
            raise ShapeError(
                f"{port.name!r} has shape {array.shape}; {port.shape} is expected, with any axes "
                "of states before it."
            )
        leading.append(lead)
    dtype = element_type(given)
    flat = [
        array.astype(dtype, copy=False).reshape((*lead, port.size))
        for port, array, lead in zip(graph.inputs, given, leading, strict=True)
    ]
    return np.broadcast_shapes(*leading), dtype, flat


def element_type(arrays: list[Array]) -> np.dtype[Any]:
    """Return object where any array has objects, float32 where all are, otherwise float64."""
    if any(array.dtype == object for array in arrays):
        return np.dtype(object)
    if arrays and all(array.dtype == np.float32 for array in arrays):
        return np.dtype(np.float32)
    return np.dtype(np.float64)


def exact_constant(inputs: list[Array]) -> Callable[[float], Any]:
    """Return the function that makes constants of the kind of the inputs without loss."""
    fractions = any(isinstance(x, Fraction) for array in inputs for x in array.flat)

    def constant(value: float) -> Any:
        if value.is_integer():
            return int(value)
        return Fraction(value) if fractions else value

    return constant


def gather(port: Port, values: list[Array], batch: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Stack the elements of one output behind the batch axes."""
    array = np.empty((*batch, port.size), dtype=dtype)
    for k, value in enumerate(values):
        array[..., k] = value
    return array.reshape((*batch, *port.shape))


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
        return fma64(*(x.astype(np.float64) for x in (a, b, c)))


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


def exact_fma(a: float, b: float, c: float) -> float:
    """The same for three floats, through fractions; zeros, infinities, NaN as in IEEE 754."""
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        # a finite product that overflows must not become an infinity that is added to c
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


class NumpyArithmetic:
    """The operations of `elementary.Arithmetic` on arrays of float64."""

    BITS: Meaning = {  # noqa: RUF012 (never changed)
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

    def add(self, a: Array, b: Array) -> Array:
        """Sum a + b."""
        return np.asarray(a + b)

    def sub(self, a: Array, b: Array) -> Array:
        """Difference a - b."""
        return np.asarray(a - b)

    def mul(self, a: Array, b: Array) -> Array:
        """Product a b."""
        return np.asarray(a * b)

    def div(self, a: Array, b: Array) -> Array:
        """Quotient a / b."""
        return np.asarray(a / b)

    def neg(self, a: Array) -> Array:
        """Opposite -a."""
        return np.asarray(-a)

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        """Fused a b + c, rounded once."""
        return np.asarray(fma(a, b, c))

    def select(self, mask: Array, a: Array, b: Array) -> Array:
        """Number a where the mask is set, b elsewhere."""
        return np.where(mask, a, b)

    def unordered(self, a: Array, b: Array) -> Array:
        """Mask: a or b is NaN."""
        return np.asarray((a != a) | (b != b))

    def bits(self, a: Array) -> Array:
        """The integer with the same bits."""
        return a.view(np.uint64)

    def from_bits(self, a: Array) -> Array:
        """The number with the same bits."""
        return a.view(np.float64)

    def on_bits(self, operation: str, a: Array, b: Array) -> Array:
        """An operation on integers."""
        return np.asarray(self.BITS[operation](a, b))


def elementary_value(name: str, *args: Array | float) -> Any:
    """Compute one of `elementary.FUNCTIONS`; the result has the type of the arguments."""
    dtype = np.result_type(*args)
    wide = [np.ascontiguousarray(x, np.float64).reshape(np.shape(x)) for x in args]
    with np.errstate(all="ignore"):
        value = elementary.FUNCTIONS[name](NumpyArithmetic(), *wide)
        return value.astype(dtype)[()]
