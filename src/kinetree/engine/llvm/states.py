"""The loops around blocks: over the states of a batch, and those of a graph.

`void @{name}_states(ptr args, ptr dimensions, ptr steps, ptr data)` is the inner loop of a NumPy
gufunc: args has the address of each array, inputs before outputs; dimensions[0] is the number of
states; steps has the bytes between states of each array and then, array by array, those between
elements along each of its dimensions. Every lane of a block has the same arithmetic.

`@{name}_repeat{k}_{lanes}(ptr frame)` runs loop k of a graph: rounds of a block over numbers in
memory, left where no lane is open any more. The frame has a vector for every number: those that are
carried, room for as many, those that stay, and the rows and results of a scan. A round reads the
ones and writes the others, which then change places. A lane that is done keeps its numbers
(`Sweep`), so leaving early changes nothing.
"""

from collections.abc import Iterator
from itertools import accumulate
from operator import mul

from kinetree.engine.compiler.graph import Graph, Port, Sweep
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, TEST, Value, Vector
from kinetree.engine.llvm.block import Block, Round, slots
from kinetree.engine.llvm.functions import emit_functions
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.operands import Operand
from kinetree.engine.llvm.scatter import Scatter, memory


class StatesLoop:
    """Writes the loop. Blocks of `lanes` states are read, evaluated and written one by one.

    scatter: the block evaluates distinct results, which are written where its tables say.
    """

    def __init__(
        self, graph: Graph, name: str, dtype: str, lanes: int, scatter: Scatter | None = None
    ) -> None:
        self.graph, self.name, self.dtype, self.scatter = graph, name, dtype, scatter
        self.ports = (*graph.inputs, *graph.outputs)
        self.inputs, self.outputs = slots(graph.inputs), slots(graph.outputs)
        arguments = [(word, ADDRESS) for word in ("args", "dimensions", "steps", "data")]
        self.code = LlvmLoops(lanes, f"{name}_states", arguments, "", dtype=dtype)

    def text(self) -> str:
        """The whole function."""
        code, lanes, count = self.code, self.code.lanes, len(self.graph.inputs)
        total = code.load(code.arguments["dimensions"], 0, INTEGER)
        written = self.outputs[-1]
        if self.scatter is not None:
            written = self.scatter.distinct.outputs[0].size
        sizes = {"in": self.inputs[-1] * lanes, "out": written * lanes}
        self.buffers, free = memory(code, sizes)
        arrays = list(self.arrays())
        with code.each(0, total, lanes) as first:
            left = total - first
            states = first, code.select(left < lanes, left, lanes)
            for k, port in enumerate(self.graph.inputs):
                if port.size:  # one that is the same for all states is read once
                    moving = ~arrays[k][1].equals(0)
                    with code.when(first.equals(0) | moving):
                        self.move(k, arrays[k], *states)
            code.call(f"{self.name}_block", self.buffers["in"], self.buffers["out"])
            for k, port in enumerate(self.graph.outputs, count):
                if port.size:
                    self.move(k, arrays[k], *states)
        free()
        return code.text()

    def arrays(self) -> Iterator[tuple[Value, ...]]:
        """For each array: its address, bytes between states, core strides, whether contiguous."""
        code, place = self.code, len(self.ports)
        args, steps = (code.arguments[word] for word in ("args", "steps"))
        for k, port in enumerate(self.ports):
            strides = code.bytes_behind(steps, 8 * place)
            array, outer = code.load(args, k, ADDRESS), code.load(steps, k, INTEGER)
            yield array, outer, strides, contiguous(code, port, strides)
            place += len(port.shape)

    def move(self, k: int, array: tuple[Value, ...], first: Value, count: Value) -> None:
        """Read or write the block of one array."""
        code, port, output = self.code, self.ports[k], k - len(self.graph.inputs)
        start, outer, strides, simple = array
        verb, buffer, slot, table = "read", "in", self.inputs[k] if output < 0 else 0, []
        if output >= 0:
            verb, buffer = "write", "out"
            if self.scatter is None:
                slot = self.outputs[output]
            else:
                table = [Value(code, f"@{self.scatter.table(self.name, output)}", ADDRESS)]
        label = Operand(port.shape, self.dtype, code.lanes).label
        there = code.bytes_behind(start, first * outer)
        here = code.offset(self.buffers[buffer], slot * code.lanes)
        function = f"{self.name}_{verb}_{label}"
        code.call(function, there, outer, strides, count, simple, here, *table)


