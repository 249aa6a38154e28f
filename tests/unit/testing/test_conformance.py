"""The conformance suite: verdicts, records, and faults that it finds."""

import json

import numpy as np
import pytest

from kinetree.testing import Conformance, Finding, __main__, conformance

FACTS = {
    "kinetree": "0", "system": "Linux x86_64", "processor": "some", "Python": "3", "NumPy": "2",
    "kernels": "LLVM",
}  # fmt: skip
FINE = Finding("sum", "pass", "2", "2", group="bits")
WRONG = Finding("entry 1", "FAIL", "0", "1", "Install it again.", "calls")


@pytest.mark.parametrize(("finding", "code"), [(FINE, 0), (WRONG, 1)])
def test_the_exit_code_is_the_verdict(finding, code, monkeypatch, capsys):
    record = Conformance(FACTS, (finding,), 1.5)
    monkeypatch.setattr(__main__, "run_conformance", lambda *_, **__: record)
    assert __main__.main([]) == code
    capsys.readouterr()
    assert __main__.main(["--json"]) == code
    assert json.loads(capsys.readouterr().out)["conforms"] == (not code)


@pytest.mark.parametrize("part", [conformance.arithmetic, conformance.calls, conformance.cuda])
def test_checks_pass_on_this_machine(part):
    findings = list(part())
    assert findings and all(x.status in ("pass", "skip") for x in findings), findings


def test_a_check_that_raises_an_error_has_failed(monkeypatch):
    def broken():
        raise ZeroDivisionError("nothing")
        yield

    monkeypatch.setattr(conformance, "calls", broken)
    for part in ("arithmetic", "laws", "bits"):
        monkeypatch.setattr(conformance, part, lambda *_: iter(()))
    (finding,) = conformance.run_conformance().failures
    assert finding.found == "ZeroDivisionError: nothing"


def test_one_bit_makes_two_arrays_differ():
    x = np.linspace(0, 1, 12).reshape(3, 4)
    y = x.copy()
    y[2, 1] = np.nextafter(y[2, 1], 2)
    assert conformance.differing(x, x) == ""
    assert "1 number differ" in conformance.differing(y, x)
    assert "shape" in conformance.differing(x[:2], x)
    assert conformance.differing(np.array(-0.0), np.array(0.0)) != ""
