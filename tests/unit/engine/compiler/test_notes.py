"""Stages are noted once, in their order, by the thread that collects them."""

from pathlib import Path

import pytest

import kinetree as kt

PASSES = ["prune", "factor", "reciprocals", "resolve signs", "fuse", "schedule"]
COMPILED = ["emit", "parse", "code generation", "load"]


def names(stages) -> list[str]:
    return [stage.name for stage in stages]


def test_a_kernel_notes_every_stage_and_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "cache"))
    first = kt.robots.planar_2r().compile("inverse_dynamics")
    notes = first.notes
    assert names(notes.stages) == ["trace", *PASSES, *COMPILED]
    assert notes.operations == first.operations and notes.form == "straight-line"
    assert notes.seconds == sum(stage.seconds or 0 for stage in notes.stages)
    assert "inverse_dynamics: straight-line" in str(notes)
    again = kt.robots.planar_2r().compile("inverse_dynamics").notes
    assert names(again.stages) == ["graph", "machine code", "load"]
    assert [stage.seconds is None for stage in again.stages] == [True, True, False]


def test_derivatives_note_their_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINETREE_CACHE", "off")
    found = kt.robots.planar_2r().derivative("gravity_forces").notes
    assert names(found.stages) == ["trace", "differentiate", *PASSES, *COMPILED]
