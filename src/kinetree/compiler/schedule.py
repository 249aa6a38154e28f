"""The order of evaluation: short live ranges, so that values stay in registers."""

from kinetree.compiler.graph import Graph
from kinetree.compiler.prune import select


def schedule(graph: Graph) -> Graph:
    """The graph in depth-first order from its outputs, the needier argument first."""
    need = registers_needed(graph)
    done = [False] * len(graph.nodes)
    order: list[int] = []
    for root in graph.roots():
        stack = [root]
        while stack:
            i = stack.pop()
            if i < 0:
                order.append(~i)
            elif not done[i]:
                done[i] = True
                stack.append(~i)
                args = sorted(dict.fromkeys(graph.nodes[i].args), key=lambda arg: need[arg])
                stack.extend(arg for arg in args if not done[arg])
    return select(graph, order)


def registers_needed(graph: Graph) -> list[int]:
    """Registers that each value needs if nothing is shared (Sethi and Ullman's numbers)."""
    need: list[int] = []
    for node in graph.nodes:
        parts = sorted((need[arg] for arg in dict.fromkeys(node.args)), reverse=True)
        need.append(
            max((n + k for k, n in enumerate(parts)), default=0 if node.op == "const" else 1)
        )
    return need
