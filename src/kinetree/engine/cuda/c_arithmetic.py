"""Sine, cosine, exp, log, tanh and atan2 in CUDA, from the operations of the CPU's code.

Each operation is one statement, so that compilers that fuse products and sums within an expression
give the bits of the kernels.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from kinetree.engine.compiler import elementary
from kinetree.engine.compiler.elementary import bits_of
from kinetree.engine.compiler.ops import OPERATIONS

BITS = {
    "add": "+",
    "sub": "-",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "lshr": ">>",
    "icmp ugt": ">",
    "icmp eq": "==",
}
LETTERS = ("a", "b")
ALWAYS = "1"  # the mask that is set for every number


def doubles(template: str) -> Any:
    """Make a method that writes a statement for a double."""

    def write(self: "CArithmetic", *values: str) -> str:
        return self._let("double", template.format(*values))  # pyright: ignore[reportPrivateUsage]

    return write


@dataclass
class CArithmetic:
    """Writes the operations of `elementary.Arithmetic`; values are names of C variables.

    literal: how a finite constant is written. integer_type: of the bits of a number. The others:
    names of functions.
    """

    literal: Callable[[float], str]
    fma_name: str
    bits_name: str
    from_bits_name: str
    integer_type: str = "unsigned long long"
    lines: list[str] = field(default_factory=list[str])

    def _let(self, kind: str, expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"    const {kind} {name} = {expression};")
        return name

    def number(self, value: float) -> str:
        """A constant; negative ones in brackets."""
        if not math.isfinite(value):
            return f"{self.from_bits_name}({self.integer(bits_of(value))})"
        text = self.literal(value)
        return f"({text})" if text.startswith("-") else text

    def integer(self, value: int) -> str:
        """A constant integer."""
        return f"0x{value % 2**64:x}ull"

    add, sub = doubles("{} + {}"), doubles("{} - {}")
    mul, div = doubles("{} * {}"), doubles("{} / {}")
    neg = doubles("-{}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Fused a b + c, rounded once."""
        return self._let("double", f"{self.fma_name}({a}, {b}, {c})")

    def select(self, mask: str, a: str, b: str) -> str:
        """Number a where the mask is set, b elsewhere."""
        return a if mask == ALWAYS else self._let("double", f"{mask} ? {a} : {b}")

    def less(self, a: str, b: str) -> str:
        """Mask: a < b."""
        return self._let("int", f"{a} < {b}")

    def unordered(self, a: str, b: str) -> str:
        """Mask: a or b is NaN."""
        return self._let("int", f"{a} != {a}" + (f" || {b} != {b}" if b != a else ""))

    def bits(self, a: str) -> str:
        """The integer with the same bits."""
        return self._let(self.integer_type, f"{self.bits_name}({a})")

    def from_bits(self, a: str) -> str:
        """The number with the same bits."""
        return self._let("double", f"{self.from_bits_name}({a})")

    def on_bits(self, operation: str, a: str, b: str) -> str:
        """An operation on integers; a comparison gives a mask."""
        kind = "int" if operation.startswith("icmp") else self.integer_type
        return self._let(kind, f"{a} {BITS[operation]} {b}")

    def rarely(self, mask: str, value: str, remedy: Callable[[], str]) -> str:
        """The remedy, in a block, where the mask is set, the value elsewhere."""
        name = f"v{len(self.lines)}"
        self.lines += [f"    double {name} = {value};", f"    if ({mask}) {{"]
        start = len(self.lines)
        self.lines.append(f"    {name} = {remedy()};")
        self.lines[start:] = [f"    {line}" for line in self.lines[start:]] + ["    }"]
        return name


def functions_text(
    used: Collection[str],
    dtype: str,
    name: Callable[[str], str],
    arithmetic: Callable[[], CArithmetic],
    linkage: str,
) -> str:
    """Text of the functions among the operations `used`; `arithmetic` makes a writer for each.

    `dtype` is the C type of arguments and results, `linkage` the words before it.
    """
    texts: list[str] = []
    for op, write in elementary.FUNCTIONS.items():
        if op in used:
            f = arithmetic()
            arguments = LETTERS[: OPERATIONS[op].arity]
            wide = [f"x_{x}" for x in arguments]
            value = write(f, *wide)
            parameters = ", ".join(f"{dtype} {x}" for x in arguments)
            lines = [f"{linkage} {dtype} {name(op)}({parameters})", "{"]
            lines += [f"    const double {y} = {x};" for x, y in zip(arguments, wide, strict=True)]
            texts.append("\n".join([*lines, *f.lines, f"    return ({dtype}){value};", "}", ""]))
    return "\n".join(texts)
