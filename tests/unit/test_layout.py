"""The layout: imports point one way and are light, and tests import what the pages document."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
source_map = pytest.importorskip("source_map", reason="tools/ is not part of this distribution")

# rooms in the order in which data move: a room imports only rooms above it
ROOMS = (
    "errors", "scalars", "core", "present", "spatial", "files", "engine/compiler",
    "files/description", "friction", "joints", "model", "files/convert", "dynamics", "engine",
    "engine/kernels", "kernels", "files/report", "symbols", "engine/tensors", "files/write",
    "engine/export", "explain", "motion", "simulate", "controllers", "robot", "robots",
    "constraints", "files/loading", "files/saving", "convert", "identify", "optimal", "contacts",
    "testing", "studies", "views", "linting", "__init__", "cli", "__main__",
)  # fmt: skip
OPTIONAL = {"sympy", "mpmath", "scipy", "matplotlib", "mujoco", "pinocchio", "llvmlite", "xacro"}
TESTS = ROOT / "tests"
REFERENCE = ROOT / "docs" / "api"
# tests that import what no page documents, until they are rewritten
NOT_YET = ("oracles", "regressions", "typed")


def test_rooms_import_only_rooms_above_them():
    place = {name: k for k, name in enumerate(ROOMS)}
    wrong = [
        f"{name} imports {other}"
        for name, others in source_map.module_graph().items()
        for other in others
        if place[source_map.room(other)] > place[source_map.room(name)]
    ]
    assert not wrong


def test_no_modules_import_one_another():
    """Imports inside functions, for types and by strings count too."""
    assert source_map.cycles(source_map.module_graph()) == []


def test_importing_kinetree_is_quiet_and_light():
    """No heavy package is loaded and nothing is printed before it is needed."""
    heavy = sorted(OPTIONAL | {"rich", "cyclopts", "numba", "dataclasses", "inspect"})
    code = f"import sys, kinetree; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]" and run.stderr == ""


@cache
def documented() -> set[str]:
    """Names with a place in the reference, and the names that its modules list."""
    pages = "\n".join(page.read_text("utf8") for page in REFERENCE.glob("*.md"))
    modules = set(re.findall(r"automodule:: (\S+)", pages))
    names = set(re.findall(r"auto(?:class|function):: (\S+)", pages)) | modules | {"kinetree"}
    for module in sorted(modules | {"kinetree"}):
        found = import_module(module)
        listed = getattr(found, "__all__", [x for x in vars(found) if not x.startswith("_")])
        names |= {f"{module}.{name}" for name in listed}
    return names


def internal(text: str) -> list[str]:
    """What a test imports from kinetree that is not documented."""
    asked = [x for node in ast.walk(ast.parse(text)) for x in source_map.imported(node)]
    return [x for x in asked if x.split(".")[0] == "kinetree" and x not in documented()]


def public_tests() -> list[Path]:
    """Tests outside tests/unit/PACKAGE."""
    found = [x for x in TESTS.rglob("test_*.py") if x.relative_to(TESTS).parts[0] not in NOT_YET]
    return [x for x in found if not (x.is_relative_to(TESTS / "unit") and x.parent.name != "unit")]


def test_tests_outside_packages_import_documented_names():
    wrong = {str(x.relative_to(TESTS)): internal(x.read_text("utf8")) for x in public_tests()}
    assert {name: names for name, names in wrong.items() if names} == {}


def test_internal_imports_are_noticed():
    assert internal("from kinetree.motion import quintic\nimport kinetree as kt") == []
    assert internal("from kinetree.motion.plan.path import x") == ["kinetree.motion.plan.path.x"]
