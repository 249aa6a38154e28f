"""sin and cos, exp, log, tanh and atan2: functions of one vector or of several.

The operations are those of `compiler.sincos` and `compiler.elementary`, in float64; only the usual
sines of float32 need fewer. Every lane runs the same operations, so results do not depend on the
lanes. The functions are called and not written out at each use: their code is long, and a call is
short beside it. The vectors of one call take turns, statement by statement: a chain of operations
that wait for each other leaves the processor time for other chains.

What is rare has a block that is entered where a lane needs it. Angles beyond `LIMIT` are computed
there one by one, by `sin` and `cos` of the C library. No comparison of vectors raises a
floating-point flag for a NaN.
"""

import struct
from collections.abc import Iterable

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, REAL, Value, Vector
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.compiler.sincos import EVALUATE, LIMIT, REDUCE, turn
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.text import SCALARS, Floats, Writer, vector

SINCOS = "sincos"
# operation -> its function, and which result of it
CALLED = {"sin": (SINCOS, 0), "cos": (SINCOS, 1)} | {op: (op, 0) for op in elementary.FUNCTIONS}
GROUP = 4  # vectors that one call evaluates
SIDE_BY_SIDE = 16  # numbers of a single state that one call evaluates, in one vector
# bytes of a vector from which comparisons of x86 (AVX-512) have registers of their own for masks
MASKED = 64

Called = tuple[str, int, int]  # a function, its lanes and its vectors


