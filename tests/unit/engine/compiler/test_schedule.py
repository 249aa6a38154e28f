"""A schedule is an order of the same nodes in which arguments come first and lives are short."""

from collections import Counter

import numpy as np
from hypothesis import given
from random_programs import ARITHMETIC, FUNCTIONS, INPUTS, programs, run

from kinetree.engine import trace
from kinetree.engine.compiler.graph import prune
from kinetree.engine.compiler.schedule import schedule


@given(steps=programs((*ARITHMETIC, *FUNCTIONS)))
def test_the_same_nodes_in_a_legal_order(steps):
    graph = trace(lambda u, w: np.array(run(steps, u, w)[-3:]), INPUTS)
    ordered = schedule(graph)
    assert all(arg < i for i, node in enumerate(ordered.nodes) for arg in node.args)
    assert forms(ordered) == forms(graph)
    assert prune(ordered) == ordered


def forms(graph):
    """Every node written out to its inputs, as a multiset, and what the outputs are."""
    written: list[str] = []
    for node in graph.nodes:
        written.append(f"{node.op}({','.join(written[a] for a in node.args)}){node.value}"[:2000])
    return Counter(written), [[written[i] for i in result] for result in graph.results]
