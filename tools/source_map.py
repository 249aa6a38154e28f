"""Read the source of kinetree as data: its modules, what each imports, and figures of its size.

    python tools/source_map.py            print lines, files, median length, import and Any shares
    python tools/source_map.py --folders  the same for every folder
    python tools/source_map.py --pinned   internal names that tests use, by folder of the tests

`tests/unit/test_layout.py` checks the imports with it, `tools/draw_architecture.py` draws them.
"""

import ast
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "kinetree"
PACKAGE = SOURCE.name
SHORT = 60  # lines; a file below is probably part of an idea that stands elsewhere


def module_name(path: Path) -> str:
    """Dotted name of the module that a file of the source holds."""
    name = ".".join((PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts))
    return name.removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    """All modules of kinetree by name."""
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def syntax(path: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text())


def imported(node: ast.AST) -> Iterator[str]:
    """Dotted names that an import statement asks for; nothing for other nodes."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            raise SyntaxError(f"line {node.lineno}: imports are absolute")
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def on_import(node: ast.AST) -> Iterator[str]:
    """Dotted names that are imported with the module itself: all but those inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield from imported(child)
        yield from on_import(child)


def own_imports(path: Path) -> set[str]:
    """Modules of kinetree that a file imports anywhere, lazily and for types too.

    A string that is the name of a module counts as an import of it.
    """
    known, found = modules(), set()
    for node in ast.walk(syntax(path)):
        for name in (*imported(node), *named_by_string(node)):
            # "from kinetree.model import Model" asks for the module kinetree.model
            found |= {name} if name in known else {name.rpartition(".")[0]} & set(known)
    return found - {module_name(path)}


