"""Floating-point flags: NumPy turns them into warnings, so code raises only what it means."""

import ctypes
import platform
import sys

import numpy as np
import pytest
from llvm_graphs import sines
from llvm_harness import Builder, Compiled, host

INVALID, ZERO_DIVISION, OVERFLOW = 1, 4, 8

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and platform.machine() == "x86_64"),
    reason="the numbers of the flags differ elsewhere",
)


def flags(code: Compiled, *inputs: np.ndarray) -> int:
    """Flags that the code raises, of the three that NumPy reports by default."""
    libm = ctypes.CDLL("libm.so.6")
    every = INVALID | ZERO_DIVISION | OVERFLOW
    outputs = [np.empty((len(inputs[0]), *p.shape), code.dtype) for p in code.graph.outputs]
    libm.feclearexcept(every)
    code.loop([*inputs, *outputs])
    return libm.fetestexcept(every)


@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 1), ("float64", 8), ("float32", 16)])
def test_sines_are_silent_except_for_infinity(dtype: str, lanes: int) -> None:
    code = Compiled(sines(3), host(lanes, lanes), dtype)
    huge = float(np.finfo(dtype).max)
    for quiet in (0.0, 1.0, np.nan, 1e6, 1e30, huge):
        assert flags(code, np.full((lanes + 1, 3), quiet, dtype)) == 0, quiet
    assert flags(code, np.full((1, 3), np.inf, dtype)) == INVALID


@pytest.mark.parametrize("lanes", [1, 8])
def test_lanes_without_a_state_are_silent(lanes: int) -> None:
    b = Builder()
    x = b.input("x", 2)
    choice = b.op("select", x[0], x[1], x[1])
    graph = b.graph([b.op("div", x[0], x[1]), b.op("sign", x[0]), b.op("sqrt", x[0]), choice])
    code = Compiled(graph, host(lanes))
    for n in (1, lanes + 1):
        assert flags(code, np.ones((n, 2))) == 0
    assert flags(code, np.array([[np.nan, 1.0]])) == 0
    assert flags(code, np.array([[1.0, 0.0]])) == ZERO_DIVISION
    assert flags(code, np.array([[-1.0, 1.0]])) == INVALID
