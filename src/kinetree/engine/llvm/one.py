"""The function for a single state: scalar code, but sines and cosines side by side in vectors."""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.llvm.body import GraphCode, Head, assemble
from kinetree.engine.llvm.sincos import call_sincos, shares
from kinetree.engine.llvm.text import Writer


class One:
    """Writes `@{name}_one(ptr in0, ..., ptr out0, ...)`.

    Every array is contiguous and aligned to its elements; outputs overlap nothing.
    """

    def __init__(
        self, graph: Graph, name: str, dtype: str, lanes: int, like: GraphCode | None = None
    ) -> None:
        self.graph, self.name, self.dtype, self.lanes = graph, name, dtype, lanes
        self.body = GraphCode(graph, name, dtype, 1, like=like)
        self.scalar = self.body.scalar
        self.writer = Writer()
        self.angle_slot: dict[int, int] = {}  # angle -> its place among the sines and cosines
        self.used = 0  # places taken
        self.calls: set[int] = set()  # how many vectors of angles go into one call

    def _move(self, verb: str, pointer: str, element: int) -> tuple[str, str]:
        """Statements before a load or store (taken from the writer), and the address."""
        address = self.writer.at(pointer, element, self.scalar.word)
        lines, self.writer.lines = self.writer.lines, []
        return "".join(line + "\n" for line in lines) + f"  {verb}", address

    def load(self, i: int, pointer: str, element: int) -> str:
        text, address = self._move(f"%n{i} = load {self.scalar.word},", pointer, element)
        return f"{text} ptr {address}, align {self.scalar.size}"

    def store(self, value: str, pointer: str, element: int) -> str:
        text, address = self._move(f"store volatile {self.scalar.word} {value},", pointer, element)
        return f"{text} ptr {address}, align {self.scalar.size}"

    def input(self, port: int, element: int) -> tuple[str, int]:
        return f"%in{port}", element

    def output(self, port: int, element: int) -> tuple[str, int]:
        return f"%out{port}", element

    def angles(self, stage: list[int]) -> str:
        """Sines and cosines of one stage, side by side; the last angle fills the spare lanes."""
        w, scalar, lanes = self.writer, self.scalar, self.lanes
        vectors = -(-len(stage) // lanes)
        lines: list[str] = []
        for k in range(vectors * lanes):
            angle = self.body.operand(stage[min(k, len(stage) - 1)])
            lines.append(self.store(angle, "%angles", self.used + k))
        self.angle_slot |= {i: self.used + k for k, i in enumerate(stage)}
        buffers = [w.at(b, self.used, scalar.word) for b in ("%angles", "%sines", "%cosines")]
        lines += w.lines
        w.lines = []
        self.calls.update(shares(vectors))
        self.used += vectors * lanes
        calls = call_sincos(self.name, self.dtype, lanes, vectors, buffers)
        return "\n".join([*lines, *calls])

    def text(self) -> str:
        """The whole function."""
        parts = self.body.lines(self)
        pointers = [f"ptr noalias readonly %in{k}" for k in range(len(self.graph.inputs))]
        pointers += [f"ptr noalias writeonly %out{k}" for k in range(len(self.graph.outputs))]
        sizes = {"%angles": self.used, "%sines": self.used, "%cosines": self.used}
        sizes |= {"%kept": self.body.kept} | self.body.frames
        align = self.lanes * self.scalar.size
        buffers = {
            pointer: f"[{size} x {self.scalar.word}], align {align}"
            for pointer, size in sizes.items()
            if size
        }
        return assemble(f"{self.name}_one", Head(pointers), buffers, parts)
