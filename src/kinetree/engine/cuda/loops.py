"""Programs of `compiler.loops` as C or CUDA C++.

With one lane the text is plain C. With several, so many threads run it together (a warp, on a
GPU): each has its own column of a wide value, all compute the same plain numbers, and the first
one writes them. Between the writes of a thread and the reads of others stands a barrier.

Several warps take turns in the rows of a loop over `rows`, and all threads in the turns of one in
`parallel`; everything else is written by the first.
"""
# ruff: noqa: D102 (`Loops` describes its methods)

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from kinetree.engine.compiler.loops import (
    ADDRESS,
    INTEGER,
    MASK,
    NUMBERS,
    REAL,
    TEST,
    WIDE,
    Index,
    Loops,
    Operand,
    Value,
)
from kinetree.engine.cuda.body import literal

TYPES = {
    REAL: "real",
    WIDE: "real",
    INTEGER: "long long",
    TEST: "bool",
    MASK: "bool",
    ADDRESS: "real *",
}
OPERATORS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "quotient": "{} / {}",
    "remainder": "{} % {}",
    "neg": "-{}",
    "abs": "kt_fabs({})",
    "sqrt": "kt_sqrt({})",
    "fma": "kt_fma({}, {}, {})",
    "select": "{} ? {} : {}",
    "real": "(real){}",
    "and": "{} && {}",
    "or": "{} || {}",
    "not": "!{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "gt": "{} > {}",
    "ge": "{} >= {}",
    "eq": "{} == {}",
}
NAME = re.compile(r"\bv\d+\b")
DEFINITION = re.compile(r"\s*(?:const )?(?:real|long long|bool)\b[ *]*(v\d+) =")


