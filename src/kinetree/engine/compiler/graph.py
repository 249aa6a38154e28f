"""The graph: straight-line code as data, which all backends read. It knows nothing of robots.

A graph is a list of nodes in an order in which every argument comes before its use. Equal nodes
exist once (the tracer interns them). The passes that remove or merge nodes, and a listing for
readers, are here too.
"""

import gc
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

from kinetree.engine.compiler.ops import LEAVES, OPERATIONS
from kinetree.errors import GraphError, InputError

FLOAT32_ZERO = 2.0**-150  # rounds to zero in float32, and so does all that is smaller
FLOAT32_INFINITY = 2.0**128 - 2.0**103  # rounds to infinity, and so does all that is larger

# A loop (`kinetree.core.repeat`). "repeat": its value is a `Sweep`, its arguments the numbers that
# the first round begins with, those that stay, and those of all rows. "carried": a number after the
# last round, or a result of a round; its value is (0, place among all of these), and only such
# nodes have a "repeat" as their argument.
LOOPS = frozenset({"repeat", "carried"})

LONGEST = 1_000_000  # nodes of a graph; they take about 6 s to trace


class LongGraphError(GraphError):
    """A function has too many operations for a graph."""


class Node(NamedTuple):
    """One operation; `args` are the positions of earlier nodes.

    `value` is the number of a "const", and (input, element) of an "input": the input array and the
    element of it in row-major order. A graph has tens of thousands of nodes and every pass makes
    new ones: a named tuple is made in a third of the time of a frozen dataclass.
    """

    op: str
    args: tuple[int, ...] = ()
    value: "float | tuple[int, int] | Sweep | None" = None

    @property
    def number(self) -> float:
        """The number of a "const"."""
        assert isinstance(self.value, float)
        return self.value

    @property
    def place(self) -> tuple[int, int]:
        """(input, element) of an "input"."""
        assert isinstance(self.value, tuple)
        return self.value

    @property
    def sweep(self) -> "Sweep":
        """The rounds of a "repeat"."""
        assert isinstance(self.value, Sweep)
        return self.value


