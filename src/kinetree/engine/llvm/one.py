"""The function for a single state: scalar code, but sines and cosines side by side in vectors."""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.llvm.body import GraphCode, Head, assemble, consecutive_inputs
from kinetree.engine.llvm.operands import insert_all, join
from kinetree.engine.llvm.sincos import call_sincos, shares
from kinetree.engine.llvm.text import Writer, vector


def pieces(count: int, lanes: int) -> tuple[int, list[int]]:
    """Cut `count` neighbouring numbers into whole vectors without reading past their end.

    Returns:
        width, starts: runs of `width` numbers from each start, laid one behind the other. Runs may
        overlap, then a number occurs twice; their total length is a multiple of `lanes`.
    """
    # the widest run that the numbers fill; a last run that would read past the end starts earlier
    width = lanes
    while width > count:
        width //= 2
    runs = -(-count // width)
    runs += -runs % (lanes // width)
    return width, [min(k * width, count - width) for k in range(runs)]


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
        self.copied = 0
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
        """Sines and cosines of one stage in as few vectors as possible."""
        w, scalar = self.writer, self.scalar
        together = consecutive_inputs(self.graph, stage)
        lines = []
        if together:
            source = w.at(f"%in{together[0]}", together[1], scalar.word)
        else:
            for k, i in enumerate(stage):
                lines.append(self.store(self.body.operand(i), "%loose", self.copied + k))
            source = w.at("%loose", self.copied, scalar.word)
            self.copied += len(stage)
        width, starts = pieces(len(stage), self.lanes)
        for k, i in enumerate(stage):
            run = next(r for r, start in enumerate(starts) if start <= k < start + width)
            self.angle_slot[i] = self.used + run * width + k - starts[run]
        vectors = self._fill(source, width, starts)
        buffers = [w.at(b, self.used, scalar.word) for b in ("%angles", "%sines", "%cosines")]
        for k, value in enumerate(vectors):
            kind, size = vector(scalar.word, self.lanes), self.lanes * scalar.size
            w.do(f"store {kind} {value}, ptr {w.at(buffers[0], k, kind)}, align {size}")
        lines.extend(w.lines)
        w.lines = []
        self.calls.update(shares(len(vectors)))
        lines.extend(call_sincos(self.name, self.dtype, self.lanes, len(vectors), buffers))
        self.used += len(vectors) * self.lanes
        return "\n".join(lines)

    def _fill(self, source: str, width: int, starts: list[int]) -> list[str]:
        """Vectors of all lanes, loaded from runs of `width` numbers."""
        w, scalar = self.writer, self.scalar
        kind = vector(scalar.word, width)
        loaded: dict[int, str] = {}
        for start in starts:
            if start not in loaded:
                address = w.at(source, start, scalar.word)
                loaded[start] = w.let(f"load {kind}, ptr {address}, align {scalar.size}")
        group = self.lanes // width
        runs = [loaded[start] for start in starts]
        groups = [runs[k : k + group] for k in range(0, len(runs), group)]
        if width == 1:  # the runs are scalars
            return [insert_all(w, scalar.word, part) for part in groups]
        return [join(w, scalar.word, part, width) for part in groups]

    def text(self) -> str:
        """The whole function."""
        parts = self.body.lines(self)
        pointers = [f"ptr noalias readonly %in{k}" for k in range(len(self.graph.inputs))]
        pointers += [f"ptr noalias writeonly %out{k}" for k in range(len(self.graph.outputs))]
        sizes = {"%angles": self.used, "%sines": self.used, "%cosines": self.used}
        sizes |= {"%loose": self.copied, "%kept": self.body.kept} | self.body.frames
        align = self.lanes * self.scalar.size
        buffers = {
            pointer: f"[{size} x {self.scalar.word}], align {align}"
            for pointer, size in sizes.items()
            if size
        }
        return assemble(f"{self.name}_one", Head(pointers), buffers, parts)
