"""Words of LLVM's language: types, numbers, and a writer that names values."""

import struct
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Scalar:
    """An element type: its word, its bytes, its letter in intrinsics, an integer of its size."""

    word: str
    size: int
    code: str
    integer: str


SCALARS = {
    "float64": Scalar("double", 8, "f64", "i64"),
    "float32": Scalar("float", 4, "f32", "i32"),
}


def vector(word: str, lanes: int) -> str:
    """The type of `lanes` numbers side by side; one lane is the plain scalar."""
    return word if lanes == 1 else f"<{lanes} x {word}>"


def splat(word: str, value: str, lanes: int) -> str:
    """The same literal in every lane."""
    return value if lanes == 1 else f"splat ({word} {value})"


@lru_cache(maxsize=4096)
def number(value: float, word: str, lanes: int = 1) -> str:
    """A constant, bit for bit; rounded to nearest where the word is "float"."""
    if word == "float":
        value = _single(value)
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return splat(word, f"0x{bits:016X}", lanes)


def _single(value: float) -> float:
    """The float32 nearest to a float64."""
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:  # beyond the greatest float32
        return float("inf") if value > 0 else float("-inf")
    return rounded


class Writer:
    """Lines of a function. `let` names a value, `do` adds a statement, `label` opens a block.

    Two writers of the same function need different prefixes for their names.
    """

    def __init__(self, prefix: str = "v") -> None:
        self.lines: list[str] = []
        self._prefix = prefix
        self._count = 0

    def let(self, expression: str) -> str:
        """Add `%name = expression` and return the name."""
        self._count += 1
        name = f"%{self._prefix}{self._count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, statement: str) -> None:
        """Add a statement that has no value."""
        self.lines.append("  " + statement)

    def label(self, name: str) -> None:
        """Open a basic block."""
        self.lines.append(name + ":")

    def at(self, pointer: str, offset: int | str, unit: str = "i8") -> str:
        """The address `offset` units behind a pointer."""
        if offset == 0:
            return pointer
        return self.let(f"getelementptr inbounds {unit}, ptr {pointer}, i64 {offset}")


class Floats:
    """Floating-point arithmetic on `lanes` numbers at a time, written to a `Writer`."""

    def __init__(self, writer: Writer, dtype: str, lanes: int) -> None:
        self.writer, self.lanes, self.scalar = writer, lanes, SCALARS[dtype]
        self.type = vector(self.scalar.word, lanes)
        self.integers = vector(self.scalar.integer, lanes)
        self.masks = vector("i1", lanes)
        self.suffix = self.scalar.code if lanes == 1 else f"v{lanes}{self.scalar.code}"

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return number(value, self.scalar.word, self.lanes)

    def integer(self, value: int) -> str:
        """An integer of the same size in every lane."""
        return splat(self.scalar.integer, str(value), self.lanes)

    def add(self, a: str, b: str) -> str:
        """Sum a + b."""
        return self.writer.let(f"fadd {self.type} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        """Difference a - b."""
        return self.writer.let(f"fsub {self.type} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        """Product a b."""
        return self.writer.let(f"fmul {self.type} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        """Quotient a / b."""
        return self.writer.let(f"fdiv {self.type} {a}, {b}")

    def neg(self, a: str) -> str:
        """Opposite -a."""
        return self.writer.let(f"fneg {self.type} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Fused a b + c, rounded once."""
        t = self.type
        return self.writer.let(f"call {t} @llvm.fma.{self.suffix}({t} {a}, {t} {b}, {t} {c})")

    def select(self, mask: str, a: str, b: str) -> str:
        """Element of a where the mask is set, of b elsewhere."""
        t = self.type
        return self.writer.let(f"select {self.masks} {mask}, {t} {a}, {t} {b}")

    def unordered(self, a: str, b: str) -> str:
        """Mask: a or b is NaN; the comparison raises no floating-point flag."""
        return self.writer.let(f"fcmp uno {self.type} {a}, {b}")

    def bits(self, a: str) -> str:
        """The integer with the same bits."""
        return self.writer.let(f"bitcast {self.type} {a} to {self.integers}")

    def from_bits(self, a: str) -> str:
        """The number with the same bits."""
        return self.writer.let(f"bitcast {self.integers} {a} to {self.type}")

    def on_bits(self, operation: str, a: str, b: str) -> str:
        """An integer operation such as "and", "shl" or "icmp ugt"."""
        return self.writer.let(f"{operation} {self.integers} {a}, {b}")
