"""A schedule is an order of the same nodes in which arguments come first and lives are short."""

from collections import Counter

import numpy as np
from hypothesis import given
from random_programs import ARITHMETIC, FUNCTIONS, INPUTS, programs, run

from kinetree.engine.compiler.graph import Port, prune, text
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.schedule import live_values, schedule
from kinetree.engine.compiler.trace import trace


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


def test_separate_sums_are_computed_one_after_the_other():
    n = 20
    X = Port("x", (n, 3))

    def columns(x):
        squares = np.sin(x)  # all sines first: far from where they are used
        return np.array([s[0] * s[1] + s[2] for s in squares])

    graph = trace(columns, [X])
    assert max(live_values(graph)) >= 3 * n
    # the results that are finished are stored, so that only one row is in work
    assert max(live_values(schedule(graph))) <= 3


def test_the_needier_argument_is_computed_first():
    def function(x):
        s = np.sin(x)
        return s[0] + (s[1] + (s[2] + (s[3] + s[4] * s[5])))

    graph = schedule(trace(function, [Port("x", (6,))]))
    assert max(live_values(graph)) == 2, text(graph)


def test_what_is_ready_of_a_factored_sum_does_not_wait_for_its_end():
    n = 40
    V, C = Port("v", (n, 4)), Port("c", (n,))

    def there_and_back(v, c):
        s = np.sin(v)
        own = [x[0] * x[1] + x[0] * x[2] + x[3] for x in s]
        total, totals = c[0] * 0, []
        for k in reversed(range(n)):
            total = own[k] + c[k] * total + c[0] * c[k] * total
            totals.append(total)
        return np.array(totals)

    graph = optimise(trace(there_and_back, (V, C)))
    assert graph.operations < trace(there_and_back, (V, C)).operations
    assert max(live_values(graph)) <= n + 4  # one number for each step of the way, not four
