"""The order in time of straight-line code."""

import pytest
from llvm_graphs import chain
from llvm_harness import Builder

from kinetree import robots
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.kernels.compile import trace_quantity
from kinetree.engine.llvm.pace import paced

READ = ("const", "input", "sin", "cos")
WINDOW = 100  # operations that the processor of this test looks at, ready or not


def cycles(graph: Graph, order: list[int]) -> int:
    """Cycles on a processor that begins two operations at a time, out of a window of the order.

    A division takes 24 cycles, everything else 4. An operation leaves the window when it and all
    before it are done.
    """
    waiting = [i for i in order if graph.nodes[i].op not in READ]
    ready = dict.fromkeys((i for i in order if graph.nodes[i].op in READ), 0)
    now = 0
    while waiting:
        begun = 0
        for i in waiting[:WINDOW]:
            args = graph.nodes[i].args
            if begun < 2 and i not in ready and all(ready.get(arg, now + 1) <= now for arg in args):
                ready[i] = now + (24 if graph.nodes[i].op == "div" else 4)
                begun += 1
        now += 1
        while waiting and ready.get(waiting[0], now + 1) <= now:
            waiting.pop(0)
    return now


@pytest.mark.parametrize("seed", range(4))
def test_the_same_nodes_come_after_their_arguments(seed: int) -> None:
    graph = chain(6, seed)
    order = paced(graph, range(len(graph.nodes)))
    assert sorted(order) == list(range(len(graph.nodes)))
    place = {i: k for k, i in enumerate(order)}
    for i, node in enumerate(graph.nodes):
        assert all(place[arg] < place[i] for arg in node.args if node.op not in ("sin", "cos"))


def test_a_long_chain_begins_in_time() -> None:
    b = Builder()
    (x,) = b.input("x", 1)
    products = [b.op("mul", x, b.const(k + 0.5)) for k in range(300)]
    link = x
    for _ in range(5):
        link = b.op("div", b.const(2.0), link)
    graph = b.graph([*products, link])
    given = list(range(len(graph.nodes)))
    order = paced(graph, given)
    assert cycles(graph, given) > 150 + 100  # the chain alone takes 120 cycles
    assert cycles(graph, order) < 150 + 30
    assert [i for i in order if i in set(products)] == products


def test_work_without_long_chains_stays_in_place() -> None:
    b = Builder()
    x = b.input("x", 40)
    squares = [b.op("mul", i, i) for i in x]
    graph = b.graph(squares)
    given = [i for k in range(40) for i in (x[k], squares[k])]
    assert paced(graph, given) == given
    assert paced(graph, []) == []


def test_forward_dynamics_waits_less() -> None:
    graph = trace_quantity(robots.panda().model, "forward_dynamics")
    given = list(range(len(graph.nodes)))
    assert cycles(graph, paced(graph, given)) < 0.85 * cycles(graph, given)
