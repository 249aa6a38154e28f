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


def outcome(tool, seed, holds, exists=True, case="white"):
    named = {f"m[{k}]": x for k, x in enumerate(holds)}
    error = [1.0, 1.0 + 0.1 * seed]
    return tool.Outcome("ur5e", case, seed, named, error, exists, 3.0, 1.0, 0.004, 2.0, [])


def test_the_table_counts_intervals_and_robots(tool):
    found = [outcome(tool, 0, [True] * 19 + [False]), outcome(tool, 1, [True] * 20, exists=False)]
    (row,) = tool.rows(found)
    assert row["contain the truth"] == 39 / 40 and row["worst parameter"] == 0.5
    assert row["intervals"] == 40 and row["withheld"] == 0 and row["lag found, ms"] == 4
    assert row["robots that exist"] == 1 and row["worst joint of worst seed"] == 1.1
    assert row["within 90-99%"]
    assert not tool.rows([outcome(tool, 0, [True] * 4 + [False])])[0]["within 90-99%"]


def test_intervals_that_are_withheld_do_not_count(tool):
    (row,) = tool.rows([outcome(tool, 0, [True] * 19 + [False] + [None] * 5)])
    assert row["intervals"] == 20 and row["withheld"] == 5 and row["contain the truth"] == 0.95
    (row,) = tool.rows([outcome(tool, 0, [None] * 3)])
    assert row["contain the truth"] is None and row["within 90-99%"]


def test_rows_are_those_of_robots_and_disturbances(tool):
    found = [outcome(tool, 0, [True], case=x) for x in ("tone", "white", "tone")]
    table = tool.rows(found)
    assert [(x["disturbance"], x["experiments"]) for x in table] == [("white", 1), ("tone", 2)]


@pytest.mark.parametrize(("kind", "late"), [("white", 0), ("lag_20_ms", 5)])
def test_recordings_have_their_disturbance(tool, kind, late):
    disturbance = tool.CASES[kind]
    described, true = tool.described_and_true("ur5e", disturbance)
    data = tool.recording(described, true, 0 * tool.NOISE["ur5e"], disturbance, 0)
    tau = true.inverse_dynamics(data.q, data.dq, data.ddq)
    moving = slice(100, -100)
    shifts = range(-8, 9)
    left = [np.abs(np.roll(tau, k, axis=0) - data.tau)[moving].mean() for k in shifts]
    assert shifts[int(np.argmin(left))] == late


def test_an_experiment_is_written_with_its_verdict(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "outcomes", lambda cases, jobs: map(tool.experiment, cases))
    command = ["tool", "--seeds", "1", "--cases", "offset", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    code = tool.main()
    (path,) = tmp_path.glob("*.json")
    (row,) = json.loads(path.read_text("utf8"))["rows"]
    assert row["intervals"] == 58 and row["withheld"] == 0 and row["robots that exist"] == 1
    assert row["true laws and offsets"] == 1
    assert row["worst joint of worst seed"] < 0.6  # the band of the fit has a tenth of the noise
    assert code == (0 if row["within 90-99%"] else 1)
    assert path.with_suffix(".md").read_text("utf8") in capsys.readouterr().out + "\n"
