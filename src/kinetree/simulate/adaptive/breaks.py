"""Times at which forces may jump or bend, so that adaptive steps end there.

The error estimate of a step is made for smooth forces, and cannot see a pulse between two of its
stages. Breaks are given by the user (`breaks=`), by signals and trajectories (their samples and
pieces), and by digital controllers. Functions of time give two more kinds:

1. Switches. A choice by time alone, such as `where(t > 3, ...)`, is a condition in the traced graph
   that depends on t and on nothing else. It is sampled, and its changes of sign are bisected down
   to two neighbouring floating-point numbers: the last time before the switch and the first after.
2. Beginnings and ends of activity. Functions that are smooth but short are sampled; a step ends
   where they begin and end to change.

A condition that changes twice between two samples can be missed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Node, Port, prune
from kinetree.engine.compiler.interpret import interpret

CHANGE = 1e-6  # of its range: a smaller change from sample to sample does not count
PYTHON_SAMPLES = 2048  # of one that only Python can run
SHORTEST_REST = 24  # samples: a shorter rest is the crest of a wave
TRACED_SAMPLES = 2**15  # of a traced function of time over the simulation

EPS = np.finfo(float).eps

# the last time before a break, and the first one after it: neighbours for a switch, and equal for
# a sampled input, whose argument `ends` selects the side of a jump
Pair = tuple[float, float]


def merged(pairs: Iterable[Pair], end: float) -> list[Pair]:
    """All breaks within (0, end) in order, those that are neighbours joined, and the end."""
    breaks: list[Pair] = []
    for before, after in sorted((b, a) for b, a in pairs if b > 0 and a < end):
        if breaks and before - breaks[-1][1] <= 8 * EPS * abs(before):
            breaks[-1] = breaks[-1][0], max(breaks[-1][1], after)
        else:
            breaks.append((before, after))
    while breaks and end - breaks[-1][1] <= 8 * EPS * end:
        breaks.pop()
    return [*breaks, (end, end)]


def breaks_of_graph(graph: Graph, end: float) -> list[Pair]:
    """Switches, and beginnings and ends of activity, of the functions of time in a graph."""
    t = np.linspace(0.0, end, TRACED_SAMPLES + 1)
    graph, conditions = with_conditions(graph)
    pairs = [
        pair
        for condition, signed in conditions.items()
        for pair in sign_changes(time_function(graph, [condition]), signed, t)
    ]
    used = used_functions(graph)
    return pairs + activity(t, time_function(graph, used)(t)) if used else pairs


def depends_on_time_alone(graph: Graph) -> list[bool]:
    """For each node, whether it is a function of t, the first input, and is not constant."""
    constant, alone, more = range(3)  # of several arguments, the largest kind counts
    kinds: list[int] = []
    for node in graph.nodes:
        if node.op == "input":
            kinds.append(alone if node.place[0] == 0 else more)
        else:
            kinds.append(max((kinds[k] for k in node.args), default=constant))
    return [kind == alone for kind in kinds]


def with_conditions(graph: Graph) -> tuple[Graph, dict[int, bool]]:
    """The conditions of time, and for each whether its sign counts (or only that it is above 0).

    A minimum or maximum bends where the difference of its arguments, a new node, changes its sign.
    """
    differences = [Node("sub", node.args) for node in graph.nodes if node.op in ("min", "max")]
    graph = graph.with_nodes([*graph.nodes, *differences], graph.results)
    alone = depends_on_time_alone(graph)
    conditions = dict[int, bool]()
    for node in graph.nodes:
        if node.op in ("select", "sign", "abs") and alone[node.args[0]]:
            signed = conditions.get(node.args[0], False)
            conditions[node.args[0]] = signed or node.op != "select"
    count = len(graph.nodes)
    added = range(count - len(differences), count)
    return graph, conditions | {k: False for k in added if alone[k] and k not in conditions}


def used_functions(graph: Graph) -> list[int]:
    """Nodes of time alone that results or functions of the state read."""
    alone = depends_on_time_alone(graph)
    used = {k for k in graph.roots() if alone[k]}
    for node, timed in zip(graph.nodes, alone, strict=True):
        if not timed:
            used |= {k for k in node.args if alone[k]}
    return sorted(used)


def time_function(graph: Graph, wanted: list[int]) -> Callable[[Array], Array]:
    """Some nodes as a function of times (K,) to values (K, W)."""
    port = Port("values", (len(wanted),))
    timed = prune(replace(graph, outputs=(port,), results=(tuple(wanted),)))
    others = [np.zeros(port.shape) for port in graph.inputs[1:]]

    def function(t: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.broadcast_to(interpret(timed, t, *others)[0], (len(t), len(wanted)))

    return function


def sign_changes(function: Callable[[Array], Array], signed: bool, t: Array) -> list[Pair]:
    """Neighbouring times between which a condition changes: its sign, or whether it is above 0."""

    def sides(t: Array) -> Array:
        value = function(t)[:, 0]
        return np.sign(value) if signed else (value > 0).astype(float)

    side = sides(t)
    changed = np.flatnonzero(side[1:] != side[:-1])
    low, high, begun = t[changed], t[changed + 1], side[changed]
    while True:
        middle = (low + high) / 2
        inside = (middle > low) & (middle < high)
        if not inside.any():
            break
        same = sides(middle) == begun
        low, high = np.where(inside & same, middle, low), np.where(inside & ~same, middle, high)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def activity(t: Array, values: Array) -> list[Pair]:
    """The samples between which functions, (K, G), stand still before or after they change."""
    with np.errstate(all="ignore"):
        change = abs(np.diff(values, axis=0))
        size = np.nanmax(values, 0) - np.nanmin(values, 0)
    change = np.where(np.isfinite(change), change, np.inf)
    active = (change > CHANGE * np.where(np.isfinite(size), size, 1.0)).any(-1)
    window = np.ones(2 * SHORTEST_REST + 1)  # the crest of a wave is no rest
    active = np.convolve(np.convolve(active, window, "same") <= 0.5, window, "same") < 0.5
    edges = t[1:-1][active[1:] != active[:-1]]
    return [(float(x), float(x)) for x in edges]


def breaks_of_function(over: Callable[[Array], Sequence[Array]], end: float) -> list[Pair]:
    """Beginnings and ends of changes of a function of time that only Python can run.

    over: times (K,) -> parts (K, ...).
    """
    t = np.linspace(0.0, end, PYTHON_SAMPLES + 1)
    return activity(t, np.concatenate([x.reshape(len(t), -1) for x in over(t)], -1))
