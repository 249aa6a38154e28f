"""Loops over numbers in memory: a program is written once and printed for LLVM, C and CUDA.

A program is a Python function that is given a writer of one function, `Loops`, and says what that
function does: `Value`s have the operators of Python, `Vector` and `Matrix` are numbers in memory,
`each`, `when` and `accumulate` are its control flow. `llvm/loops.py` and `cuda/loops.py` print it.

    def axpy(code, y, a, x, n):  # y + a x
        with code.each(0, n) as i:
            y[i] = code.fma(a, x[i], y[i])

Rows of a matrix are padded to a multiple of `lanes`. A wide value has a number for each of so many
columns: the lanes of a vector register on a CPU, the threads of a warp on a GPU, where each thread
has its own column and all of them compute the same plain numbers. Several warps may share `rows`.
Wide values lie at multiples of `lanes` behind the start of a row. Sums over k run from k = 0 on,
each product and sum rounded once (fma), whatever the lanes: all printers give the same bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

REAL, WIDE, INTEGER, TEST, MASK, ADDRESS = "real", "wide", "integer", "test", "mask", "address"
NUMBERS = (REAL, WIDE)
TILES = {1: 8, 2: 6, 3: 4}  # rows that `products` sums at once, by the wide values of each
CHUNK = 6  # wide values of a row that are summed at once, in registers


def operator(op: str) -> Any:
    """Make an operator of values."""
    return lambda self, *others: self.code.apply(op, self, *others)


def reflected(op: str) -> Any:
    """Make an operator for a number on the left."""
    return lambda self, other: self.code.apply(op, other, self)


def comparison(op: str) -> Any:
    """Make a test of two values."""
    return lambda self, other: self.code.compare(op, self, other)


@dataclass(frozen=True, eq=False)
class Value:
    """A value of a program: a number, a wide number, an integer, a test, or an address.

    Tests of wide numbers are masks, one test for each lane.
    """

    code: "Loops"
    name: str
    kind: str

    def __add__(self, other: "Operand") -> "Value":
        same = _is(other, 0) and self.kind == INTEGER
        return self if same else self.code.apply("add", self, other)

    def __mul__(self, other: "Operand") -> "Value":
        same = _is(other, 1) and self.kind == INTEGER
        return self if same else self.code.apply("mul", self, other)

    __radd__, __rmul__ = __add__, __mul__
    __sub__, __rsub__ = operator("sub"), reflected("sub")
    __truediv__, __rtruediv__ = operator("div"), reflected("div")
    __floordiv__, __mod__ = operator("quotient"), operator("remainder")
    __and__, __or__ = operator("and"), operator("or")
    __neg__, __abs__, __invert__ = operator("neg"), operator("abs"), operator("not")
    __lt__, __le__, __gt__, __ge__ = map(comparison, ("lt", "le", "gt", "ge"))
    equals = comparison("eq")  # `==` is that of Python's objects

    @property
    def is_finite(self) -> "Value":
        """Whether a number is neither infinite nor NaN."""
        return (self - self).equals(0.0)


Operand = int | float | Value
Index = int | Value


def _is(x: Operand, number: int) -> bool:
    """Whether an operand is this whole number."""
    return isinstance(x, int) and x == number


@dataclass(frozen=True, eq=False)
class Vector:
    """Numbers in memory, one behind the other: `x[i]` reads one, `x[i] = y` writes y there.

    A wide y is written to all columns from i on; `x.wide(i)` reads such a value.
    """

    address: Value

    def __getitem__(self, i: Index) -> Value:
        return self.address.code.load(self.address, i, REAL)

    def __setitem__(self, i: Index, value: Operand) -> None:
        code = self.address.code
        code.store(self.address, i, code.value(value))

    def wide(self, i: Index) -> Value:
        """Return the numbers from i on, one for each lane."""
        return self.address.code.load(self.address, i, WIDE)

    def behind(self, i: Index) -> "Vector":
        """Return the numbers from i on."""
        return self if _is(i, 0) else Vector(self.address.code.offset(self.address, i))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows of numbers in memory, each `stride` numbers behind the one before: `m[i, j]`."""

    start: Vector
    stride: Index

    def row(self, i: Index) -> Vector:
        """Return a row."""
        return self.start.behind(i * self.stride)

    def behind(self, i: Index, j: Index = 0) -> "Matrix":
        """Return the matrix from row i and column j on."""
        return Matrix(self.start.behind(i * self.stride + j), self.stride)

    def __getitem__(self, place: tuple[Index, Index]) -> Value:
        i, j = place
        return self.start[i * self.stride + j]

    def __setitem__(self, place: tuple[Index, Index], value: Operand) -> None:
        i, j = place
        self.start[i * self.stride + j] = value

    def wide(self, i: Index, j: Index) -> Value:
        """Return the numbers of row i from column j on, one for each lane."""
        return self.start.wide(i * self.stride + j)


