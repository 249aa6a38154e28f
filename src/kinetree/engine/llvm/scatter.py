"""Results that stand at several places of the outputs: computed once, and scattered by a table.

Derivatives of a tree are mostly zeros and mirrored halves: of the second derivatives of Talos, one
number in 30 is new. The code of such a graph writes every number once to a buffer, in the order of
`distinct`. A table for each output has the place in that buffer of all its elements. The buffer
stays in a near cache, and LLVM, whose time grows faster than the length of a function, is spared
one store for each element.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, TEST, Index, Value, Vector
from kinetree.engine.llvm.loops import LlvmLoops

SMALLEST = 512  # numbers of all outputs; fewer are stored as quickly as they are looked up
SMALLEST_ONE = 16384  # the same for a single state, which stores fewer as quickly one by one
LARGEST_PART = 0.75  # of the elements that are distinct; more gain nothing

# buffers beyond this many bytes come from the heap: threads may have small stacks
STACK = 131072


@dataclass(frozen=True, eq=False)
class Scatter:
    """A graph with one output, its distinct results, and where each element of `graph` is there."""

    graph: Graph
    distinct: Graph
    places: tuple[tuple[int, ...], ...]

    @property
    def large(self) -> bool:
        """True if tables pay even for a single state."""
        return sum(map(len, self.places)) >= SMALLEST_ONE

    def table(self, name: str, output: int) -> str:
        """The name of the table of an output."""
        return f"{name}_places{output}"

    def tables(self, name: str, lanes: int) -> str:
        """Text of a table for every output: how many numbers lie before each element's vector."""
        return "".join(
            constant(self.table(name, k), [place * lanes for place in places])
            for k, places in enumerate(self.places)
        )

    def one(self, name: str, dtype: str) -> str:
        """Text of `@{name}_one`: it calls `@{name}_values_one`, and writes what is not zero."""
        inputs = [f"in{k}" for k in range(len(self.graph.inputs))]
        outputs = [f"out{k}" for k in range(len(self.places))]
        names = [*inputs, *outputs]
        arguments = [(word, ADDRESS) for word in names]
        code = LlvmLoops(1, f"{name}_one", arguments, "", noalias=names, dtype=dtype)
        buffers, free = memory(code, {"values": self.distinct.outputs[0].size})
        values = buffers["values"]
        code.call(f"{name}_values_one", *(code.arguments[word] for word in inputs), values)
        results, texts = self.distinct.results[0], list[str]()
        for k, places in enumerate(self.places):
            out = code.arguments[outputs[k]]
            count = len(places) * code.scalar.size
            code.w.do(f"call void @llvm.memset.p0.i64(ptr {out.name}, i8 0, i64 {count}, i1 false)")
            pairs = [(e, x) for e, x in enumerate(places) if not self.is_zero(results[x])]
            if pairs:
                texts.append(constant(f"{name}_moves{k}", [x for pair in pairs for x in pair]))
                moves = Value(code, f"@{name}_moves{k}", ADDRESS)
                with code.each(0, len(pairs)) as e:
                    target, source = (looked_up(code, moves, e * 2 + i) for i in range(2))
                    Vector(out)[target] = Vector(values)[source]
        free()
        return "\n".join([*texts, code.text()])

    def is_zero(self, i: int) -> bool:
        """Return True if a node is the number 0; graphs have no negative zero."""
        op, _, value = self.graph.nodes[i]
        return op == "const" and value == 0


def constant(name: str, numbers: Sequence[int]) -> str:
    """Text of a table of integers."""
    entries = ", ".join(f"i32 {x}" for x in numbers)
    return f"@{name} = internal constant [{len(numbers)} x i32] [{entries}]\n"


def scatter(graph: Graph) -> Scatter | None:
    """Return the distinct results of a graph; None where storing each element is as good."""
    total = sum(port.size for port in graph.outputs)
    order = {node: k for k, node in enumerate(dict.fromkeys(graph.roots()))}
    if total < SMALLEST or len(order) > LARGEST_PART * total:
        return None
    values = Port("values", (len(order),))
    distinct = Graph(graph.nodes, graph.inputs, (values,), (tuple(order),))
    places = tuple(tuple(order[i] for i in result) for result in graph.results)
    return Scatter(graph, distinct, places)


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
