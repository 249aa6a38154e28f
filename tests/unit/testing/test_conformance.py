"""The conformance suite: verdicts, records without private names, and faults that it finds.

Whole runs belong to `make matrix` and `make release-check`; here parts run in this process.
"""

import inspect
import json
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kinetree.errors import NameLookupError
from kinetree.testing import Conformance, ConformanceFailure, Finding, run_conformance

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
faults = pytest.importorskip("plant_conformance_faults", reason="tools/ is not distributed")

FACTS = {
    "kinetree": "0", "system": "Linux x86_64", "processor": "some", "Python": "3", "NumPy": "2",
    "kernels": "LLVM",
}  # fmt: skip
FINE = Finding("sum", "pass", "2", "2", group="bits", seconds=0.1)
SKIPPED = Finding("later", "skip", found="no device")
WRONG = Finding("entry 1", "FAIL", "0", "1", "Run: kinetree cache clear.", "cache", 0.2)


def made(*findings):
    return Conformance(FACTS, {"bits": "bits of results", "cache": "code on disk"}, findings, 1.5)


def run_program(monkeypatch, *words):
    """Return the exit code of `python -m kinetree.testing`, run in this process."""
    monkeypatch.setattr(sys, "argv", ["kinetree.testing", *words])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("kinetree.testing", run_name="__main__")
    return ended.value.code


def test_a_verdict_shows_failures_with_both_results_and_the_way_out():
    fine = made(FINE, SKIPPED)
    assert fine.ok and fine.checks == 1
    fine.raise_if_failed()
    assert str(fine).endswith("1 check in 2 s, 1 skipped: this installation conforms.")
    assert not made(SKIPPED).ok, "nothing was checked"
    text = str(made(FINE, WRONG))
    for part in ("FAILED  cache: entry 1", "expected  0", "found     1", "kinetree cache clear"):
        assert part in text
    with pytest.raises(ConformanceFailure, match="1 check FAILED"):
        made(FINE, WRONG).raise_if_failed()
    text = str(made(*(replace(WRONG, name=f"entry {k}") for k in range(30))))
    assert text.count("FAILED  cache") == 8
    assert "and 22 more failures: --json lists all" in text


def test_json_has_every_check_and_no_folder_of_this_machine():
    source = inspect.getfile(run_conformance)
    place = f"in {Path.home() / 'robots'} and {source} and /tmp/mine/x"
    document = made(FINE, replace(WRONG, found=place)).document()
    text = json.dumps(document)
    assert [x["name"] for x in document["findings"]] == ["sum", "entry 1"]
    assert document["conforms"] is False and document["checks"] == 2
    assert document["machine"] == FACTS and "<temporary folder>/mine/x" in text
    assert str(Path.home()) not in text and str(Path(source).parents[2]) not in text


def test_a_group_that_does_not_exist_is_refused_by_name():
    with pytest.raises(NameLookupError, match="'bit'"):
        run_conformance(["bit"])


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--fast"], "unrecognized arguments: --fast"),
        (["--only"], "--only: expected one argument"),
        (["--only", "bit"], "--only: invalid choice: 'bit' (choose from"),
    ],
)
def test_wrong_options_are_one_sentence_and_code_2(words, part, monkeypatch, capsys):
    assert run_program(monkeypatch, *words) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err and err.count("\n") == 1


def test_a_wrong_vector_width_is_one_sentence_and_code_2(monkeypatch, capsys):
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("KINETREE_TARGET", "avx1024")
    assert run_program(monkeypatch, "--only", "machine") == 2
    out, err = capsys.readouterr()
    assert out == "" and "KINETREE_TARGET is 'avx1024'; expected one of" in err
    assert err.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("target", [">/dev/full", ">&- 2>&-"])
def test_an_output_that_cannot_be_written_is_one_sentence_and_code_74(target):
    command = f'"{sys.executable}" -m kinetree.testing --help {target}'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 74
    assert ended.stderr.count("\n") == (0 if "2>" in target else 1), ended.stderr
    assert ended.stdout == "" and "Traceback" not in ended.stderr


def test_help_names_every_group_in_80_columns(monkeypatch, capsys):
    assert run_program(monkeypatch, "--help") == 0
    text = capsys.readouterr().out
    assert all(f"  {fault.group} " in text for fault in faults.FAULTS)
    assert max(map(len, text.splitlines())) <= 80


def test_the_exit_code_is_the_verdict(monkeypatch, capsys):
    """A fault that is planted gives 1, below."""
    assert run_program(monkeypatch, "--only", "machine", "--json") == 0
    assert json.loads(capsys.readouterr().out)["conforms"] is True


def test_findings_come_from_other_processes_as_they_are_made():
    seen = []
    run = run_conformance(["machine"], progress=seen.append)
    assert run.ok and not run.complete and list(run.findings) == seen
    assert "sqrt(2)" in [x.name for x in seen]


@pytest.mark.parametrize("target", ["", "generic"])
def test_fused_products_are_rounded_once(target, monkeypatch):
    """On x86 the generic family calls the C library."""
    monkeypatch.setenv("KINETREE_TARGET", target)
    assert run_conformance(["machine"]).ok


def test_results_are_as_stored_and_the_same_in_every_way_of_calling():
    run = run_conformance(["calls", "cache", "commands"])
    assert run.ok, str(run)


def test_cuda_is_checked_on_request_only():
    finding, *_ = run_conformance(["cuda"]).findings
    assert finding.outcome == "skip" and finding.found == "only with --cuda"


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda x: x.name)
def test_a_fault_can_be_planted_in_the_source_of_today(fault):
    text = (faults.SOURCE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1 and fault.old != fault.new


def test_a_planted_fault_is_found_by_a_run_of_the_program():
    code, names = faults.trial("errors of commands end with exit code 0", ["commands"])
    assert (code, names) == (1, ["commands: kinetree id nosuch: exit code"])


def test_the_suite_needs_no_test_framework():
    """And no optional package: the modules load with all of them blocked."""
    code = (
        "import sys\n"
        "for name in ('pytest', 'scipy', 'sympy', 'hypothesis', 'matplotlib', 'cupy'):\n"
        "    sys.modules[name] = None\n"
        "import kinetree.testing.__main__\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
