"""Sign resolution: negations that reached an output sink back to where they cost nothing.

Tracing pulls every negation outward. What is left at the outputs (and under square roots) is handed
down here: -(a - b) is b - a, and a product hands its sign to a factor that can take it. A node can
change its sign only if nothing else uses it.
"""

from dataclasses import replace

from kinetree.compiler.graph import Graph, Node
from kinetree.compiler.prune import prune, share, with_args

ODD = frozenset({"mul", "div", "sin", "sign"})  # odd in each argument: one of them may be negated
LEVELS = 50  # how deep to look for a place that takes a sign


def resolve_signs(graph: Graph) -> Graph:
    """The graph with as few negations as single-use nodes can absorb."""
    if not any(node.op == "neg" for node in graph.nodes):
        return graph
    uses = graph.uses()
    flipped: dict[int, int | None] = {}  # node -> which argument takes its sign; None: it does
    for node in graph.nodes:
        if node.op == "neg":
            plan = sink(graph, uses, node.args[0])
            flipped.update(plan if plan is not None else {})
    return prune(share(rewrite(graph, flipped)))


def sink(
    graph: Graph, uses: list[int], i: int, levels: int = LEVELS
) -> dict[int, int | None] | None:
    """How node i and those below it change so that its value is negated; None if that costs."""
    node = graph.nodes[i]
    if node.op == "const":
        return {}
    if uses[i] > 1 or levels == 0:
        return None
    if node.op in ("neg", "sub"):
        return {i: None}
    if node.op == "add" or node.op in ODD:
        for k, arg in enumerate(node.args):
            plan = sink(graph, uses, arg, levels - 1)
            if plan is not None:
                return {i: k, **plan}
    return None


def rewrite(graph: Graph, flipped: dict[int, int | None]) -> Graph:
    """The graph with the planned nodes negated and their negations gone."""
    nodes: list[Node] = []
    place: list[int] = []  # where each old node went
    constants: dict[float, int] = {}

    def append(node: Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def negative(arg: int) -> int:
        """The negation of an old node that is a constant or was planned to be flipped."""
        old = graph.nodes[arg]
        if old.op != "const":
            return place[arg]
        value = -float(old.value)  # type: ignore[arg-type]
        if value not in constants:
            constants[value] = append(Node("const", value=value))
        return constants[value]

    for i, node in enumerate(graph.nodes):
        args = tuple([place[arg] for arg in node.args])
        if node.op == "neg" and i in flipped:
            place.append(args[0])
        elif node.op == "neg" and can_negate(graph, flipped, node.args[0]):
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
    return replace(graph, nodes=tuple(nodes), results=results)


def can_negate(graph: Graph, flipped: dict[int, int | None], i: int) -> bool:
    """Whether the negation of node i was planned."""
    return i in flipped or graph.nodes[i].op == "const"