class Loops(ABC):
    """A writer of one function of a program; `arguments` has those of the function."""

    arguments: dict[str, Value]

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes

    @abstractmethod
    def let(self, op: str, kind: str, *args: Value, result: str = "") -> Value:
        """Write an operation on values of one kind; result: its kind, if that is another."""

    @abstractmethod
    def constant(self, x: Operand, kind: str) -> Value:
        """Return a number of a kind."""

    @abstractmethod
    def broadcast(self, x: Value) -> Value:
        """Return a number in every lane."""

    @abstractmethod
    def all(self, mask: Value) -> Value:
        """Return whether a mask is set in every lane."""

    @abstractmethod
    def load(self, address: Value, i: Index, kind: str) -> Value:
        """Read what is i words of 64 bits behind an address."""

    @abstractmethod
    def store(self, address: Value, i: Index, value: Value) -> None:
        """Write a value i words behind an address."""

    @abstractmethod
    def offset(self, address: Value, i: Index) -> Value:
        """Return the address i words behind another."""

    @abstractmethod
    def call(self, function: str, *arguments: Operand) -> None:
        """Call another function of the program."""

    @abstractmethod
    def loop(
        self,
        first: Index,
        end: Index,
        step: int,
        carried: Sequence[Value],
        going: Callable[..., Value] | None = None,
    ) -> AbstractContextManager[tuple[Value, list[Value], Callable[..., None]]]:
        """Open a loop; yields i, the carried values, and a function that takes their next ones.

        It is left where i reaches `end`, or where the test of the carried values fails.
        """

    @abstractmethod
    def when(self, test: Value) -> AbstractContextManager[None]:
        """Statements that run only where a test holds."""

    @abstractmethod
    def text(self) -> str:
        """Return the function, ended by a return."""

    def value(self, x: Operand, kind: str = REAL) -> Value:
        """Return an operand as a value."""
        return x if isinstance(x, Value) else self.constant(x, kind)

    def alike(self, *args: Operand) -> list[Value]:
        """Return values of one kind: numbers beside a wide value become wide."""
        kinds = [x.kind for x in args if isinstance(x, Value)]
        kind = WIDE if WIDE in kinds else kinds[0] if kinds else REAL
        values = [self.value(x, kind) for x in args]
        return [self.broadcast(x) if kind == WIDE and x.kind == REAL else x for x in values]

    def apply(self, op: str, *args: Operand) -> Value:
        """Write an operation on operands of one kind."""
        values = self.alike(*args)
        return self.let(op, values[0].kind, *values)

    def compare(self, op: str, a: Operand, b: Operand) -> Value:
        """Write a test of two numbers; of wide ones, a mask."""
        a, b = self.alike(a, b)
        return self.let(op, a.kind, a, b, result=MASK if a.kind == WIDE else TEST)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """Return a b + c, rounded once."""
        return self.apply("fma", a, b, c)

    def sqrt(self, x: Value) -> Value:
        """Return the square root."""
        return self.apply("sqrt", x)

    def select(self, test: Value, a: Operand, b: Operand) -> Value:
        """Return a where a test holds, else b."""
        a, b = self.alike(a, b)
        return self.let("select", a.kind, test, a, b)

    def to_real(self, x: Value) -> Value:
        """Return a whole number as a number."""
        return self.let("real", INTEGER, x, result=REAL)

    def minimum(self, a: Value, b: Operand) -> Value:
        """Return the smaller of two numbers; a where one of them is NaN."""
        return self.select(a > b, b, a)

    def maximum(self, a: Value, b: Operand) -> Value:
        """Return the larger of two numbers; a where one of them is NaN."""
        return self.select(a < b, b, a)

    def clip(self, x: Value, low: Operand, high: Operand) -> Value:
        """Return the nearest number between two limits; NaN stays."""
        return self.minimum(self.maximum(x, low), high)

    @contextmanager
    def each(self, first: Index, end: Index, step: int = 1) -> Generator[Value]:
        """Loop over i from `first` to before `end`; down to it for a negative step."""
        with self.loop(first, end, step, ()) as (i, _, carry):
            yield i
            carry()

    @contextmanager
    def rows(self, first: Index, end: Index, step: int = 1) -> Generator[Value]:
        """Loop as `each` does, over rows that do not depend on each other: warps may share them."""
        with self.each(first, end, step) as i:
            yield i

    @contextmanager
    def parallel(self, first: Index, end: Index, step: int = 1) -> Generator[Value]:
        """Loop as `each` does, over turns of plain numbers that do not depend on each other.

        Threads share the turns, so that values of a turn exist in it alone.
        """
        with self.each(first, end, step) as i:
            yield i

    def accumulate(
        self,
        start: Sequence[Value],
        count: Index,
        body: Callable[..., Sequence[Value]],
        going: Callable[..., Value] | None = None,
    ) -> list[Value]:
        """Return values that a loop over k < count carries from one turn to the next.

        start: where they begin. body: of k and the values, returns the next ones. going: of the
        values; where this test fails, the loop is left.
        """
        with self.loop(0, count, 1, start, going) as (k, values, carry):
            carry(*body(k, *values))
        return values

    def sum(
        self, count: Index, term: Callable[[Value], tuple[Operand, Operand]], start: Operand = 0.0
    ) -> Value:
        """Return start + the sum over k of a_k b_k, where `term` gives a_k and b_k."""

        def body(k: Value, total: Value) -> list[Value]:
            return [self.fma(*term(k), total)]

        return self.accumulate([self.value(start)], count, body)[0]

    def largest(self, count: Index, term: Callable[[Value], Value], start: Operand = 0.0) -> Value:
        """Return the largest of a number and of term(k) for all k < count, whatever is NaN."""

        def body(k: Value, most: Value) -> list[Value]:
            return [self.maximum(most, term(k))]

        return self.accumulate([self.value(start)], count, body)[0]

    def copy(self, target: Vector, source: Vector, count: Index) -> None:
        """Copy numbers."""
        with self.parallel(0, count) as i:
            target[i] = source[i]

    def copy_wide(self, target: Vector, source: Vector, count: int) -> None:
        """Copy so many wide values."""
        with self.each(0, count * self.lanes, self.lanes) as i:
            target[i] = source.wide(i)

    def fill(self, target: Vector, x: Operand, width: Index) -> None:
        """Write one number to a whole row."""
        wide = self.constant(x, WIDE) if not isinstance(x, Value) else self.broadcast(x)
        with self.each(0, width, self.lanes) as j:
            target[j] = wide

    def scale(self, row: Vector, factor: Value, width: Index) -> None:
        """Multiply a row by a number."""
        wide = self.broadcast(factor)
        with self.each(0, width, self.lanes) as j:
            row[j] = wide * row.wide(j)

    def add(self, row: Vector, factor: Value, other: Vector, width: int) -> None:
        """Add factor times another row to a row."""
        wide = self.broadcast(factor)

        def one(j: Index) -> None:
            row[j] = self.fma(wide, other.wide(j), row.wide(j))

        if width <= CHUNK * self.lanes:
            for j in range(0, width, self.lanes):
                one(j)
        else:
            with self.each(0, width, self.lanes) as j:
                one(j)

    def combine(
        self,
        out: Vector,
        start: Vector | None,
        factor: Callable[[Value], Value],
        rows: Matrix,
        terms: Index,
        width: int,
    ) -> None:
        """Write a row: start + sum over k < terms of factor(k) rows[k]; start None: zero."""
        for begin in range(0, width, CHUNK * self.lanes):
            columns = range(begin, min(begin + CHUNK * self.lanes, width), self.lanes)
            zero = self.constant(0.0, WIDE)
            first = [zero if start is None else start.wide(j) for j in columns]

            def body(k: Value, *totals: Value, columns: range = columns) -> list[Value]:
                wide, row = self.broadcast(factor(k)), rows.row(k)
                pairs = zip(columns, totals, strict=True)
                return [self.fma(wide, row.wide(j), total) for j, total in pairs]

            totals = self.accumulate(first, terms, body)
            for j, total in zip(columns, totals, strict=True):
                out[j] = total

    def products(
        self,
        out: Matrix,
        start: Matrix | None,
        a: Matrix,
        b: Matrix,
        terms: int,
        shape: tuple[int, int],
        *,
        below: bool = False,
    ) -> None:
        """Write start + a^T b, several rows at once in registers.

        Args:
            out: its rows are padded. start: None: zero. a, b: with so many rows, the terms.
            shape: rows and padded columns of `out`.
            below: only what lies below the diagonal and on it is needed.
        """
        rows, width = shape
        wides = 1 if below else next(v for v in (3, 2, 1) if width // self.lanes % v == 0)
        tall = TILES[wides]
        whole = rows // tall * tall
        with self.rows(0, whole, tall) as i:
            self._tiles(out, start, a, b, terms, i, (tall, wides), i + tall if below else width)
        if rows > whole:
            end = rows if below else width
            self._tiles(out, start, a, b, terms, whole, (rows - whole, wides), end)

    def _tiles(
        self,
        out: Matrix,
        start: Matrix | None,
        a: Matrix,
        b: Matrix,
        terms: int,
        i: Index,
        tile: tuple[int, int],
        end: Index,
    ) -> None:
        """Write the tiles of some rows of `products`, from the left to before column `end`."""
        tall, wides = tile
        columns = range(0, wides * self.lanes, self.lanes)
        places = [(q, c) for q in range(tall) for c in columns]
        with self.each(0, end, wides * self.lanes) as j:
            zero = self.constant(0.0, WIDE)
            sums = [zero if start is None else start.wide(i + q, j + c) for q, c in places]
            left, right = a.start.behind(i), b.start.behind(j)
            first = [left.address, right.address, *sums]
            with self.loop(0, terms, 1, first) as (_, values, carry):
                left, right = map(Vector, values[:2])
                row = [right.wide(c) for c in columns]
                factors = [self.broadcast(left[q]) for q in range(tall)]
                pairs = zip(places, values[2:], strict=True)
                further = left.behind(a.stride).address, right.behind(b.stride).address
                sums = [self.fma(factors[q], row[c // self.lanes], x) for (q, c), x in pairs]
                carry(*further, *sums)
            for (q, c), total in zip(places, values[2:], strict=True):
                out[i + q, j + c] = total

    def factor(self, A: Matrix, n: int, width: int, inverse: Vector) -> None:
        """Factor a symmetric positive definite matrix: A = U^T D^-1 U, from its upper half.

        U takes its place, D is its diagonal, 1/D is written to `inverse`. Rows are `width` numbers
        long: columns behind the matrix, B, become U^-T D B. A pivot that is not positive is NaN.
        """
        with self.each(0, n) as j:
            pivot = A[j, j]
            over = self.value(-1.0) / self.select(pivot > 0.0, pivot, float("nan"))
            inverse[j] = -over
            row = A.row(j)
            with self.rows(j + 1, n) as i:
                self.add(A.row(i), A[j, i] * over, row, width)

    def back_substitute(self, A: Matrix, n: int, X: Matrix, width: int, inverse: Vector) -> None:
        """Replace the rows X = U^-T D B that `factor` leaves by the solution of A X = B."""
        with self.each(n - 1, -1, -1) as i:
            self.scale(X.row(i), inverse[i], width)
            with self.rows(0, i) as a:
                self.add(X.row(a), -A[a, i], X.row(i), width)
