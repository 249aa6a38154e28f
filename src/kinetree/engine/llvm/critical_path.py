"""The critical path of straight-line code: chains of dependent operations begin in time.

The order of a graph keeps values in registers (`engine/compiler/schedule.py`) and does not consider
time. A processor begins two operations in each cycle, has the result of a product four cycles later
and that of a division after two dozen, and looks only a few hundred operations ahead for work that
is ready. The factors of a mass matrix are one long chain of divisions and products: at the end of
the code, where nothing else is left to do, the processor would wait for it most of the time.

All operations together take at least half a cycle each, and at least as long as their longest
chain. This total gives the latest time at which each node must begin for the chains behind it to
end in time. A node whose place in the order is later than that moves forward to its latest time.
The others stay where they are, so that few values wait in registers for longer. No operation
changes, and therefore no result.
"""

from collections.abc import Sequence

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.ops import OPERATIONS

RATE = 2  # operations that begin in each cycle

# zero: read from memory where it is used
CYCLES = {op: operation.cycles for op, operation in OPERATIONS.items()}
CYCLES |= {"const": 0, "input": 0, "carried": 0, "repeat": 40}


def remaining(graph: Graph) -> list[int]:
    """Return the cycles from the beginning of each node to the end of the longest chain from it."""
    cycles_left = [0] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        cycles_left[i] = left = cycles_left[i] + CYCLES[node.op]
        for arg in node.args:
            if cycles_left[arg] < left:
                cycles_left[arg] = left
    return cycles_left


def in_time(graph: Graph, order: Sequence[int]) -> list[int]:
    """Return an order in which nodes at the beginning of long chains are not too late.

    In the order that is given, and in the result, arguments come before the nodes that use
    them. Constants and what is read from memory stand directly before their first use, or at the
    end where no node of the order uses them.
    """
    left, nodes = remaining(graph), graph.nodes
    steps = [i for i in order if CYCLES[nodes[i].op]]
    total = max([len(steps) / RATE, *[left[i] for i in steps]])
    time = {i: min(k / RATE, total - left[i]) for k, i in enumerate(steps)}
    # An argument has at least as much left as its user and an earlier place, so it stays before it.
    steps.sort(key=time.__getitem__)
    known = set(steps)
    reads = {i for i in order if i not in known}
    result: list[int] = []
    for i in steps:
        for arg in nodes[i].args:
            if arg in reads:
                reads.remove(arg)
                result.append(arg)
        result.append(i)
    return [*result, *sorted(reads)]
