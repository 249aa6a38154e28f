"""Loops in graphs: the numbers of a plain loop, for every kind of scalar; stored and refused."""

import pickle

import mpmath
import numpy as np
import pytest
import sympy

from kinetree.core.repeat import constant, repeat, repeated, scan
from kinetree.engine import Port, interpret, jacobian, optimise, trace
from kinetree.engine.compiler.graph import text
from kinetree.engine.compiler.store import StoredGraph, digest, encode
from kinetree.errors import GraphError, ShapeError
from kinetree.scalars import where
from sweeps import (
    MANY,
    PORTS,
    motions,
    nested,
    nested_graph,
    pairs,
    problems,
    scan_graph,
    scanned,
    solve,
    solve_graph,
    starts,
    sweep,
    two_graph,
    two_loops,
)

X = Port("x", (2,))


def plain(arrays, rounds=MANY):
    """The loop in Python, state by state."""
    return np.array([solve(rounds)(*state) for state in zip(*arrays, strict=True)])


def halved(carried, fixed):
    """Halve a number as long as it is above a limit."""
    return np.array([carried[1] - fixed[0], carried[1] / 2])


def open_loop(x):
    return repeated(halved, 50, np.array([1, x[0]]), x[1:])


@pytest.mark.parametrize("count", [1, 9, 50])  # floats one by one, and arrays
def test_a_graph_has_the_bits_of_the_plain_loop(count):
    arrays = problems(count)
    (computed,) = interpret(solve_graph(), *arrays)
    np.testing.assert_array_equal(computed, plain(arrays))
    assert len(set(computed[:, 1])) > 1 or count == 1


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_no_more_than_so_many_rounds(rounds):
    arrays = problems(9)
    (computed,) = interpret(solve_graph(rounds), *arrays)
    np.testing.assert_array_equal(computed, plain(arrays, rounds))
    assert (computed[:, 1] == rounds).any()


def test_constants_are_the_same_numbers_and_have_no_derivative():
    """x y with x a constant: its slope by x is 0 and by y it is x."""
    graph = trace(lambda x: constant(x[:1]) * x[1:], [X])
    assert interpret(graph, np.array([3.0, 5.0]))[0].tolist() == [15.0]
    assert interpret(jacobian(graph), np.array([3.0, 5.0]))[0].tolist() == [[0.0, 3.0]]
    assert constant(np.array([sympy.Symbol("a"), 2])).tolist() == [sympy.Symbol("a"), 2]
    assert constant(np.array([mpmath.mpf(1) / 3])).tolist() == [mpmath.mpf(1) / 3]


def test_two_loops_in_a_row():
    arrays = pairs(40)
    computed = interpret(two_graph(), *arrays)
    expected = [two_loops(*state) for state in zip(*arrays, strict=True)]
    for k, array in enumerate(computed):
        np.testing.assert_allclose(array, [np.asarray(x[k], float) for x in expected], rtol=1e-14)


def test_loops_in_a_loop():
    (computed,) = interpret(nested_graph(), *starts(40))
    np.testing.assert_allclose(computed, [nested(x) for x in starts(40)[0]], rtol=1e-13)


def test_a_state_that_is_done_stays_as_it_is():
    """The function does not see to it itself: 10 is halved until it was at most 1, then kept."""
    graph = optimise(trace(open_loop, [X]))
    states = np.array([[10.0, 1.0], [3.0, 1e-9], [0.5, 1.0]])
    (computed,) = interpret(graph, states)
    np.testing.assert_array_equal(computed[0], [-0.375, 0.3125])
    np.testing.assert_array_equal(computed, [open_loop(x) for x in states])
    for state, row in zip(states, computed, strict=True):
        np.testing.assert_array_equal(interpret(graph, state)[0], row)


def test_digits_fractions_and_symbols():
    with mpmath.workdps(40):
        exact = open_loop(np.array([mpmath.mpf(1) / 3, mpmath.mpf("0.1")]))
        batch = interpret(optimise(trace(open_loop, [X])), np.array([[mpmath.mpf(1) / 3, 0.1]] * 2))
        assert exact[1] == mpmath.mpf(1) / 24 == batch[0][0, 1] == batch[0][1, 1]
    x = sympy.Symbol("x")
    computed = repeated(halved, 2, np.array([1, x]), np.array([1]))[1]
    assert [computed.subs(x, value) for value in (8, 1)] == [2, sympy.Rational(1, 2)]


def test_a_loop_that_is_traced_again_is_the_same():
    graph = solve_graph()
    again = optimise(trace(lambda *arrays: interpret(graph, *arrays), PORTS, [("y", ())]))
    assert text(again) == text(graph) and again == graph


