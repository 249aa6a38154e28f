"""A program of single operations computes the bits of its graph, and its tables are consistent."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.program import INPUTS
from kinetree.engine.compiler.tabulated import tabulated
from kinetree.engine.kernels.compile import trace_quantity

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "link_poses")


def run(program, *arrays):
    """Follow the tables of a program for one state; also return when each slot was written."""
    given = np.concatenate([np.ravel(x) for x in arrays])
    slots = np.full(program.slots, np.nan)
    out = np.full(sum(port.size for port in program.outputs), np.nan)
    for number, calls, place, constant in program.runs.tolist():
        body = program.bodies[number]
        for _ in range(calls):
            values = []
            for bundle in body.bundles:
                source = given if bundle.space == INPUTS else slots
                values.append(source[program.places[place]])
                place += 1
            constants = program.constants[constant : constant + body.constants]
            constant += body.constants
            (found,) = interpret(body.graph, np.array(values), constants)
            target = out if body.graph.outputs[0].name == "outputs" else slots
            for sheaf in body.sheaves:
                target[program.places[place]] = found[sheaf[0]]
                place += 1
    return out


def graph_of(quantity):
    robot = kt.robots.planar_2r()
    return trace_quantity(robot.model, quantity)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_tables_give_the_bits_of_the_graph(quantity):
    graph = graph_of(quantity)
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=port.shape) for port in graph.inputs]
    expected = np.concatenate([np.ravel(x) for x in interpret(graph, *arrays)])
    assert run(tabulated(graph), *arrays).tobytes() == expected.tobytes()


def test_every_operation_is_computed_once():
    graph = graph_of("forward_dynamics")
    program = tabulated(graph)
    computed = [node for node in graph.nodes if node.op not in ("const", "input")]
    copies = sum(port.size for port in graph.outputs)
    results = sum(
        calls * len(program.bodies[body].sheaves) for body, calls, *_ in program.runs.tolist()
    )
    assert results == len(computed) + copies
    assert program.operations == graph.operations


def test_sine_and_cosine_of_an_angle_are_one_call():
    bodies = tabulated(graph_of("mass_matrix")).bodies
    assert sum("cos" in [node.op for node in body.graph.nodes] for body in bodies) == 1


def test_slots_are_used_again():
    graph = graph_of("forward_dynamics")
    computed = [node for node in graph.nodes if node.op not in ("const", "input")]
    assert 0 < tabulated(graph).slots < len(computed) / 2


def test_equal_graphs_give_equal_tables():
    assert tabulated(graph_of("mass_matrix")).digest == tabulated(graph_of("mass_matrix")).digest


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
    found = run(tabulated(graph), np.array([5.0, 3.0]))
    assert found.tolist() == [5.0, 0.0, -9.0, -9.0] and np.signbit(found[1])
