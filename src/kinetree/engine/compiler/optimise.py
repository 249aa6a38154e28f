"""Optimisation: from a traced graph to the graph that backends compile.

The passes here are the short ones: shared reciprocals, negations and fused products. Factoring and
the order of evaluation have files of their own.
"""

from collections import Counter
from functools import cache

from kinetree.engine.compiler.factor import factor
from kinetree.engine.compiler.graph import (
    Graph,
    Node,
    no_collection,
    node_of,
    prune,
    select,
    share,
)
from kinetree.engine.compiler.schedule import schedule

MIN_SHARED_DIVISIONS = 4  # divisions by one number from which its reciprocal pays
ONE = Node("const", (), 1.0)
Key = tuple[str, tuple[int, ...], object]

# odd in each argument: one of them may be negated
ODD = frozenset({"mul", "div", "sin", "sign", "tanh"})
LEVELS = 50  # how deep to look for a node that takes a sign
Plan = dict[int, int | None]  # node to negate -> which argument takes its sign; None: they swap


@no_collection()
def optimise(graph: Graph) -> Graph:
    """Return a graph of the same values in exact arithmetic, shorter, fused and well ordered.

    Equal graphs give equal results.
    """
    for step in PASSES:
        graph = step(graph)
    return graph


def reciprocals(graph: Graph) -> Graph:
    """Write a / d, b / d, ... as a r, b r, ... with r = 1 / d where there are many of them.

    A processor divides in the time of a dozen products or more, and cannot begin the next division
    before. A product with a reciprocal is rounded twice and is off by at most 1.5 units in the last
    place instead of 0.5.
    """
    counts = Counter(node.args[1] for node in graph.nodes if node.op == "div")
    many = {divisor for divisor, count in counts.items() if count >= MIN_SHARED_DIVISIONS}
    if not many:
        return graph
    nodes: list[Node] = [ONE]
    known: dict[Key, int] = {}  # a product with 1 / d may be there already
    place: list[int] = []  # the new node of each old one
    inverse: dict[int, int] = {}
    for i, node in enumerate(graph.nodes):
        args = tuple([place[arg] for arg in node.args])
        if not args and node == ONE:
            place.append(0)
        elif node.op == "div" and node.args[1] in inverse:
            r = inverse[node.args[1]]
            place.append(_append(nodes, known, Node("mul", (args[0], r))) if args[0] else r)
        else:
            place.append(_append(nodes, known, node_of((node.op, args, node.value))))
        if i in many:
            inverse[i] = _append(nodes, known, Node("div", (0, place[i])))
    results = tuple(tuple(place[node] for node in result) for result in graph.results)
    return graph.with_nodes(nodes, results)


def _append(nodes: list[Node], known: dict[Key, int], node: Node) -> int:
    """Return the position of an equal node, or append this one."""
    op, args, value = key = node
    if op == "mul" and args[0] > args[1]:
        key = (op, (args[1], args[0]), value)
    elif op == "const":
        key = (op, args, repr(value))  # -0.0 is not 0.0
    position = known.setdefault(key, len(nodes))
    if position == len(nodes):
        nodes.append(node)
    return position


def resolve_signs(graph: Graph) -> Graph:
    """Move negations from the outputs back to where they cost nothing.

    Tracing pulls every negation outward. Those left at the outputs (and under square roots) are
    moved down here: -(a - b) is b - a, and a product passes its sign to a factor that can take it.
    A node can change its sign only if nothing else uses it; a value whose negation is computed
    anyway can be replaced by it.
    """
    negated = [node.args[0] for node in graph.nodes if node.op == "neg"]
    uses = graph.uses()
    flipped: Plan = {}
    kept: set[int] = set()  # nodes that stay under a negation
    for i in negated:
        plan = _sink(graph, uses, i, kept=set())
        kept |= {i} if plan is None else set()
        flipped.update(plan or {})
    needed: set[int] = set()  # negations that another one now relies on
    for i in negated:
        if i in kept and i not in needed:
            kept.remove(i)
            plan = _sink(graph, uses, i, kept)
            kept |= {i} if plan is None else set()
            flipped.update(plan or {})
            needed |= {graph.nodes[n].args[k] for n, k in (plan or {}).items() if k is not None}
    return prune(share(_flip(graph, flipped))) if negated else graph


def _sink(
    graph: Graph, uses: list[int], i: int, kept: set[int], levels: int = LEVELS
) -> Plan | None:
    """Plan how node i and those below it change so that its value is negated; None if that costs.

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
            plan = _sink(graph, uses, arg, kept, levels - 1)
            if plan is not None:
                return {i: k, **plan}
    return None


def _flip(graph: Graph, flipped: Plan) -> Graph:
    """Negate the planned nodes and remove their negations."""
    nodes: list[Node] = []
    place: list[int] = []  # the new node of each old one

    def append(node: Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    @cache
    def negative(arg: int) -> int:
        """Return the negation of an old node: a constant, flipped, or negated elsewhere too."""
        old = graph.nodes[arg]
        if old.op == "const":
            return append(Node("const", value=-old.number))
        return place[arg] if arg in flipped else append(Node("neg", (place[arg],)))

    for i, node in enumerate(graph.nodes):
        op, args, value = node
        args = (
            (place[args[0]], place[args[1]])
            if len(args) == 2
            else tuple([place[arg] for arg in args])
        )
        if op == "neg":
            place.append(negative(node.args[0]))
        elif i not in flipped:
            place.append(len(nodes))
            nodes.append(node_of((op, args, value)))
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


def fuse(graph: Graph) -> Graph:
    """Make a b + c, a b - c and c - a b single operations where a b has no other use.

    Where both terms of a sum are such products, the one that is ready later is fused (the second
    where they are level), so that the other is computed meanwhile. The choice is made here, once,
    so that every backend rounds alike.
    """
    uses = graph.uses()
    free = [node.op == "mul" and n == 1 for node, n in zip(graph.nodes, uses, strict=True)]
    depth: list[int] = []
    nodes = list(graph.nodes)
    gone: set[int] = set()  # products that nothing else uses
    for i, (op, args, _) in enumerate(graph.nodes):
        if len(args) == 2:
            a, b = args
            before, later = depth[a], depth[b]
            depth.append(1 + (before if before > later else later))
            if (op == "add" or op == "sub") and (free[a] or free[b]):
                k = int(later >= before) if free[a] and free[b] else int(free[b])
                fused = "fma" if op == "add" else ("fms", "fnma")[k]
                gone.add(args[k])
                nodes[i] = node_of((fused, (*nodes[args[k]].args, args[1 - k]), None))
        else:
            depth.append(1 + max([depth[arg] for arg in args]) if args else 0)
    made = graph.with_nodes(nodes, graph.results)
    return share(select(made, [i for i in range(len(nodes)) if i not in gone]))


PASSES = (prune, factor, reciprocals, resolve_signs, fuse, schedule)
