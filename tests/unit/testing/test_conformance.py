"""The conformance suite: verdicts, records without private names, and faults that it finds.

Whole runs belong to `make matrix` and `make release-check`; here parts run in this process.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kinetree import robots
from kinetree.errors import NameLookupError
from kinetree.testing import (
    Conformance,
    ConformanceFailure,
    Finding,
    __main__,
    calls,
    conformance,
    machine,
    record,
    run_conformance,
    stored,
)
from kinetree.testing.record import FAILED, PASSED, SKIPPED, Options, equal, skipped

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
faults = pytest.importorskip("plant_conformance_faults", reason="tools/ is not distributed")

FACTS = {
    "kinetree": "0", "system": "Linux x86_64", "processor": "some", "Python": "3", "NumPy": "2",
    "kernels": "LLVM",
}  # fmt: skip
FINE = Finding("sum", PASSED, "2", "2", group="bits", seconds=0.1)
WRONG = Finding("entry 1", FAILED, "0", "1", "Run: kinetree cache clear.", "cache", 0.2)


def failed(findings):
    return [x.name for x in findings if x.outcome == FAILED]


def made(*findings, names=("bits", "cache")):
    titles = {name: conformance.GROUPS[name].title for name in names}
    return Conformance(FACTS, titles, findings, 1.5)


def test_a_verdict_shows_failures_with_both_results_and_the_way_out():
    fine = made(FINE, skipped("later", "no device"))
    assert fine.ok and fine.checks == 1
    fine.raise_if_failed()
    assert str(fine).endswith("1 check in 2 s, 1 skipped: this installation conforms.")
    assert not made(replace(FINE, outcome=SKIPPED)).ok, "nothing was checked"
    text = str(made(FINE, WRONG))
    for part in ("FAILED  cache: entry 1", "expected  0", "found     1", "kinetree cache clear"):
        assert part in text
    with pytest.raises(ConformanceFailure, match="1 check FAILED"):
        made(FINE, WRONG).raise_if_failed()
    text = str(made(*(replace(WRONG, name=f"entry {k}") for k in range(30))))
    assert text.count("FAILED  cache") == record.MAX_SHOWN
    assert "and 22 more failures: --json lists all" in text
    groups = conformance.GROUPS
    findings = [replace(FINE, group=name) for name in groups if name != "cuda"]
    findings += [replace(skipped("x" * 90, "because " * 20), group="cuda")]
    lines = str(made(*findings, names=groups)).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and str(lines).isascii()


def test_json_has_every_check_and_no_folder_of_this_machine():
    place = f"in {Path.home() / 'robots'} and {machine.__file__} and /tmp/mine/x"
    document = made(FINE, replace(WRONG, found=place)).document()
    text = json.dumps(document)
    assert [x["name"] for x in document["findings"]] == ["sum", "entry 1"]
    assert document["conforms"] is False and document["checks"] == 2
    assert document["machine"] == FACTS and "<temporary folder>/mine/x" in text
    assert str(Path.home()) not in text and str(Path(machine.__file__).parents[2]) not in text


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
def test_wrong_options_are_one_sentence_and_code_2(words, part, capsys):
    assert __main__.main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and part in err and err.count("\n") == 1


def test_a_wrong_vector_width_is_one_sentence_and_code_2(monkeypatch, capsys):
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("KINETREE_TARGET", "avx1024")
    assert __main__.main(["--only", "machine"]) == 2
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


def test_help_names_every_group_in_80_columns(capsys):
    assert __main__.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in conformance.GROUPS)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("finding", "code"), [(FINE, 0), (WRONG, 1)])
def test_the_exit_code_is_the_verdict(finding, code, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "run_conformance", lambda *_, **__: made(finding))
    assert __main__.main([]) == code
    capsys.readouterr()
    assert __main__.main(["--json"]) == code
    assert json.loads(capsys.readouterr().out)["conforms"] == (not code)


def test_ctrl_c_is_one_line_and_code_130(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "run_conformance", interrupted)
    assert __main__.main([]) == 130
    assert capsys.readouterr().err == "python -m kinetree.testing: interrupted\n"


def test_a_part_that_raises_is_a_failed_check_and_the_others_run(monkeypatch):
    def first(options):
        yield equal("one", 1, 1)
        raise ZeroDivisionError("no reason")

    group = conformance.Group("x", (first, lambda options: iter([equal("two", 2, 2)])))
    monkeypatch.setitem(conformance.GROUPS, "bits", group)
    findings = list(conformance.perform("bits", Options()))
    assert [x.outcome for x in findings] == ["pass", "FAIL", "pass"]
    assert findings[1].name == "first" and "ZeroDivisionError: no reason" in findings[1].found
    assert {x.group for x in findings} == {"bits"}


def test_findings_come_from_other_processes_and_a_crash_is_a_failure(monkeypatch):
    seen = []
    run = run_conformance(["machine"], progress=seen.append)
    assert run.ok and not run.complete and list(run.findings) == seen
    assert "sqrt(2)" in [x.name for x in seen]
    crashed = machine.Ended(
        -11, 'finding {"name": "one", "outcome": "pass", "group": "machine"}\n', "trap"
    )
    monkeypatch.setattr(machine, "run_python", lambda *_, **__: crashed)
    one, crash = run_conformance(["machine"]).findings
    assert one.name == "one" and crash.outcome == FAILED and crash.found == "signal 11: trap"


@pytest.mark.parametrize("target", ["", "generic"])
def test_fused_products_are_rounded_once(target, monkeypatch):
    """On x86 the generic family calls the C library."""
    monkeypatch.setenv("KINETREE_TARGET", target)
    findings = list(machine.fused(Options()))
    assert len(findings) == 4 and not failed(findings)


@pytest.mark.parametrize("dtype", [None, np.float64, np.longdouble], ids=str)
def test_fused_products_that_are_rounded_twice_are_found(dtype, monkeypatch):
    """First to `dtype`, then to the type of the arguments."""

    def product(*arguments):
        a, b, c = (np.asarray(x).astype(dtype or x.dtype) for x in arguments)
        with np.errstate(all="ignore"):
            return (a * b + c).astype(arguments[0].dtype)

    monkeypatch.setattr(machine, "product_kernel", lambda: product)
    monkeypatch.setattr(machine.engine, "fuses", lambda target: False)
    enough = np.finfo(np.longdouble).nmant > 100 and dtype is np.longdouble  # for float32
    findings = list(machine.fused(Options()))
    assert len(failed(findings)) == (2 if enough else 4)
    assert "function fma of the C library" in findings[0].advice or not machine.has_llvm()


PARTS = (
    calls.addresses, calls.thread_counts, calls.other_processes, calls.stored_code,
    stored.table, stored.motion, stored.command_line,
)  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=lambda x: x.__name__)
def test_results_are_as_stored_and_the_same_in_every_way_of_calling(part, tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path))
    findings = list(part(Options()))
    assert findings and not failed(findings), [x for x in findings if x.outcome == FAILED]


def test_a_kernel_that_is_wrong_at_very_large_angles_is_found(monkeypatch):
    pytest.importorskip("llvmlite")
    careful = pytest.importorskip("kinetree.engine.llvm.careful")
    monkeypatch.setattr(stored, "AT_ANGLES", ("planar_2r",))
    monkeypatch.setattr(stored, "ANGLE_ERRORS", {"float64": 4e-15})
    assert failed(stored.unusual_angles(Options())) == []
    monkeypatch.setenv("KINETREE_CACHE", "off")
    exact = careful.times_half_pi

    def wrong(f, pieces):
        t, low = exact(f, pieces)
        return f.mul(t, f.number(1 + 1e-6)), low

    monkeypatch.setattr(careful, "times_half_pi", wrong)
    fresh = robots.planar_2r().with_gravity((0, -9.503, 0))  # a kernel that is not compiled yet
    monkeypatch.setattr(stored.robots, "planar_2r", lambda: fresh)
    assert len(failed(stored.unusual_angles(Options()))) == 2


def test_one_bit_makes_two_arrays_differ():
    x = np.linspace(0, 1, 12).reshape(3, 4)
    y = x.copy()
    y[2, 1] = np.nextafter(y[2, 1], 2)
    assert calls.differing(x, x) == ""
    assert "1 numbers differ; entry (2, 1)" in calls.differing(y, x)
    assert "shape" in calls.differing(x[:2], x)
    assert calls.differing(np.array(-0.0), np.array(0.0)) != ""


def test_a_damaged_entry_of_the_users_cache_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE_DIR", "somewhere")
    options = Options(own_cache={"KINETREE_CACHE_DIR": str(tmp_path), "KINETREE_CACHE": None})
    assert not failed(calls.own_cache(options))
    assert os.environ["KINETREE_CACHE_DIR"] == "somewhere"
    path = next(tmp_path.glob("*.kto"))
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    assert failed(calls.own_cache(options)) == ["damaged entries of your own cache"]


def test_cuda_is_checked_on_request_only():
    (finding,) = stored.cuda(Options())
    assert finding.outcome == SKIPPED and finding.found == "only with --cuda"


def test_a_command_that_prints_a_traceback_is_found(monkeypatch):
    ended = machine.Ended(1, "", "Traceback (most recent call last):\nValueError: x")
    monkeypatch.setattr(stored, "run_python", lambda *_, **__: ended)
    findings = list(stored.command_line(Options()))
    assert len(failed(findings)) == len(findings) == 3
    assert {x.found for x in findings} == {"exit code 1: ValueError: x"}


def test_a_changed_file_of_an_installed_package_is_found(monkeypatch, tmp_path):
    """A distribution whose list has another hash for one of its files."""
    package, data = tmp_path / "kinetree", tmp_path / "kinetree-9.dist-info"
    package.mkdir()
    data.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    digest = machine.base64.urlsafe_b64encode(machine.hashlib.sha256(b"x = 1\n").digest())
    (data / "RECORD").write_text(f"kinetree/__init__.py,sha256={digest.decode().rstrip('=')},6\n")
    installed = machine.metadata.PathDistribution(data)
    monkeypatch.setattr(machine.metadata, "distribution", lambda name: installed)
    monkeypatch.setattr(sys.modules["kinetree"], "__file__", str(package / "__init__.py"))
    assert not failed(machine.files(Options()))
    (package / "__init__.py").write_text("x = 2\n")
    (finding,) = machine.files(Options())
    assert finding.outcome == FAILED and "__init__.py was changed" in finding.found


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda x: x.name)
def test_a_fault_can_be_planted_in_the_source_of_today(fault):
    text = (faults.SOURCE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1 and fault.old != fault.new
    assert fault.group in conformance.GROUPS


def test_a_planted_fault_is_found_by_a_run_of_the_program():
    code, names = faults.trial("errors of commands end with exit code 0", ["commands"])
    assert (code, names) == (1, ["commands: kinetree id nosuch: exit code"])


def test_the_suite_needs_no_test_framework(tmp_path):
    """And no optional package: the modules load with all of them blocked."""
    code = (
        "import sys\n"
        "for name in ('pytest', 'scipy', 'sympy', 'hypothesis', 'matplotlib', 'cupy'):\n"
        "    sys.modules[name] = None\n"
        "import kinetree.testing.__main__\n"
    )
    assert machine.run_python(["-c", code], tmp_path).code == 0


def test_comparisons_keep_short_texts():
    finding = equal("x", "a" * 10_000, "b")
    assert len(finding.expected) < 700 and finding.found == "b"
