"""Straight-line code: the nodes of a graph, one statement each, for any number of lanes.

A loop is a call (`states.py`) between the parts of its frame: numbers that it needs are stored
there as soon as they are known, and its results are loaded from there.
"""
# ruff: noqa: D102 (`Block` describes what load, store and the others do)

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.llvm.functions import (
    CALLED,
    Called,
    call_shape,
    function_name,
    result_count,
    result_type,
)
from kinetree.engine.llvm.operands import insert_all
from kinetree.engine.llvm.order import (
    IN_MEMORY,
    PART_NODES,
    Item,
    computed,
    kept_slots,
    needed,
    order,
    split,
)
from kinetree.engine.llvm.text import SCALARS, Writer, number, splat, vector
from kinetree.errors import GraphError

WHOLE_NODES = 2000  # nodes up to which vector code, which has more registers, stays in one part
PARTED = ' noinline "stackrealign"'


@dataclass(frozen=True)
class Head:
    """The definition of a function: pointers with their attributes, linkage and attributes."""

    pointers: Sequence[str]
    linkage: str = ""
    attributes: str = ""


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


def slots(ports: tuple[Port, ...]) -> list[int]:
    """Return the start of each array in a buffer of all of them, and the length of that buffer."""
    return list(accumulate((port.size for port in ports), initial=0))


class Block:
    """Writes `@{name}_block(ptr in, ptr out)`: buffers of one vector per element, aligned.

    input, output: the place of an element of an array, a pointer and an element. load: %n{i} from a
    place. store: a value at a place. `slots` are the places of the values that go from part to
    part, `kept` is their number.
    """

    pointers: Sequence[str] = ("ptr noalias readonly %in", "ptr noalias writeonly %out")
    head = ("block", "internal ", ' noinline "stackrealign"')  # name, linkage, attributes
    longest_part: int | None = None  # nodes up to which there is one part

    def __init__(self, graph: Graph, name: str, dtype: str, lanes: int) -> None:
        self.graph, self.name, self.dtype, self.lanes = graph, name, dtype, lanes
        self.inputs, self.outputs = slots(graph.inputs), slots(graph.outputs)
        self._count = 0
        scalar = SCALARS[dtype]
        self.scalar, self.nodes, self.bytes = scalar, graph.nodes, scalar.size * lanes
        self.patterns: dict[str, str] = {}  # texts of operations with the words of this code
        self.type = vector(scalar.word, lanes)
        self.order = list(order(graph, lanes))
        usual = WHOLE_NODES if lanes > 1 else PART_NODES
        self.parts = split(self.order, self.longest_part or usual)
        self.slots, self.kept = kept_slots(graph, self.parts)
        self.places = graph.places()
        self.loops = {node: f"%repeat{k}" for k, node in enumerate(graph.repeats())}
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

    def _address(self, buffer: str, slot: int) -> tuple[str, str]:
        """A statement that finds a slot of a buffer, and the name of its address."""
        self._count += 1
        name = f"%p{self._count}"
        return f"  {name} = getelementptr inbounds i8, ptr {buffer}, i64 {slot * self.bytes}", name

    def load(self, i: int, pointer: str, element: int) -> str:
        line, address = self._address(pointer, element)
        return f"{line}\n  %n{i} = load {self.type}, ptr {address}, align {self.bytes}"

    def store(self, value: str, pointer: str, element: int) -> str:
        line, address = self._address(pointer, element)
        return f"{line}\n  store volatile {self.type} {value}, ptr {address}, align {self.bytes}"

    def input(self, port: int, element: int) -> tuple[str, int]:
        return "%in", self.inputs[port] + element

    def output(self, port: int, element: int) -> tuple[str, int]:
        return "%out", self.outputs[port] + element

    def text(self) -> str:
        """The whole function."""
        sizes = {"%kept": self.kept} | self.frames
        buffers = {
            pointer: f"[{size} x {self.type}], align {self.bytes}"
            for pointer, size in sizes.items()
            if size
        }
        parts = [self.part(items) for items in self.parts]
        word, *around = self.head
        return assemble(f"{self.name}_{word}", Head(self.pointers, *around), buffers, parts)

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

    def part(self, items: Sequence[Item]) -> list[str]:
        """The statements of one part. A result is stored as soon as it is known."""
        lines: list[str] = []
        known: set[int] = set()
        for item in items:
            for i in needed(self.nodes, item):
                if i not in known:
                    known.add(i)
                    self.bring(i, lines)
            if isinstance(item, tuple):
                known.update(item)
                lines += self.calls(item)
                lines += [
                    self.store(f"%n{i}", "%kept", self.slots[i]) for i in item if i in self.slots
                ]
            elif item not in known:
                known.add(item)
                self.evaluate(item, lines)
            for i in computed(item):
                for output, element in self.places.get(i, ()):
                    lines.append(self.store(self.operand(i), *self.output(output, element)))
                for frame, slot in self.handed.get(i, ()):
                    lines.append(self.store(self.operand(i), frame, slot))
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
        call = f"call {result} {function_name(self.name, called)}({arguments})"
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

    def bring(self, i: int, lines: list[str]) -> None:
        """Append a value of an earlier part."""
        op = self.nodes[i].op
        if op in IN_MEMORY:
            self.evaluate(i, lines)
        elif op != "const":
            lines.append(self.load(i, "%kept", self.slots[i]))

    def evaluate(self, i: int, lines: list[str]) -> None:
        """Append one node."""
        op, args, _ = node = self.nodes[i]
        if op == "input":
            lines.append(self.load(i, *self.input(*node.place)))
        elif op == "carried":
            lines.append(self.load(i, self.loops[args[0]], self.made_slot(node)))
        elif op == "repeat":
            frame = self.loops[i]
            lines.append(f"  call void @{self.name}_{frame[1:]}_{self.lanes}(ptr {frame})")
        elif op != "const":
            lines.append(self.statement(i))
            if i in self.slots:
                lines.append(self.store(f"%n{i}", "%kept", self.slots[i]))


class One(Block):
    """Writes `@{name}_one(ptr in0, ..., ptr out0, ...)`: one state, in scalar code.

    Every array is contiguous and aligned to its elements; outputs overlap nothing.
    """

    head = ("one", "", "")

    @property
    def pointers(self) -> Sequence[str]:  # type: ignore[override]
        """The arrays."""
        names = [f"ptr noalias readonly %in{k}" for k in range(len(self.graph.inputs))]
        return names + [f"ptr noalias writeonly %out{k}" for k in range(len(self.graph.outputs))]

    def input(self, port: int, element: int) -> tuple[str, int]:
        return f"%in{port}", element

    def output(self, port: int, element: int) -> tuple[str, int]:
        return f"%out{port}", element


class Round(Block):
    """Writes `@{name}_block(ptr in, ptr fixed, ptr out, ptr row, ptr result)`: one round.

    It runs often, so it stays in one part where that compiles in about a second: parts take a fifth
    more time.
    """

    pointers = (
        "ptr noalias readonly %in", "ptr noalias readonly %fixed", *Block.pointers[1:],
        "ptr noalias readonly %row", "ptr noalias writeonly %result",
    )  # fmt: skip
    longest_part = 5000

    def input(self, port: int, element: int) -> tuple[str, int]:
        return ("%in", "%fixed", "%row")[port], element

    def output(self, port: int, element: int) -> tuple[str, int]:
        return ("%out", "%result")[port], element
