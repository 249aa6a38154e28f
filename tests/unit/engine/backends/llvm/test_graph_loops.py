"""Loops in machine code: the interpreter's bits for every width, batch, thread and rollout."""

import pickle

import numpy as np
import pytest
from llvm_harness import Compiled, host, same_bits

from exact_graphs import interpret
from kinetree import scalars
from kinetree.core.repeat import repeated
from kinetree.engine import Kernel, Port, Rollout, optimise, trace
from kinetree.engine.compiler.stepping import interpret_run
from kinetree.kernels import threads
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

LANES = {"float64": (1, 2, 4, 8), "float32": (1, 4, 8, 16)}
CASES = {
    "solve": (solve_graph, problems),
    "two": (two_graph, pairs),
    "nested": (nested_graph, starts),
    "scan": (scan_graph, motions),
}


def both(function, graph, arrays):
    """Compare the results of a function with those of the interpreter."""
    computed = function(*arrays)
    computed = computed if isinstance(computed, tuple | list) else (computed,)
    for a, b in zip(computed, interpret(graph, *arrays), strict=True):
        assert same_bits(np.asarray(a), b)


@pytest.mark.parametrize("dtype", LANES)
@pytest.mark.parametrize("case", CASES)
def test_width_batch_and_place_do_not_change_a_bit(case, dtype):
    """Nobody could wait for the rounds that are possible: every loop is left when it is done."""
    graph, arrays = CASES[case][0](), CASES[case][1](41, dtype)
    for lanes in LANES[dtype]:
        code = Compiled(graph, host(lanes, lanes), dtype)
        for part in (slice(0, 1), slice(2, 2 + lanes), slice(0, 41)):
            both(code.states, graph, [x[part] for x in arrays])
        for k in range(5):
            both(code.one, graph, [x[k] for x in arrays])


@pytest.mark.parametrize("case", CASES)
def test_kernels_of_all_batches_and_threads(case):
    graph, arrays = CASES[case][0](), CASES[case][1](300)
    kernel = Kernel(graph, case)
    for count in (*range(1, 10), 300):
        both(kernel, graph, [x[:count] for x in arrays])
    for k in (0, 7, 299):
        both(kernel, graph, [x[k] for x in arrays])
    with threads(3):
        both(kernel, graph, [np.concatenate([x] * 40) for x in arrays])
    both(kernel, graph, [x.astype("float32") for x in arrays])
    both(pickle.loads(pickle.dumps(kernel)), graph, arrays)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_no_more_than_so_many_rounds(rounds):
    kernel = Kernel(solve_graph(rounds), "solve")
    both(kernel, kernel.graph, problems(9))


def test_a_long_round_comes_in_parts():
    def long_round(carried, fixed):
        x = carried[1:]
        for k in range(1300):
            x = scalars.sqrt(x + fixed[k % 2])
        return np.array([carried[0] - 1, *x])

    def function(start, fixed):
        return repeated(long_round, 9, np.array([3, *start]), fixed)

    graph = optimise(trace(function, [Port("start", (2,)), Port("fixed", (2,))]))
    arrays = np.random.default_rng(5).uniform(1, 2, (2, 9, 2))
    kernel = Kernel(graph, "long")
    assert "part1" in kernel.ir
    both(kernel, graph, arrays)
    both(kernel, graph, arrays[:, 0])


@pytest.mark.parametrize("count", [1, 8, 21])
def test_rollouts_have_the_results_of_the_interpreter(count):
    """States, records, and the first evaluation at which a number is lost or a limit violated."""
    program = stepping()
    run, expected = make_run(program, count), make_run(program, count)
    for x in (run, expected):
        x.state[-1, 0] = np.nan  # lost at once
    Rollout(program).run(run)
    interpret_run(program, expected)
    np.testing.assert_allclose(run.state, expected.state, rtol=1e-12)
    for a, b in zip(run.records, expected.records, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_array_equal(run.first, expected.first)
    np.testing.assert_allclose(run.amount, expected.amount, rtol=1e-12)
    assert run.first[-1, 0] == 0 and (count == 1 or (run.first[:-1, 2] >= 0).any())
