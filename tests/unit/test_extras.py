"""Optional packages: what is missing is named, and the way out that is named exists."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

import kinetree
from kinetree.errors import MissingPackageError, need

SOURCE = Path(kinetree.__file__).parent
PROJECT = Path(__file__).parents[2] / "pyproject.toml"
# packages by the module that is imported, where the name differs or another one brings it along
BROUGHT_BY = {
    "backports": "rosbags",
    "cupy": "cupy-cuda13x",
    "lz4": "rosbags",
    "mujoco": "mujoco-core",
    "yaml": "pyyaml",
}


def calls() -> dict[tuple[str, str], str]:
    """(module, extra) of every call of `need` in the source -> a file that has it."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "need(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need":
                module, extra = (ast.literal_eval(arg) for arg in node.args[:2])
                found[module.split(".")[0], extra] = path.name
    return found


@pytest.mark.skipif(not PROJECT.exists(), reason="there is no pyproject.toml: not a checkout")
@pytest.mark.parametrize(("module", "extra"), sorted(calls()))
def test_the_extra_that_is_named_brings_the_package(module, extra):
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = project["optional-dependencies"][extra]
    assert any(one.startswith(BROUGHT_BY.get(module, module)) for one in wanted), wanted


def test_a_module_that_is_there_is_returned():
    assert need("json", "plot", "a test") is sys.modules["json"]


def test_what_is_missing_is_told_with_purpose_and_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError) as told:
        need("matplotlib", "plot", "a plot")
    text = str(told.value)
    assert text.startswith("a plot needs matplotlib, which cannot be imported (")
    assert text.endswith("Install it with: pip install 'kinetree[plot]'.")
    assert isinstance(told.value, ImportError)