def contiguous(code: LlvmLoops, port: Port, strides: Value) -> Value:
    """Write a test whether the elements of a state are contiguous."""
    expected, verdict = code.scalar.size, code.constant(True, TEST)
    for axis in reversed(range(len(port.shape))):
        length = port.shape[axis]
        if length != 1:  # the stride of a single element means nothing
            verdict = verdict & code.load(strides, axis, INTEGER).equals(expected)
        expected *= length
    return verdict


def one_by_block(graph: Graph, name: str, dtype: str) -> str:
    """Text of `@{name}_one` as a batch of one state, for very many results."""
    words = [f"in{k}" for k in range(len(graph.inputs))]
    words += [f"out{k}" for k in range(len(graph.outputs))]
    code = LlvmLoops(1, f"{name}_one", [(word, ADDRESS) for word in words], "", dtype=dtype)
    steps = [0] * len(words)
    for port in (*graph.inputs, *graph.outputs):
        sizes = list(accumulate(port.shape[:0:-1], mul, initial=code.scalar.size))
        steps += sizes[::-1] if port.shape else []
    code.w.do(f"%arrays = alloca [{len(words)} x ptr]")
    arrays, single, strides = (
        Value(code, x, ADDRESS) for x in ("%arrays", f"@{name}_single", f"@{name}_strides")
    )
    for k, word in enumerate(words):
        code.store(arrays, k, code.arguments[word])
    code.call(f"{name}_states", arrays, single, strides, arrays)
    entries = ", ".join(f"i64 {step}" for step in steps)
    return (
        f"@{name}_single = internal constant i64 1\n"
        f"@{name}_strides = internal constant [{len(steps)} x i64] [{entries}]\n{code.text()}"
    )


# Loops of a graph


def emit_block(block: Block) -> list[str]:
    """A block, with the loops, the sines and the other functions that it needs."""
    name, dtype, lanes = block.name, block.dtype, block.lanes
    texts = [*emit_repeats(block.graph, name, dtype, lanes)]
    return [*texts, *emit_functions(name, dtype, block.called), block.text()]


def emit_repeats(graph: Graph, name: str, dtype: str, lanes: int) -> list[str]:
    """All loops of a graph, each with the block of a round."""
    texts: list[str] = []
    for k, node in enumerate(graph.repeats()):
        sweep, loop = graph.nodes[node].sweep, f"{name}_repeat{k}_{lanes}"
        texts += emit_block(Round(sweep.graph, loop, dtype, lanes))
        texts.append(_loop(sweep, loop, dtype, lanes))
    return texts


def _loop(sweep: Sweep, name: str, dtype: str, lanes: int) -> str:
    code = LlvmLoops(lanes, name, [("frame", ADDRESS)], attributes=" noinline", dtype=dtype)
    sizes = (sweep.carried, sweep.carried, sweep.fixed, sweep.rounds * sweep.row)
    starts = [0, *accumulate(size * lanes for size in sizes)]
    frame = Vector(code.arguments["frame"])
    now, following, fixed, row, result = (frame.behind(start).address for start in starts)

    def turn(_: Value, *at: Value) -> list[Value]:
        now, following, row, result = at
        code.call(f"{name}_block", now, fixed, following, row, result)
        row, result = code.offset(row, sweep.row * lanes), code.offset(result, sweep.result * lanes)
        return [following, now, row, result]

    def some_open(now: Value, *_: Value) -> Value:
        return ~code.all(~(Vector(now).wide(0) > 0.0))

    start = [now, following, row, result]
    last = code.accumulate(start, sweep.rounds, turn, None if sweep.scans else some_open)[0]
    with code.when(~last.equals(frame.address)):
        code.copy_wide(frame, Vector(following), sweep.carried)
    return code.text()
