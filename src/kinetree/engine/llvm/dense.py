"""Loops over small dense matrices in LLVM's language, with a fixed order of every sum.

Matrices lie row by row, each row padded to whole vectors, so that a row is a loop over vectors. A
sum over k is taken from k = 0 on, with one rounding for each product and sum (fma): its bits do not
depend on the width of the vectors.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kinetree.engine.llvm.text import Writer, number, vector

DOUBLE = "double"
TILES = {1: 8, 2: 6, 3: 4}  # rows that are summed at once, by the vectors of each
CHUNK = 6  # vectors of a row that are summed at once, in registers
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
        self.count = 0
        self.block = "entry"

    def label(self, name: str) -> None:
        """Open a basic block."""
        self.block = name
        super().label(name)

    @contextmanager
    def each(self, first: Index, end: Index, step: int = 1) -> Generator[str]:
        """A loop over i from `first` to before `end`; down to it for a negative step."""
        with self._loop(first, end, step, ()) as (i, carried):
            yield i
            carried()

    def accumulate(
        self, kind: str, first: Sequence[str], count: Index,
        body: Callable[[str, Sequence[str]], Sequence[str]],
    ) -> list[str]:  # fmt: skip
        """Values that a loop over k < count carries from one round to the next.

        Args:
            kind: their type. first: where they begin. count: rounds.
            body: of k and the values returns the next ones.
        """
        with self._loop(0, count, 1, [(kind, x) for x in first]) as (k, carried, *values):
            carried(*body(k, values))
        return values

    @contextmanager
    def _loop(
        self, first: Index, end: Index, step: int, values: Sequence[tuple[str, str]]
    ) -> Generator[Any]:
        """A loop with phi nodes; yields i, a function to be called at its end, and the values."""
        self.count += 1
        name, before = f"loop{self.count}", self.block
        self.do(f"br label %{name}.head")
        self.label(f"{name}.head")
        place = len(self.lines)
        names = [f"%{name}.{k}" for k in range(len(values) + 1)]
        inside = self.let(f"icmp {'slt' if step > 0 else 'sgt'} i64 {names[0]}, {end}")
        self.do(f"br i1 {inside}, label %{name}.body, label %{name}.end")
        self.label(f"{name}.body")
        later: list[str] = []

        def carried(*after: str) -> None:
            later.extend([self.plus(names[0], step), *after])

        yield names[0], carried, *names[1:]
        kinds = ["i64", *(kind for kind, _ in values)]
        begin = [str(first), *(x for _, x in values)]
        self.lines[place:place] = [
            f"  {n} = phi {kind} [ {a}, %{before} ], [ {b}, %{self.block} ]"
            for n, kind, a, b in zip(names, kinds, begin, later, strict=True)
        ]
        self.do(f"br label %{name}.head")
        self.label(f"{name}.end")

    @contextmanager
    def when(self, test: str) -> Generator[None]:
        """Statements that run only where the test holds."""
        self.count += 1
        name = f"when{self.count}"
        self.do(f"br i1 {test}, label %{name}.then, label %{name}.end")
        self.label(f"{name}.then")
        yield
        self.do(f"br label %{name}.end")
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
        terms: Index, width: int, *, minus: bool = False,
    ) -> None:  # fmt: skip
        """Write a row: start + sum over k of factor_k rows[k], of so many columns.

        out, start: addresses of rows; None: zero. factors: a matrix and its column that holds them.
        """
        for begin in range(0, width, CHUNK * self.lanes):
            columns = range(begin, min(begin + CHUNK * self.lanes, width), self.lanes)
            zero = number(0.0, DOUBLE, self.lanes)
            first = [
                zero if start is None else self.load(self.behind(start, j), wide=True)
                for j in columns
            ]

            def body(k: str, totals: Sequence[str], columns: range = columns) -> list[str]:
                factor = self.entry_of(factors[0], k, factors[1])
                if minus:
                    factor = self.let(f"fneg {DOUBLE} {factor}")
                spread, row = self.spread(factor), self.place(rows, k)
                return [
                    self.fma(spread, self.load(self.behind(row, j), wide=True), total, wide=True)
                    for j, total in zip(columns, totals, strict=True)
                ]

            totals = self.accumulate(self.kind, first, terms, body)
            for j, total in zip(columns, totals, strict=True):
                self.store(total, self.behind(out, j), wide=True)

    def products(
        self, out: Matrix, start: Matrix | None, a: Matrix, b: Matrix, terms: int,
        shape: tuple[int, int], *, below: bool = False,
    ) -> None:  # fmt: skip
        """Write start + a^T b, several rows at once in registers.

        Args:
            out: rows of whole vectors. start: None: zero. a, b: with so many rows, the terms.
            shape: rows and columns of `out`.
            below: only what lies below the diagonal and on it is needed.
        """
        rows, width = shape
        vectors = 1 if below else next(v for v in (3, 2, 1) if width // self.lanes % v == 0)
        tall = TILES[vectors]
        whole = rows // tall * tall
        with self.each(0, whole, tall) as i:
            self._tiles(out, start, a, b, terms, i, tall, vectors, width, below)
        if rows > whole:
            left = rows - whole
            self._tiles(out, start, a, b, terms, whole, left, vectors, width, below)

    def _tiles(
        self, out: Matrix, start: Matrix | None, a: Matrix, b: Matrix, terms: int, i: Index,
        tall: int, vectors: int, width: int, below: bool,
    ) -> None:  # fmt: skip
        """The tiles of some rows of `products`, from the left."""
        columns = range(0, vectors * self.lanes, self.lanes)
        places = [(q, c) for q in range(tall) for c in columns]
        with self.each(0, self.plus(i, tall) if below else width, vectors * self.lanes) as j:

            def at(m: Matrix, q: int, c: int) -> str:
                return self.behind(self.place(m, self.plus(i, q), j), c)

            zero = number(0.0, DOUBLE, self.lanes)
            sums = [zero if start is None else self.load(at(start, *x), wide=True) for x in places]
            first = [("ptr", self.place(a, 0, i)), ("ptr", self.place(b, 0, j))]
            first += [(self.kind, x) for x in sums]
            with self._loop(0, terms, 1, first) as (_, carried, left, right, *totals):
                row = [self.load(self.behind(right, c), wide=True) for c in columns]
                spread = [self.spread(self.load(self.behind(left, q))) for q in range(tall)]
                carried(
                    self.behind(left, a.stride), self.behind(right, b.stride),
                    *(
                        self.fma(spread[q], row[c // self.lanes], total, wide=True)
                        for (q, c), total in zip(places, totals, strict=True)
                    ),
                )  # fmt: skip
            for x, total in zip(places, totals, strict=True):
                self.store(total, at(out, *x), wide=True)

    def add(self, target: str, factor: str, source: str, width: int) -> None:
        """Add factor times a row to another, in place."""
        spread = self.spread(factor)

        def one(j: Index) -> None:
            at = self.behind(target, j)
            x = self.load(self.behind(source, j), wide=True)
            self.store(self.fma(spread, x, self.load(at, wide=True), wide=True), at, wide=True)

        if width <= CHUNK * self.lanes:
            for j in range(0, width, self.lanes):
                one(j)
        else:
            with self.each(0, width, self.lanes) as j:
                one(j)

    def total(self, first: str, terms: Index, term: Callable[[str], tuple[str, str]]) -> str:
        """The number first + sum over k of a_k b_k, where `term` gives a_k and b_k."""

        def body(k: str, sums: Sequence[str]) -> list[str]:
            a, b = term(k)
            return [self.fma(a, b, sums[0])]

        return self.accumulate(DOUBLE, [first], terms, body)[0]

    def behind(self, address: str, j: Index) -> str:
        """The address j numbers behind another."""
        return self.let(f"getelementptr inbounds {DOUBLE}, ptr {address}, i64 {j}")

    def function(self, head: str) -> str:
        """The text of the function that was written, ended by a return."""
        body = "\n".join([*self.lines, "  ret void"])
        return f"{head} {{\nentry:\n{body}\n}}\n"

    def declarations(self) -> str:
        """What the function calls."""
        kinds = dict.fromkeys([("f64", DOUBLE), (self.suffix, self.kind)])
        return "\n".join(f"declare {k} @llvm.fma.{c}({k}, {k}, {k})" for c, k in kinds)
