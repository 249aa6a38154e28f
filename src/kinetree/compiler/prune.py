"""Dead-code removal: only what some output needs stays."""

from dataclasses import replace

from kinetree.compiler.graph import Graph


def prune(graph: Graph) -> Graph:
    """The graph without the nodes that no output needs; the others keep their order."""
    needed = [False] * len(graph.nodes)
    for node in graph.roots():
        needed[node] = True
    for i in range(len(graph.nodes) - 1, -1, -1):
        if needed[i]:
            for arg in graph.nodes[i].args:
                needed[arg] = True
    return select(graph, [i for i, kept in enumerate(needed) if kept])


def select(graph: Graph, order: list[int]) -> Graph:
    """The graph made of these nodes in this order, renumbered.

    Every argument and every result must be among them, and arguments stand before their use.
    """
    position = {old: new for new, old in enumerate(order)}
    nodes = []
    for old in order:
        node = graph.nodes[old]
        nodes.append(replace(node, args=tuple([position[arg] for arg in node.args])))
    results = tuple(tuple(position[node] for node in result) for result in graph.results)
    return replace(graph, nodes=tuple(nodes), results=results)
