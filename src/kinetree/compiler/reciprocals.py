"""Divisions by one number: its reciprocal is taken once, and the rest are products.

A processor divides in the time of a dozen products or more, and cannot begin the next division
before. A product with a reciprocal is rounded twice and is off by at most 1.5 units in the last
place instead of 0.5.
"""

from collections import Counter

from kinetree.compiler.graph import Graph, Node
from kinetree.compiler.prune import share, with_args

MANY = 4  # divisions by one number from which its reciprocal pays


def reciprocals(graph: Graph) -> Graph:
    """The graph with a / d, b / d, ... as a r, b r, ... where r = 1 / d and there are many."""
    counts = Counter(node.args[1] for node in graph.nodes if node.op == "div")
    many = {divisor for divisor, count in counts.items() if count >= MANY}
    if not many:
        return graph
    nodes: list[Node] = [Node("const", (), 1.0)]
    place: list[int] = []  # the new node of each old one
    inverse: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        args = tuple([place[arg] for arg in node.args])
        if node.op == "div" and node.args[1] in inverse:
            node, args = Node("mul", ()), (args[0], inverse[node.args[1]])
        nodes.append(with_args(node, args))
        place.append(len(nodes) - 1)
        if i in many:
            nodes.append(Node("div", (0, place[i])))
            inverse[i] = len(nodes) - 1
    results = tuple(tuple(place[node] for node in result) for result in graph.results)
    return share(graph.with_nodes(nodes, results))
