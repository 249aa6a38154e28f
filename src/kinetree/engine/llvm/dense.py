"""Loops over small dense matrices in LLVM's language, with a fixed order of every sum.

Matrices lie row by row, each row padded to whole vectors, so that a row is a loop over vectors. A
sum over k is taken from k = 0 on, with one rounding for each product and sum (fma): its bits do not
depend on the width of the vectors.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from kinetree.engine.llvm.text import Writer, number, vector

DOUBLE = "double"
Index = int | str


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory: its address, and the numbers from one row to the next."""

    address: str
    stride: int


class Dense(Writer):
    """A writer of one function, with loops over matrices of `lanes` numbers in a vector."""

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes, self.kind = lanes, vector(DOUBLE, lanes)
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.entry: list[str] = []
        self.count = 0

    def padded(self, count: int) -> int:
        """The length of a row of whole vectors."""
        return -(-count // self.lanes) * self.lanes

    def name(self, word: str) -> str:
        """A name that no other has."""
        self.count += 1
        return f"{word}{self.count}"

    def slot(self, kind: str = DOUBLE, count: int = 1) -> str:
        """Memory of the function for some numbers."""
        name = f"%{self.name('slot')}"
        self.entry.append(f"  {name} = alloca {kind}, i64 {count}, align 64")
        return name

    @contextmanager
    def each(self, first: Index, end: Index, step: int = 1) -> Generator[str]:
        """A loop over i from `first` to before `end`; down to it for a negative step."""
        slot, name = self.slot("i64"), self.name("loop")
        self.do(f"store i64 {first}, ptr {slot}")
        self.do(f"br label %{name}.head")
        self.label(f"{name}.head")
        i = self.let(f"load i64, ptr {slot}")
        inside = self.let(f"icmp {'slt' if step > 0 else 'sgt'} i64 {i}, {end}")
        self.do(f"br i1 {inside}, label %{name}.body, label %{name}.end")
        self.label(f"{name}.body")
        yield i
        self.do(f"store i64 {self.plus(i, step)}, ptr {slot}")
        self.do(f"br label %{name}.head")
        self.label(f"{name}.end")

    def plus(self, i: Index, j: Index) -> str:
        """The sum of two whole numbers."""
        return self.let(f"add nsw i64 {i}, {j}")

    def times(self, i: Index, j: Index) -> str:
        """The product of two whole numbers."""
        return self.let(f"mul nsw i64 {i}, {j}")

    def place(self, m: Matrix, i: Index, j: Index = 0) -> str:
        """The address of an entry."""
        row = self.plus(self.times(i, m.stride), j)
        return self.let(f"getelementptr inbounds {DOUBLE}, ptr {m.address}, i64 {row}")

    def load(self, address: str, *, wide: bool = False) -> str:
        """The number, or the vector, at an address."""
        return self.let(f"load {self.kind if wide else DOUBLE}, ptr {address}, align 8")

    def store(self, value: str, address: str, *, wide: bool = False) -> None:
        """Write a number or a vector."""
        self.do(f"store {self.kind if wide else DOUBLE} {value}, ptr {address}, align 8")

    def entry_of(self, m: Matrix, i: Index, j: Index = 0) -> str:
        """The number in row i and column j."""
        return self.load(self.place(m, i, j))

    def spread(self, value: str) -> str:
        """A number in every lane."""
        if self.lanes == 1:
            return value
        first = self.let(f"insertelement {self.kind} poison, {DOUBLE} {value}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.kind} {first}, {self.kind} poison, {mask}")

    def fma(self, a: str, b: str, c: str, *, wide: bool = False) -> str:
        """The number a b + c, rounded once."""
        kind, code = (self.kind, self.suffix) if wide else (DOUBLE, "f64")
        return self.let(f"call {kind} @llvm.fma.{code}({kind} {a}, {kind} {b}, {kind} {c})")

    def op(self, word: str, a: str, b: str, *, wide: bool = False) -> str:
        """An operation such as "fadd" on two numbers or vectors."""
        return self.let(f"{word} {self.kind if wide else DOUBLE} {a}, {b}")

    def less(self, a: str, b: str) -> str:
        """Whether a < b."""
        return self.let(f"fcmp olt {DOUBLE} {a}, {b}")

    def pick(self, test: str, a: str, b: str) -> str:
        """The number a where the test holds, else b."""
        return self.let(f"select i1 {test}, {DOUBLE} {a}, {DOUBLE} {b}")

    def clip(self, x: str, low: str, high: str) -> str:
        """The nearest number between two limits."""
        x = self.pick(self.less(x, low), low, x)
        return self.pick(self.less(high, x), high, x)

    def combine(
        self, out: str, start: str | None, factors: tuple[Matrix, Index], rows: Matrix,
        terms: Index, end: Index, *, minus: bool = False,
    ) -> None:  # fmt: skip
        """Write a row: start + sum over k of factor_k rows[k], for columns up to `end`.

        out, start: addresses of rows; None: zero. factors: a matrix and its column that holds them.
        """
        total, zero = self.slot(self.kind), number(0.0, DOUBLE, self.lanes)
        with self.each(0, end, self.lanes) as j:
            begin = zero if start is None else self.load(self.behind(start, j), wide=True)
            self.do(f"store {self.kind} {begin}, ptr {total}")
            with self.each(0, terms) as k:
                factor = self.entry_of(factors[0], k, factors[1])
                if minus:
                    factor = self.let(f"fneg {DOUBLE} {factor}")
                row = self.load(self.place(rows, k, j), wide=True)
                before = self.let(f"load {self.kind}, ptr {total}")
                after = self.fma(self.spread(factor), row, before, wide=True)
                self.do(f"store {self.kind} {after}, ptr {total}")
            self.store(self.let(f"load {self.kind}, ptr {total}"), self.behind(out, j), wide=True)

    def total(self, first: str, terms: Index, term: Callable[[str], tuple[str, str]]) -> str:
        """The number first + sum over k of a_k b_k, where `term` gives a_k and b_k."""
        slot = self.slot()
        self.store(first, slot)
        with self.each(0, terms) as k:
            a, b = term(k)
            self.store(self.fma(a, b, self.load(slot)), slot)
        return self.load(slot)

    def behind(self, address: str, j: Index) -> str:
        """The address j numbers behind another."""
        return self.let(f"getelementptr inbounds {DOUBLE}, ptr {address}, i64 {j}")

    def function(self, head: str) -> str:
        """The text of the function that was written, ended by a return."""
        body = "\n".join([*self.entry, *self.lines, "  ret void"])
        return f"{head} {{\nentry:\n{body}\n}}\n"

    def declarations(self) -> str:
        """What the function calls."""
        kinds = dict.fromkeys([("f64", DOUBLE), (self.suffix, self.kind)])
        return "\n".join(f"declare {k} @llvm.fma.{c}({k}, {k}, {k})" for c, k in kinds)
