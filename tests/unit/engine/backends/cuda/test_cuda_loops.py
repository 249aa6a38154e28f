"""Loops in CUDA C++: the interpreter's bits, on the CPU and, where there is one, on a GPU."""

from dataclasses import replace

import numpy as np
import pytest
from cuda_harness import run_on_host

from exact_graphs import interpret
from kinetree.engine import CudaKernel, Rollout
from kinetree.engine.cuda.rollout import CudaRollout
from sweeps import (
    make_run,
    motions,
    nested_graph,
    pairs,
    problems,
    scan_graph,
    solve_graph,
    starts,
    stepping,
    two_graph,
)

CASES = {
    "solve": (solve_graph, problems),
    "two": (two_graph, pairs),
    "nested": (nested_graph, starts),
    "scan": (scan_graph, motions),
}
DTYPES = ("float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [None, 4])  # values in registers; others are spilled
def test_every_thread_leaves_its_own_loop(case, dtype, most, tmp_path):
    graph, arrays = CASES[case][0](), CASES[case][1](33, dtype)
    computed = run_on_host(graph, dtype, arrays, tmp_path, most=most, spare=10 if most else 0)
    for a, b in zip(computed, interpret(graph, *arrays), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_on_a_gpu(cp, case, dtype):
    graph = CASES[case][0]()
    kernel = CudaKernel(graph, case)
    for count in (1, 31, 5000):
        arrays = CASES[case][1](count, dtype)
        computed = kernel(*map(cp.asarray, arrays))
        computed = computed if isinstance(computed, tuple) else (computed,)
        for a, b in zip(computed, interpret(graph, *arrays), strict=True):
            np.testing.assert_array_equal(a.get(), b)


def test_rollouts_on_a_gpu(cp):
    program, count = stepping(), 100
    run, expected = make_run(program, count, "int32"), make_run(program, count)
    names = ("state", "params", "table", "times", "h", "rows", "first", "amount")
    moved = {name: cp.asarray(getattr(run, name)) for name in names}
    moved = replace(run, records=[cp.asarray(x) for x in run.records], **moved)
    CudaRollout(program).run(moved)
    Rollout(program).run(expected)
    np.testing.assert_array_equal(moved.state.get(), expected.state)
    np.testing.assert_array_equal(moved.first.get(), expected.first)
    for a, b in zip(moved.records, expected.records, strict=True):
        np.testing.assert_array_equal(a.get(), b)