class CLoops(Loops):
    """Writes the function `name`; arguments: names and kinds. linkage: the words before it.

    lane, warp: the numbers of a thread, where there are several; barriers: the statements at which
    the threads of a warp, and all of them, wait for each other and see what all have written.
    """

    def __init__(
        self,
        lanes: int,
        name: str,
        arguments: Sequence[tuple[str, str]],
        linkage: str = "static",
        *,
        warps: int = 1,
        lane: str = "lane",
        warp: str = "warp",
        barriers: tuple[str, str] = ("__syncwarp();", "__syncthreads();"),
        dtype: str = "float64",
    ) -> None:
        super().__init__(lanes)
        self.dtype, self.lane, self.warp, self.warps = dtype, lane, warp, warps
        self.barriers, self.apart = barriers, warps == 1  # apart: a warp has rows of its own
        parameters = [f"{TYPES[kind]} {word}" for word, kind in arguments]
        parameters += self.place()
        self.head = f"{linkage} void {name}({', '.join(parameters)})"
        self.arguments = {word: Value(self, word, kind) for word, kind in arguments}
        self.lines: list[str] = []
        self.depth, self.count = 1, 0
        self.written: set[str] = set()  # kinds of the values written, and read, since a barrier
        self.read: set[str] = set()
        self.stores = 0
        self.alone = lanes == 1  # a thread has turns of its own: none waits for it

    def place(self, kind: str = "const int ") -> list[str]:
        """Return the parameters, or arguments, that tell a thread its place."""
        names = [self.lane] * (self.lanes > 1) + [self.warp] * (self.warps > 1)
        return [kind + name for name in names]

    def do(self, statement: str) -> None:
        """Add a statement."""
        self.lines.append("    " * self.depth + statement)

    def named(self, kind: str, expression: str, const: str = "const ") -> Value:
        """Add a definition and return its value."""
        self.count += 1
        name = f"v{self.count}"
        space = "" if kind == ADDRESS else " "
        const = "" if kind == ADDRESS else const
        self.do(f"{const}{TYPES[kind]}{space}{name} = {expression};")
        return Value(self, name, kind)

    def let(self, op: str, kind: str, *args: Value, result: str = "") -> Value:
        return self.named(result or kind, OPERATORS[op].format(*(x.name for x in args)))

    def constant(self, x: Operand, kind: str) -> Value:
        assert not isinstance(x, Value)
        if kind in (TEST, MASK):
            return Value(self, "true" if x else "false", kind)
        if kind == INTEGER:
            return Value(self, str(x) if x >= 0 else f"({x})", kind)
        return Value(self, literal(float(x), self.dtype), kind)

    def broadcast(self, x: Value) -> Value:
        return Value(self, x.name, WIDE)

    def all(self, mask: Value) -> Value:
        together = mask.name if self.lanes == 1 else f"__all_sync(0xffffffffu, {mask.name})"
        return self.named(TEST, together)

    def wait(self) -> None:
        """Let the threads wait for each other."""
        if self.alone:
            return
        if self.written or self.read:
            self.do(self.barriers[not self.apart])
        self.written, self.read = set(), set()

    def group(self, kind: str) -> str:
        """Return WIDE where each thread reaches only its own column, else REAL."""
        return WIDE if kind == WIDE and self.apart else REAL

    def load(self, address: Value, i: Index, kind: str) -> Value:
        # the columns of a wide value belong to their threads: only others' numbers are waited for
        group = self.group(kind)
        if REAL in self.written or (group == REAL and self.written):
            self.wait()
        self.read.add(group)
        index = self.value(i, INTEGER).name
        lane = f" + {self.lane}" if kind == WIDE and self.lanes > 1 else ""
        words = address.name if kind in NUMBERS else f"(({TYPES[kind]} *){address.name})"
        return self.named(kind, f"{words}[{index}{lane}]")

    def store(self, address: Value, i: Index, value: Value) -> None:
        group = self.group(value.kind)
        if REAL in self.read or (group == REAL and self.read):
            self.wait()
        self.stores += 1
        self.written.add(group)
        index, together = self.value(i, INTEGER).name, not self.alone
        first = [] if self.apart or self.alone else [f"{self.warp} == 0"]
        if value.kind == WIDE:
            lane, test = f" + {self.lane}" if together else "", f"if ({first[0]}) " if first else ""
            self.do(f"{test}{address.name}[{index}{lane}] = {value.name};")
        else:
            tests = [f"{self.lane} == 0"] * together + first
            test, kind = f"if ({' && '.join(tests)}) " if tests else "", value.kind
            words = address.name if kind in NUMBERS else f"(({TYPES[kind]} *){address.name})"
            self.do(f"{test}{words}[{index}] = {value.name};")

    def offset(self, address: Value, i: Index) -> Value:
        index = self.value(i, INTEGER).name
        return address if index == "0" else self.named(ADDRESS, f"{address.name} + {index}")

    def call(self, function: str, *arguments: Operand) -> None:
        self.wait()
        values = [self.value(x, INTEGER if isinstance(x, int) else REAL) for x in arguments]
        names = [x.name for x in values] + self.place("")
        self.do(f"{function}({', '.join(names)});")
        self.stores += 1
        self.written, self.read = {REAL}, {REAL}

    @contextmanager
    def loop(
        self,
        first: Index,
        end: Index,
        step: int,
        carried: Sequence[Value],
        going: Callable[..., Value] | None = None,
    ) -> Generator[tuple[Value, list[Value], Callable[..., None]]]:
        if self.written:
            self.wait()
        stores, read = self.stores, set(self.read)
        start, limit = self.value(first, INTEGER), self.value(end, INTEGER)
        totals = [self.named(x.kind, x.name, "") for x in carried]
        self.count += 1
        i = Value(self, f"i{self.count}", INTEGER)
        test, move = ("<", f"+= {step}") if step > 0 else (">", f"-= {-step}")
        self.do(
            f"for (long long {i.name} = {start.name}; {i.name} {test} {limit.name}; "
            f"{i.name} {move}) {{"
        )
        self.depth += 1
        values = [self.named(x.kind, x.name) for x in totals]  # as this turn began
        if going is not None:
            self.do(f"if (!{going(*values).name}) break;")

        def carry(*after: Value) -> None:
            for total, x in zip(totals, after, strict=True):
                self.do(f"{total.name} = {x.name};")

        yield i, values, carry
        if self.stores > stores:  # the next turn may read or replace what this one has written
            self.wait()
        self.depth -= 1
        self.do("}")
        self.read |= read
        values[:] = totals

    @contextmanager
    def rows(self, first: Index, end: Index, step: int = 1) -> Generator[Value]:
        if self.apart:
            with self.each(first, end, step) as i:
                yield i
            return
        self.wait()
        turn = Value(self, f"{self.warp} * {step}", INTEGER)
        self.apart = True
        with self.each(turn + first, end, step * self.warps) as i:
            yield i
        self.apart = False
        self.written, self.read = {REAL}, {REAL}

    @contextmanager
    def parallel(self, first: Index, end: Index, step: int = 1) -> Generator[Value]:
        if self.alone:
            with self.each(first, end, step) as i:
                yield i
            return
        self.wait()
        threads = self.lanes if self.apart else self.lanes * self.warps
        place = self.lane if self.apart else f"({self.warp} * {self.lanes} + {self.lane})"
        turn = Value(self, f"{place} * {step}", INTEGER)
        self.alone = True
        with self.each(turn + first, end, step * threads) as i:
            yield i
        self.alone = False
        self.written, self.read = {REAL}, {REAL}

    @contextmanager
    def when(self, test: Value) -> Generator[None]:
        before = set(self.written), set(self.read)
        self.do(f"if ({test.name}) {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.do("}")
        self.written |= before[0]
        self.read |= before[1]

    def text(self) -> str:
        return "\n".join([f"{self.head} {{", *used_lines(self.lines), "}", ""])


def used_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines without definitions of values that nothing uses."""
    used: set[str] = set()
    kept: list[str] = []
    for line in reversed(lines):
        defined = DEFINITION.match(line)
        if defined is None or defined[1] in used:
            used.update(NAME.findall(line))
            kept.append(line)
    return kept[::-1]