# `Node(*fields)` for the loops over all nodes: it is not a function of Python, and twice as quick
node_of: Callable[[tuple[str, tuple[int, ...], Any]], Node] = partial(tuple.__new__, Node)


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

    def leading(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the axes of states in front of the port's own, None where the latter differ."""
        split = len(shape) - len(self.shape)
        return shape[:split] if split >= 0 and shape[split:] == self.shape else None


@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs -> nodes -> outputs. `results[k]` lists the nodes of output k in row-major order."""

    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    results: tuple[tuple[int, ...], ...]

    def count(self) -> Counter[str]:
        """Return how often each operation occurs."""
        return Counter(node.op for node in self.nodes)

    @property
    def operations(self) -> int:
        """Additions, subtractions, multiplications, divisions, negations; a fused pair is two.

        A loop counts with all its rounds.
        """
        counts = self.count()
        loops = [self.nodes[i].sweep for i in self.repeats()] if counts["repeat"] else ()
        straight = sum(op.cost * counts[name] for name, op in OPERATIONS.items())
        return straight + sum(sweep.rounds * sweep.graph.operations for sweep in loops)

    @property
    def length(self) -> int:
        """Number of nodes; a loop is one."""
        return len(self.nodes)

    def repeats(self) -> list[int]:
        """Return the nodes that are loops, in their order."""
        return [i for i, node in enumerate(self.nodes) if node.op == "repeat"]

    @property
    def has_loops(self) -> bool:
        """True if some node is a loop."""
        return bool(self.repeats())

    def everywhere(self) -> set[str]:
        """Return the operations that occur in the graph and in its loops."""
        inside = [self.nodes[i].sweep.graph.everywhere() for i in self.repeats()]
        return {node.op for node in self.nodes}.union(*inside)

    def misfits(self) -> Iterator[float]:
        """Iterate over the numbers that would become 0 or infinite in float32."""
        for node in self.nodes:
            if node.op == "repeat":
                yield from node.sweep.graph.misfits()
            elif node.op == "const":
                size = abs(node.number)
                if 0 < size <= FLOAT32_ZERO or FLOAT32_INFINITY <= size < inf:
                    yield node.number

    def fits_type(self, dtype: str) -> bool:
        """Return False if numbers of the graph become 0 or infinite in a type."""
        return dtype != "float32" or not any(True for _ in self.misfits())

    def check_type(self, dtype: str, name: str) -> None:
        """Raise InputError if numbers of the graph of `name` become 0 or infinite in a type."""
        if not self.fits_type(dtype):
            raise InputError(
                f"{name} was given {dtype}, which its numbers do not fit "
                f"({next(self.misfits()):g}, for instance). Use float64, which C calls double."
            )

    def with_nodes(self, nodes: Iterable[Node], results: tuple[tuple[int, ...], ...]) -> "Graph":
        """Return a plain graph of other nodes between the same ports."""
        return Graph(tuple(nodes), self.inputs, self.outputs, results)

    def roots(self) -> Iterator[int]:
        """Iterate over the nodes that some output needs."""
        for result in self.results:
            yield from result

    def uses(self) -> list[int]:
        """Return how often each node is an argument or a result."""
        uses = [0] * len(self.nodes)
        for node in self.nodes:
            for arg in node.args:
                uses[arg] += 1
        for root in self.roots():
            uses[root] += 1
        return uses

    def places(self) -> dict[int, list[tuple[int, int]]]:
        """Return, for each node that is a result, the (output, element) pairs that it goes to."""
        places: dict[int, list[tuple[int, int]]] = {}
        for output, result in enumerate(self.results):
            for element, i in enumerate(result):
                places.setdefault(i, []).append((output, element))
        return places


@dataclass(frozen=True, slots=True)
class Sweep:
    """A loop: the graph of a round, from `carried` and `fixed` to the next `carried`.

    There are at most `rounds`. None follows where the first number of `carried` is not above 0: the
    graph keeps all numbers then. solves: its results are constants to derivatives.

    scans: each round has a third input, its row, and a second output, its result; none is left out.
    """

    rounds: int
    graph: Graph
    solves: bool = False
    scans: bool = False

    @property
    def carried(self) -> int:
        """How many numbers go from round to round."""
        return self.graph.outputs[0].size

    @property
    def fixed(self) -> int:
        """How many numbers stay."""
        return self.graph.inputs[1].size

    @property
    def row(self) -> int:
        """How many numbers a round of a scan has of its own."""
        return self.graph.inputs[2].size if self.scans else 0

    @property
    def result(self) -> int:
        """How many results a round of a scan has."""
        return self.graph.outputs[1].size if self.scans else 0

    @property
    def size(self) -> int:
        """How many numbers the loop is given."""
        return self.carried + self.fixed + self.rounds * self.row

    @property
    def made(self) -> int:
        """How many numbers it leaves: the last ones carried, and the results of all rounds."""
        return self.carried + self.rounds * self.result


def prune(graph: Graph) -> Graph:
    """Remove the nodes that no output needs; the others keep their order."""
    needed = needed_nodes(graph)
    return graph if all(needed) else select(graph, [i for i, kept in enumerate(needed) if kept])


def needed_nodes(graph: Graph) -> list[bool]:
    """Mark the nodes that some output needs."""
    needed = [False] * len(graph.nodes)
    for root in graph.roots():
        needed[root] = True
    for i, node in zip(range(len(graph.nodes) - 1, -1, -1), reversed(graph.nodes), strict=True):
        if needed[i]:
            for arg in node.args:
                needed[arg] = True
    return needed


def share(graph: Graph) -> Graph:
    """Merge equal nodes; for passes that may make different nodes equal."""
    if len(set(graph.nodes)) == len(graph.nodes):
        return graph
    seen: dict[object, int] = {}
    nodes: list[Node] = []
    first: list[int] = []  # the place among `nodes` of each node or the one that equals it
    for node in graph.nodes:
        op, args, value = node
        if args:
            node = node_of((op, tuple([first[arg] for arg in args]), value))
        key = (op, repr(value)) if op == "const" else node  # -0.0 is not 0.0
        place = seen.setdefault(key, len(nodes))
        if place == len(nodes):
            nodes.append(node)
        first.append(place)
    results = tuple(tuple(first[node] for node in result) for result in graph.results)
    return graph.with_nodes(nodes, results)


def select(graph: Graph, order: list[int]) -> Graph:
    """Return the graph of these nodes in this order, renumbered.

    Every argument and every result must be among them, and arguments come before their use.
    """
    nodes: list[Node] = []
    old_nodes = graph.nodes
    position = [-1] * len(old_nodes)
    for new, old in enumerate(order):
        position[old] = new
        op, args, value = node = old_nodes[old]
        if len(args) == 2:  # as most have: without a list
            a, b = args
            node = node_of((op, (position[a], position[b]), value))
        elif args:
            node = node_of((op, tuple([position[arg] for arg in args]), value))
        nodes.append(node)
    results = tuple(tuple(position[node] for node in result) for result in graph.results)
    return graph.with_nodes(nodes, results)


def text(graph: Graph) -> str:
    """Return a listing with one node a line. Equal graphs have equal listings.

    Constants and inputs are written where they are used; other nodes are %0, %1, ... in order.
    """
    names = list(_names(graph))
    lines = [f"input {_declaration(port)}" for port in graph.inputs]
    for name, node in zip(names, graph.nodes, strict=True):
        if node.op not in LEAVES:
            args = [names[arg] for arg in node.args]
            formula = f"{node.op}({', '.join(args)})"
            if node.op == "carried":
                formula = f"{args[0]}[{node.place[1]}]"
            elif node.op != "repeat":
                formula = OPERATIONS[node.op].infix.format(*args) or formula
            lines.append(f"{name} = {formula}")
            if node.op == "repeat":
                lines.append(f"  {'scan' if node.sweep.scans else 'rounds'} {node.sweep.rounds}")
                lines += [f"  {line}" for line in text(node.sweep.graph).splitlines()]
    for port, result in zip(graph.outputs, graph.results, strict=True):
        lines.append(f"output {_declaration(port)} = {' '.join(names[node] for node in result)}")
    return "\n".join(lines) + "\n"


def _names(graph: Graph) -> Iterator[str]:
    count = 0
    for node in graph.nodes:
        if node.op == "const":
            yield repr(node.value)
        elif node.op == "input":
            port, element = node.place
            yield f"{graph.inputs[port].name}[{element}]"
        else:
            yield f"%{count}"
            count += 1


def _declaration(port: Port) -> str:
    """Name and shape of a port: `q(n=7)`, `M(n=7, n=7)`."""
    letters = port.dims or ("",) * len(port.shape)
    pairs = zip(letters, port.shape, strict=True)
    return f"{port.name}({', '.join(f'{d}={n}' if d else str(n) for d, n in pairs)})"


@contextmanager
def no_collection() -> Generator[None]:
    """Switch Python's cyclic garbage collector off for a while, where it was on.

    It searches all objects for cycles again and again while their number grows. A graph is hundreds
    of thousands of objects without a cycle, and a fifth of the time would go into the search.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()
