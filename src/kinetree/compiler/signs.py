"""Sign resolution: negations that reached an output sink back to where they cost nothing.

Tracing pulls every negation outward. What is left at the outputs (and under square roots) is handed
down here: -(a - b) is b - a, and a product hands its sign to a factor that can take it. A node can
change its sign only if nothing else uses it; a value whose negation is computed anyway can be
replaced by it.
"""

from kinetree.compiler.graph import Graph, Node
from kinetree.compiler.prune import prune, share, with_args

ODD = frozenset({"mul", "div", "sin", "sign"})  # odd in each argument: one of them may be negated
LEVELS = 50  # how deep to look for a place that takes a sign

Plan = dict[int, int | None]  # node to negate -> which argument takes its sign; None: they swap


def resolve_signs(graph: Graph) -> Graph:
    """The graph with as few negations as can be had without other changes."""
    negated = [node.args[0] for node in graph.nodes if node.op == "neg"]
    uses = graph.uses()
    flipped: Plan = {}
    kept: set[int] = set()  # what stays under a negation
    for i in negated:
        plan = sink(graph, uses, i, kept=set())
        kept |= {i} if plan is None else set()
        flipped.update(plan or {})
    needed: set[int] = set()  # negations that another one now relies on
    for i in negated:
        if i in kept and i not in needed:
            kept.remove(i)
            plan = sink(graph, uses, i, kept)
            kept |= {i} if plan is None else set()
            flipped.update(plan or {})
            needed |= {graph.nodes[n].args[k] for n, k in (plan or {}).items() if k is not None}
    return prune(share(rewrite(graph, flipped))) if negated else graph


def sink(
    graph: Graph, uses: list[int], i: int, kept: set[int], levels: int = LEVELS
) -> Plan | None:
    """How node i and those below it change so that its value is negated; None if that costs.

    Args:
        graph: the graph.
        uses: how often each node is used.
        i: the node.
        kept: nodes whose negations are computed anyway.
        levels: how deep to look.
    """
    node = graph.nodes[i]
    if node.op == "const" or i in kept:
        return {}
    if uses[i] > 1 or levels == 0:
        return None
    if node.op == "sub":
        return {i: None}
    if node.op == "add" or node.op in ODD:
        for k, arg in enumerate(node.args):
            plan = sink(graph, uses, arg, kept, levels - 1)
            if plan is not None:
                return {i: k, **plan}
    return None


def rewrite(graph: Graph, flipped: Plan) -> Graph:
    """The graph with the planned nodes negated and their negations gone."""
    nodes: list[Node] = []
    place: list[int] = []  # where each old node went

    def append(node: Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def negative(arg: int) -> int:
        """The negation of an old node, which is a constant, flipped, or negated elsewhere too."""
        old = graph.nodes[arg]
        if old.op == "const":
            return append(Node("const", value=-float(old.value)))  # type: ignore[arg-type]
        return place[arg] if arg in flipped else append(Node("neg", (place[arg],)))

    for i, node in enumerate(graph.nodes):
        args = tuple([place[arg] for arg in node.args])
        if node.op == "neg":
            place.append(negative(node.args[0]))
        elif i not in flipped:
            place.append(append(with_args(node, args)))
        elif node.op == "sub":
            place.append(append(Node("sub", args[::-1])))
        else:
            k = flipped[i]
            assert k is not None
            moved = negative(node.args[k])
            if node.op == "add":  # -(a + b) = (-a) - b
                place.append(append(Node("sub", (moved, args[1 - k]))))
            else:
                args = (*args[:k], moved, *args[k + 1 :])
                place.append(append(Node(node.op, args)))
    results = tuple(tuple(place[node] for node in result) for result in graph.results)
    return graph.with_nodes(nodes, results)