def shares(count: int, lanes: int) -> list[int]:
    """Divide `count` values among calls, as evenly as possible."""
    calls = -(-count // (SIDE_BY_SIDE if lanes == 1 else GROUP))
    return [count // calls + (k < count % calls) for k in range(calls)]


def call_shape(lanes: int, count: int) -> tuple[int, int]:
    """Lanes and vectors of one call for `count` values; plain numbers become one vector."""
    return (1 << (count - 1).bit_length(), 1) if lanes == 1 else (lanes, count)


def function_name(name: str, called: Called) -> str:
    """Name of the function for some vectors of a number of lanes."""
    function, lanes, count = called
    return f"@{name}_{function}_{lanes}x{count}"


def result_count(function: str) -> int:
    """How many results a function has for each value."""
    return 2 if function == SINCOS else 1


def result_type(kind: str, count: int) -> str:
    """The type of `count` results: a vector, or a structure of several."""
    return kind if count == 1 else f"{{ {', '.join([kind] * count)} }}"


def emit_functions(name: str, dtype: str, called: Iterable[Called]) -> list[str]:
    """Text of all functions that are called."""
    sizes = sorted(set(called))
    large = any(function == SINCOS for function, *_ in sizes)
    texts = [emit_function(name, dtype, size) for size in sizes]
    return [large_angles(name, dtype), *texts] if large else texts


def widen(writer: Writer, dtype: str, lanes: int, x: str) -> str:
    """A number in float64."""
    if dtype == "float64":
        return x
    return writer.let(f"fpext {vector('float', lanes)} {x} to {vector('double', lanes)}")


def narrow(writer: Writer, dtype: str, lanes: int, x: str) -> str:
    """A float64 result rounded to the dtype."""
    if dtype == "float64":
        return x
    return writer.let(f"fptrunc {vector('double', lanes)} {x} to {vector('float', lanes)}")


class Chain(Floats):
    """The operations on one of the vectors of a call: its usual results, and the repaired ones."""

    def __init__(self, name: str, dtype: str, lanes: int, member: int, function: str) -> None:
        super().__init__(Writer(f"v{member}_"), "float64", lanes)
        self.name, self.dtype, self.function = name, dtype, function
        arity = 1 if function == SINCOS else OPERATIONS[function].arity
        self.arguments = [f"%{letter}{member}" for letter in "ab"[:arity]]
        if function == SINCOS:
            self.results = self.sines()
        else:
            self.value = elementary.FUNCTIONS[function](self, *map(self.wide, self.arguments))
            self.results = [self.narrow(self.value)]

    def wide(self, x: str) -> str:
        """A number in float64."""
        return widen(self.writer, self.dtype, self.lanes, x)

    def narrow(self, x: str) -> str:
        """A result in the type of the arguments."""
        return narrow(self.writer, self.dtype, self.lanes, x)

    def sines(self) -> list[str]:
        """Sine and cosine up to LIMIT; beyond it t is zero, so that no flag is raised."""
        (x,), w, own = self.arguments, self.writer, Floats(self.writer, self.dtype, self.lanes)
        size = own.scalar.size
        self.places = [w.let(f"alloca {own.type}") for _ in range(3)]  # for large angles
        magnitude = own.on_bits("and", own.bits(x), own.integer(2 ** (8 * size - 1) - 1))
        limit = own.integer(limit_bits(self.dtype))
        small = own.on_bits("icmp ule", magnitude, limit)
        self.rare = own.on_bits("icmp ugt", magnitude, limit)
        t, low, n = REDUCE[self.dtype](self, self.wide(own.from_bits(magnitude)), small)
        sine, cosine = EVALUATE[self.dtype](self, t, low)
        if size * self.lanes >= MASKED:
            odd = self.on_bits("icmp ne", self.on_bits("and", n, self.integer(1)), self.integer(0))
        else:
            odd = w.let(f"trunc {self.integers} {n} to {self.masks}")
        return [self.narrow(y) for y in turn(self, sine, cosine, n, odd, self.wide(x))]

    def repaired(self) -> list[str]:
        """The results where some lane is rare."""
        if self.function != SINCOS:
            return [self.narrow(self.select(self.rare, self.remedy(), self.value))]
        w, kind = self.writer, vector(SCALARS[self.dtype].word, self.lanes)
        for value, place in zip((*self.arguments, *self.results), self.places, strict=True):
            w.do(f"store {kind} {value}, ptr {place}")
        pointers = ", ".join(f"ptr {place}" for place in self.places)
        w.do(f"call void @{self.name}_large_angles({pointers}, i64 {self.lanes})")
        return [w.let(f"load {kind}, ptr {place}") for place in self.places[1:]]

    def taken(self) -> list[str]:
        """The statements since the last call of this."""
        lines, self.writer.lines = self.writer.lines, []
        return lines


def emit_function(name: str, dtype: str, called: Called) -> str:
    """Text of one function: some vectors of each argument in, the results of each vector out."""
    function, lanes, count = called
    chains = [Chain(name, dtype, lanes, member, function) for member in range(count)]
    kind = vector(SCALARS[dtype].word, lanes)
    values = [value for chain in chains for value in chain.results]
    lines = ["entry:", *interleaved(chains)]
    if some := chains[0].rare:
        w, masks = Writer("m"), chains[0].masks
        for chain in chains[1:]:
            some = w.let(f"or {masks} {some}, {chain.rare}")
        packed = w.let(f"bitcast {masks} {some} to i{lanes}")
        w.do(f"br i1 {w.let(f'icmp ne i{lanes} {packed}, 0')}, label %rare, label %done, !prof !0")
        w.label("rare")
        repaired = [value for chain in chains for value in chain.repaired()]
        lines += [*w.lines, *interleaved(chains), "  br label %done", "done:"]
        for k, (value, other) in enumerate(zip(values, repaired, strict=True)):
            values[k] = f"%value{k}"
            lines.append(f"  {values[k]} = phi {kind} [ {value}, %entry ], [ {other}, %rare ]")
    result, whole = result_type(kind, len(values)), values[0]
    if len(values) > 1:
        w, whole = Writer("r"), "poison"
        for k, value in enumerate(values):
            whole = w.let(f"insertvalue {result} {whole}, {kind} {value}, {k}")
        lines += w.lines
    parameters = ", ".join(f"{kind} {x}" for chain in chains for x in chain.arguments)
    head = f"define internal {result} {function_name(name, called)}({parameters})"
    body = "\n".join(lines)
    return f'{head} noinline "stackrealign" {{\n{body}\n  ret {result} {whole}\n}}\n'


def interleaved(chains: list[Chain]) -> list[str]:
    """The statements of all chains that were not taken yet, in turns."""
    return [line for lines in zip(*(x.taken() for x in chains), strict=True) for line in lines]


def limit_bits(dtype: str) -> int:
    """The bits of LIMIT as an integer; those of a greater magnitude, inf and NaN are greater."""
    number, integer = {"float64": ("<d", "<q"), "float32": ("<f", "<i")}[dtype]
    return struct.unpack(integer, struct.pack(number, LIMIT[dtype]))[0]


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
