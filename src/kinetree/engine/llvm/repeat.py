"""Loops: rounds of a block over numbers in memory, left where no lane is open any more.

`@{name}_repeat{k}_{lanes}(ptr frame)` runs loop k of a graph. The frame has a vector for every
number: those that are carried, room for as many, and those that stay. A round reads the ones and
writes the others, which then change places. A lane that is done keeps its numbers (`Sweep`), so
leaving early changes nothing.
"""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from kinetree.engine.compiler.graph import Graph, Sweep
from kinetree.engine.llvm.block import Block
from kinetree.engine.llvm.careful import emit_careful, emit_table
from kinetree.engine.llvm.functions import emit_functions
from kinetree.engine.llvm.sincos import emit_sincos
from kinetree.engine.llvm.text import SCALARS, splat, vector


class Round(Block):
    """Writes `@{name}_block(ptr in, ptr fixed, ptr out)`: one round.

    It runs often, so it stays in one part where that compiles in about a second: parts take a fifth
    more time.
    """

    pointers = ("ptr noalias readonly %in", "ptr noalias readonly %fixed", *Block.pointers[1:])
    whole = 5000

    def input(self, port: int, element: int) -> tuple[str, int]:
        return ("%in", "%fixed")[port], element


def emit_block(block: Block) -> list[str]:
    """A block, with the loops, the sines and the other functions that it needs."""
    name, dtype, lanes = block.name, block.dtype, block.body.lanes
    texts = [*emit_repeats(block.graph, name, dtype, lanes)]
    texts += [*emit_functions(name, dtype, block.body.called), block.text()]
    if not block.angle_slot:
        return texts
    sines = [emit_sincos(name, dtype, lanes, count) for count in sorted(block.calls)]
    return [emit_table(name), emit_careful(name, dtype), *sines, *texts]


def emit_repeats(graph: Graph, name: str, dtype: str, lanes: int) -> list[str]:
    """All loops of a graph, each with the block of a round."""
    texts: list[str] = []
    for k, node in enumerate(graph.repeats()):
        sweep, loop = graph.nodes[node].sweep, f"{name}_repeat{k}_{lanes}"
        texts += emit_block(Round(sweep.graph, loop, dtype, lanes))
        texts.append(_loop(sweep, loop, dtype, lanes))
    return texts


def _loop(sweep: Sweep, name: str, dtype: str, lanes: int) -> str:
    scalar = SCALARS[dtype]
    kind, size = vector(scalar.word, lanes), scalar.size * lanes
    integers, masks = vector(scalar.integer, lanes), vector("i1", lanes)
    carried = sweep.carried * size
    return f"""\
define internal void @{name}(ptr %frame) noinline {{
entry:
  %other = getelementptr inbounds i8, ptr %frame, i64 {carried}
  %fixed = getelementptr inbounds i8, ptr %frame, i64 {2 * carried}
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %run ]
  %from = phi ptr [ %frame, %entry ], [ %to, %run ]
  %to = phi ptr [ %other, %entry ], [ %from, %run ]
  %open = load {kind}, ptr %from, align {size}
  %bits = bitcast {kind} %open to {integers}
  %above = icmp sgt {integers} %bits, {splat(scalar.integer, "0", lanes)}
  %known = fcmp ord {kind} %open, %open
  %lanes = and {masks} %above, %known
  %packed = bitcast {masks} %lanes to i{lanes}
  %some = icmp ne i{lanes} %packed, 0
  %early = icmp slt i64 %i, {sweep.rounds}
  %more = and i1 %some, %early
  br i1 %more, label %run, label %end
run:
  call void @{name}_block(ptr %from, ptr %fixed, ptr %to)
  %next = add i64 %i, 1
  br label %round
end:
  %moved = icmp ne ptr %from, %frame
  br i1 %moved, label %copy, label %done
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %other, i64 {carried}, i1 false)
  br label %done
done:
  ret void
}}
"""
