"""Flat code, run step by step in Python, gives the bits of its graph or program."""

import numpy as np
import pytest
from hypothesis import given as drawn
from random_programs import ARITHMETIC, FUNCTIONS, INPUTS, programs, run
from single_operations import tabulated

import kinetree as kt
from kinetree.engine import Graph, Node, Port, interpret, optimise, trace
from kinetree.engine.compiler.array_arithmetic import sincos_value
from kinetree.engine.compiler.flat import STEPS, flattened
from kinetree.engine.compiler.graph import OPERATIONS
from kinetree.engine.compiler.interpret import FLOATS
from kinetree.engine.compiler.recorder import record
from sweeps import nested_graph, pairs, problems, solve_graph, starts, two_graph


def walked(graph, *arrays):
    """The outputs for one state, by a loop over the steps that knows nothing but their meaning."""
    flat = flattened(graph)
    slots = [None] * flat.slots
    numbers = [x for array in arrays for x in np.ravel(array).tolist()] + flat.constants.tolist()
    slots[: len(numbers)] = numbers
    at = 0
    while at < len(flat.steps):
        code, to, a, b, c = flat.steps[at].tolist()
        op, at = STEPS[code], at + 1
        if op == "SINCOS":
            slots[to], slots[b] = (float(x) for x in sincos_value(np.float64(slots[a])))
        elif op == "MOVE":
            slots[to] = slots[a]
        elif op == "TEST":
            at += 0 if slots[a] > 0 and slots[to] < slots[c] else b - 1
            slots[to] += 1
        elif op == "JUMP":
            at += a - 1
        else:
            slots[to] = FLOATS[op](*[slots[x] for x in (a, b, c)[: OPERATIONS[op][0]]])
    found = np.array([slots[k] for k in flat.results])
    ends = np.cumsum([port.size for port in flat.outputs])[:-1]
    return [x.reshape(p.shape) for x, p in zip(np.split(found, ends), flat.outputs, strict=True)]


def check(graph, *arrays):
    found, expected = walked(graph, *arrays), interpret(graph, *arrays)
    for x, y in zip(found, expected, strict=True):
        assert x.tobytes() == np.asarray(y, float).tobytes()


@drawn(steps=programs((*ARITHMETIC, *FUNCTIONS)))
def test_steps_of_random_graphs(steps):
    def function(u, w):
        return np.array(run(steps, list(u), w))

    try:
        graph = optimise(trace(function, INPUTS))
    except kt.errors.GraphError:  # a division by the constant 0, say
        return
    state = np.array([0.3, -1.2, 2.5]), 0.7
    with np.errstate(all="ignore"):
        expected = [np.asarray(x) for x in interpret(graph, *state)]
    if all(np.isfinite(x).all() for x in expected):
        check(graph, *state)


@pytest.mark.parametrize(
    ("make", "given"), [(solve_graph, problems), (two_graph, pairs), (nested_graph, starts)]
)
def test_loops_end_where_nothing_is_open_or_after_their_rounds(make, given):
    for state in zip(*given(6), strict=True):
        if all(np.isfinite(x).all() for x in state):
            check(make(), *state)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "link_poses"])
def test_steps_of_programs_of_single_operations(quantity):
    graph = kt.robots.ur5e().compile(quantity).graph
    rng = np.random.default_rng(3)
    check(tabulated(graph), *(rng.normal(size=port.shape) for port in graph.inputs))


def test_steps_of_a_program_whose_pieces_are_called_many_times():
    from kinetree.base.pieces import piece

    @piece
    def link(x, y, c):
        return np.array([x[0] * c + y, kt.scalars.sin(x[1]) - 2, x[0], 3.0])

    def function(q):
        x, ys = np.array([q[0], 0.5]), []
        for k in range(1, 6):
            made = link(x, q[k], 0.1 * k)
            x, ys = made[:2], [*ys, *made[2:]]
        return np.array([*x, *ys])

    program = record(function, [Port("q", (6,))], [("y", ())])
    assert len(program.bodies) < len(program.runs) + 3
    check(program, np.random.default_rng(4).normal(size=6))


def test_inputs_and_constants_may_be_results():
    nodes = (Node("input", (), (0, 1)), Node("const", (), -0.0), Node("mul", (0, 0)))
    outputs = (Port("a", (3,)), Port("b", ()))
    graph = Graph(nodes, (Port("x", (2,)),), outputs, ((0, 1, 2), (2,)))
    a, b = walked(graph, np.array([5.0, 3.0]))
    assert a.tolist() == [3.0, 0.0, 9.0] and b == 9.0 and np.signbit(a[1])
