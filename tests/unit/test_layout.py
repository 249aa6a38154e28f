"""The layout of the source: data move down the stages, imports only point up; files are small."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kinetree

SOURCE = Path(kinetree.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
STAGES = (
    ("errors", "scalars"),
    ("base",),
    ("spatial",),
    ("description",),
    ("model",),
    ("formulations",),
    ("algorithms",),
    ("compiler",),
    ("backends",),
    ("kernels",),
    ("tensors",),
    ("convert", "symbols", "write", "explain"),
    ("controllers", "simulate", "motion"),
    ("robot",),
    ("report",),
    ("loading",),
    ("robots",),
    ("identify",),
    ("parallel",),
    ("views",),
    ("testing",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
STAGE = {name: k for k, names in enumerate(STAGES) for name in names}
ROBOT_KNOWLEDGE = {"spatial", "description", "model", "formulations", "algorithms"}
OPTIONAL = {"sympy", "mpmath", "scipy", "matplotlib", "mujoco", "pinocchio", "llvmlite", "xacro"}
MOST_LINES = 600


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def stage_name(path: Path) -> str:
    """The folder or file of the first level that a source file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything that is imported, anywhere in the file."""
    for node in ast.walk(tree):
        yield from imported(node)


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def on_import(node: ast.AST) -> Iterator[str]:
    """What is imported when the module itself is: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield from imported(child)
        yield from on_import(child)


def own_stages(path: Path) -> set[str]:
    """The stages of kinetree that a file imports."""
    found = set()
    for name in imports(ast.parse(path.read_text())):
        package, *rest = name.split(".")
        if package == "kinetree":
            found.add(rest[0] if rest and rest[0] in MODULES else "__init__")
    return found


MODULES = {stage_name(path) for path in FILES}


def test_every_file_belongs_to_a_stage():
    unknown = MODULES - set(STAGE)
    assert not unknown, f"say in STAGES, and in the style guide, where {unknown} stand"


@pytest.mark.parametrize("path", [p for p in FILES if stage_name(p) in STAGE], ids=name_of)
def test_imports_point_up_the_list(path):
    own = STAGE[stage_name(path)]
    below = {name for name in own_stages(path) if STAGE.get(name, own) > own}
    assert not below, f"{name_of(path)} imports {below}, which come after it"


@pytest.mark.parametrize(
    "path", [p for p in FILES if stage_name(p) in ("compiler", "backends")], ids=name_of
)
def test_compiler_and_backends_have_never_heard_of_a_robot(path):
    assert not own_stages(path) & ROBOT_KNOWLEDGE


@pytest.mark.parametrize("path", [p for p in FILES if stage_name(p) == "spatial"], ids=name_of)
def test_spatial_maths_stands_on_numbers_alone(path):
    assert own_stages(path) <= {"errors", "scalars", "base", "spatial"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_optional_package_is_imported_with_a_module(path):
    packages = {name.split(".")[0] for name in on_import(ast.parse(path.read_text()))}
    assert not packages & OPTIONAL


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_importing_kinetree_is_quiet_and_light():
    """No heavy package is loaded and nothing is printed before it is asked for."""
    heavy = sorted(OPTIONAL | {"rich", "cyclopts", "numba"})
    code = f"import sys, kinetree; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]" and run.stderr == ""
