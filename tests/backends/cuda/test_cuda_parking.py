"""Values that wait in shared memory: each comes back as it left, and no result is lost."""

from dataclasses import replace

import numpy as np
import pytest
from cuda_harness import compile_for_gpu, run_on_host, states

import kinetree as kt
from kinetree.engine.compiler.schedule import live_values, short_lived
from kinetree.engine.cuda.emit import emit
from kinetree.engine.cuda.kernel import REGISTERS, CudaKernel
from kinetree.engine.cuda.layout import in_place, plan
from kinetree.engine.cuda.parking import park
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.compile import trace_quantity

CASES = [
    ("humanoid", "inverse_dynamics"),
    ("quadruped", "forward_dynamics"),
    ("panda", "inverse_dynamics_derivatives"),
    ("scara", "mass_matrix"),
]


def graph_of(robot, quantity):
    return trace_quantity(getattr(kt.robots, robot)().model, quantity)


def replayed(graph, layout, visits):
    """The largest number of values in registers, while the plan is followed step by step.

    Registers and rows hold the numbers of nodes. Each node must find its arguments in registers.
    """
    inputs, own = len(graph.inputs), in_place(graph)
    rows = {node.place: i for i, node in enumerate(graph.nodes) if node.op == "input"}
    last = {a: i for i, node in enumerate(graph.nodes) for a in node.args}
    written = graph.places()
    registers, results, most = set(), {}, 0
    for i, node in enumerate(graph.nodes):
        visit = visits.get(i)
        for value, place in visit.loads if visit else ():
            assert rows[place] == value, "another value lies there"
            registers.add(value)
        for value, place in visit.stores if visit else ():
            assert value in registers and place not in results, "a result would be lost"
            rows[place] = value
        if node.op == "input":
            assert rows[node.place] == i, "read after something else was stored there"
        for a in node.args:
            assert a in registers or graph.nodes[a].op == "const"
        registers.add(i)
        for output, element in written.get(i, ()):
            place = (own[output] if output in own else inputs + output, element)
            rows[place] = results[place] = i
        stored = {value for value, _ in visit.stores} if visit else set()
        registers = {v for v in registers if last.get(v, -1) > i} - stored
        most = max(most, len(registers))
    assert all(
        rows[own[k] if k in own else inputs + k, e] == i
        for k, result in enumerate(graph.results)
        for e, i in enumerate(result)
        if layout.outputs[k].start is not None
    )
    return most


@pytest.mark.parametrize("most", [5, 40, 1000])
@pytest.mark.parametrize("spare", [0, 8])
@pytest.mark.parametrize(("robot", "quantity"), CASES)
def test_every_value_comes_back(robot, quantity, most, spare):
    graph = graph_of(robot, quantity)
    for order in (graph, short_lived(graph)):
        layout = replace(plan(order, 8), spare=spare)
        visits = park(order, layout, most)
        replayed(order, layout, visits)
        if most >= max(live_values(order)) + len(order.inputs) * 100:
            assert not visits


@pytest.mark.parametrize(("robot", "quantity"), CASES)
def test_few_values_are_left_in_registers_where_there_is_room(robot, quantity):
    """Inputs that are read again from their rows are not counted as live by the replay."""
    graph = short_lived(graph_of(robot, quantity))
    live = max(live_values(graph))
    layout = replace(plan(graph, 8), spare=1000)
    visits = park(graph, layout, live // 2)
    stored = [value for visit in visits.values() for value, _ in visit.stores]
    assert visits and len(stored) == len(set(stored)), "a value is stored once"


@pytest.mark.parametrize(("robot", "quantity"), CASES[:2])
def test_bits_do_not_change(robot, quantity, tmp_path):
    graph = short_lived(graph_of(robot, quantity))
    given = states(graph, "float64", 70)
    found = run_on_host(graph, "float64", given, tmp_path, most=15, spare=4)
    np.testing.assert_array_equal(found[0], Kernel(graph)(*given))


def test_a_kernel_in_a_short_order_parks(tmp_path, monkeypatch):
    monkeypatch.setitem(REGISTERS, "float64", 20)  # fewer than this robot has values
    kernel = CudaKernel(graph_of("humanoid", "inverse_dynamics"), "forces")
    text = kernel.source("float64", short=True)
    assert "volatile real" in text and "volatile real" not in kernel.source("float64")
    graph, layout = kernel.ordered("float64", short=True)
    assert layout.spare and text == emit(
        graph, "float64", "forces", layout=layout, most=REGISTERS["float64"]
    )
    compile_for_gpu(text, tmp_path)
