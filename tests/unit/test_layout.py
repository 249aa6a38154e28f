"""The layout of the source: imports point one way, files hold whole ideas, imports are light."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
source_map = pytest.importorskip("source_map", reason="tools/ is not part of this distribution")

MODULES = source_map.modules()
# rooms in the order in which data move: a room imports only rooms above it
ROOMS = (
    "errors",
    "scalars",
    "base",
    "spatial",
    "files",
    "engine/compiler",
    "files/description",
    "model",
    "files/convert",
    "algorithms",
    "engine",
    "engine/kernels",
    "files/report",
    "symbols",
    "engine/tensors",
    "files/write",
    "engine/export",
    "explain",
    "motion",
    "simulate",
    "controllers",
    "robot",
    "robots",
    "files/loading",
    "identify",
    "optimal",
    "contacts",
    "testing",
    "parallel",
    "views",
    "constraints",
    "__init__",
    "cli",
    "__main__",
)
TOP_LEVEL = {
    "errors",
    "scalars",
    "constraints",
    "__init__",
    "__main__",
}
ROBOT_KNOWLEDGE = {"files/description", "model", "algorithms"}
OPTIONAL = {"sympy", "mpmath", "scipy", "matplotlib", "mujoco", "pinocchio", "llvmlite", "xacro"}
MOST_LINES = 600
FEWER_SHORT_FILES = 14  # without __init__.py, which lists what a folder exports


def test_every_room_has_its_place_in_the_order():
    unknown = {source_map.room(name) for name in MODULES} ^ set(ROOMS)
    assert not unknown, f"state in ROOMS, and in docs/architecture.md, where {unknown} stand"


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


def test_strings_that_name_modules_count_as_imports():
    node = source_map.ast.parse("import_module('kinetree.robot')")
    named = [x for n in source_map.ast.walk(node) for x in source_map.named_by_string(n)]
    assert named == ["kinetree.robot"]


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"d"}}
    assert source_map.cycles(graph) == [["a", "b", "c"]]


def test_the_top_level_holds_the_front_door_and_little_else():
    files = {path.stem for path in source_map.SOURCE.glob("*.py")}
    assert files == TOP_LEVEL


@pytest.mark.parametrize("room", ["engine/compiler", "engine"])
def test_compiler_and_engine_know_no_robot(room):
    assert not source_map.room_graph()[room] & ROBOT_KNOWLEDGE


def test_spatial_maths_needs_numbers_only():
    assert source_map.room_graph()["spatial"] <= {"errors", "scalars", "base"}


def test_no_optional_package_is_imported_with_a_module():
    wrong = {
        name: packages & OPTIONAL
        for name, path in MODULES.items()
        if (packages := {x.split(".")[0] for x in source_map.on_import(source_map.syntax(path))})
        & OPTIONAL
    }
    assert not wrong


def test_files_hold_one_idea_each():
    lengths = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    assert [name for name, n in lengths.items() if n > MOST_LINES] == []
    files = [name for name, path in MODULES.items() if path.stem != "__init__"]
    assert sum(lengths[name] < source_map.SHORT for name in files) < FEWER_SHORT_FILES


def test_few_parameters_accept_anything():
    figures = source_map.measure(list(MODULES.values()))
    assert figures.any_parameters <= 0.03 * figures.parameters


def test_the_drawing_of_the_architecture_shows_the_imports(monkeypatch, capsys):
    import draw_architecture  # here: its imports of the source are read already

    monkeypatch.setattr(sys, "argv", ["draw_architecture.py", "--check"])
    code = draw_architecture.main()
    assert code == 0, capsys.readouterr().out


def test_importing_kinetree_is_quiet_and_light():
    """No heavy package is loaded and nothing is printed before it is needed."""
    heavy = sorted(OPTIONAL | {"rich", "cyclopts", "numba", "dataclasses", "inspect"})
    code = f"import sys, kinetree; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]" and run.stderr == ""
