"""Results that stand at several places of the outputs: computed once, and spread by a table.

Derivatives of a tree are mostly zeros and mirrored halves: of the second derivatives of Talos, one
number in 30 is new. The code of such a graph writes every number once to a buffer, in the order of
`distinct`. A table for each output has the place in that buffer of all its elements. The buffer
stays in a near cache, and LLVM, whose time grows faster than the length of a function, is spared
one store for each element.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.llvm.text import SCALARS, Writer

SMALLEST = 512  # numbers of all outputs; fewer are stored as quickly as they are looked up
SMALLEST_ONE = 16384  # the same for a single state, which stores fewer as quickly one by one
LARGEST_PART = 0.75  # of the elements that are distinct; more gain nothing

# buffers beyond this many bytes come from the heap: threads may have small stacks
STACK = 131072


@dataclass(frozen=True, eq=False)
class Spread:
    """A graph with one output, its distinct results, and where each element of `graph` is there."""

    graph: Graph
    distinct: Graph
    places: tuple[tuple[int, ...], ...]

    @property
    def large(self) -> bool:
        """True if even a single state is better spread."""
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
        """Text of `@{name}_one`: it calls `@{name}_values_one`, and spreads what is not zero."""
        scalar, w, texts = SCALARS[dtype], Writer(), list[str]()
        inputs = [f"ptr noalias %in{k}" for k in range(len(self.graph.inputs))]
        outputs = [f"ptr noalias %out{k}" for k in range(len(self.places))]
        free = memory(w, scalar.word, scalar.size, {"%values": self.distinct.outputs[0].size})
        passed = [x.replace("noalias ", "") for x in inputs]
        w.do(f"call void @{name}_values_one({', '.join([*passed, 'ptr %values'])})")
        before = "%granted" if free else "%entry"
        results = self.distinct.results[0]
        for k, places in enumerate(self.places):
            w.do(
                f"call void @llvm.memset.p0.i64(ptr %out{k}, i8 0, i64 {len(places) * scalar.size},"
                " i1 false)"
            )
            pairs = [(e, x) for e, x in enumerate(places) if not self.is_zero(results[x])]
            if not pairs:
                continue
            moves = f"{name}_moves{k}"
            texts.append(constant(moves, [number for pair in pairs for number in pair]))
            w.do(f"br label %spread{k}")
            w.label(f"spread{k}")
            w.do(f"%e{k} = phi i64 [ 0, {before} ], [ %e{k}_next, %spread{k} ]")
            pair = w.at(f"@{moves}", f"%e{k}", "[2 x i32]")
            target = looked_up(w, pair, 0, f"%out{k}", scalar.word)
            source = looked_up(w, pair, 1, "%values", scalar.word)
            value = w.let(f"load {scalar.word}, ptr {source}, align {scalar.size}")
            w.do(f"store {scalar.word} {value}, ptr {target}, align {scalar.size}")
            w.do(f"%e{k}_next = add nuw i64 %e{k}, 1")
            w.do(f"%left{k} = icmp ult i64 %e{k}_next, {len(pairs)}")
            w.do(f"br i1 %left{k}, label %spread{k}, label %done{k}")
            w.label(f"done{k}")
            before = f"%done{k}"
        head = f"define void @{name}_one({', '.join([*inputs, *outputs])}) {{"
        texts.append("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n")
        return "\n".join([*texts, head, "entry:", *w.lines, *free, "  ret void\n}\n"])

    def is_zero(self, i: int) -> bool:
        """Return True if a node is the number 0; graphs have no negative zero."""
        op, _, value = self.graph.nodes[i]
        return op == "const" and value == 0


def constant(name: str, numbers: Sequence[int]) -> str:
    """Text of a table of integers."""
    entries = ", ".join(f"i32 {x}" for x in numbers)
    return f"@{name} = internal constant [{len(numbers)} x i32] [{entries}]\n"


def spread(graph: Graph) -> Spread | None:
    """Return the distinct results of a graph; None where storing each element is as good."""
    total = sum(port.size for port in graph.outputs)
    order = {node: k for k, node in enumerate(dict.fromkeys(graph.roots()))}
    if total < SMALLEST or len(order) > LARGEST_PART * total:
        return None
    values = Port("values", (len(order),))
    distinct = Graph(graph.nodes, graph.inputs, (values,), (tuple(order),))
    places = tuple(tuple(order[i] for i in result) for result in graph.results)
    return Spread(graph, distinct, places)


def looked_up(w: Writer, table: str, element: int | str, buffer: str, word: str) -> str:
    """The address in a buffer that a table has for an element."""
    place = w.let(f"load i32, ptr {w.at(table, element, 'i32')}, align 4")
    return w.at(buffer, w.let(f"zext i32 {place} to i64"), word)


def memory(w: Writer, kind: str, unit: int, sizes: dict[str, int]) -> list[str]:
    """Make buffers of so many vectors of `unit` bytes; return the statements that free them."""
    total = sum(sizes.values()) * unit
    if total <= STACK:
        for pointer, size in sizes.items():
            w.do(f"{pointer} = alloca [{max(1, size)} x {kind}], align {unit}")
        return []
    w.do(f"%heap = call ptr @malloc(i64 {total + unit})")
    w.do("%refused = icmp eq ptr %heap, null")
    w.do("br i1 %refused, label %trap, label %granted")
    w.label("trap")
    w.do("call void @llvm.trap()")
    w.do("unreachable")
    w.label("granted")
    w.do("%heap_address = ptrtoint ptr %heap to i64")
    w.do(f"%heap_over = and i64 %heap_address, {unit - 1}")
    w.do(f"%heap_skip = sub i64 {unit}, %heap_over")
    first, offset = "%heap", "%heap_skip"
    for pointer, size in sizes.items():
        w.do(f"{pointer} = getelementptr i8, ptr {first}, i64 {offset}")
        first, offset = pointer, str(size * unit)
    return ["  call void @free(ptr %heap)"]
