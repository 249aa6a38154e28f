"""The text of a function in LLVM IR, as the fast entry of a kernel needs it.

Every value is a name or a number as text, so nothing here knows what it computes.
"""

from typing import Any

FAILED = "failed"  # the block that `require` leads to


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

    def at(self, base: str, offset: str | int, unit: str = "i8") -> str:
        """Return the address `offset` units behind `base`."""
        return self.let(f"getelementptr {unit}, ptr {base}, i64 {offset}")

    def load(self, kind: str, base: str, offset: int = 0) -> str:
        """Return the field `offset` bytes behind `base`."""
        return self.let(f"load {kind}, ptr {self.at(base, offset)}")

    def item(self, kind: str, base: str, index: str | int) -> str:
        """Return an item of an array."""
        return self.let(f"load {kind}, ptr {self.at(base, index, kind)}")

    both, either = instruction("and i1 {}, {}"), instruction("or i1 {}, {}")

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
            self.do(f"br label %{name}")
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

    def text(self) -> str:
        """Return the whole function."""
        return "\n".join([self._head, "entry:", *self._rooms, *self._lines, "}"]) + "\n"
