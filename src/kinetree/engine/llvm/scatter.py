"""Results that stand at several places of the outputs: computed once, and scattered by a table.

Derivatives of a tree are mostly zeros and mirrored halves: of the second derivatives of Talos, one
number in 30 is new. A block of such a graph writes every number once to a buffer, in the order of
`distinct`. A table for each output has the place in that buffer of all its elements. The buffer
stays in a near cache, and LLVM, whose time grows faster than the length of a function, is spared
one store for each element.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, TEST, Index, Value
from kinetree.engine.llvm.loops import LlvmLoops

SMALLEST = 512  # numbers of all outputs; fewer are stored as quickly as they are looked up
LARGEST_PART = 0.75  # of the elements that are distinct; more gain nothing

# buffers beyond this many bytes come from the heap: threads may have small stacks
STACK = 131072


@dataclass(frozen=True, eq=False)
class Scatter:
    """A graph with one output, its distinct results, and where each element of another is there."""

    distinct: Graph
    places: tuple[tuple[int, ...], ...]

    def table(self, name: str, output: int) -> str:
        """The name of the table of an output."""
        return f"{name}_places{output}"

    def tables(self, name: str, lanes: int) -> str:
        """Text of a table for every output: how many numbers lie before each element's vector."""
        texts: list[str] = []
        for k, places in enumerate(self.places):
            entries = ", ".join(f"i32 {place * lanes}" for place in places)
            kind = f"[{len(places)} x i32]"
            texts.append(f"@{self.table(name, k)} = internal constant {kind} [{entries}]\n")
        return "".join(texts)


def scatter(graph: Graph) -> Scatter | None:
    """Return the distinct results of a graph; None where storing each element is as good."""
    total = sum(port.size for port in graph.outputs)
    order = {node: k for k, node in enumerate(dict.fromkeys(graph.roots()))}
    if total < SMALLEST or len(order) > LARGEST_PART * total:
        return None
    values = Port("values", (len(order),))
    distinct = Graph(graph.nodes, graph.inputs, (values,), (tuple(order),))
    return Scatter(distinct, tuple(tuple(order[i] for i in result) for result in graph.results))


def looked_up(code: LlvmLoops, table: Value, i: Index) -> Value:
    """Return entry i of a table."""
    at = code.w.at(table.name, code.value(i, INTEGER).name, "i32")
    return Value(code, code.w.let(f"zext i32 {code.w.let(f'load i32, ptr {at}')} to i64"), INTEGER)


def memory(code: LlvmLoops, sizes: dict[str, int]) -> tuple[dict[str, Value], Callable[[], None]]:
    """Make buffers of so many numbers; return them, and what frees them in the end."""
    w, size = code.w, code.scalar.size
    unit = size * code.lanes
    buffers = {name: Value(code, f"%{name}", ADDRESS) for name in sizes}
    total = sum(sizes.values()) * size
    if total <= STACK:
        for name, count in sizes.items():
            kind = f"[{max(1, count)} x {code.scalar.word}]"
            w.do(f"{buffers[name].name} = alloca {kind}, align {unit}")
        return buffers, lambda: None
    w.do(f"%heap = call ptr @malloc(i64 {total + unit})")
    refused = Value(code, w.let("icmp eq ptr %heap, null"), TEST)
    with code.when(refused):
        code.call("llvm.trap")
    address = w.let("ptrtoint ptr %heap to i64")
    skip = w.let(f"sub i64 {unit}, {w.let(f'and i64 {address}, {unit - 1}')}")
    first, offset = "%heap", skip
    for name, count in sizes.items():
        w.do(f"{buffers[name].name} = getelementptr i8, ptr {first}, i64 {offset}")
        first, offset = buffers[name].name, str(count * size)
    return buffers, lambda: w.do("call void @free(ptr %heap)")