def named_by_string(node: ast.AST) -> Iterator[str]:
    """The module of kinetree that a string constant names, if it does."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if re.fullmatch(rf"{PACKAGE}(\.\w+)+", node.value) and node.value in modules():
            yield node.value


@cache
def module_graph() -> dict[str, set[str]]:
    """The modules that each module imports."""
    return {name: own_imports(path) for name, path in modules().items()}


# folders whose parts are rooms of their own: they belong together for a reader, not in the order
PARTS = {
    "engine": {"compiler", "kernels", "tensors", "export"},
    "files": {"description", "write", "convert", "loading", "report", "saving"},
}


def room(module: str) -> str:
    """The folder or file of the first level that a module belongs to; a part of it in PARTS."""
    _, top, part, *_ = *module.split("."), "__init__", ""
    return f"{top}/{part}" if part in PARTS.get(top, ()) else top


@cache
def room_graph() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    graph: dict[str, set[str]] = defaultdict(set)
    for name, others in module_graph().items():
        graph[room(name)] |= {room(other) for other in others} - {room(name)}
    return dict(graph)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import one another, by Tarjan's strongly connected components."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            cut = stack.index(name)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found


@dataclass(frozen=True)
class Figures:
    """Size of some files: line counts, and how many parameters are typed as Any."""

    lengths: tuple[int, ...]
    import_lines: int
    comments: int
    parameters: int
    any_parameters: int

    def __str__(self) -> str:
        lines, files = sum(self.lengths), len(self.lengths)
        short = sum(length < SHORT for length in self.lengths)
        return (
            f"{lines} lines in {files} files, median {statistics.median(self.lengths):.0f}, "
            f"longest {max(self.lengths)}, {short} files under {SHORT}; "
            f"imports {self.import_lines / lines:.1%}, comments {self.comments / lines:.1%}, "
            f"Any in {self.any_parameters} of {self.parameters} parameters "
            f"({self.any_parameters / max(self.parameters, 1):.1%})"
        )


def measure(paths: list[Path]) -> Figures:
    """Figures of some files."""
    import_lines = parameters = any_parameters = comments = 0
    for path in paths:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                import_lines += (node.end_lineno or node.lineno) - node.lineno + 1
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = _parameters(node)
                parameters += len(given)
                any_parameters += sum(map(_is_any, given))
        comments += sum(line.lstrip().startswith("#") for line in path.read_text().splitlines())
    lengths = tuple(len(path.read_text().splitlines()) for path in paths)
    return Figures(lengths, import_lines, comments, parameters, any_parameters)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [x for x in every if x.arg not in ("self", "cls")]


def _is_any(parameter: ast.arg) -> bool:
    """Return True if the parameter accepts anything: Any itself, Any | None, or no annotation."""
    kind = parameter.annotation
    if kind is None:
        return True
    options = re.split(r"\s*\|\s*", ast.unparse(kind).strip("'\""))
    return "Any" in options


@cache
def exports(package: str) -> set[str]:
    """Words in the __init__ of a folder: what it defines, imports or lists in __all__."""
    return set(re.findall(r"\w+", modules()[package].read_text()))


@cache
def private_names() -> set[str]:
    """Private names of the source, without those of IPython (_repr_html_)."""
    text = "\n".join(path.read_text() for path in modules().values())
    return {name for name in re.findall(r"\b_[a-zA-Z]\w*", text) if not name.endswith("_")}


def is_internal(name: str) -> bool:
    """Return True if no folder exports this dotted name: it is private, or of an inner module."""
    module, _, last = name.rpartition(".")
    if last in private_names():
        return True
    if name in modules() or module not in modules():
        return False
    path = modules()[module]
    return last not in exports(module) if path.name == "__init__.py" else path.parent != SOURCE


def pinned_names(path: Path) -> set[str]:
    """Internal names that a test imports, reads from a module or replaces (setattr).

    A private attribute of an object counts if the source has its name.
    """
    nodes, used, replaced = list(ast.walk(syntax(path))), set(), set()
    imports: dict[str, str] = {}  # what a name in this file stands for
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            pairs = zip(node.names, imported(node), strict=True)
            imports |= {alias.asname or alias.name: name for alias, name in pairs}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if imports.get(owner, PACKAGE).startswith(PACKAGE) and owner != "self":
                used.add(f"{imports.get(owner, '')}.{node.attr}".lstrip("."))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".setattr"):
            target = ".".join(ast.unparse(x).strip("'") for x in node.args[:2])
            first, _, last = target.partition(".")
            target = f"{imports.get(first, first)}.{last}"
            if target.startswith(PACKAGE) or first not in imports:  # not of another package
                replaced.add(target)
    used |= {name for name in imports.values() if name.startswith(PACKAGE + ".")}
    return set(filter(is_internal, used)) | replaced


def print_pinned() -> None:
    """Print how many internal names the tests use, in all and by folder of the tests."""
    tests, by_folder = ROOT / "tests", defaultdict(set)
    paths = sorted(tests.rglob("*.py"))
    for path in paths:
        depth = 2 if path.is_relative_to(tests / "unit") else 1
        by_folder["/".join(path.relative_to(tests).parts[:depth])] |= pinned_names(path)
    for folder, names in by_folder.items():
        print(f"{folder}: {len(names)}: {', '.join(sorted(names))}")
    lines = sum(len(path.read_text().splitlines()) for path in paths)
    print(f"tests: {len(set().union(*by_folder.values()))} internal names, {lines} lines")


def main() -> None:
    """Print the figures of the whole source, of every folder, or the names that tests pin."""
    if set(sys.argv[1:]) - {"--folders", "--pinned"}:
        sys.exit("usage: python tools/source_map.py [--folders | --pinned]")
    if "--pinned" in sys.argv[1:]:
        print_pinned()
        return
    groups: dict[str, list[Path]] = defaultdict(list)
    for name, path in modules().items():
        groups[room(name) if "--folders" in sys.argv[1:] else PACKAGE].append(path)
    for name, paths in groups.items():
        print(f"{name}: {measure(paths)}")


if __name__ == "__main__":
    main()
