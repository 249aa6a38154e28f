"""SECURITY.md: each promise names the tests that hold it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| promise")
]


@pytest.mark.parametrize(("promise", "tests"), PROMISES, ids=[x[0][:40] for x in PROMISES])
def test_a_promise_has_tests_that_exist(promise, tests):
    if re.fullmatch(r"\*\*.*", promise) and not tests:
        return  # a heading
    named = re.findall(r"`([^`]+)::(\w+)`", tests)
    assert named and len(named) == tests.count("::"), promise
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {x.name for x in tree.body if isinstance(x, ast.FunctionDef)}, (file, name)


def test_every_kind_of_promise_is_there():
    words = " ".join(promise for promise, _ in PROMISES)
    for kind in ("Robot files", "Recordings", "server of the workbench", "Pages", "disk cache"):
        assert kind in words
