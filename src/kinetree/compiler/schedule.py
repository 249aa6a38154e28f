"""The order of evaluation: short live ranges, so that values stay in registers.

Three orders are compared and the one with the fewest reloads is kept. The order of the algorithm is
already good where it walks along a chain of data; the greedy order improves it locally; the
depth-first order is best for deeply nested expressions.
"""

from heapq import heappop, heappush

from kinetree.compiler.graph import Graph
from kinetree.compiler.prune import select

LEAVES = frozenset({"const", "input"})  # read where they are used: they occupy no register
MEMORY = 64  # operations after which a value that was not touched has left the registers


def schedule(graph: Graph) -> Graph:
    """The graph in the order with the fewest reloads, then the shortest live ranges."""
    orders = (graph, select(graph, greedy_order(graph)), select(graph, depth_first_order(graph)))
    return leaves_at_use(min(orders, key=lambda g: (reloads(g), sum(live_values(g)))))


def reloads(graph: Graph) -> int:
    """How many uses come so long after the value was last touched that it must be loaded again.

    On traced robot dynamics this count follows the loads that the best possible choice of what to
    spill needs with 30 registers, and is much quicker to find.
    """
    touched = [0] * len(graph.nodes)
    time = count = 0
    for i, node in enumerate(graph.nodes):
        if node.op not in LEAVES:
            time += 1
            for arg in computed_args(graph, i):
                count += time - touched[arg] > MEMORY
                touched[arg] = time
            touched[i] = time
    return count


def live_values(graph: Graph) -> list[int]:
    """How many computed values wait for a later use, after each computed node.

    Constants and inputs are not counted, and neither are outputs that nothing else uses: they are
    stored as soon as they are known.
    """
    last = last_uses(graph)
    live = 0
    counts: list[int] = []
    for i, node in enumerate(graph.nodes):
        if node.op not in LEAVES:
            live += last[i] > i
            live -= sum(last[arg] == i for arg in computed_args(graph, i))
            counts.append(live)
    return counts


def last_uses(graph: Graph) -> list[int]:
    """The position of the last node that takes each node as an argument; -1 where none does."""
    last = [-1] * len(graph.nodes)
    for i, node in enumerate(graph.nodes):
        for arg in node.args:
            last[arg] = i
    return last


def computed_args(graph: Graph, i: int) -> list[int]:
    """The arguments of a node that are values in registers, each once."""
    return [a for a in dict.fromkeys(graph.nodes[i].args) if graph.nodes[a].op not in LEAVES]


def leaves_at_use(graph: Graph) -> Graph:
    """The same order with each constant and input moved to just before its first use."""
    order: list[int] = []
    done = [False] * len(graph.nodes)
    for i, node in enumerate(graph.nodes):
        if node.op not in LEAVES:
            for j in (*node.args, i):
                if not done[j]:
                    done[j] = True
                    order.append(j)
    order += [i for i in range(len(graph.nodes)) if not done[i]]  # leaves that are outputs
    return select(graph, order)


def greedy_order(graph: Graph) -> list[int]:
    """At each step the node that frees most registers, the earliest such in the given order."""
    n = len(graph.nodes)
    args = [computed_args(graph, i) for i in range(n)]
    users: list[list[int]] = [[] for _ in range(n)]
    for i in range(n):
        for arg in args[i]:
            users[arg].append(i)
    waiting = [len(found) for found in args]
    unused = [len(found) for found in users]  # uses of each value that are still to come
    done = [False] * n
    order = [i for i in range(n) if graph.nodes[i].op in LEAVES]
    for i in order:
        done[i] = True

    def gain(i: int) -> int:
        """By how much the number of live values grows if node i is next."""
        return bool(users[i]) - sum(unused[arg] == 1 for arg in args[i])

    ready: list[tuple[int, int]] = []
    for i in range(n):
        if not done[i] and not waiting[i]:
            heappush(ready, (gain(i), i))
    while ready:
        _, i = heappop(ready)
        if done[i]:
            continue  # it stood in the heap twice: its gain had changed
        done[i] = True
        order.append(i)
        for user in users[i]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, (gain(user), user))
        for arg in args[i]:
            unused[arg] -= 1
            if unused[arg] == 1:
                # the one use that is left became more attractive
                user = next(user for user in users[arg] if not done[user])
                if not waiting[user]:
                    heappush(ready, (gain(user), user))
    return order


def depth_first_order(graph: Graph) -> list[int]:
    """From the outputs down to the inputs, the argument that needs more registers first."""
    need = registers_needed(graph)
    done = [False] * len(graph.nodes)
    order: list[int] = []
    for root in graph.roots():
        stack = [root]
        while stack:
            i = stack.pop()
            if i < 0:  # all arguments of node ~i are in the order
                order.append(~i)
            elif not done[i]:
                done[i] = True
                stack.append(~i)
                args = sorted(dict.fromkeys(graph.nodes[i].args), key=lambda arg: need[arg])
                stack.extend(arg for arg in args if not done[arg])
    return order


def registers_needed(graph: Graph) -> list[int]:
    """Registers that each value needs if nothing is shared (Sethi and Ullman's numbers)."""
    need: list[int] = []
    for i, node in enumerate(graph.nodes):
        parts = sorted((need[arg] for arg in computed_args(graph, i)), reverse=True)
        least = 0 if node.op in LEAVES else 1
        need.append(max((n + k for k, n in enumerate(parts)), default=least))
    return need
