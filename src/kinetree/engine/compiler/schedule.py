"""The order of evaluation: short live ranges, so that values stay in registers.

For a processor three orders are compared and the one with the fewest reloads is kept. The order of
the algorithm is already good where it walks along a chain of data; the greedy order improves it
locally; the depth-first order is best for deeply nested expressions. Constants and inputs are read
where they are used and occupy no register, so the orders are of computed nodes only.

A GPU needs another measure, see `short_lived`.
"""

from heapq import heapify, heappop, heappush
from itertools import chain

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, select
from kinetree.engine.compiler.ops import LEAVES

MEMORY = 64  # operations after which a value that was not touched has left the registers

Args = list[list[int]]  # for each node its computed arguments, each once
Order = list[int]
Uses = tuple[Array, Array]


def schedule(graph: Graph) -> Graph:
    """Return the graph in the order with the fewest reloads, then the shortest live ranges."""
    args, as_traced = computed(graph)
    roots = [root for root in graph.roots() if graph.nodes[root].op not in LEAVES]
    orders = (as_traced, greedy_order(args, as_traced), depth_first_order(args, as_traced, roots))
    uses = all_uses(args)
    counts = [reloads(uses, order) for order in orders]
    best = [order for order, count in zip(orders, counts, strict=True) if count == min(counts)]
    if len(best) > 1:
        best.sort(key=lambda order: sum(waiting(args, order)))
    return select(graph, with_leaves(graph, best[0]))


def short_lived(graph: Graph) -> Graph:
    """Return the graph in the order, of those tried here, with the fewest values alive at once.

    A processor reloads values that did not fit its registers from a near cache, so `schedule`
    counts reloads. On a GPU thousands of threads share the near memory, and values that do not fit
    their registers go far away. For a tree of joints the depth-first order finishes one limb before
    the next; a node that uses up as many values as it makes is computed as soon as possible. A
    robot of 44 joints then has a third of the values alive at once.
    """
    args, as_traced = computed(graph)
    roots = [root for root in graph.roots() if graph.nodes[root].op not in LEAVES]
    orders = [as_traced, *(depth_first_order(args, as_traced, x) for x in (roots, roots[::-1]))]
    orders += [eager_order(args, order) for order in orders]
    best = min(orders, key=lambda order: most(args, order))
    whole = Graph(graph.nodes, graph.inputs, graph.outputs, graph.results)
    return select(whole, with_leaves(whole, best))


def computed(graph: Graph) -> tuple[Args, Order]:
    """Return the computed arguments of each node, and the computed nodes in their order."""
    leaf = [node.op in LEAVES for node in graph.nodes]
    args = [[a for a in node.args if not leaf[a]] for node in graph.nodes]
    args = [x if len(x) < 2 or len(set(x)) == len(x) else list(dict.fromkeys(x)) for x in args]
    return args, [i for i, is_leaf in enumerate(leaf) if not is_leaf]


def with_leaves(graph: Graph, order: Order) -> Order:
    """Insert each constant and input just before its first use."""
    nodes = graph.nodes
    everything = dict.fromkeys(chain.from_iterable([(*nodes[i].args, i) for i in order]))
    outputs = dict.fromkeys(graph.roots())  # a leaf may be an output and nothing else
    return list(everything | outputs)


def all_uses(args: Args) -> Uses:
    """Return every use of a value as two arrays: the value, and the node that uses it."""
    values = np.array(list(chain.from_iterable(args)), int)
    return values, np.repeat(np.arange(len(args)), list(map(len, args)))


