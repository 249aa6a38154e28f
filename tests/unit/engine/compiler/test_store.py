"""Graphs as bytes: exact on the way back, read when asked for, refused when cut."""

import numpy as np
import pytest
from hypothesis import given
from random_programs import ARITHMETIC, FUNCTIONS, INPUTS, programs, run

from kinetree.engine import OPERATIONS, Graph, Node, Port, optimise, trace
from kinetree.engine.compiler.store import StoredGraph, encode


def every_operation() -> Graph:
    """One node of each kind, on numbers that text would lose."""
    nodes = [Node("input", value=(0, 0)), Node("input", value=(1, 2)), Node("const", value=-0.0)]
    nodes += [Node("const", value=5e-324), Node("const", value=1 / 3), Node("const", value=1e308)]
    for name, operation in OPERATIONS.items():
        nodes.append(Node(name, tuple(range(operation.arity))))
    last = len(nodes) - 1
    ports = (Port("q", ()), Port("x", (2, 2), ("a", "b")))
    outputs = (Port("y", (2,), ("n",)), Port("z", ()))
    return Graph(tuple(nodes), ports, outputs, ((last, 2), (0,)))


def assert_equal(stored: StoredGraph, graph: Graph) -> None:
    assert stored.nodes == graph.nodes and stored.results == graph.results
    assert stored.inputs == graph.inputs and stored.outputs == graph.outputs
    assert stored.operations == graph.operations == Graph.operations.fget(stored)
    assert stored.count() == graph.count() and stored.uses() == graph.uses()


def test_every_operation_comes_back():
    graph = every_operation()
    stored = StoredGraph(encode(graph))
    assert_equal(stored, graph)
    assert np.signbit(stored.nodes[2].value) and stored.nodes[3].value == 5e-324
    assert all(type(k) is int for node in stored.nodes for k in node.args)


@given(programs((*ARITHMETIC, *FUNCTIONS)))
def test_random_graphs_come_back(steps):
    graph = trace(lambda u, w: np.array(run(steps, u, w)[4:]), INPUTS)
    for found in (graph, optimise(graph)):
        assert_equal(StoredGraph(encode(found)), found)


def test_equal_graphs_have_equal_bytes_and_digests():
    one, two = encode(every_operation()), encode(every_operation())
    assert one == two and StoredGraph(one).digest == StoredGraph(two).digest
    nodes = (*every_operation().nodes, Node("const", value=2.0))
    other = Graph(nodes, *(getattr(every_operation(), x) for x in ("inputs", "outputs", "results")))
    assert StoredGraph(encode(other)).digest != StoredGraph(one).digest


@pytest.mark.parametrize("data", [b"", b"\n", b"[1", b"{}\n", b"\xff\xfe\n"])
def test_what_is_no_graph_is_refused_at_once(data):
    with pytest.raises((ValueError, KeyError)):
        StoredGraph(data)
