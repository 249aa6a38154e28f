"""Dead-code removal and sharing: only what some output needs stays, and stays once."""

from kinetree.compiler.graph import Graph, Node


def prune(graph: Graph) -> Graph:
    """The graph without the nodes that no output needs; the others keep their order."""
    needed = [False] * len(graph.nodes)
    for node in graph.roots():
        needed[node] = True
    for i in range(len(graph.nodes) - 1, -1, -1):
        if needed[i]:
            for arg in graph.nodes[i].args:
                needed[arg] = True
    return graph if all(needed) else select(graph, [i for i, kept in enumerate(needed) if kept])


def share(graph: Graph) -> Graph:
    """The graph with equal nodes merged; for passes that may make different nodes equal."""
    seen: dict[tuple[str, tuple[int, ...], object], int] = {}
    order: list[int] = []
    first: list[int] = []  # the first node that equals each node
    nodes: list[Node] = []
    for i, node in enumerate(graph.nodes):
        node = with_args(node, tuple([first[arg] for arg in node.args]))
        nodes.append(node)
        value = repr(node.value) if node.op == "const" else node.value  # -0.0 is not 0.0
        first.append(seen.setdefault((node.op, node.args, value), i))
        if first[i] == i:
            order.append(i)
    results = tuple(tuple(first[node] for node in result) for result in graph.results)
    return select(graph.with_nodes(nodes, results), order)


def select(graph: Graph, order: list[int]) -> Graph:
    """The graph made of these nodes in this order, renumbered.

    Every argument and every result must be among them, and arguments stand before their use.
    """
    position = {old: new for new, old in enumerate(order)}
    nodes: list[Node] = []
    for old in order:
        node = graph.nodes[old]
        nodes.append(with_args(node, tuple([position[arg] for arg in node.args])))
    results = tuple(tuple(position[node] for node in result) for result in graph.results)
    return graph.with_nodes(nodes, results)


def with_args(node: Node, args: tuple[int, ...]) -> Node:
    """The node with other arguments."""
    return node if args == node.args else Node(node.op, args, node.value)
