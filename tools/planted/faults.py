"""Small mistakes that can be planted in a module: each is one replacement of text.

Text that a user reads (docstrings, messages, `__repr__`), type annotations, decorators, imports and
calls of the logger get no faults: no test of behaviour should notice them.
"""

import ast
import io
import random
import tokenize
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

OPERATORS = {
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "//": ("/",),
    "%": ("*",),
    "**": ("*",),
    "&": ("|",),
    "|": ("&",),
    "^": ("&",),
    "<<": (">>",),
    ">>": ("<<",),
}
COMPARISONS = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
TWINS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("nanmin", "nanmax"),
    ("fmin", "fmax"),
    ("any", "all"),
    ("sin", "cos"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
)
NAMES = {a: b for pair in TWINS for a, b in (pair, pair[::-1])}
INDICES = {"i", "j", "k", "m", "n", "p", "a", "b"}
TEXT = {"__repr__", "__str__", "__format__", "_repr_html_", "_repr_markdown_", "_repr_latex_"}
LOGGERS = {"log", "logger", "logging", "warnings"}
TYPING = {"cast", "TypeVar", "NewType", "ParamSpec", "Literal", "namedtuple"}
# options that only make code stricter or faster: without them it computes the same
OPTIONS = {"strict", "stacklevel", "repr", "slots", "kw_only", "frozen", "copy", "maxsize"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A replacement of the bytes [start, end) of a file; `line` and `column` say where it is."""

    path: str
    line: int
    column: int
    start: int
    end: int
    text: str
    kind: str

    def plant(self, source: bytes) -> bytes:
        """Return the source with the fault in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def before_and_after(self, source: bytes) -> tuple[str, str]:
        """Return the lines that the fault changes, without and with it."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        last = len(source) if last < 0 else last
        after = source[first : self.start] + self.text.encode() + source[self.end : last]
        return _one_line(source[first:last]), _one_line(after)


def choose(faults: Iterable[Fault], count: int, seed: int, root: Path) -> list[Fault]:
    """Draw `count` different faults: every line has an equal chance, then every fault of the line.

    No line is drawn twice before every line was drawn once. Replacements that leave the program
    as it is, or that are not Python, are drawn again from the same line.
    """
    rng = random.Random(f"planted faults, seed {seed}")
    lines: dict[tuple[str, int], list[Fault]] = {}
    for fault in faults:
        lines.setdefault((fault.path, fault.line), []).append(fault)
    chosen: list[Fault] = []
    while lines and len(chosen) < count:
        places = sorted(lines)
        for place in rng.sample(places, min(count - len(chosen), len(places))):
            options = lines[place]
            while options:
                fault = options.pop(rng.randrange(len(options)))
                if changes(fault, (root / fault.path).read_bytes()):
                    chosen.append(fault)
                    break
            if not options:
                del lines[place]
    return chosen


def find_faults(root: Path, folder: Path) -> list[Fault]:
    """Return every fault that can be planted in the modules of `folder`, in a fixed order."""
    found: list[Fault] = []
    for path in sorted(folder.rglob("*.py")):
        found += faults_of(path.relative_to(root).as_posix(), path.read_bytes())
    return found


def faults_of(name: str, source: bytes) -> list[Fault]:
    """Return every replacement that the rules give for one module."""
    finder = _Finder(name, source)
    finder.visit(ast.parse(source))
    return finder.found


def changes(fault: Fault, source: bytes) -> bool:
    """Return True if the module still is Python with the fault, and is another program."""
    try:
        return ast.dump(ast.parse(fault.plant(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _one_line(text: bytes) -> str:
    return " ".join(text.decode().split())


class _Finder(ast.NodeVisitor):
    """Collect the faults of a syntax tree."""

    def __init__(self, name: str, source: bytes) -> None:
        self.name = name
        self.found: list[Fault] = []
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.tokens = list(self._tokens())

    def _tokens(self) -> Iterator[tuple[int, int, str]]:
        """Operators and words with their first and last byte."""
        lines = self.source.decode().splitlines(keepends=True)
        for token in tokenize.tokenize(io.BytesIO(self.source).readline):
            if token.type in (tokenize.OP, tokenize.NAME):
                row, column = token.start
                start = self.starts[row - 1] + len(lines[row - 1][:column].encode())
                yield start, start + len(token.string.encode()), token.string

    def _start(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def _between(self, left: ast.AST, right: ast.AST) -> tuple[int, int, str]:
        """Return the operator between two operands; it may have two words."""
        first, last = self._end(left), self._start(right)
        at = bisect_left(self.tokens, first, key=lambda token: token[0])
        inside = []
        while at < len(self.tokens) and self.tokens[at][1] <= last:
            inside += [self.tokens[at]] if self.tokens[at][2] not in ("(", ")") else []
            at += 1
        return inside[0][0], inside[-1][1], " ".join(t[2] for t in inside)

    def _add(self, start: int, end: int, text: str, kind: str) -> None:
        line = self.source.count(b"\n", 0, start) + 1
        column = start - self.starts[line - 1]
        self.found.append(Fault(self.name, line, column, start, end, text, kind))

    def _body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    # what carries no faults, in whole or in part

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit defaults and body, not decorators and annotations."""
        if node.name in TEXT:
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._body(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body."""
        self._body(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value, not the annotation."""
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave out text."""

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Leave out imports."""

    visit_ImportFrom = visit_Import

    def visit_Raise(self, node: ast.Raise) -> None:
        """Drop the error; its message stays as it is."""
        self._drop(node)

    def visit_If(self, node: ast.If) -> None:
        """Leave out what only type checkers read."""
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    # dropped statements

    def _drop(self, node: ast.stmt) -> None:
        self._add(self._start(node), self._end(node), "pass", "dropped statement")

    def visit_Expr(self, node: ast.Expr) -> None:
        """Drop a call; text on its own and yields stay."""
        if isinstance(node.value, ast.Call) and not _is_log(node.value):
            self._drop(node)
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Drop writes into attributes and items; a missing name would be too easy to find."""
        names = {x.id for x in node.targets if isinstance(x, ast.Name)}
        if names & {"__all__", "__slots__"}:
            return
        if any(isinstance(x, ast.Attribute | ast.Subscript) for x in node.targets):
            self._drop(node)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Drop the statement or change its operator."""
        self._drop(node)
        start, end, text = self._between(node.target, node.value)
        for other in OPERATORS.get(text[:-1], ()):
            self._add(start, end, other + "=", "operator")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue | ast.Break) -> None:
        """Drop it."""
        self._drop(node)

    visit_Break = visit_Continue

    # expressions

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Change the operator, or the sign of a product."""
        start, end, text = self._between(node.left, node.right)
        if not (_is_text(node.left) or _is_text(node.right) or (text == "|" and _is_type(node))):
            for other in OPERATORS.get(text, ()):
                self._add(start, end, other, "operator")
            if text in ("*", "/", "@"):
                self._add(self._start(node), self._start(node), "-", "sign")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Remove a minus or a `not`."""
        start = self._start(node)
        if isinstance(node.op, ast.USub):
            self._add(start, start + 1, "", "sign")
        elif isinstance(node.op, ast.Not):
            self._add(start, start + 3, "", "removed not")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap `and` and `or`."""
        for left, right in pairwise(node.values):
            start, end, text = self._between(left, right)
            self._add(start, end, {"and": "or", "or": "and"}[text], "boolean operator")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Change a comparison or its strictness."""
        operands = [node.left, *node.comparators]
        for left, right in pairwise(operands):
            start, end, text = self._between(left, right)
            for other in COMPARISONS[text]:
                self._add(start, end, other, "comparison")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number or a truth value."""
        for other in _other_constants(node.value):
            self._add(self._start(node), self._end(node), other, "constant")

    def visit_Call(self, node: ast.Call) -> None:
        """Swap min and max and the like; make a range longer or shorter."""
        function = node.func
        name = _name(function)
        if name in TYPING or _is_log(node):
            return
        if name in NAMES:
            end = self._end(function)
            self._add(end - len(name.encode()), end, NAMES[name], "swapped function")
        if name == "range" and node.args:
            last = node.args[min(1, len(node.args) - 1)]
            for change in ("+ 1", "- 1"):
                self._around(last, change)
        self.visit(function)
        for argument in node.args[:1] if name in ("isinstance", "issubclass") else node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in OPTIONS:
                self.visit(keyword.value)

    def _around(self, node: ast.expr, change: str) -> None:
        start, end = self._start(node), self._end(node)
        text = self.source[start:end].decode()
        self._add(start, end, f"({text}) {change}", "off by one")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Remove a transposition."""
        if node.attr == "T" and isinstance(node.ctx, ast.Load):
            self._add(self._end(node.value), self._end(node), "", "removed transposition")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Shift an index by one."""
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for entry in entries:
            bounds = (entry.lower, entry.upper) if isinstance(entry, ast.Slice) else (entry,)
            for bound in bounds:
                counts = isinstance(entry, ast.Slice) and isinstance(
                    bound, ast.Name | ast.Attribute
                )
                if counts or (isinstance(bound, ast.Name) and bound.id in INDICES):
                    self._add(self._end(bound), self._end(bound), " + 1", "off by one")
        self.generic_visit(node)


def _other_constants(value: object) -> tuple[str, ...]:
    """Return the wrong values of a constant, as text."""
    if isinstance(value, bool):
        return (repr(not value),)
    if isinstance(value, int):
        return (repr(value + 1),) if value == 0 else (repr(value - 1), repr(value + 1))
    if isinstance(value, float):
        if value == int(value) and abs(value) < 1000:
            return (repr(value + 1),) if value == 0 else (repr(value - 1), repr(value + 1))
        if abs(value) < 1e-3:
            return (f"{value * 1000:.12g}",)
        return (repr(value * 2), repr(value / 2))
    return ()


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_log(call: ast.Call) -> bool:
    """Return True for calls of the logger and for warnings."""
    function = call.func
    owner = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in LOGGERS


def _is_text(node: ast.expr) -> bool:
    """Return True for literals of text and of lists: arithmetic with them is concatenation."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def _is_type(node: ast.expr) -> bool:
    """Return True for a union of types such as `int | None`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_type(node.left) or _is_type(node.right)
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Subscript):
        return _is_type(node.value)
    name = _name(node)
    return name in {"int", "float", "str", "bool", "bytes", "complex", "list", "tuple", "dict"} or (
        name[:1].isupper() and name[1:2].islower()
    )