def test_constants_and_equal_numbers_are_not_handed_to_every_round():
    def function(x):
        return repeated(sweep, 9, np.array([1, 0, *x]), np.array([*([2.0, 4.0, x[0]] * 4), 0.125]))

    (loop,) = trace(function, [Port("x", (3,))]).repeats()
    sizes = [
        port.size for port in trace(function, [Port("x", (3,))]).nodes[loop].sweep.graph.inputs
    ]
    assert sizes == [5, 1]


def test_bytes_pickles_and_digests():
    graph = two_graph()
    stored = StoredGraph(encode(graph))
    assert stored.nodes == graph.nodes and stored.results == graph.results
    assert stored.operations == graph.operations > two_graph().count()["add"]
    for copy in (pickle.loads(pickle.dumps(graph)), pickle.loads(pickle.dumps(stored))):
        assert digest(copy) == digest(graph)
    assert len({digest(solve_graph(rounds)) for rounds in (1, 2, 3)}) == 3


def test_a_function_that_carries_other_numbers_on_is_refused():
    with pytest.raises(ShapeError):
        trace(lambda x: repeated(lambda c, f: c[:1], 3, x, x), [X])
    with pytest.raises(ShapeError):
        repeated(lambda c, f: np.ones(3), 3, np.ones(2), np.ones(2))
    with pytest.raises(GraphError):
        trace(lambda x: repeated(lambda c, f: c * x, 3, x, x), [X])


# named values, and scans


def named_root(a):
    def newton(now, given):
        y = (now["x"] + given["a"] / now["x"]) / 2
        return {"x": y, "open": where(abs(y - now["x"]) - 1e-12, 1, 0), "n": now["n"] + 1}

    return repeat(newton, 60, {"x": a, "n": 0, "open": 1}, {"a": a})


def test_named_values_keep_their_shapes_and_names():
    end = named_root(2.0)
    assert end["x"] == pytest.approx(np.sqrt(2), abs=1e-15)
    assert 4 < end["n"] < 8  # left when done
    graph = optimise(trace(lambda a: named_root(a)["x"], [Port("a", ())], [("x", ())]))
    np.testing.assert_array_equal(interpret(graph, np.array(2.0))[0], end["x"])
    kept = repeat(lambda now, _: now, 2, {"open": 1, "A": np.eye(2), "b": [1, 2]}, {})
    assert (kept["A"].shape, kept["b"].shape, kept["open"].shape) == ((2, 2), (2,), ())


@pytest.mark.parametrize(
    "problem",
    [
        lambda: repeat(lambda now, _: now, 3, {"x": 1}),
        lambda: repeat(lambda now, _: {"open": now["open"]}, 3, {"open": 1, "x": 1}),
        lambda: repeat(lambda now, _: {**now, "x": [1, 2]}, 3, {"open": 1, "x": 1}),
        lambda: scan(lambda now, row, _: (now, row), {"x": 1}, {"a": [1, 2], "b": [1]}),
        lambda: scan(lambda now, row, _: (now, row), {"x": 1}, {}),
        lambda: scan(lambda now, row, _: ({"y": 1}, row), {"x": 1}, {"a": [1, 2]}),
    ],
)
def test_other_names_and_shapes_are_refused(problem):
    with pytest.raises(ShapeError):
        problem()


def test_a_scan_has_the_bits_of_the_plain_loop():
    arrays, graph = motions(5), scan_graph()
    for k, computed in enumerate(zip(*interpret(graph, *arrays), strict=True)):
        for a, b in zip(computed, scanned(*(x[k] for x in arrays)), strict=True):
            np.testing.assert_allclose(a, np.asarray(b, float), rtol=1e-13, atol=1e-13)
    assert graph.count()["repeat"] == 1
    assert "scan 6" in text(graph)
    decoded = StoredGraph(encode(graph))
    assert (decoded.nodes, decoded.results) == (graph.nodes, graph.results)


def test_scans_of_symbols_and_many_digits():
    a, b = sympy.symbols("a b")

    def powers(now, row, given):
        return {"x": now["x"] * given["a"] + row["c"]}, {"x": now["x"]}

    end, at = scan(powers, {"x": b}, {"c": [1, 2, 3]}, {"a": a})
    assert sympy.expand(end["x"] - (a**3 * b + a**2 + 2 * a + 3)) == 0
    assert list(at["x"][:2]) == [b, a * b + 1]
    with mpmath.workdps(50):
        third = mpmath.mpf(1) / 3
        end, _ = scan(powers, {"x": third}, {"c": [0, 0]}, {"a": 3})
        assert end["x"] == 3


def test_a_scan_has_no_derivatives():
    with pytest.raises(GraphError):
        jacobian(scan_graph(), ["x"])
