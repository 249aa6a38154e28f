"""Messages and docstrings name only what there is: kt.xxx, kinetree.xxx, robot.xxx()."""

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kinetree as kt

SOURCE = Path(kt.__file__).parent
DOTTED = re.compile(r"(?<![\w./@-])(?:kt|kinetree)((?:\.[A-Za-z_]\w*)+)")
METHOD = re.compile(r"(?<![\w.])(robot|model)\.([A-Za-z_]\w*)(?=\(|`)")
CALLED = re.compile(r"(?<![\w.])([a-z]+(?:_[a-z0-9]+)+)\(")
FILES = (".py", ".md", ".toml", ".json", ".cu")
MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def strings(tree: ast.AST) -> list[tuple[int, str]]:
    """Every string below a node with its line; of formatted ones the constant parts."""
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def each(walk: Callable[[ast.AST], Iterable[Any]]) -> Iterator[tuple[Path, Any]]:
    """Pairs of a module's path and something that `walk` finds in its syntax tree."""
    return ((path, x) for path in MODULES for x in walk(parsed(path)))


@cache
def functions() -> dict[str, set[Path]]:
    """Where functions of each name are defined."""
    found: dict[str, set[Path]] = {}
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, set()).add(path)
    return found


@cache
def exists(names: str) -> bool:
    """Whether a dotted name behind `kinetree` is reached by attributes and imports."""
    found, name = kt, "kinetree"
    for part in names.strip(".").split("."):
        name = f"{name}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(name)
            except ImportError:
                return False
    return True


@cache
def attributes() -> dict[str, set[str]]:
    """Names of a robot and of a model; to read the attributes would compile kernels."""
    robot = kt.robots.rp()
    return {"robot": set(dir(robot)), "model": set(dir(robot.model))}


def test_every_dotted_name_in_messages_and_docstrings_exists():
    wrong = []
    for path, (line, text) in each(strings):
        for found in DOTTED.finditer(text):
            if Path(found[0]).suffix not in FILES and not exists(found[1]):
                wrong.append(f"{path}:{line}: {found[0]}")
        for found in METHOD.finditer(text):
            if found[2] not in attributes()[found[1]]:
                wrong.append(f"{path}:{line}: {found[0]}()")
    assert not wrong, "\n".join(wrong)


def test_functions_that_errors_tell_to_call_are_within_reach():
    """A function of ours without a dotted name must be one of kt, or the one that raises."""
    wrong = []
    for path, node in each(ast.walk):
        if not isinstance(node, ast.Raise):
            continue
        for line, text in strings(node):
            for found in CALLED.finditer(text):
                places = functions().get(found[1], set())
                if places and path not in places and not hasattr(kt, found[1]):
                    wrong.append(f"{path}:{line}: {found[0]})")
    assert not wrong, "\n".join(wrong)


def test_a_name_that_is_not_there_is_noticed():
    assert exists(".load") and exists(".motion.read_npz") and exists(".controllers")
    assert not exists(".loads") and not exists(".motion.read_xml")
