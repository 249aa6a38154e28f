"""The examiner of identification: its scores, its table, and one real case."""

import dataclasses
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

import identification_corruptions as tool
from recording_twins import CORRUPTIONS, record

from kinetree.identify import unknowns


def outcome(corruption="wrong_gear", seed=0, **changes):
    values = dict(
        corruption=corruption, seed=seed, joints=3, word="usable", reasons=[], given=20, missed=1,
        withheld=0, farthest=2.1, name="m[link1]", named=False, error=1.0, seconds=1.0,
        score="intervals hold", text="usable",
    )  # fmt: skip
    return tool.Outcome(**{**values, **changes})


def test_every_corruption_has_its_cause():
    assert set(tool.CAUSES) == set(CORRUPTIONS)


def test_the_tail_is_that_of_independent_intervals():
    assert tool.tail(20, 0) == pytest.approx(1)
    assert tool.tail(20, 1) == pytest.approx(1 - 0.95**20)
    misses = np.random.default_rng(0).random((20_000, 30)) < 0.05
    assert tool.tail(30, 4) == pytest.approx((misses.sum(axis=1) >= 4).mean(), abs=0.005)


@pytest.mark.parametrize(
    ("word", "told", "misses", "missed", "score"),
    [
        ("not usable", True, [], 0, "right cause"),
        ("usable for", True, [90.0], 1, "right cause"),
        ("usable", False, [1.0, 2.1] * 10, 1, "intervals hold"),
        ("usable for", False, [1.0, 2.1] * 10, 1, "intervals hold"),
        ("usable", False, [1.0] * 19 + [5.1], 1, "silent wrong"),  # one is far off
        ("usable", False, [1.0] * 10 + [2.1] * 10, 10, "silent wrong"),  # too many miss
        ("usable for", False, [1.0] * 10 + [2.1] * 10, 10, "other cause"),
        ("not usable", False, [], 0, "other cause"),  # no interval to be right
    ],
)
def test_scores(word, told, misses, missed, score):
    assert tool.score_of(word, told, np.array(misses), missed) == score


def test_a_zero_that_no_force_shows_is_not_visible():
    last, middle = record(21, "encoder_zero_0.01", 5), record(2, "encoder_zero_0.1", 5)
    middle = dataclasses.replace(
        middle, signals=encoder_zero_of(middle.signals, 3)
    )  # a joint before others
    for twin, seen in ((last, False), (middle, True)):
        sought = unknowns(twin.described, "symmetric", offsets=True)
        assert tool.visible(SimpleNamespace(sought=sought), twin) == seen


def encoder_zero_of(signals, joint):
    zero = 0.1 * (np.arange(signals.machine.n) == joint)
    return dataclasses.replace(signals, zero=zero, joints=(joint,))


def test_the_table_counts_scores_and_intervals():
    found = [
        outcome(score="right cause", named=True, word="not usable", given=0, missed=0, withheld=20),
        outcome(seed=1, missed=5, score="silent wrong"),
        outcome("clean", seed=2, word="usable for"),
        outcome("clean", seed=3),
    ]
    rows = [line.strip("| ").split(" | ") for line in tool.table(found).splitlines()]
    clean, gear = (dict(zip(rows[0], row, strict=True)) for row in rows[2:])
    assert (clean["corruption"], clean["coverage"], clean["usable for"]) == ("clean", "0.950", "1")
    assert (gear["right cause"], gear["silent wrong"], gear["joint named"]) == ("1", "1", "1")
    assert gear["worst robot"] == "0.750" and gear["withheld"] == "20 of 40"
    silent, alarm = sorted(tool.wrong_cases(found).splitlines(), reverse=True)
    assert "wrong_gear seed 1: silent wrong" in silent and "clean seed 2: false alarm" in alarm
    assert "1 of 2 right (50.0%)" in tool.summary(found)
    assert "1 false alarms in 2" in tool.summary(found)
    assert "38 of 40 intervals" in tool.summary(found)


def test_clean_and_corrupted_recordings_are_examined(tmp_path, monkeypatch, capsys):
    path = tmp_path / "outcomes.json"
    kinds = ["clean", "gripper", "overcompensated_friction"]
    command = ["tool", "--corruptions", *kinds, "--robots", "1", "--seed", "1", "--record"]
    monkeypatch.setattr(sys, "argv", [*command, str(path)])
    assert tool.main() == 0
    clean, gripper, friction = map(json.loads, path.read_text("utf8").splitlines())
    assert clean["word"] == "usable" and clean["score"] == "intervals hold"
    assert clean["given"] >= 25 and clean["withheld"] == 0
    assert gripper["score"] == "intervals hold" and gripper["given"] == 13
    assert gripper["rank"] == 0 and 0 < gripper["elsewhere"] < 1
    assert friction["score"] == "right cause" and friction["named"]
    assert "corrupted: 1 of 1 right" in capsys.readouterr().out
