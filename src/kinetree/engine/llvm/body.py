"""Straight-line code: the nodes of a graph, one statement each, for any number of lanes.

The nodes keep the order of the graph, except those that would be late (`critical_path.py`). Calls
of one function that do not depend on each other become one call with several vectors, or with one
vector of numbers (`functions.py`): a chain of operations alone leaves the processor waiting.

Long code comes in parts, functions of their own that pass numbers on in memory: LLVM's time for a
function grows faster than its length. Hardly any value of a long graph could stay in a register
from one part to the next anyway. A value that a later part needs is stored once and loaded where
that part first uses it. Inputs are in memory already.

A loop is a call (`block.py`) between the parts of its frame: numbers that it needs are stored there
as soon as they are known, and its results are loaded from there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import Any

from kinetree.engine.compiler.graph import Graph, Node
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.llvm.critical_path import in_time
from kinetree.engine.llvm.functions import (
    CALLED,
    Called,
    call_shape,
    function_name,
    result_count,
    result_type,
    shares,
)
from kinetree.engine.llvm.operands import insert_all
from kinetree.engine.llvm.text import SCALARS, Writer, number, splat, vector
from kinetree.errors import GraphError

PART_NODES = 500  # nodes of a part, at most
WHOLE_NODES = 2000  # nodes up to which vector code, which has more registers, stays in one part
IN_MEMORY = frozenset({"input", "carried"})
NOT_KEPT = IN_MEMORY | {"const", "repeat"}

PARTED = ' noinline "stackrealign"'

Item = int | tuple[int, ...]  # a node, or nodes that one call of a function computes


@dataclass(frozen=True)
class Head:
    """The definition of a function: pointers with their attributes, linkage and attributes."""

    pointers: Sequence[str]
    linkage: str = ""
    attributes: str = ""


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


def assemble(name: str, head: Head, buffers: Mapping[str, str], parts: Sequence[list[str]]) -> str:
    """Text of a function whose statements come in parts, which it calls one after the other.

    `buffers` are pointers to memory of its own, with the types to allocate.
    """
    made = [f"  {pointer} = alloca {kind}" for pointer, kind in buffers.items()]
    end = "  ret void\n}\n"
    first = f"define {head.linkage}void @{name}({', '.join(head.pointers)}){head.attributes} {{"
    if len(parts) == 1:
        return "\n".join([first, *made, *parts[0], end])
    parameters = ", ".join([*head.pointers, *(f"ptr {pointer}" for pointer in buffers)])
    passed = ", ".join(f"ptr {x.split()[-1]}" for x in parameters.split(", "))
    lines = []
    for k, part in enumerate(parts):
        lines += [f"define internal void @{name}_part{k}({parameters}){PARTED} {{", *part, end]
    calls = [f"  call void @{name}_part{k}({passed})" for k in range(len(parts))]
    return "\n".join([*lines, first, *made, *calls, end])


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


class GraphCode:
    """Writes the nodes of a graph, part by part.

    `slots` are the places of the values that go from part to part, `kept` is their number.
    longest_part: nodes up to which there is one part.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        dtype: str,
        lanes: int,
        longest_part: int | None = None,
    ) -> None:
        scalar = SCALARS[dtype]
        self.graph, self.lanes, self.scalar = graph, lanes, scalar
        self.nodes = graph.nodes
        self.patterns: dict[str, str] = {}  # texts of operations with the words of this code
        self.type = vector(scalar.word, lanes)
        self.order = list(order(graph, lanes))
        self.parts = split(self.order, longest_part or (WHOLE_NODES if lanes > 1 else PART_NODES))
        self.slots, self.kept = kept_slots(graph, self.parts)
        self.places = graph.places()
        self.loops = {node: f"%repeat{k}" for k, node in enumerate(graph.repeats())}
        self.loop_name = name  # with which the functions of loops begin
        self.handed: dict[int, list[tuple[str, int]]] = {}  # value -> where loops expect it
        for node, frame in self.loops.items():
            carried = self.nodes[node].sweep.carried
            for k, arg in enumerate(self.nodes[node].args):
                slot = k if k < carried else k + carried
                self.handed.setdefault(arg, []).append((frame, slot))
        self.words = {
            "T": self.type,
            "F": scalar.code if lanes == 1 else f"v{lanes}{scalar.code}",
            "B": vector("i1", lanes),
            "I": vector(scalar.integer, lanes),
            "none": splat(scalar.integer, "0", lanes),
            "zero": number(0.0, scalar.word, lanes),
            "one": number(1.0, scalar.word, lanes),
            "magnitude": splat(scalar.integer, str(2 ** (8 * scalar.size - 1) - 1), lanes),
            "name": name,
            "lanes": str(lanes),
        }

    @property
    def frames(self) -> dict[str, int]:
        """The memory of loops: pointers, and how many numbers each points to."""
        sweeps = {frame: self.nodes[node].sweep for node, frame in self.loops.items()}
        return {frame: sweep.size + sweep.made for frame, sweep in sweeps.items()}

    def made_slot(self, node: Node) -> int:
        """The place of a number that a loop leaves, in its frame."""
        sweep, k = self.nodes[node.args[0]].sweep, node.place[1]
        return k if k < sweep.carried else k + sweep.size

    @property
    def called(self) -> set[Called]:
        """The functions that are called."""
        groups = [item for item in self.order if isinstance(item, tuple)]
        return {self.call_of(members) for members in groups}

    def call_of(self, members: tuple[int, ...]) -> Called:
        """The function that computes some nodes."""
        count = len({self.nodes[i].args for i in members})
        return (CALLED[self.nodes[members[0]].op][0], *call_shape(self.lanes, count))

    def operand(self, i: int) -> str:
        """Return node i as an argument."""
        node = self.nodes[i]
        if node.op == "const":
            return number(node.number, self.scalar.word, self.lanes)
        return f"%n{i}"

    def statement(self, i: int) -> str:
        """An arithmetic node."""
        op, args, _ = self.nodes[i]
        pattern = self.patterns.get(op) or self.pattern(i, op)
        return pattern.format(*[self.operand(arg) for arg in args], i=i)

    def pattern(self, i: int, op: str) -> str:
        """Return the statement of an operation, with places for its arguments and its number."""
        if op not in OPERATIONS:
            raise GraphError(f"node {i} is {op!r}; known are {', '.join(OPERATIONS)}.")
        places = {"i": "{i}", "a": "{0}", "b": "{1}", "c": "{2}"}
        self.patterns[op] = OPERATIONS[op].llvm.format(**places, **self.words)
        return self.patterns[op]

    def lines(self, moves: Any) -> list[list[str]]:
        """The statements of each part."""
        return [self.part(moves, items) for items in self.parts]

    def part(self, moves: Any, items: Sequence[Item]) -> list[str]:
        """The statements of one part. A result is stored as soon as it is known."""
        lines: list[str] = []
        known: set[int] = set()
        for item in items:
            for i in needed(self.nodes, item):
                if i not in known:
                    known.add(i)
                    self.load(moves, i, lines)
            if isinstance(item, tuple):
                known.update(item)
                lines += self.calls(item)
                lines += [
                    moves.store(f"%n{i}", "%kept", self.slots[i]) for i in item if i in self.slots
                ]
            elif item not in known:
                known.add(item)
                self.evaluate(moves, item, lines)
            for i in computed(item):
                for output, element in self.places.get(i, ()):
                    lines.append(moves.store(self.operand(i), *moves.output(output, element)))
                for frame, slot in self.handed.get(i, ()):
                    lines.append(moves.store(self.operand(i), frame, slot))
        return lines

    def calls(self, members: tuple[int, ...]) -> list[str]:
        """Nodes that one call computes."""
        w, called = Writer(f"c{members[0]}_"), self.call_of(members)
        function, lanes, vectors = called
        kind, results = vector(self.scalar.word, lanes), result_count(function)
        values = {
            args: k for k, args in enumerate(dict.fromkeys(self.nodes[i].args for i in members))
        }
        rows = [[self.operand(arg) for arg in args] for args in values]
        packed = lanes > self.lanes
        if packed:  # numbers side by side; the last one fills the spare lanes
            columns = zip(*rows, *[rows[-1]] * (lanes - len(rows)), strict=True)
            rows = [[insert_all(w, self.scalar.word, list(column)) for column in columns]]
        arguments = ", ".join(f"{kind} {x}" for row in rows for x in row)
        result = result_type(kind, vectors * results)
        call = f"call {result} {function_name(self.words['name'], called)}({arguments})"
        if vectors * results == 1 and not packed:
            w.do(f"%n{members[0]} = {call}")
            return w.lines
        whole, parts = w.let(call), dict[int, str]()
        for i in members:
            k, which = values[self.nodes[i].args], CALLED[self.nodes[i].op][1]
            if packed and which not in parts:
                single = results == 1
                parts[which] = whole if single else w.let(f"extractvalue {result} {whole}, {which}")
            part = (
                f"extractelement {kind} {parts[which]}, i32 {k}"
                if packed
                else (f"extractvalue {result} {whole}, {k * results + which}")
            )
            w.do(f"%n{i} = {part}")
        return w.lines

    def load(self, moves: Any, i: int, lines: list[str]) -> None:
        """Append a value of an earlier part."""
        op = self.nodes[i].op
        if op in IN_MEMORY:
            self.evaluate(moves, i, lines)
        elif op != "const":
            lines.append(moves.load(i, "%kept", self.slots[i]))

    def evaluate(self, moves: Any, i: int, lines: list[str]) -> None:
        """Append one node."""
        op, args, _ = node = self.nodes[i]
        if op == "input":
            lines.append(moves.load(i, *moves.input(*node.place)))
        elif op == "carried":
            lines.append(moves.load(i, self.loops[args[0]], self.made_slot(node)))
        elif op == "repeat":
            frame = self.loops[i]
            lines.append(f"  call void @{self.loop_name}_{frame[1:]}_{self.lanes}(ptr {frame})")
        elif op != "const":
            lines.append(self.statement(i))
            if i in self.slots:
                lines.append(moves.store(f"%n{i}", "%kept", self.slots[i]))
