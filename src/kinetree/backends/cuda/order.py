"""The order of evaluation on a GPU: as few values alive at once as possible, where many are.

A processor reloads what did not fit its registers from a near cache, so its kernels keep the order
with the fewest reloads. Thousands of threads share the near memory of a GPU: what does not fit
their registers goes far away. For a tree of joints the depth-first order finishes one limb before
the next; and whatever uses up as many values as it makes is computed as soon as it can be. A robot
of 44 joints then has a third of the values alive at once.
"""

from heapq import heappop, heappush

from kinetree.compiler.graph import Graph
from kinetree.compiler.prune import select
from kinetree.compiler.schedule import (
    LEAVES,
    Args,
    Order,
    computed,
    depth_first_order,
    waiting,
    with_leaves,
)


def short_lived(graph: Graph) -> Graph:
    """The graph in the order, of those known here, that has fewest values alive at once."""
    args, given = computed(graph)
    roots = [root for root in graph.roots() if graph.nodes[root].op not in LEAVES]
    orders = [given, *(depth_first_order(args, given, list(x)) for x in (roots, reversed(roots)))]
    orders += [eager_order(args, order) for order in orders]
    best = min(orders, key=lambda order: most(args, order))
    whole = Graph(graph.nodes, graph.inputs, graph.outputs, graph.results)
    return select(whole, with_leaves(whole, best))


def most(args: Args, order: Order) -> int:
    """The greatest number of values that wait for a later use."""
    return max(waiting(args, order), default=0)


def eager_order(args: Args, given: Order) -> Order:
    """The given order, but a node that lets no more values live than before comes at once."""
    users: list[list[int]] = [[] for _ in args]
    for i in given:
        for arg in args[i]:
            users[arg].append(i)
    rank = {i: k for k, i in enumerate(given)}
    missing = [len(found) for found in args]  # arguments of each node that are still to come
    unused = [len(found) for found in users]  # uses of each value that are still to come
    done = [False] * len(args)
    order: Order = []
    ready: list[tuple[int, int, int]] = []

    def offer(i: int) -> None:
        """Put a node on the heap if it can be computed and makes nothing longer."""
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
            if unused[arg] == 1:  # the one use that is left now ends the value's life
                offer(next(user for user in users[arg] if not done[user]))

    for i in given:
        if not done[i]:
            take(i)
        while ready:
            _, _, user = heappop(ready)
            if not done[user]:
                take(user)
    return order
