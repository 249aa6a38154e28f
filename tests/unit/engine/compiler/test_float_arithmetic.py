"""Graphs on Python floats, on arrays and in machine code give the same bits."""

import math

import numpy as np

from kinetree.engine import OPERATIONS, Graph, Kernel, Node, Port, interpret
from kinetree.engine.compiler.assembly import tabulated
from kinetree.engine.compiler.interpret import STATES_AS_FLOATS

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -3.25, 5e-324, -1e-310, 2.0**-1022, 1e308, 7e22, math.pi]


def graph_of(*ops):
    """Some operations of one to three arguments, each on the first elements of x."""
    nodes = [Node("input", (), (0, k)) for k in range(3)]
    nodes += [Node(op, tuple(range(OPERATIONS[op][0]))) for op in ops]
    count = len(ops)
    results = (tuple(range(3, 3 + count)),)
    return Graph(tuple(nodes), (Port("x", (3,)),), (Port("y", (count,)),), results)


OPS = [op for op in OPERATIONS if op not in ("const", "input")]


def states(seed, count):
    rng = np.random.default_rng(seed)
    usual = rng.uniform(-4, 4, (count, 3))
    wide = rng.choice([-1, 1], (count, 3)) * 10.0 ** rng.uniform(-250, 250, (count, 3))
    special = rng.choice(SPECIAL, (count, 3))
    return np.concatenate([usual, wide, special])


def same(a, b):
    """Equal bits; a NaN is a NaN."""
    a, b = np.asarray(a), np.asarray(b)
    unequal = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
    return a.dtype == b.dtype and not (unequal & ~(np.isnan(a) & np.isnan(b))).any()


def bits(x):
    return np.float64(x).tobytes()


def test_one_state_many_states_and_machine_code_agree_for_each_operation():
    graph, x = graph_of(*OPS), states(3, 60)
    compiled = Kernel(graph)(x)
    assert len(x) > STATES_AS_FLOATS and same(interpret(graph, x)[0], compiled)
    assert same(np.array([interpret(graph, row)[0] for row in x]), compiled)
    narrow = np.clip(x, -1e30, 1e30).astype(np.float32)
    assert same(interpret(graph, narrow)[0], Kernel(graph)(narrow))


def test_a_program_and_its_graph_have_the_same_bits():
    graph = graph_of(*OPS)
    program, x = tabulated(graph), states(5, 25)
    for given in (x, x[0], x[:3].astype(np.float32)):
        (a,), (b,) = interpret(program, given), interpret(graph, given)
        assert same(a, b)
