"""The order of evaluation on a GPU: as few values alive at once as possible, where many are.

A processor reloads what did not fit its registers from a near cache, so its kernels keep the order
with the fewest reloads. Thousands of threads share the near memory of a GPU: what does not fit
their registers goes far away. For a tree of joints the depth-first order finishes one limb before
the next, which needs half as many values at once.
"""

from kinetree.compiler.graph import Graph
from kinetree.compiler.prune import select
from kinetree.compiler.schedule import (
    LEAVES,
    computed,
    depth_first_order,
    waiting,
    with_leaves,
)


def short_lived(graph: Graph) -> Graph:
    """The graph in the order that has fewest values alive at once: its own, or depth first."""
    args, given = computed(graph)
    roots = [root for root in graph.roots() if graph.nodes[root].op not in LEAVES]
    deep = [depth_first_order(args, given, list(x)) for x in (roots, reversed(roots))]
    best = min((given, *deep), key=lambda order: most(args, order))
    whole = Graph(graph.nodes, graph.inputs, graph.outputs, graph.results)
    return select(whole, with_leaves(whole, best))


def most(args: list[list[int]], order: list[int]) -> int:
    """The greatest number of values that wait for a later use."""
    return max(waiting(args, order), default=0)
