"""Programs of `compiler.loops` as LLVM IR: wide values are vectors."""
# ruff: noqa: D102 (`Loops` describes its methods)

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager

from kinetree.engine.compiler.loops import (
    ADDRESS,
    INTEGER,
    MASK,
    REAL,
    TEST,
    WIDE,
    Index,
    Loops,
    Operand,
    Value,
)
from kinetree.engine.llvm.text import FLOATS, SCALARS, Writer, number, splat, vector

INTEGERS = {
    "add": "add nsw i64 {}, {}",
    "sub": "sub nsw i64 {}, {}",
    "mul": "mul nsw i64 {}, {}",
    "quotient": "sdiv i64 {}, {}",
    "remainder": "srem i64 {}, {}",
    "select": "select i1 {}, i64 {}, i64 {}",
    "real": "sitofp i64 {} to {F}",
    "eq": "icmp eq i64 {}, {}",
    **{op: f"icmp s{op} i64 {{}}, {{}}" for op in ("lt", "le", "gt", "ge")},
}
TESTS = {"and": "and {T} {}, {}", "or": "or {T} {}, {}", "not": "xor {T} {}, {true}"}
ADDRESSES = {"eq": "icmp eq ptr {}, {}"}
TEMPLATES = {
    REAL: FLOATS,
    WIDE: FLOATS,
    INTEGER: INTEGERS,
    TEST: TESTS,
    MASK: TESTS,
    ADDRESS: ADDRESSES,
}


