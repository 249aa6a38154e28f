"""Numbers in emitted code: literals, or places in the GPU's constant memory.

An instruction on doubles holds at most the upper half of a number. A double with digits in its
lower half would be put together by two more instructions wherever it is used; from constant memory
it is an operand like any other.
"""

import math
import struct

import numpy as np


def literal(value: float, dtype: str) -> str:
    """A constant, the same float bit by bit; negative ones in brackets."""
    if dtype == "float32":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if not math.isfinite(value):
        return f"kt_bits(0x{bits(value):016x}ull)"
    text = repr(value) if dtype == "float64" else f"{np.float32(value)!s}f"
    if not set(text) & set(".e"):
        text = text.replace("f", ".0f")
    return f"({text})" if math.copysign(1, value) < 0 else text


def bits(value: float) -> int:
    """The 64 bits of a double."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]


class Constants:
    """A table in constant memory that grows as numbers are asked for."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype
        self._places: dict[str, int] = {}

    def __call__(self, value: float) -> str:
        """How the number is written where it is used."""
        text = literal(value, self.dtype)
        short = self.dtype == "float32" or not math.isfinite(value) or not bits(value) & 0xFFFFFFFF
        if short:
            return text
        return f"{self.name}[{self._places.setdefault(text, len(self._places))}]"

    def text(self) -> str:
        """The definition of the table, empty where there is nothing in it."""
        if not self._places:
            return ""
        numbers = ",\n    ".join(self._places)
        return f"KT_CONSTANT double {self.name}[] = {{\n    {numbers},\n}};\n"
