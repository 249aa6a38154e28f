"""Loops: rounds of a block over numbers in memory, left where no lane is open any more.

`@{name}_repeat{k}_{lanes}(ptr frame)` runs loop k of a graph. The frame has a vector for every
number: those that are carried, room for as many, those that stay, and the rows and results of a
scan. A round reads the ones and writes the others, which then change places. A lane that is done
keeps its numbers (`Sweep`), so leaving early changes nothing.
"""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from kinetree.engine.compiler.graph import Graph, Sweep
from kinetree.engine.llvm.block import Block
from kinetree.engine.llvm.careful import emit_careful, emit_table
from kinetree.engine.llvm.functions import emit_functions
from kinetree.engine.llvm.sincos import emit_sincos
from kinetree.engine.llvm.text import SCALARS, splat, vector


class Round(Block):
    """Writes `@{name}_block(ptr in, ptr fixed, ptr out, ptr row, ptr result)`: one round.

    It runs often, so it stays in one part where that compiles in about a second: parts take a fifth
    more time.
    """

    pointers = (
        "ptr noalias readonly %in", "ptr noalias readonly %fixed", *Block.pointers[1:],
        "ptr noalias readonly %row", "ptr noalias writeonly %result",
    )  # fmt: skip
    whole = 5000

    def input(self, port: int, element: int) -> tuple[str, int]:
        return ("%in", "%fixed", "%row")[port], element

    def output(self, port: int, element: int) -> tuple[str, int]:
        return ("%out", "%result")[port], element


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
    size = SCALARS[dtype].size * lanes
    carried, rows = sweep.carried * size, (2 * sweep.carried + sweep.fixed) * size
    test = "" if sweep.scans else _open(dtype, lanes)
    return f"""\
define internal void @{name}(ptr %frame) noinline {{
entry:
  %other = getelementptr inbounds i8, ptr %frame, i64 {carried}
  %fixed = getelementptr inbounds i8, ptr %frame, i64 {2 * carried}
  %rows = getelementptr inbounds i8, ptr %frame, i64 {rows}
  %results = getelementptr inbounds i8, ptr %rows, i64 {sweep.rounds * sweep.row * size}
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %run ]
  %from = phi ptr [ %frame, %entry ], [ %to, %run ]
  %to = phi ptr [ %other, %entry ], [ %from, %run ]
  %row = phi ptr [ %rows, %entry ], [ %row_next, %run ]
  %result = phi ptr [ %results, %entry ], [ %result_next, %run ]
  %early = icmp slt i64 %i, {sweep.rounds}
{test}  %more = and i1 {"%some" if test else "true"}, %early
  br i1 %more, label %run, label %end
run:
  call void @{name}_block(ptr %from, ptr %fixed, ptr %to, ptr %row, ptr %result)
  %next = add i64 %i, 1
  %row_next = getelementptr inbounds i8, ptr %row, i64 {sweep.row * size}
  %result_next = getelementptr inbounds i8, ptr %result, i64 {sweep.result * size}
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


def _open(dtype: str, lanes: int) -> str:
    """Statements for %some: whether the first number that is carried is above 0 in some lane."""
    scalar = SCALARS[dtype]
    kind, integers = vector(scalar.word, lanes), vector(scalar.integer, lanes)
    masks = vector("i1", lanes)
    return f"""\
  %open = load {kind}, ptr %from, align {scalar.size * lanes}
  %bits = bitcast {kind} %open to {integers}
  %above = icmp sgt {integers} %bits, {splat(scalar.integer, "0", lanes)}
  %known = fcmp ord {kind} %open, %open
  %lanes = and {masks} %above, %known
  %packed = bitcast {masks} %lanes to i{lanes}
  %some = icmp ne i{lanes} %packed, 0
"""