class LlvmLoops(Loops):
    """Writes `@{name}`; arguments: names and kinds. linkage, attributes: words around the head.

    noalias: addresses of memory that the function reaches by no other one. dtype: of numbers.
    """

    def __init__(
        self,
        lanes: int,
        name: str,
        arguments: Sequence[tuple[str, str]],
        linkage: str = "internal ",
        attributes: str = "",
        *,
        noalias: Collection[str] = (),
        dtype: str = "float64",
    ) -> None:
        super().__init__(lanes)
        self.scalar = SCALARS[dtype]
        self.types = {
            REAL: self.scalar.word,
            WIDE: vector(self.scalar.word, lanes),
            INTEGER: "i64",
            TEST: "i1",
            MASK: vector("i1", lanes),
            ADDRESS: "ptr",
        }
        code = self.scalar.code
        self.suffix = {REAL: code, WIDE: code if lanes == 1 else f"v{lanes}{code}"}
        self.suffix[INTEGER] = self.scalar.word
        self.w = Writer()
        self.block, self.blocks = "entry", 0
        parameters = ", ".join(
            f"{self.types[kind]}{' noalias' * (word in noalias)} %{word}"
            for word, kind in arguments
        )
        self.head = f"define {linkage}void @{name}({parameters}){attributes}"
        self.arguments = {word: Value(self, f"%{word}", kind) for word, kind in arguments}

    def let(self, op: str, kind: str, *args: Value, result: str = "") -> Value:
        words = {"T": self.types[kind], "F": self.suffix.get(kind, ""), "B": "i1"}
        words["true"] = splat("i1", "true", self.lanes) if kind == MASK else "true"
        text = TEMPLATES[kind][op].format(*(x.name for x in args), **words)
        return Value(self, self.w.let(text), result or kind)

    def constant(self, x: Operand, kind: str) -> Value:
        if kind == INTEGER:
            return Value(self, str(x), INTEGER)
        assert not isinstance(x, Value)
        if kind in (TEST, MASK):
            word = "true" if x else "false"
            return Value(self, splat("i1", word, self.lanes if kind == MASK else 1), kind)
        lanes = self.lanes if kind == WIDE else 1
        return Value(self, number(float(x), self.scalar.word, lanes), kind)

    def broadcast(self, x: Value) -> Value:
        if self.lanes == 1:
            return Value(self, x.name, WIDE)
        wide = self.types[WIDE]
        first = self.w.let(f"insertelement {wide} poison, {self.types[REAL]} {x.name}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        text = f"shufflevector {wide} {first}, {wide} poison, {mask}"
        return Value(self, self.w.let(text), WIDE)

    def all(self, mask: Value) -> Value:
        if self.lanes == 1:
            return Value(self, mask.name, TEST)
        bits = self.w.let(f"bitcast {self.types[MASK]} {mask.name} to i{self.lanes}")
        return Value(self, self.w.let(f"icmp eq i{self.lanes} {bits}, -1"), TEST)

    def load(self, address: Value, i: Index, kind: str) -> Value:
        at, size = self.element(address, i, kind)
        return Value(self, self.w.let(f"load {self.types[kind]}, ptr {at}, align {size}"), kind)

    def store(self, address: Value, i: Index, value: Value) -> None:
        at, size = self.element(address, i, value.kind)
        self.w.do(f"store {self.types[value.kind]} {value.name}, ptr {at}, align {size}")

    def element(self, address: Value, i: Index, kind: str) -> tuple[str, int]:
        """Return the address of number i, or of word i, and the bytes of one."""
        unit, size = (
            ("i64", 8) if kind in (INTEGER, ADDRESS) else (self.types[REAL], self.scalar.size)
        )
        return self.w.at(address.name, self.value(i, INTEGER).name, unit), size

    def offset(self, address: Value, i: Index) -> Value:
        return Value(self, self.element(address, i, REAL)[0], ADDRESS)

    def bytes_behind(self, address: Value, i: Index) -> Value:
        """Return the address i bytes behind another."""
        return Value(self, self.w.at(address.name, self.value(i, INTEGER).name), ADDRESS)

    def call(self, function: str, *arguments: Operand) -> None:
        self.call_at(f"@{function}", *arguments)

    def call_at(self, function: str | Value, *arguments: Operand) -> None:
        """Call the function at an address."""
        name = function.name if isinstance(function, Value) else function
        values = [self.value(x, INTEGER if isinstance(x, int) else REAL) for x in arguments]
        given = ", ".join(f"{self.types[x.kind]} {x.name}" for x in values)
        self.w.do(f"call void {name}({given})")

    def label(self, name: str) -> None:
        """Open a basic block."""
        self.block = name
        self.w.label(name)

    @contextmanager
    def loop(
        self,
        first: Index,
        end: Index,
        step: int,
        carried: Sequence[Value],
        going: Callable[..., Value] | None = None,
    ) -> Generator[tuple[Value, list[Value], Callable[..., None]]]:
        self.blocks += 1
        name, before = f"loop{self.blocks}", self.block
        start = [self.value(first, INTEGER), *carried]
        limit = self.value(end, INTEGER)
        self.w.do(f"br label %{name}.head")
        self.label(f"{name}.head")
        place = len(self.w.lines)
        i, *values = (Value(self, f"%{name}.{k}", x.kind) for k, x in enumerate(start))
        inside = i < limit if step > 0 else i > limit
        if going is not None:
            inside = inside & going(*values)
        self.w.do(f"br i1 {inside.name}, label %{name}.body, label %{name}.end")
        self.label(f"{name}.body")
        later: list[Value] = []

        def carry(*after: Value) -> None:
            later.extend([i + step, *after])

        yield i, values, carry
        places = zip([i, *values], start, later, strict=True)
        self.w.lines[place:place] = [
            f"  {x.name} = phi {self.types[x.kind]} "
            f"[ {a.name}, %{before} ], [ {b.name}, %{self.block} ]"
            for x, a, b in places
        ]
        self.w.do(f"br label %{name}.head")
        self.label(f"{name}.end")

    @contextmanager
    def when(self, test: Value) -> Generator[None]:
        self.blocks += 1
        name = f"when{self.blocks}"
        self.w.do(f"br i1 {test.name}, label %{name}.then, label %{name}.end")
        self.label(f"{name}.then")
        yield
        self.w.do(f"br label %{name}.end")
        self.label(f"{name}.end")

    def text(self) -> str:
        body = "\n".join([*self.w.lines, "  ret void"])
        return f"{self.head} {{\nentry:\n{body}\n}}\n"
