"""Which tests run which statements, so that a fault is only shown to tests that can notice it.

A copy of the sources gets a mark before every statement of every function of the folder. Each test
file runs in a process of its own. Within a file, an earlier test may have traced or remembered what
a later one needs; therefore all tests of a file count as able to notice a fault, those that ran the
statement first. The marks lie in a file that is mapped into memory: programs that a test starts
leave their marks too.
"""

import ast
import json
import mmap
from bisect import bisect_right
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from planted.faults import Fault

MARKS = "planted_marks"
MODULE = '''"""Marks of the statements that have run."""
import mmap
with open({path!r}, "r+b") as _file:
    MARKS = mmap.mmap(_file.fileno(), 0)
'''


@dataclass(frozen=True, slots=True)
class Place:
    """A statement inside a function: its number and where it is (line, column)."""

    number: int
    start: tuple[int, int]
    end: tuple[int, int]


@dataclass(slots=True)
class Statements:
    """The statements of a folder that can be marked, by file, and which module imports which.

    `layout` has the first number of a file, how many it has, and a hash of its content.
    """

    places: dict[str, list[Place]] = field(default_factory=dict)
    headers: dict[str, list[tuple[tuple[int, int], tuple[int, int], list[int]]]] = field(
        default_factory=dict
    )
    importers: dict[str, set[str]] = field(default_factory=dict)
    layout: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    count: int = 0

    def numbers_for(self, fault: Fault) -> set[int]:
        """Return the statements whose tests can notice a fault.

        Inside a function this is the innermost statement. A default of an argument concerns the
        function's own statements. Code that runs while a module is imported concerns the whole
        module and the modules of the folder that import it.
        """
        at = fault.line, fault.column
        inside = [p for p in self.places[fault.path] if p.start <= at < p.end]
        if inside:
            return {max(inside, key=lambda place: place.start).number}
        for start, end, numbers in self.headers[fault.path]:
            if start <= at < end:
                return set(numbers)
        files = {fault.path, *self.importers.get(fault.path, ())}
        return {place.number for path in files for place in self.places[path]}

    def runs_on_import(self, fault: Fault) -> bool:
        """Return True for code outside of functions: a test may see it by a name alone."""
        at = fault.line, fault.column
        headers = [(start, end) for start, end, _ in self.headers[fault.path]]
        spans = [(p.start, p.end) for p in self.places[fault.path]] + headers
        return not any(start <= at < end for start, end in spans)


def instrument(root: Path, folder: Path, marks: Path) -> Statements:
    """Put marks into the modules of `folder`, in place (a copy!), and return their statements."""
    found = Statements()
    for path in sorted(folder.rglob("*.py")):
        tree = _number(root, path, found)
        path.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n")
    marks.write_bytes(bytes(max(found.count, 1)))
    return found


def statements_of(root: Path, folder: Path, package: str) -> Statements:
    """Return the statements as `instrument` numbers them, without changing anything."""
    found = Statements()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        for imported in _imports(_number(root, path, found), package):
            for file in (f"src/{imported}.py", f"src/{imported}/__init__.py"):
                found.importers.setdefault(file, set()).add(name)
    return found


def _number(root: Path, path: Path, found: Statements) -> ast.Module:
    """Number the statements of one file; return its tree with marks."""
    name = path.relative_to(root).as_posix()
    data = path.read_bytes()
    tree = ast.parse(data)
    first = found.count
    found.places[name], found.headers[name] = [], []
    _mark(tree, name, found)
    found.layout[name] = first, found.count - first, sha256(data).hexdigest()
    return tree


