"""A program of single operations computes the bits of its graph, and its tables are consistent."""

import numpy as np
import pytest
from single_operations import tabulated

import kinetree as kt
from kinetree.engine import Graph, Node, Port, interpret
from kinetree.engine.kernels import trace_quantity


@pytest.fixture(params=("inverse_dynamics", "forward_dynamics", "mass_matrix", "link_poses"))
def graph(request):
    return trace_quantity(kt.robots.planar_2r().model, request.param)


def test_the_tables_give_the_bits_of_the_graph(graph):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=port.shape) for port in graph.inputs]
    for x, y in zip(interpret(tabulated(graph), *arrays), interpret(graph, *arrays), strict=True):
        assert x.tobytes() == y.tobytes()


def test_every_operation_is_computed_once_in_slots_that_are_used_again(graph):
    program = tabulated(graph)
    computed = [node for node in graph.nodes if node.op not in ("const", "input")]
    assert program.operations == graph.operations
    assert 0 < program.slots < len(computed)
    sines = [body for body in program.bodies if "cos" in body.graph.count()]
    assert len(sines) == 1 and sines[0].graph.count()["sin"] == 1  # one call for both
    assert program.digest == tabulated(graph).digest


def test_inputs_and_constants_may_be_results():
    nodes = (
        Node("input", (), (0, 0)),
        Node("input", (), (0, 1)),
        Node("const", (), -0.0),
        Node("mul", (1, 1)),
        Node("fms", (1, 2, 3)),
    )
    outputs = (Port("a", (3,)), Port("b", ()))
    graph = Graph(nodes, (Port("x", (2,)),), outputs, ((0, 2, 4), (4,)))
    a, b = interpret(tabulated(graph), np.array([5.0, 3.0]))
    assert a.tolist() == [5.0, 0.0, -9.0] and b == -9.0 and np.signbit(a[1])
