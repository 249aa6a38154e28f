"""A function in LLVM IR, written with blocks of Python.

The entry points that all kernels share have loops and branches. `Function` writes them as `with`
blocks: the text inside a block belongs to the branch or the body of the loop.

    with f.when(f.compare("eq", "ptr", a, b)):
        f.give(a)

Variables are places on the stack; LLVM's optimiser, which runs on these functions, turns them into
registers. Every value is a name or a number as text, so nothing here knows what it computes.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kinetree.engine.llvm import engine
from kinetree.engine.llvm.target import Target

FAILED = "failed"  # the block that `require` leads to


@dataclass(frozen=True, slots=True)
class Variable:
    """A place on the stack with a value of one type."""

    function: "Function"
    kind: str
    place: str

    def get(self) -> str:
        """Return the value that it has now."""
        return self.function.let(f"load {self.kind}, ptr {self.place}")

    def set(self, value: str | int) -> None:
        """Give it another value."""
        self.function.do(f"store {self.kind} {value}, ptr {self.place}")


def instruction(template: str) -> Any:
    """Make a method of `Function` that adds an instruction and returns the name of its value."""
    return lambda self, *values: self.let(template.format(*values))


class Function:
    """The text of one function; `arguments` are types and names, such as "ptr %self, i64 %size"."""

    def __init__(self, name: str, arguments: str, result: str = "ptr") -> None:
        self._head = f"define {result} @{name}({arguments}) {{"
        self._result = result
        self._rooms: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._ended = False  # the last line leaves the block

    def do(self, statement: str) -> None:
        """Add a statement that has no value."""
        self._lines.append(statement)
        self._ended = False

    def let(self, expression: str) -> str:
        """Add a statement and return the name of its value."""
        name = f"%v{self._next()}"
        self.do(f"{name} = {expression}")
        return name

    def _next(self) -> int:
        self._count += 1
        return self._count

    def room(self, kind: str) -> str:
        """Return memory on the stack for a value or an array of type `kind`."""
        name = f"%room{self._next()}"
        self._rooms.append(f"{name} = alloca {kind}, align 16")
        return name

    def variable(self, kind: str, value: str | int) -> Variable:
        """Return a variable that begins with `value`."""
        made = Variable(self, kind, self.room(kind))
        made.set(value)
        return made

    def at(self, base: str, offset: str | int, unit: str = "i8") -> str:
        """Return the address `offset` units behind `base`."""
        return self.let(f"getelementptr {unit}, ptr {base}, i64 {offset}")

    def load(self, kind: str, base: str, offset: int = 0) -> str:
        """Return the field `offset` bytes behind `base`."""
        return self.let(f"load {kind}, ptr {self.at(base, offset)}")

    def item(self, kind: str, base: str, index: str | int) -> str:
        """Return an item of an array."""
        return self.let(f"load {kind}, ptr {self.at(base, index, kind)}")

    def put(self, kind: str, value: str | int, base: str, index: str | int = 0) -> None:
        """Store an item of an array."""
        self.do(f"store {kind} {value}, ptr {self.at(base, index, kind)}")

    add, mul = instruction("add i64 {}, {}"), instruction("mul i64 {}, {}")
    both, either = instruction("and i1 {}, {}"), instruction("or i1 {}, {}")
    opposite = instruction("xor i1 {}, true")

    def compare(self, how: str, kind: str, a: str | int, b: str | int) -> str:
        """Return the truth of a comparison: "eq", "ne", "ult", "sgt" or "ogt", ..."""
        verb = "fcmp" if kind in ("float", "double") else "icmp"
        return self.let(f"{verb} {how} {kind} {a}, {b}")

    def choose(self, test: str, kind: str, a: str | int, b: str | int) -> str:
        """Return a if the test is true, else b."""
        return self.let(f"select i1 {test}, {kind} {a}, {kind} {b}")

    def call(self, kind: str, function: str, *arguments: str) -> str:
        """Call a function at an address or by name; return its value, "" if it has none."""
        text = f"call {kind} {function}({', '.join(arguments)})"
        if kind == "void":
            self.do(text)
            return ""
        return self.let(text)

    def give(self, value: str = "") -> None:
        """Return from the function."""
        self.do(f"ret {self._result} {value}".rstrip() if value else "ret void")
        self._ended = True

    def pass_on(self, function: str, *arguments: str) -> None:
        """Return what another function returns."""
        self.give(self.let(f"tail call {self._result} {function}({', '.join(arguments)})"))

    def go(self, label: str) -> None:
        """Continue at a block."""
        self.do(f"br label %{label}")
        self._ended = True

    def branch(self, test: str, yes: str, no: str) -> None:
        """Continue at one of two blocks."""
        self.do(f"br i1 {test}, label %{yes}, label %{no}")
        self._ended = True

    def new_label(self) -> str:
        """Return a name for a block that no other block has."""
        return f"b{self._next()}"

    def label(self, name: str) -> None:
        """Begin a block, into which the one before runs."""
        if not self._ended:
            self.go(name)
        self._lines.append(f"{name}:")
        self._ended = False

    def require(self, *tests: str) -> None:
        """Continue if all tests are true, else at the block `failed`."""
        all_true = tests[0]
        for test in tests[1:]:
            all_true = self.both(all_true, test)
        following = self.new_label()
        self.branch(all_true, following, FAILED)
        self.label(following)

    @contextmanager
    def when(self, test: str) -> Generator[None]:
        """Do the block if the test is true."""
        inside, after = self.new_label(), self.new_label()
        self.branch(test, inside, after)
        self.label(inside)
        yield
        self.label(after)

    @contextmanager
    def each(self, count: str | int) -> Generator[str]:
        """Do the block for 0, 1, ... below `count`."""
        index = self.variable("i64", 0)
        check, after = self.new_label(), self.new_label()
        self.label(check)
        now = index.get()
        inside = self.new_label()
        more = self.compare("slt", "i64", now, count)
        self.branch(more, inside, after)
        self.label(inside)
        yield now
        index.set(self.add(now, 1))
        self.go(check)
        self.label(after)

    @contextmanager
    def repeat(self) -> Generator[str]:
        """Do the block again and again; it is left by going to the label, or by returning."""
        again, after = self.new_label(), self.new_label()
        self.label(again)
        yield after
        if not self._ended:
            self.go(again)
        self.label(after)

    def text(self) -> str:
        """Return the whole function."""
        return "\n".join([self._head, "entry:", *self._rooms, *self._lines, "}"]) + "\n"


def optimised(texts: Sequence[str], target: Target) -> str:
    """Return the module of some functions with variables in registers.

    More of LLVM's optimiser takes ten times as long and saves nothing that can be measured.
    """
    llvm = engine.binding()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(engine.target_machine(target, 1), options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    with engine.parsed("\n".join(texts)) as module:
        passes.run(module, builder)
        return str(module)
