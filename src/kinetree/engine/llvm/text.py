"""Words of LLVM's language: types, numbers, and a writer that names values."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


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


# what a module needs behind its functions: those of the C library, and how rare a rare branch is;
# intrinsics of LLVM need no declaration
END = """
declare double @sin(double)
declare double @cos(double)
declare ptr @malloc(i64)
declare void @free(ptr)
!0 = !{!"branch_weights", i32 1, i32 1048576}
"""


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
        if offset in (0, "0"):
            return pointer
        return self.let(f"getelementptr inbounds {unit}, ptr {pointer}, i64 {offset}")


# instructions on numbers of type {T}, {F} in the names of intrinsics, with masks {B}, integers {I}
FLOATS = {
    "add": "fadd {T} {}, {}",
    "sub": "fsub {T} {}, {}",
    "mul": "fmul {T} {}, {}",
    "div": "fdiv {T} {}, {}",
    "neg": "fneg {T} {}",
    "abs": "call {T} @llvm.fabs.{F}({T} {})",
    "sqrt": "call {T} @llvm.sqrt.{F}({T} {})",
    "fma": "call {T} @llvm.fma.{F}({T} {}, {T} {}, {T} {})",
    "select": "select {B} {}, {T} {}, {T} {}",
    "unordered": "fcmp uno {T} {}, {}",  # raises no floating-point flag
    "bits": "bitcast {T} {} to {I}",
    "from_bits": "bitcast {I} {} to {T}",
    **{op: f"fcmp o{op} {{T}} {{}}, {{}}" for op in ("lt", "le", "gt", "ge", "eq")},
}


def written(op: str) -> Any:
    """Make a method of `Floats` that writes one instruction on its arguments."""

    def write(self: "Floats", *values: str) -> str:
        words = {"T": self.type, "F": self.suffix, "B": self.masks, "I": self.integers}
        return self.writer.let(FLOATS[op].format(*values, **words))

    return write


class Floats:
    """The operations of `elementary.Arithmetic` on `lanes` numbers, written to a `Writer`.

    `rare` and `remedy` are what `rarely` was given, for a block that is entered where a lane needs
    it (`functions.py`).
    """

    def __init__(self, writer: Writer, dtype: str, lanes: int) -> None:
        self.writer, self.lanes, self.scalar = writer, lanes, SCALARS[dtype]
        self.type = vector(self.scalar.word, lanes)
        self.integers = vector(self.scalar.integer, lanes)
        self.masks = vector("i1", lanes)
        self.rare = ""
        self.remedy: Callable[[], str] = str
        self.suffix = self.scalar.code if lanes == 1 else f"v{lanes}{self.scalar.code}"

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return number(value, self.scalar.word, self.lanes)

    def integer(self, value: int) -> str:
        """An integer of the same size in every lane."""
        return splat(self.scalar.integer, str(value), self.lanes)

    add, sub, mul, div = written("add"), written("sub"), written("mul"), written("div")
    neg, fma, select = written("neg"), written("fma"), written("select")
    less, unordered = written("lt"), written("unordered")
    bits, from_bits = written("bits"), written("from_bits")

    def on_bits(self, operation: str, a: str, b: str) -> str:
        """An integer operation such as "and", "shl" or "icmp ugt"."""
        return self.writer.let(f"{operation} {self.integers} {a}, {b}")

    def rarely(self, mask: str, value: str, remedy: Callable[[], str]) -> str:
        """Keep the remedy, and return the value of the other lanes."""
        self.rare, self.remedy = mask, remedy
        return value
