"""The matrix of platforms: the choice of cells, versions of dependencies, and the record."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

cells = pytest.importorskip("matrix.cells", reason="tools/ is not part of this distribution")

from matrix import record, run  # noqa: E402


def row(name, results, verdict="passed", reason=""):
    findings = [
        {"group": "bits", "name": key, "found": value, "outcome": "pass"}
        for key, value in results.items()
    ]
    report = {
        "findings": findings, "groups": [], "machine": {"Python": "3.13.5"},
        "checks": len(findings), "failed": 0, "skipped": 0,
    }  # fmt: skip
    return record.Row(name, verdict, reason, report, 3.0)


def test_patterns_choose_cells_and_an_unknown_one_is_refused():
    assert [x.name for x in cells.chosen("oldest no-*")] == ["oldest", "no-llvmlite"]
    assert cells.chosen("*") == list(cells.CELLS)
    with pytest.raises(cells.MatrixError, match="the cells are: python"):
        cells.chosen("python-2")


def test_the_oldest_versions_are_the_bounds_or_the_first_wheels():
    lowest = {"numpy": "1.26", "llvmlite": "0.45", "rich": "13.6"}
    old = cells.Cell("old", "3.13", packages="oldest")
    assert cells.constraints(old, lowest) == ["numpy==2.1.0", "llvmlite==0.45", "rich==13.6"]
    assert cells.constraints(cells.Cell("new", "3.13"), lowest) == []
    assert set(cells.bounds()) == set(cells.CORE)


def test_equal_bits_have_one_hash_and_other_bits_are_named():
    same = [row("a", {"x, M": "1", "y, M": "2"}), row("b", {"y, M": "2", "x, M": "1", "z, M": "3"})]
    names = record.common_results(same)
    assert names == ["x, M", "y, M"]
    assert record.hash_of_bits(same[0], names) == record.hash_of_bits(same[1], names) != "-"
    assert record.disagreements(same) == []
    other = row("c", {"x, M": "1", "y, M": "4"})
    assert record.hash_of_bits(other, names) != record.hash_of_bits(same[0], names)
    assert record.disagreements([*same, other]) == ["y, M: 2 in a, b; 4 in c"]
    assert "CELLS DIFFER" in record.markdown([*same, other], "2026-01-01", "a wheel")


def test_a_cell_that_did_not_run_is_in_the_record_with_its_reason():
    rows = [row("a", {"x, M": "1"}), record.Row("arm", "skipped", "no QEMU", {}, 0.0)]
    text = record.markdown(rows, "2026-01-01", "a wheel")
    assert "arm skipped: no QEMU" in text and "| arm | skipped | - |" in text
    assert "All cells have the same bits." in text


def test_a_report_of_another_machine_is_a_cell_and_another_file_is_refused(tmp_path):
    path = tmp_path / "h200.json"
    report = dict(row("", {"x, M by CUDA": "1"}).report) | {"conforms": True, "seconds": 2.0}
    path.write_text(json.dumps(report), encoding="utf-8")
    assert record.added(path).name == "h200" and record.added(path).bits == {"x, M": "1"}
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(cells.MatrixError, match="not a report of the suite"):
        record.added(path)


def test_a_vector_width_that_the_processor_lacks_is_skipped_and_an_unknown_one_fails(tmp_path):
    llvm = pytest.importorskip("llvmlite.binding")
    foreign = "neon" if llvm.get_process_triple().startswith("x86_64") else "avx2"
    for name, verdict in ((foreign, "skipped"), ("avx1024", "failed")):
        cell = cells.Cell(name, "3.11", environment={"KINETREE_TARGET": name})
        found = run._suite(cell, sys.executable, tmp_path)
        assert found.verdict == verdict and f"KINETREE_TARGET is '{name}'" in found.reason
