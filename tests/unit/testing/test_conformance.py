"""The conformance suite: verdicts, records without private names, and faults that it finds.

Whole runs belong to `make matrix` and `make release-check`; here parts run in this process.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from kinetree import robots
from kinetree.testing import (
    Conformance,
    Finding,
    __main__,
    calls,
    conformance,
    machine,
    stored,
)
from kinetree.testing.record import FAILED, PASSED, SKIPPED, Options

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


@pytest.mark.parametrize(("finding", "code"), [(FINE, 0), (WRONG, 1)])
def test_the_exit_code_is_the_verdict(finding, code, monkeypatch, capsys):
    monkeypatch.setattr(__main__, "run_conformance", lambda *_, **__: made(finding))
    assert __main__.main([]) == code
    capsys.readouterr()
    assert __main__.main(["--json"]) == code
    assert json.loads(capsys.readouterr().out)["conforms"] == (not code)


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
    assert len(failed(stored.unusual_angles(Options()))) == 1


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


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda x: x.name)
def test_a_fault_can_be_planted_in_the_source_of_today(fault):
    text = (faults.SOURCE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1 and fault.old != fault.new
    assert fault.group in conformance.GROUPS


def test_a_planted_fault_is_found_by_a_run_of_the_program():
    code, names = faults.trial("errors of commands end with exit code 0", ["commands"])
    assert (code, names) == (1, ["commands: kinetree id nosuch: exit code"])
