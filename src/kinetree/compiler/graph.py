"""The graph: straight-line code as data, the one thing that all backends read.

A graph is a list of nodes in an order in which every argument stands before its use. It has never
heard of a robot. Equal nodes exist once (the tracer interns them).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

# name -> (number of arguments, floating-point operations it counts for)
OPERATIONS: dict[str, tuple[int, int]] = {
    "const": (0, 0),
    "input": (0, 0),
    "add": (2, 1),
    "sub": (2, 1),
    "mul": (2, 1),
    "div": (2, 1),
    "neg": (1, 1),
    "fma": (3, 2),  # a b + c, rounded once
    "fms": (3, 2),  # a b - c
    "fnma": (3, 2),  # c - a b
    "sin": (1, 0),
    "cos": (1, 0),
    "sqrt": (1, 0),
    "sign": (1, 0),
    "select": (3, 0),  # b where a > 0, c elsewhere and where a is NaN
}


@dataclass(frozen=True, slots=True)
class Node:
    """One operation; `args` are the positions of earlier nodes.

    `value` is the number of a "const", and (input, element) of an "input": which input array and
    which of its elements in row-major order.
    """

    op: str
    args: tuple[int, ...] = ()
    value: float | tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output array: its name, its shape, and a letter for each of its dimensions."""

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs -> nodes -> outputs. `results[k]` lists the nodes of output k in row-major order."""

    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    results: tuple[tuple[int, ...], ...]

    def count(self) -> Counter[str]:
        """How often each operation occurs."""
        return Counter(node.op for node in self.nodes)

    @property
    def operations(self) -> int:
        """Additions, subtractions, multiplications, divisions, negations; a fused pair is two."""
        return sum(OPERATIONS[op][1] * n for op, n in self.count().items())

    def with_nodes(self, nodes: Iterable[Node], results: tuple[tuple[int, ...], ...]) -> "Graph":
        """A plain graph of other nodes between the same ports."""
        return Graph(tuple(nodes), self.inputs, self.outputs, results)

    def roots(self) -> Iterator[int]:
        """The nodes that some output needs."""
        for result in self.results:
            yield from result

    def uses(self) -> list[int]:
        """How often each node is an argument or a result."""
        uses = [0] * len(self.nodes)
        for node in self.nodes:
            for arg in node.args:
                uses[arg] += 1
        for root in self.roots():
            uses[root] += 1
        return uses