def _mark(tree: ast.Module, name: str, found: Statements) -> None:
    """Number the statements of functions and put a mark before each of them."""
    functions = [x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)]
    nested = {id(y) for x in functions for y in ast.walk(x) if y is not x}
    for function in functions:
        if id(function) in nested:
            continue
        first = found.count
        header = (function.lineno, function.col_offset), _start(function.body[0])
        for node in ast.walk(function):
            for part in ("body", "orelse", "finalbody"):
                body = getattr(node, part, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    docstring = _is_docstring(body[0]) and part == "body"
                    setattr(node, part, _marked(body, docstring, name, found))
        found.headers[name].append((*header, list(range(first, found.count))))
    at = 0
    while at < len(tree.body) and (_is_docstring(tree.body[at]) or _is_future(tree.body[at])):
        at += 1
    tree.body.insert(at, ast.parse(f"from {MARKS} import MARKS as _marks_of_tests").body[0])


def _marked(body: list[ast.stmt], docstring: bool, name: str, found: Statements) -> list[ast.stmt]:
    marked: list[ast.stmt] = []
    for k, statement in enumerate(body):
        if not (docstring and k == 0):
            start, end = (
                _start(statement),
                (statement.end_lineno or 0, statement.end_col_offset or 0),
            )
            found.places[name].append(Place(found.count, start, end))
            mark = ast.parse(f"_marks_of_tests[{found.count}] = 1").body[0]
            marked.append(ast.copy_location(mark, statement))
            found.count += 1
        marked.append(statement)
    return marked


def _start(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_docstring(node: ast.stmt) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text and isinstance(node.value.value, str)  # type: ignore[attr-defined]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _imports(tree: ast.Module, package: str) -> set[str]:
    """Return the modules of the package that a module imports, as paths without ending."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            found.add(node.module.replace(".", "/"))  # type: ignore[union-attr]
            found |= {f"{node.module}.{x.name}".replace(".", "/") for x in node.names}
        elif isinstance(node, ast.Import):
            found |= {x.name.replace(".", "/") for x in node.names if x.name.startswith(package)}
    return found


def pack(marks: bytes | mmap.mmap) -> str:
    """Return the numbers that are marked, as text: runs "12-15 18"."""
    numbers = [k for k, mark in enumerate(bytes(marks)) if mark]
    runs: list[list[int]] = []
    for k in numbers:
        if runs and runs[-1][1] == k - 1:
            runs[-1][1] = k
        else:
            runs.append([k, k])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


@dataclass(slots=True)
class Reach:
    """What one test did: its outcome without faults, its time in s, the statements it ran."""

    outcome: str
    seconds: float
    runs: list[tuple[int, int]]

    def touches(self, numbers: set[int]) -> bool:
        """Return True if the test ran one of these statements."""
        starts = [a for a, _ in self.runs]
        for number in numbers:
            at = bisect_right(starts, number) - 1
            if at >= 0 and number <= self.runs[at][1]:
                return True
        return False


def write_record(path: Path, tests: dict[str, tuple[str, float, str]], marked: Statements) -> None:
    """Keep what the tests of one file did, with the numbers that statements had then."""
    path.write_text(json.dumps({"layout": marked.layout, "tests": tests}))


def read_record(path: Path, now: Statements, whole: bool = True) -> dict[str, Reach] | None:
    """Return what the tests of one file did, in today's numbers; None if that is not known.

    It is not known, where `whole`, if a test failed then.

    Of a module that has changed since then it is only known whether a test ran any of it. A new
    module is used by changed ones: a test that ran any of those counts for all of it.
    """
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    layout = record["layout"]
    failed = any(outcome == "failed" for outcome, _, _ in record["tests"].values())
    if whole and failed:
        return None
    found = {}
    for name, (outcome, seconds, text) in record["tests"].items():
        runs = [tuple(int(x) for x in run.split("-")) for run in text.split()]
        moved = _moved([(run[0], run[-1]) for run in runs], layout, now)
        found[name] = Reach(outcome, seconds, moved)
    return found


def _moved(
    runs: list[tuple[int, int]], layout: dict[str, list[Any]], now: Statements
) -> list[tuple[int, int]]:
    """Return runs of old numbers as runs of today's."""
    moved, affected = [], False
    for name, (start, count, digest) in now.layout.items():
        if name not in layout:
            continue
        old, size, content = layout[name]
        own = [(max(a, old), min(b, old + size - 1)) for a, b in runs]
        own = [(a, b) for a, b in own if a <= b]
        if own and content != digest:
            affected = True
            own = [(old, old + count - 1)] if count else []
        moved += [(a - old + start, b - old + start) for a, b in own]
    if affected:
        fresh = [now.layout[name] for name in now.layout if name not in layout]
        moved += [(start, start + count - 1) for start, count, _ in fresh if count]
    return sorted(moved)
