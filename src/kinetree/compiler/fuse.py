"""Fusing of multiply and add: a product that only one sum uses is computed inside it.

Which product is fused is decided here, once, so that every backend rounds alike.
"""

from kinetree.compiler.graph import Graph, Node
from kinetree.compiler.prune import prune, share


def fuse(graph: Graph) -> Graph:
    """The graph with a b + c, a b - c and c - a b as single operations where a b has one use.

    Where both terms of a sum are such products, the one that is ready later is fused (the second
    where they are level), so that the other is computed while waiting.
    """
    uses = graph.uses()
    depth: list[int] = []
    nodes: list[Node] = []
    for node in graph.nodes:
        depth.append(1 + max((depth[arg] for arg in node.args), default=-1))
        single = [k for k, arg in enumerate(node.args) if uses[arg] == 1 and nodes[arg].op == "mul"]
        if node.op in ("add", "sub") and single:
            k = max(single, key=lambda k: (depth[node.args[k]], k))
            nodes.append(fused(node, k, nodes))
        else:
            nodes.append(node)
    return prune(share(graph.with_nodes(nodes, graph.results)))


def fused(node: Node, k: int, nodes: list[Node]) -> Node:
    """The sum with its k-th term, a product, taken in."""
    op = "fma" if node.op == "add" else ("fms", "fnma")[k]
    return Node(op, (*nodes[node.args[k]].args, node.args[1 - k]))
