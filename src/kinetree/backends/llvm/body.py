"""Straight-line code: the nodes of a graph, one statement each, for any number of lanes.

Sines and cosines are taken out and computed together, as early as their angles are known, by the
function of `sincos.py`; the other nodes keep the order of the graph.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from kinetree.backends.llvm.parts import IN_MEMORY, Item, kept_slots, needed, split
from kinetree.backends.llvm.text import SCALARS, number, splat, vector
from kinetree.compiler.graph import Graph
from kinetree.errors import GraphError

# node {i} with arguments {a}, {b}, {c} of type {T}; {F} is the type in intrinsics
STATEMENTS: dict[str, str] = {
    "add": "  %n{i} = fadd {T} {a}, {b}",
    "sub": "  %n{i} = fsub {T} {a}, {b}",
    "mul": "  %n{i} = fmul {T} {a}, {b}",
    "div": "  %n{i} = fdiv {T} {a}, {b}",
    "neg": "  %n{i} = fneg {T} {a}",
    "fma": "  %n{i} = call {T} @llvm.fma.{F}({T} {a}, {T} {b}, {T} {c})",
    "fms": "  %m{i} = fneg {T} {c}\n  %n{i} = call {T} @llvm.fma.{F}({T} {a}, {T} {b}, {T} %m{i})",
    "fnma": "  %m{i} = fneg {T} {a}\n  %n{i} = call {T} @llvm.fma.{F}({T} %m{i}, {T} {b}, {T} {c})",
    "sqrt": "  %n{i} = call {T} @llvm.sqrt.{F}({T} {a})",
    # these two comparisons raise no floating-point flag for a NaN, "less than" would
    "sign": "  %z{i} = fcmp oeq {T} {a}, {zero}\n"
    "  %u{i} = fcmp uno {T} {a}, {a}\n"
    "  %s{i} = call {T} @llvm.copysign.{F}({T} {one}, {T} {a})\n"
    "  %t{i} = select {B} %z{i}, {T} {zero}, {T} %s{i}\n"
    "  %n{i} = select {B} %u{i}, {T} {a}, {T} %t{i}",
    # the sign is read from the bits for the same reason
    "select": "  %k{i} = bitcast {T} {a} to {I}\n"
    "  %g{i} = icmp sgt {I} %k{i}, {none}\n"
    "  %o{i} = fcmp ord {T} {a}, {a}\n"
    "  %z{i} = and {B} %g{i}, %o{i}\n"
    "  %n{i} = select {B} %z{i}, {T} {b}, {T} {c}",
}


def angle_stages(graph: Graph) -> list[list[int]]:
    """Nodes whose sine or cosine is taken: stage k needs sines and cosines of stages before k."""
    level = [0] * len(graph.nodes)
    stages: list[dict[int, None]] = []
    for i, node in enumerate(graph.nodes):
        level[i] = max((level[a] for a in node.args), default=0)
        if node.op in ("sin", "cos"):
            stage = level[i]
            if stage == len(stages):
                stages.append({})
            stages[stage][node.args[0]] = None
            level[i] += 1
    return [list(stage) for stage in stages]


def order(graph: Graph, stages: list[list[int]]) -> Iterator[Item]:
    """The nodes in an order of evaluation, and each stage of angles as soon as it is possible."""
    done = [False] * len(graph.nodes)
    for stage in stages:
        before: set[int] = set()
        stack = [i for i in stage if not done[i]]
        while stack:
            i = stack.pop()
            if i not in before and not done[i]:
                before.add(i)
                stack.extend(graph.nodes[i].args)
        for i in sorted(before):
            done[i] = True
            yield i
        yield stage
    for i, finished in enumerate(done):
        if not finished:
            yield i


def uses(graph: Graph) -> dict[int, list[tuple[int, int]]]:
    """For each node that is a result: (output, element) of the places it goes to."""
    places: dict[int, list[tuple[int, int]]] = {}
    for output, result in enumerate(graph.results):
        for element, i in enumerate(result):
            places.setdefault(i, []).append((output, element))
    return places


class Moves(Protocol):
    """How numbers come into a body and leave it: statements that load %n{i}, or that store."""

    def load_input(self, i: int) -> str:
        """An element of an input array."""
        ...

    def load_angle(self, i: int) -> str:
        """A sine or cosine that is known."""
        ...

    def load_kept(self, i: int, slot: int) -> str:
        """A value that an earlier part kept."""
        ...

    def keep(self, i: int, slot: int) -> str:
        """Keep a value for later parts."""
        ...

    def store_result(self, value: str, output: int, element: int) -> str:
        """Store an element of an output array."""
        ...

    def angles(self, stage: list[int]) -> str:
        """Evaluate one stage of angles."""
        ...


class Body:
    """Writes the nodes of a graph, part by part (see `parts.py`).

    `slots` are the places of the values that go from part to part, `kept` is their number.
    """

    def __init__(self, graph: Graph, dtype: str, lanes: int) -> None:
        scalar = SCALARS[dtype]
        self.graph, self.lanes, self.scalar = graph, lanes, scalar
        self.type = vector(scalar.word, lanes)
        self.stages = angle_stages(graph)
        self.parts = split(list(order(graph, self.stages)), lanes)
        self.slots, self.kept = kept_slots(graph, self.parts)
        self.places = uses(graph)
        self.words = {
            "T": self.type,
            "F": scalar.code if lanes == 1 else f"v{lanes}{scalar.code}",
            "B": vector("i1", lanes),
            "I": vector(scalar.integer, lanes),
            "none": splat(scalar.integer, "0", lanes),
            "zero": number(0.0, scalar.word, lanes),
            "one": number(1.0, scalar.word, lanes),
        }

    def operand(self, i: int) -> str:
        """How node i is written as an argument."""
        node = self.graph.nodes[i]
        if node.op == "const":
            assert isinstance(node.value, (int, float))
            return number(float(node.value), self.scalar.word, self.lanes)
        return f"%n{i}"

    def statement(self, i: int) -> str:
        """An arithmetic node."""
        node = self.graph.nodes[i]
        pattern = STATEMENTS.get(node.op)
        if pattern is None:
            raise GraphError(
                f"node {i} is {node.op!r}, which the LLVM backend cannot emit; it knows "
                f"{', '.join(['const', 'input', 'sin', 'cos', *STATEMENTS])}."
            )
        arguments = dict(zip("abc", map(self.operand, node.args), strict=False))
        return pattern.format(i=i, **arguments, **self.words)

    def lines(self, moves: Moves) -> list[list[str]]:
        """The statements of each part."""
        return [list(self.part(moves, items)) for items in self.parts]

    def part(self, moves: Moves, items: Sequence[Item]) -> Iterator[str]:
        """The statements of one part. A result is stored as soon as it is known."""
        known: set[int] = set()
        for item in items:
            for i in needed(self.graph, item):
                if i not in known:
                    known.add(i)
                    yield from self.load(moves, i)
            if isinstance(item, list):
                yield moves.angles(item)
                continue
            if item not in known:
                known.add(item)
                yield from self.evaluate(moves, item)
            for output, element in self.places.get(item, ()):
                yield moves.store_result(self.operand(item), output, element)

    def load(self, moves: Moves, i: int) -> Iterator[str]:
        """A value of an earlier part."""
        op = self.graph.nodes[i].op
        if op in IN_MEMORY:
            yield from self.evaluate(moves, i)
        elif op != "const":
            yield moves.load_kept(i, self.slots[i])

    def evaluate(self, moves: Moves, i: int) -> Iterator[str]:
        """One node."""
        op = self.graph.nodes[i].op
        if op == "input":
            yield moves.load_input(i)
        elif op in ("sin", "cos"):
            yield moves.load_angle(i)
        elif op != "const":
            yield self.statement(i)
            if i in self.slots:
                yield moves.keep(i, self.slots[i])


def consecutive_inputs(graph: Graph, nodes: list[int]) -> tuple[int, int] | None:
    """(input, first element) where the nodes are neighbouring elements of one input, else None."""
    values = [graph.nodes[i].value for i in nodes if graph.nodes[i].op == "input"]
    if len(values) < len(nodes) or not isinstance(values[0], tuple):
        return None
    port, first = values[0]
    return values[0] if values == [(port, first + k) for k in range(len(nodes))] else None
