"""The function that evaluates a graph for one block of states, and the loop over all blocks.

`void @{name}_states(ptr args, ptr dimensions, ptr steps, ptr data)` is the inner loop of a NumPy
gufunc: args has the address of each array, inputs before outputs; dimensions[0] is the number of
states; steps has the bytes between states of each array and then, array by array, those between
elements along each of its dimensions. Every lane of a block has the same arithmetic.
"""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from collections.abc import Sequence
from itertools import accumulate

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.llvm.body import GraphCode, Head, assemble, consecutive_inputs
from kinetree.engine.llvm.operands import Operand
from kinetree.engine.llvm.sincos import call_sincos, shares
from kinetree.engine.llvm.spread import Spread, memory
from kinetree.engine.llvm.text import SCALARS, Writer, vector


def slots(ports: tuple[Port, ...]) -> list[int]:
    """Return the start of each array in a buffer of all of them, and the length of that buffer."""
    return list(accumulate((port.size for port in ports), initial=0))


class Block:
    """Writes `@{name}_block(ptr in, ptr out)`: buffers of one vector per element, aligned."""

    pointers: Sequence[str] = ("ptr noalias readonly %in", "ptr noalias writeonly %out")
    whole: int | None = None  # as in `GraphCode`

    def __init__(self, graph: Graph, name: str, dtype: str, lanes: int) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype
        self.body = GraphCode(graph, name, dtype, lanes, self.whole)
        self.bytes = self.body.scalar.size * lanes
        self.inputs, self.outputs = slots(graph.inputs), slots(graph.outputs)
        self.angle_slot = {
            i: slot for slot, i in enumerate(i for stage in self.body.stages for i in stage)
        }
        self.calls: set[int] = set()  # how many vectors of angles go into one call
        self._count = 0

    def _address(self, buffer: str, slot: int) -> tuple[str, str]:
        """A statement that finds a slot of a buffer, and the name of its address."""
        self._count += 1
        name = f"%p{self._count}"
        return f"  {name} = getelementptr inbounds i8, ptr {buffer}, i64 {slot * self.bytes}", name

    def load(self, i: int, pointer: str, element: int) -> str:
        line, address = self._address(pointer, element)
        return f"{line}\n  %n{i} = load {self.body.type}, ptr {address}, align {self.bytes}"

    def store(self, value: str, pointer: str, element: int) -> str:
        line, address = self._address(pointer, element)
        return (
            f"{line}\n  store volatile {self.body.type} {value}, ptr {address}, align {self.bytes}"
        )

    def input(self, port: int, element: int) -> tuple[str, int]:
        return "%in", self.inputs[port] + element

    def output(self, port: int, element: int) -> tuple[str, int]:
        return "%out", self.outputs[port] + element

    def angles(self, stage: list[int]) -> str:
        """Sines and cosines of one stage; angles that are not together already are copied."""
        first = self.angle_slot[stage[0]]
        together = consecutive_inputs(self.graph, stage)
        lines = []
        if together:
            line, source = self._address(*self.input(*together))
        else:
            for k, i in enumerate(stage):
                lines.append(self.store(self.body.operand(i), "%angles", first + k))
            line, source = self._address("%angles", first)
        lines.append(line)
        line, sines = self._address("%sines", first)
        lines.append(line)
        line, cosines = self._address("%cosines", first)
        lines.append(line)
        self.calls.update(shares(len(stage)))
        pointers = [source, sines, cosines]
        lines.extend(call_sincos(self.name, self.dtype, self.body.lanes, len(stage), pointers))
        return "\n".join(lines)

    def text(self) -> str:
        """The whole function."""
        kind, angles = vector(self.body.scalar.word, self.body.lanes), len(self.angle_slot)
        sizes = {"%angles": angles, "%sines": angles, "%cosines": angles, "%kept": self.body.kept}
        sizes |= self.body.frames
        buffers = {
            pointer: f"[{size} x {kind}], align {self.bytes}"
            for pointer, size in sizes.items()
            if size
        }
        head = Head(self.pointers, "internal ", ' noinline "stackrealign"')
        return assemble(f"{self.name}_block", head, buffers, self.body.lines(self))


def contiguous(w: Writer, port: Port, size: int, strides: str) -> str:
    """Emit a test whether the elements of a state are contiguous; return the name of its result."""
    expected, verdict = size, "true"
    for axis in reversed(range(len(port.shape))):
        length = port.shape[axis]
        if length != 1:  # the stride of a single element means nothing
            stride = w.let(f"load i64, ptr {w.at(strides, axis, 'i64')}, align 8")
            same = w.let(f"icmp eq i64 {stride}, {expected}")
            verdict = w.let(f"and i1 {verdict}, {same}")
        expected *= length
    return verdict


