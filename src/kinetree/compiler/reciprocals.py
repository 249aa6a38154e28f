"""Divisions by one number: its reciprocal is taken once, and the rest are products.

A processor divides in the time of a dozen products or more, and cannot begin the next division
before. A product with a reciprocal is rounded twice and is off by at most 1.5 units in the last
place instead of 0.5.
"""

from collections import Counter

from kinetree.compiler.graph import Graph, Node
from kinetree.compiler.prune import with_args

MANY = 4  # divisions by one number from which its reciprocal pays

ONE = Node("const", (), 1.0)
Key = tuple[str, tuple[int, ...], str]


def reciprocals(graph: Graph) -> Graph:
    """The graph with a / d, b / d, ... as a r, b r, ... where r = 1 / d and there are many."""
    counts = Counter(node.args[1] for node in graph.nodes if node.op == "div")
    many = {divisor for divisor, count in counts.items() if count >= MANY}
    if not many:
        return graph
    nodes: list[Node] = [ONE]
    known: dict[Key, int] = {}  # a product with 1 / d may stand there already
    place: list[int] = []  # the new node of each old one
    inverse: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        args = tuple([place[arg] for arg in node.args])
        if node == ONE:
            place.append(0)
        elif node.op == "div" and node.args[1] in inverse:
            r = inverse[node.args[1]]
            place.append(append(nodes, known, Node("mul", (args[0], r))) if args[0] else r)
        else:
            place.append(append(nodes, known, with_args(node, args)))
        if i in many:
            inverse[i] = append(nodes, known, Node("div", (0, place[i])))
    results = tuple(tuple(place[node] for node in result) for result in graph.results)
    return graph.with_nodes(nodes, results)


def append(nodes: list[Node], known: dict[Key, int], node: Node) -> int:
    """The position of a node, behind the others where there is none like it."""
    args = tuple(sorted(node.args)) if node.op == "mul" else node.args
    position = known.setdefault((node.op, args, repr(node.value)), len(nodes))
    if position == len(nodes):
        nodes.append(node)
    return position
