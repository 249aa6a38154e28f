"""Loops: rounds of a block over numbers in memory, left where no lane is open any more.

`@{name}_repeat{k}_{lanes}(ptr frame)` runs loop k of a graph. The frame has a vector for every
number: those that are carried, room for as many, those that stay, and the rows and results of a
scan. A round reads the ones and writes the others, which then change places. A lane that is done
keeps its numbers (`Sweep`), so leaving early changes nothing.
"""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from itertools import accumulate

from kinetree.engine.compiler.graph import Graph, Sweep
from kinetree.engine.compiler.loops import ADDRESS, Value, Vector
from kinetree.engine.llvm.block import Block
from kinetree.engine.llvm.functions import emit_functions
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.sincos import emit_sines


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


def emit_block(block: Block) -> list[str]:
    """A block, with the loops, the sines and the other functions that it needs."""
    name, dtype, lanes = block.name, block.dtype, block.body.lanes
    texts = [*emit_repeats(block.graph, name, dtype, lanes)]
    texts += [*emit_functions(name, dtype, block.body.called), block.text()]
    return [*emit_sines(name, dtype, lanes, block.calls), *texts]


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
