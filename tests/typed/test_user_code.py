"""Pyright and mypy accept right user code; pyright finds every mistake in wrong user code."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parents[1] / "src"
# packages that kinetree may import and the checked code does not: mypy takes half a minute for them
OTHERS = (
    "torch", "jax", "jaxlib", "sympy", "scipy", "matplotlib", "PIL", "ray", "distributed", "dask",
    "trimesh", "mujoco", "gymnasium", "IPython", "pyarrow", "rosbags", "rich", "cyclopts",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def stubs():
    """The types of quantities, which git ignores, are those of this source."""
    sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
    pytest.importorskip("write_stubs", reason="tools/ is not part of this distribution").write()


@cache
def report():
    """Run pyright on the files of this folder."""
    pytest.importorskip("pyright", reason="checking types needs pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", FOLDER / "pyrightconfig.json"]
    run = subprocess.run([*command, "--pythonpath", sys.executable], capture_output=True, text=True)
    return json.loads(run.stdout)["generalDiagnostics"]


def errors(name):
    """Lines and messages of the errors that pyright finds in a file."""
    return [
        (x["range"]["start"]["line"] + 1, x["message"])
        for x in report()
        if x["severity"] == "error" and Path(x["file"]).name == name
    ]


def need_tables():
    for package in ("pandas", "polars"):
        pytest.importorskip(package, reason="labelled arguments need packages of tables")


def test_right_code_is_accepted():
    assert errors("accepted.py") == []


def test_labelled_arguments_give_results_of_the_same_kind():
    need_tables()
    assert errors("accepted_labels.py") == []


def test_mypy_accepts_the_same_code(tmp_path):
    pytest.importorskip("mypy", reason="checking types a second time needs mypy")
    need_tables()
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        "[mypy]\nfollow_imports = silent\nignore_missing_imports = True\n"
        f"mypy_path = {SOURCE.as_posix()}\n\n"
        f"[mypy-{','.join(f'{x}.*' for x in OTHERS)}]\nfollow_imports = skip\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path]
    files = [FOLDER / "accepted.py", FOLDER / "accepted_labels.py"]
    run = subprocess.run([*command, *files], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_mistake_is_found_and_nothing_else():
    lines = (FOLDER / "mistakes.py").read_text().splitlines()
    marked = {k for k, line in enumerate(lines, 1) if "# mistake:" in line}
    assert len(marked) == 22
    assert {line for line, _ in errors("mistakes.py")} == marked
