"""Pyright accepts right user code and finds every mistake in wrong user code."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("pyright", reason="checking types needs pyright")

FOLDER = Path(__file__).parent


@cache
def report():
    """Run pyright on the files of this folder."""
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


def test_right_code_is_accepted():
    assert errors("accepted.py") == []


def test_every_mistake_is_found_and_nothing_else():
    lines = (FOLDER / "mistakes.py").read_text().splitlines()
    marked = {k for k, line in enumerate(lines, 1) if "# mistake:" in line}
    assert len(marked) == 10
    assert {line for line, _ in errors("mistakes.py")} == marked
