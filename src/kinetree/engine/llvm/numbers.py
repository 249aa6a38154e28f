"""Arithmetic in LLVM's language: numbers and vectors with the operators of Python.

Nothing is fused or reordered: `a * b + c` is rounded twice, as NumPy rounds it.
"""

from kinetree.engine.llvm.dense import DOUBLE, Dense
from kinetree.engine.llvm.text import number


class Number:
    """A number, or a vector of them, in the code that is written."""

    def __init__(self, code: "Numbers", name: str, wide: bool = False) -> None:
        self.code, self.name, self.wide = code, name, wide

    def _with(self, word: str, other: "Number | float", swapped: bool = False) -> "Number":
        one, two = self.code.alike(self, other)
        a, b = (two, one) if swapped else (one, two)
        return Number(self.code, self.code.op(word, a.name, b.name, wide=a.wide), a.wide)

    def __add__(self, other: "Number | float") -> "Number":
        return self._with("fadd", other)

    def __sub__(self, other: "Number | float") -> "Number":
        return self._with("fsub", other)

    def __rsub__(self, other: float) -> "Number":
        return self._with("fsub", other, True)

    def __mul__(self, other: "Number | float") -> "Number":
        return self._with("fmul", other)

    def __truediv__(self, other: "Number | float") -> "Number":
        return self._with("fdiv", other)

    def __rtruediv__(self, other: float) -> "Number":
        return self._with("fdiv", other, True)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: "Number | float") -> str:
        return self.code.compared("olt", self, other)

    def __le__(self, other: "Number | float") -> str:
        return self.code.compared("ole", self, other)

    def __gt__(self, other: "Number | float") -> str:
        return self.code.compared("ogt", self, other)

    def __ge__(self, other: "Number | float") -> str:
        return self.code.compared("oge", self, other)


class Numbers(Dense):
    """A writer of one function of numbers and vectors."""

    def constant(self, value: float, wide: bool = False) -> Number:
        """A constant, in all lanes."""
        return Number(self, number(float(value), DOUBLE, self.lanes if wide else 1), wide)

    def alike(self, a: Number, b: Number | float) -> tuple[Number, Number]:
        """Two numbers, or two vectors."""
        if not isinstance(b, Number):
            return a, self.constant(b, a.wide)
        if a.wide == b.wide:
            return a, b
        a, b = (x if x.wide else Number(self, self.spread(x.name), True) for x in (a, b))
        return a, b

    def compared(self, word: str, a: Number, b: Number | float) -> str:
        """A test of two numbers."""
        _, other = self.alike(a, b)
        return self.let(f"fcmp {word} {DOUBLE} {a.name}, {other.name}")

    def chosen(self, test: str, a: Number | float, b: Number | float) -> Number:
        """The number a where the test is true, else b."""
        a, b = (x if isinstance(x, Number) else self.constant(x) for x in (a, b))
        return Number(self, self.pick(test, a.name, b.name))

    def minimum(self, a: Number, b: Number | float) -> Number:
        """The smaller of two numbers."""
        return self.chosen(a < b, a, b)

    def maximum(self, a: Number, b: Number | float) -> Number:
        """The larger of two numbers."""
        return self.chosen(a > b, a, b)

    def called(self, function: str, x: Number) -> Number:
        """The result of sqrt or fabs."""
        kind = self.kind if x.wide else DOUBLE
        code = self.suffix if x.wide else "f64"
        return Number(
            self, self.let(f"call {kind} @llvm.{function}.{code}({kind} {x.name})"), x.wide
        )

    def is_finite(self, x: Number) -> str:
        """Whether a number is finite."""
        return self.compared("oeq", x - x, 0.0)

    def both(self, *tests: str) -> str:
        """Whether all tests are true."""
        all_ = tests[0]
        for test in tests[1:]:
            all_ = self.let(f"and i1 {all_}, {test}")
        return all_

    def either(self, a: str, b: str) -> str:
        """Whether one of two tests is true."""
        return self.let(f"or i1 {a}, {b}")

    def no(self, test: str) -> str:
        """Whether a test is false."""
        return self.let(f"xor i1 {test}, true")

    def is_whole(self, a: str, b: str | int, word: str = "eq") -> str:
        """A test of two whole numbers."""
        return self.let(f"icmp {word} i64 {a}, {b}")

    def pick_whole(self, test: str, a: str | int, b: str | int) -> str:
        """The whole number a where the test is true, else b."""
        return self.let(f"select i1 {test}, i64 {a}, i64 {b}")

    def number_at(self, address: str, j: str | int = 0, wide: bool = False) -> Number:
        """The number, or the vector, j numbers behind an address."""
        return Number(self, self.load(self.behind(address, j), wide=wide), wide)

    def put(self, address: str, j: str | int, x: Number | float) -> None:
        """Write a number or a vector j numbers behind an address."""
        x = x if isinstance(x, Number) else self.constant(x)
        self.store(x.name, self.behind(address, j), wide=x.wide)

    def as_whole(self, test: str) -> str:
        """The number 1 where a test is true, else 0."""
        return self.let(f"zext i1 {test} to i64")

    def larger(self, a: Number, b: Number) -> Number:
        """The larger numbers of two vectors."""
        masks = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
        test = self.let(f"fcmp ogt {self.kind} {a.name}, {b.name}")
        kind = self.kind
        return Number(
            self, self.let(f"select {masks} {test}, {kind} {a.name}, {kind} {b.name}"), True
        )

    def clipped(self, x: Number, low: Number | float, high: Number | float) -> Number:
        """The nearest number between two limits."""
        return self.minimum(self.maximum(x, low), high)
