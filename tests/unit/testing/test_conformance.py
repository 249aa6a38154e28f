"""The conformance suite: verdicts, records, and faults that it finds."""

import json

import numpy as np
import pytest

from kinetree.testing import Conformance, Finding, __main__, conformance

FACTS = {
    "kinetree": "0", "system": "Linux x86_64", "processor": "some", "Python": "3", "NumPy": "2",
    "kernels": "LLVM",
}  # fmt: skip
FINE = Finding("bits", "sum", "pass", "2", "2")
WRONG = Finding("calls", "entry 1", "FAIL", "0", "1", "Install it again.")


@pytest.mark.parametrize(("finding", "code"), [(FINE, 0), (WRONG, 1)])
def test_the_exit_code_is_the_verdict(finding, code, monkeypatch, capsys):
    record = Conformance(FACTS, (finding,), 1.5)
    monkeypatch.setattr(__main__, "run_conformance", lambda *_, **__: record)
    assert __main__.main([]) == code
    capsys.readouterr()
    assert __main__.main(["--json"]) == code
    assert json.loads(capsys.readouterr().out)["conforms"] == (not code)


def test_groups_pass_on_this_machine():
    record = conformance.run_conformance(["machine", "calls", "cuda"])
    assert not record.failures and record.checks > 15, str(record)
    assert "conforms in the chosen groups" in str(record)


@pytest.mark.parametrize("dtype", [None, np.float64, np.longdouble], ids=str)
def test_fused_products_that_are_rounded_twice_are_found(dtype, monkeypatch):
    """First to `dtype`, then to the type of the arguments."""

    def product(*arguments):
        a, b, c = (np.asarray(x).astype(dtype or x.dtype) for x in arguments)
        with np.errstate(all="ignore"):
            return (a * b + c).astype(arguments[0].dtype)

    monkeypatch.setattr(conformance, "product_kernel", lambda: product)
    enough = np.finfo(np.longdouble).nmant > 100 and dtype is np.longdouble  # for float32
    wrong = [x for x in conformance.fused() if x[1] != x[2]]
    assert len(wrong) == (2 if enough else 4)


def test_a_check_that_raises_an_error_has_failed(monkeypatch):
    def broken():
        raise ZeroDivisionError("nothing")
        yield

    monkeypatch.setattr(conformance, "calls", broken)
    (finding,) = conformance.run_conformance(["calls"]).failures
    assert finding.found == "ZeroDivisionError: nothing"


def test_one_bit_makes_two_arrays_differ():
    x = np.linspace(0, 1, 12).reshape(3, 4)
    y = x.copy()
    y[2, 1] = np.nextafter(y[2, 1], 2)
    assert conformance.differing(x, x) == ""
    assert "1 numbers differ; the first is entry (2, 1)" in conformance.differing(y, x)
    assert "shape" in conformance.differing(x[:2], x)
    assert conformance.differing(np.array(-0.0), np.array(0.0)) != ""