class StatesLoop:
    """Writes the loop. Blocks of `lanes` states are read, evaluated and written one by one.

    spread: the block evaluates distinct results, which are written where its tables say.
    """

    def __init__(
        self, graph: Graph, name: str, dtype: str, lanes: int, spread: Spread | None = None
    ) -> None:
        self.graph, self.name, self.dtype, self.lanes = graph, name, dtype, lanes
        self.spread = spread
        self.scalar = SCALARS[dtype]
        self.kind = vector(self.scalar.word, lanes)
        self.ports = (*graph.inputs, *graph.outputs)
        self.inputs, self.outputs = slots(graph.inputs), slots(graph.outputs)
        self.writer = Writer()

    def _buffers(self) -> list[str]:
        """Statements that make %in and %out, and those that free them."""
        spread = self.spread
        written = self.outputs[-1] if spread is None else spread.distinct.outputs[0].size
        sizes = {"%in": self.inputs[-1], "%out": written}
        return memory(self.writer, self.kind, self.scalar.size * self.lanes, sizes)

    def _setup(self) -> list[tuple[str, str, str, str]]:
        """For each array: its address, bytes between states, core strides, whether contiguous."""
        w, operands, strides = self.writer, [], len(self.ports)
        for k, port in enumerate(self.ports):
            base = w.let(f"load ptr, ptr {w.at('%args', k, 'ptr')}, align 8")
            outer = w.let(f"load i64, ptr {w.at('%steps', k, 'i64')}, align 8")
            core = w.at("%steps", strides, "i64")
            operands.append((base, outer, core, contiguous(w, port, self.scalar.size, core)))
            strides += len(port.shape)
        return operands

    def _move(self, k: int, verb: str, operand: tuple[str, str, str, str]) -> None:
        """Reads or writes the block of one array."""
        w, port = self.writer, self.ports[k]
        base, outer, core, simple = operand
        reads = k < len(self.graph.inputs)
        output = k - len(self.graph.inputs)
        slot = self.inputs[k] if reads else self.outputs[output]
        table = ""
        if self.spread is not None and not reads:
            slot, table = 0, f", ptr @{self.spread.table(self.name, output)}"
        array = w.at(base, w.let(f"mul i64 %first, {outer}"))
        buffer = w.at("%in" if reads else "%out", slot, self.kind)
        label = Operand(port.shape, self.dtype, self.lanes).label
        w.do(
            f"call void @{self.name}_{verb}_{label}(ptr {array}, i64 {outer}, ptr {core}, "
            f"i64 %count, i1 {simple}, ptr {buffer}{table})"
        )

    def _read(self, k: int, operand: tuple[str, str, str, str]) -> None:
        """Reads an input; one that is the same for all states is read for the first block only."""
        w = self.writer
        moving = w.let(f"icmp ne i64 {operand[1]}, 0")
        wanted = w.let(f"or i1 %start, {moving}")
        w.do(f"br i1 {wanted}, label %read{k}, label %read{k}_done")
        w.label(f"read{k}")
        self._move(k, "read", operand)
        w.do(f"br label %read{k}_done")
        w.label(f"read{k}_done")

    def text(self) -> str:
        """The whole function."""
        w = self.writer
        w.do("%total = load i64, ptr %dimensions, align 8")
        free = self._buffers()
        operands = self._setup()
        w.do("%any = icmp sgt i64 %total, 0")
        w.do("br i1 %any, label %begin, label %done")
        w.label("begin")
        w.do("br label %block")
        w.label("block")
        w.do("%first = phi i64 [ 0, %begin ], [ %next, %written ]")
        w.do("%start = icmp eq i64 %first, 0")
        w.do("%left = sub i64 %total, %first")
        w.do(f"%short = icmp ult i64 %left, {self.lanes}")
        w.do(f"%count = select i1 %short, i64 %left, i64 {self.lanes}")
        for k, port in enumerate(self.ports[: len(self.graph.inputs)]):
            if port.size:
                self._read(k, operands[k])
        w.do(f"call void @{self.name}_block(ptr %in, ptr %out)")
        for k in range(len(self.graph.inputs), len(self.ports)):
            if self.ports[k].size:
                self._move(k, "write", operands[k])
        w.do("br label %written")
        w.label("written")
        w.do(f"%next = add i64 %first, {self.lanes}")
        w.do("%more = icmp slt i64 %next, %total")
        w.do("br i1 %more, label %block, label %done")
        w.label("done")
        head = (
            f"define void @{self.name}_states(ptr %args, ptr %dimensions, ptr %steps, ptr %data) {{"
        )
        return "\n".join([head, "entry:", *w.lines, *free, "  ret void\n}\n"])
