"""The function that evaluates a graph for one block of states, lane by lane the same arithmetic."""

from itertools import accumulate

from kinetree.backends.llvm.body import Body, consecutive_inputs
from kinetree.backends.llvm.parts import Head, assemble
from kinetree.backends.llvm.sincos import call_sincos, shares
from kinetree.backends.llvm.text import vector
from kinetree.compiler.graph import Graph, Port


def slots(ports: tuple[Port, ...]) -> list[int]:
    """Where each array starts in a buffer that holds all of them, and the length of that buffer."""
    return list(accumulate((port.size for port in ports), initial=0))


class Block:
    """Writes `@{name}_block(ptr in, ptr out)`: buffers of one vector per element, aligned."""

    def __init__(self, graph: Graph, name: str, dtype: str, lanes: int) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype
        self.body = Body(graph, dtype, lanes)
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

    def _load(self, i: int, buffer: str, slot: int) -> str:
        line, address = self._address(buffer, slot)
        return f"{line}\n  %n{i} = load {self.body.type}, ptr {address}, align {self.bytes}"

    def _store(self, value: str, buffer: str, slot: int) -> str:
        line, address = self._address(buffer, slot)
        return (
            f"{line}\n  store volatile {self.body.type} {value}, ptr {address}, align {self.bytes}"
        )

    def load_input(self, i: int) -> str:
        """An element of an input array."""
        port, element = self.graph.nodes[i].value  # type: ignore[misc]
        return self._load(i, "%in", self.inputs[port] + element)

    def load_angle(self, i: int) -> str:
        """The sine or cosine that stands in its buffer already."""
        node = self.graph.nodes[i]
        buffer = "%sines" if node.op == "sin" else "%cosines"
        return self._load(i, buffer, self.angle_slot[node.args[0]])

    def load_kept(self, i: int, slot: int) -> str:
        """A value of an earlier part."""
        return self._load(i, "%kept", slot)

    def keep(self, i: int, slot: int) -> str:
        """A value that later parts need."""
        return self._store(f"%n{i}", "%kept", slot)

    def store_result(self, value: str, output: int, element: int) -> str:
        """An element of an output array."""
        return self._store(value, "%out", self.outputs[output] + element)

    def angles(self, stage: list[int]) -> str:
        """Sines and cosines of one stage; angles that are not together already are copied."""
        first = self.angle_slot[stage[0]]
        together = consecutive_inputs(self.graph, stage)
        lines = []
        if together:
            line, source = self._address("%in", self.inputs[together[0]] + together[1])
        else:
            for k, i in enumerate(stage):
                lines.append(self._store(self.body.operand(i), "%angles", first + k))
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
        buffers = {
            pointer: f"[{size} x {kind}], align {self.bytes}"
            for pointer, size in sizes.items()
            if size
        }
        pointers = ["ptr noalias readonly %in", "ptr noalias writeonly %out"]
        head = Head(pointers, "internal ", ' noinline "stackrealign"')
        return assemble(f"{self.name}_block", head, buffers, self.body.lines(self))