def reloads(uses: Uses, order: Order) -> int:
    """Count the uses that come so long after the last touch that the value is loaded again.

    On traced robot dynamics this count follows the number of loads under an optimal choice of the
    values to spill with 30 registers, and is much quicker to find.
    """
    values, users = uses
    made = np.array(order, int)
    length = int(made.max(initial=0)) + 1
    time = np.zeros(length, int)
    time[made] = np.arange(len(made))
    # each touch of a value, when it is made and when it is used, as one number: value, then time
    touches = np.concatenate([made, values]) * length + time[np.concatenate([made, users])]
    touches.sort()
    late = np.diff(touches) > MEMORY
    return int(np.count_nonzero(late & (np.diff(touches // length) == 0)))


def waiting(args: Args, order: Order) -> list[int]:
    """Count the values that wait for a later use, after each node of the order."""
    last = [-1] * len(args)
    for i in order:
        for arg in args[i]:
            last[arg] = i
    live = 0
    counts: list[int] = []
    for i in order:
        live += last[i] >= 0
        for arg in args[i]:
            live -= last[arg] == i
        counts.append(live)
    return counts


def greedy_order(args: Args, order_before: Order) -> Order:
    """Take at each step the node that frees most registers, the first such in the given order."""
    users: list[list[int]] = [[] for _ in args]
    for i in order_before:
        for arg in args[i]:
            users[arg].append(i)
    missing = [len(nodes) for nodes in args]  # arguments of each node that are still to come
    unused = [len(nodes) for nodes in users]  # uses of each value that are still to come
    done = [False] * len(args)

    order: Order = []
    # A heap of (growth, node) as one number: growth times the number of nodes, plus the node. The
    # growth is by how much the number of live values grows if the node is next. Entries are never
    # updated: a node whose growth falls is pushed again, and the older entry is skipped when it
    # comes up.
    total = len(args)
    ready = [(total if users[i] else 0) + i for i in order_before if not args[i]]
    heapify(ready)
    while ready:
        i = heappop(ready) % total
        if done[i]:
            continue  # it was in the heap twice: its growth had changed
        done[i] = True
        order.append(i)
        changed: list[int] = []
        for user in users[i]:
            missing[user] -= 1
            if not missing[user]:
                changed.append(user)
        for arg in args[i]:
            unused[arg] -= 1
            if unused[arg] == 1:  # the one use that is left became more attractive
                for user in users[arg]:
                    if not done[user]:
                        if not missing[user]:
                            changed.append(user)
                        break
        for user in changed:
            key = user + total if users[user] else user
            for arg in args[user]:
                if unused[arg] == 1:
                    key -= total
            heappush(ready, key)
    return order


def depth_first_order(args: Args, order_before: Order, roots: list[int]) -> Order:
    """Go from the outputs down to the inputs, the argument that needs more registers first."""
    need = registers_needed(args, order_before)
    done = [False] * len(args)
    order: Order = []
    for root in roots:
        stack = [root]
        while stack:  # ~i on the stack marks the return to node i after its arguments
            i = stack.pop()
            if i < 0:
                order.append(~i)
            elif not done[i]:
                done[i] = True
                stack.append(~i)
                parts = args[i]
                if len(parts) == 2 and need[parts[0]] <= need[parts[1]]:
                    stack += parts
                else:
                    stack += parts if len(parts) < 2 else sorted(parts, key=need.__getitem__)
    return order


def registers_needed(args: Args, order_before: Order) -> list[int]:
    """Return the registers that each value needs if nothing is shared (Sethi and Ullman)."""
    need = [0] * len(args)
    for i in order_before:
        parts = [need[arg] for arg in args[i]]
        if len(parts) < 2:
            need[i] = parts[0] if parts else 1
        elif len(parts) == 2:
            a, b = parts
            need[i] = a + 1 if a == b else max(a, b)
        else:
            parts.sort(reverse=True)
            need[i] = max([n + k for k, n in enumerate(parts)])
    return need


def most(args: Args, order: Order) -> int:
    """Return the greatest number of values that wait for a later use."""
    return max(waiting(args, order), default=0)


def eager_order(args: Args, order_before: Order) -> Order:
    """Return the given order, but with a node that adds no live value as early as possible."""
    users: list[list[int]] = [[] for _ in args]
    for i in order_before:
        for arg in args[i]:
            users[arg].append(i)
    rank = {i: k for k, i in enumerate(order_before)}
    missing = [len(nodes) for nodes in args]  # arguments of each node that are still to come
    unused = [len(nodes) for nodes in users]  # uses of each value that are still to come
    done = [False] * len(args)
    order: Order = []
    ready: list[tuple[int, int, int]] = []

    def offer(i: int) -> None:
        """Put a node on the heap if it can be computed and adds no live value."""
        growth = bool(users[i]) - sum(unused[arg] == 1 for arg in args[i])
        if not missing[i] and growth <= 0:
            heappush(ready, (growth, rank[i], i))

    def take(i: int) -> None:
        done[i] = True
        order.append(i)
        for user in users[i]:
            missing[user] -= 1
            offer(user)
        for arg in args[i]:
            unused[arg] -= 1
            if unused[arg] == 1:  # its one remaining use now frees it
                offer(next(user for user in users[arg] if not done[user]))

    for i in order_before:
        if not done[i]:
            take(i)
        while ready:
            _, _, user = heappop(ready)
            if not done[user]:
                take(user)
    return order
