"""exp, log, tanh and atan2 as text of C, for CUDA kernels and for exported C and C++.

The operations are those of `kinetree.compiler.elementary`, one statement each, so that compilers
that fuse products and sums within an expression give the bits of the kernels.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kinetree.compiler import elementary
from kinetree.compiler.elementary import bits_of
from kinetree.compiler.graph import OPERATIONS

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
INTEGER = "unsigned long long"
LETTERS = ("a", "b")


@dataclass
class CArithmetic:
    """Writes the operations of `elementary.Arithmetic`; values are names of C variables.

    literal: how a finite constant is written. The others: names of functions.
    """

    literal: Callable[[float], str]
    fma_name: str
    bits_name: str
    from_bits_name: str
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

    def add(self, a: str, b: str) -> str:
        """Sum a + b."""
        return self._let("double", f"{a} + {b}")

    def sub(self, a: str, b: str) -> str:
        """Difference a - b."""
        return self._let("double", f"{a} - {b}")

    def mul(self, a: str, b: str) -> str:
        """Product a b."""
        return self._let("double", f"{a} * {b}")

    def div(self, a: str, b: str) -> str:
        """Quotient a / b."""
        return self._let("double", f"{a} / {b}")

    def neg(self, a: str) -> str:
        """Opposite -a."""
        return self._let("double", f"-{a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Fused a b + c, rounded once."""
        return self._let("double", f"{self.fma_name}({a}, {b}, {c})")

    def select(self, mask: str, a: str, b: str) -> str:
        """Number a where the mask is set, b elsewhere."""
        return self._let("double", f"{mask} ? {a} : {b}")

    def unordered(self, a: str, b: str) -> str:
        """Mask: a or b is NaN."""
        return self._let("int", f"{a} != {a}" + (f" || {b} != {b}" if b != a else ""))

    def bits(self, a: str) -> str:
        """The integer with the same bits."""
        return self._let(INTEGER, f"{self.bits_name}({a})")

    def from_bits(self, a: str) -> str:
        """The number with the same bits."""
        return self._let("double", f"{self.from_bits_name}({a})")

    def on_bits(self, operation: str, a: str, b: str) -> str:
        """An operation on integers; a comparison gives a mask."""
        kind = "int" if operation.startswith("icmp") else INTEGER
        return self._let(kind, f"{a} {BITS[operation]} {b}")


def functions_text(
    used: Collection[str],
    dtype: str,
    name: Callable[[str], str],
    arithmetic: Callable[[], CArithmetic],
    linkage: str,
) -> str:
    """Text of the functions among the operations `used`.

    Args:
        used: names of operations.
        dtype: the C type of arguments and results.
        name: of the function, from the name of the operation.
        arithmetic: makes a writer.
        linkage: words before the type of the result.
    """
    texts: list[str] = []
    for op, write in elementary.FUNCTIONS.items():
        if op in used:
            f = arithmetic()
            arguments = LETTERS[: OPERATIONS[op][0]]
            wide = [f"x_{x}" for x in arguments]
            value = write(f, *wide)
            given = ", ".join(f"{dtype} {x}" for x in arguments)
            lines = [f"{linkage} {dtype} {name(op)}({given})", "{"]
            lines += [f"    const double {y} = {x};" for x, y in zip(arguments, wide, strict=True)]
            texts.append("\n".join([*lines, *f.lines, f"    return ({dtype}){value};", "}", ""]))
    return "\n".join(texts)
