"""The order of evaluation of straight-line code, and its parts.

Calls of one function that do not depend on each other become one call with several vectors, or with
one vector of numbers (`functions.py`): a chain of operations alone leaves the processor waiting.

Long code comes in parts, functions of their own that pass numbers on in memory: LLVM's time for a
function grows faster than its length. Hardly any value of a long graph could stay in a register
from one part to the next anyway. A value that a later part needs is stored once and loaded where
that part first uses it. Inputs are in memory already.

Chains of dependent operations begin in time. The order of a graph keeps values in registers
(`engine/compiler/schedule.py`) and does not consider time. A processor begins two operations in
each cycle, has the result of a product four cycles later and that of a division after two dozen,
and looks only a few hundred operations ahead for work that is ready. The factors of a mass matrix
are one long chain of divisions and products: at the end of the code, where nothing else is left to
do, the processor would wait for it most of the time.

All operations together take at least half a cycle each, and at least as long as their longest
chain. This total gives the latest time at which each node must begin for the chains behind it to
end in time. A node whose place in the order is later than that moves forward to its latest time.
The others stay where they are, so that few values wait in registers for longer. No operation
changes, and therefore no result.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise

from kinetree.engine.compiler.graph import Graph, Node
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.llvm.functions import CALLED, shares

PART_NODES = 500  # nodes of a part, at most
IN_MEMORY = frozenset({"input", "carried"})
NOT_KEPT = IN_MEMORY | {"const", "repeat"}
RATE = 2  # operations that begin in each cycle

# zero: read from memory where it is used
CYCLES = {op: operation.cycles for op, operation in OPERATIONS.items()}
CYCLES |= {"const": 0, "input": 0, "carried": 0, "repeat": 40}


Item = int | tuple[int, ...]  # a node, or nodes that one call of a function computes


def remaining(graph: Graph) -> list[int]:
    """Return the cycles from the beginning of each node to the end of the longest chain from it."""
    cycles_left = [0] * len(graph.nodes)
    for i in reversed(range(len(graph.nodes))):
        node = graph.nodes[i]
        cycles_left[i] = left = cycles_left[i] + CYCLES[node.op]
        for arg in node.args:
            if cycles_left[arg] < left:
                cycles_left[arg] = left
    return cycles_left


def in_time(graph: Graph, order: Sequence[int]) -> list[int]:
    """Return an order in which nodes at the beginning of long chains are not too late.

    In the order that is given, and in the result, arguments come before the nodes that use
    them. Constants and what is read from memory stand directly before their first use, or at the
    end where no node of the order uses them.
    """
    left, nodes = remaining(graph), graph.nodes
    steps = [i for i in order if CYCLES[nodes[i].op]]
    total = max([len(steps) / RATE, *[left[i] for i in steps]])
    time = {i: min(k / RATE, total - left[i]) for k, i in enumerate(steps)}
    # An argument has at least as much left as its user and an earlier place, so it stays before it.
    steps.sort(key=time.__getitem__)
    known = set(steps)
    reads = {i for i in order if i not in known}
    result: list[int] = []
    for i in steps:
        for arg in nodes[i].args:
            if arg in reads:
                reads.remove(arg)
                result.append(arg)
        result.append(i)
    return [*result, *sorted(reads)]


def order(graph: Graph, lanes: int) -> Iterator[Item]:
    """The nodes in an order of evaluation, but calls that do not depend on each other as one.

    Calls of a function with as many calls before them on the longest way through the graph are
    independent. The first of those that share a call brings the others forward, with all that they
    need.
    """
    nodes = graph.nodes
    order = in_time(graph, range(len(nodes)))
    level = [0] * len(nodes)
    calls: dict[tuple[int, str], dict[tuple[int, ...], list[int]]] = {}
    for i, (op, args, _) in enumerate(nodes):
        level[i] = max([level[arg] for arg in args], default=0)
        if op in CALLED:
            same = calls.setdefault((level[i], CALLED[op][0]), {})
            same.setdefault(args, []).append(i)
            level[i] += 1
    shared: dict[int, tuple[int, ...]] = {}
    for same in calls.values():
        groups = list(same.values())
        for a, b in pairwise(accumulate(shares(len(groups), lanes), initial=0)):
            members = tuple(i for group in groups[a:b] for i in group)
            shared |= dict.fromkeys(members, members)
    missing = dict.fromkeys(order)
    for i in order:
        stack = [i]
        while stack:
            top = stack[-1]
            members = shared.get(top, (top,))
            before = [arg for k in members for arg in nodes[k].args if arg in missing]
            if before and top in missing:
                stack += reversed(before)
                continue
            stack.pop()
            if top in missing:
                yield shared.get(top, top)
                for k in members:
                    del missing[k]


def split(order: Sequence[Item], longest: int) -> list[Sequence[Item]]:
    """The parts of an order of evaluation, of about equal lengths; one up to `longest` nodes."""
    count = 1 if len(order) <= longest else -(-len(order) // PART_NODES)
    ends = [k * len(order) // max(count, 1) for k in range(count + 1)]
    return [order[a:b] for a, b in pairwise(ends)] or [[]]


def needed(nodes: Sequence[Node], item: Item) -> Sequence[int]:
    """The nodes that an item reads by their names."""
    if isinstance(item, tuple):
        return [arg for i in item for arg in nodes[i].args]
    op, args, _ = nodes[item]
    return () if op in IN_MEMORY or op == "repeat" else args


def computed(item: Item) -> Sequence[int]:
    """The nodes that an item computes."""
    return item if isinstance(item, tuple) else (item,)


def kept_slots(graph: Graph, parts: Sequence[Sequence[Item]]) -> tuple[dict[int, int], int]:
    """A place in memory for each value that a later part needs, and how many places there are.

    A place is used again once the part that last needs it is over.
    """
    nodes = graph.nodes
    made: dict[int, int] = {}  # node -> the part that computes it
    last: dict[int, int] = {}  # node -> the last later part that reads it
    for k, part in enumerate(parts):
        for item in part:
            for arg in needed(nodes, item):
                if made.get(arg, k) != k:
                    last[arg] = k
            made |= {i: k for i in computed(item) if nodes[i].op not in NOT_KEPT}
    slots: dict[int, int] = {}
    free: list[int] = []
    ends: list[list[int]] = [[] for _ in parts]
    count = 0
    for k, part in enumerate(parts):
        for item in part:
            for i in computed(item):
                if i not in last:
                    continue
                if not free:
                    heappush(free, count)
                    count += 1
                slots[i] = heappop(free)
                ends[last[i]].append(slots[i])
        for slot in ends[k]:
            heappush(free, slot)
    return slots, count
