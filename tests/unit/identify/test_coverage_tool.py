"""The tool that counts how often intervals cover: its table, its verdicts, one real experiment."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[3] / "tools" / "identification_coverage.py"


@pytest.fixture
def tool(monkeypatch):
    spec = importlib.util.spec_from_file_location("identification_coverage", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def outcome(tool, seed, holds, exists=True, level=1e-4):
    return tool.Outcome(level, seed, holds, [1.0, 1.0 + 0.1 * seed], exists, 3.0)


def test_the_table_counts_intervals_and_robots(tool):
    found = [outcome(tool, 0, [True] * 19 + [False]), outcome(tool, 1, [True] * 20, exists=False)]
    (row,) = tool.rows(found)
    assert row["hold"] == 39 / 40 and row["worst parameter"] == 0.5 and row["intervals"] == 40
    assert row["robots that exist"] == 1 and row["worst joint of worst seed"] == 1.1
    assert row["within 90-99%"]
    assert not tool.rows([outcome(tool, 0, [True] * 4 + [False])])[0]["within 90-99%"]


def test_an_experiment_is_written_with_its_verdict(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "outcomes", lambda cases, jobs: map(tool.experiment, cases))
    command = ["tool", "--seeds", "1", "--encoder", "2e-5", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    code = tool.main()
    (path,) = tmp_path.glob("*.json")
    (row,) = json.loads(path.read_text("utf8"))["rows"]
    assert row["intervals"] == 62 and row["robots that exist"] == 1
    assert row["worst joint of worst seed"] < 1.25  # 370 samples give noise to 4%: 5 deviations, 5%
    assert code == (0 if row["within 90-99%"] else 1)
    assert path.with_suffix(".md").read_text("utf8") in capsys.readouterr().out + "\n"
    assert np.isfinite(row["hold"])
