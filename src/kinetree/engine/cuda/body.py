"""Straight-line CUDA C++: the nodes of a graph, one statement each, and its constants.

Every operation is rounded as the graph says: the compiler is told to fuse nothing, and the fused
operations of the graph are spelled out.
"""

import math
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from kinetree.engine.compiler.graph import LOOPS, Graph, Sweep
from kinetree.engine.compiler.ops import OPERATIONS, Operation
from kinetree.engine.cuda.layout import Visit

Place = Callable[[int, int], str]
# Angles whose sines are computed side by side. Measured: fewer leave less to do at a time, and load
# the constants again; more make sines wait in registers.
GROUP = 6


def literal(value: float, dtype: str) -> str:
    """Return a constant as text, the same float bit by bit; negative ones in brackets."""
    if dtype == "float32":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if not math.isfinite(value):
        return f"kt_bits(0x{bits(value):016x}ull)"
    text = repr(value) if dtype == "float64" else f"{np.float32(value)!s}f"
    if not set(text) & set(".e"):
        text = text.replace("f", ".0f")
    return f"({text})" if math.copysign(1, value) < 0 else text


def bits(value: float) -> int:
    """Return the 64 bits of a double."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def expression(operation: Operation, *args: str) -> str:
    """Return an operation as an expression of CUDA."""
    word = operation.c
    return operation.written(f"kt_{word}" if word[0].isalpha() else word, *args)


class Constants:
    """A table in constant memory, which grows with each new number.

    An instruction on doubles has room for the upper half of a number only. A double with digits in
    its lower half would be put together by two more instructions at each use; from constant memory
    it is an operand like any other.
    """

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype
        self._places: dict[str, int] = {}

    def __call__(self, value: float) -> str:
        """Return the number as it is written where it is used."""
        text = literal(value, self.dtype)
        short = self.dtype == "float32" or not math.isfinite(value) or not bits(value) & 0xFFFFFFFF
        if short:
            return text
        return f"{self.name}[{self._places.setdefault(text, len(self._places))}]"

    def text(self) -> str:
        """Return the definition of the table, empty where it has no numbers."""
        if not self._places:
            return ""
        numbers = ",\n    ".join(self._places)
        return f"KT_CONSTANT double {self.name}[] = {{\n    {numbers},\n}};\n"


def statements(
    graph: Graph,
    constants: Constants,
    read: Place | None = None,
    write: Place | None = None,
    visits: Mapping[int, Visit] | None = None,
) -> Iterator[str]:
    """Iterate over the lines that read inputs, compute, and write outputs when they are known.

    A row of inputs is read when first needed, so that it waits in shared memory and not in
    registers. A sine and a cosine of the same angle are computed together; so is the reciprocal
    of a number that divides several. Element e of port k lies where `read` and `write` say, by
    default at `i{k}[e]` and `o{k}[e]`. `visits` are values that leave the registers for a while
    (`spilling`).
    """
    places = read or "i{}[{}]".format, write or "o{}[{}]".format
    yield from CudaBody(graph, constants, *places, visits or {}).lines()


class CudaBody:
    """Writes a graph node by node.

    A loop has its numbers in arrays, into which they are copied when they are known. `loops` is how
    their names begin.
    """

    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        read: Place,
        write: Place,
        visits: Mapping[int, Visit],
        loops: str = "loop",
    ) -> None:
        self.graph, self.constants, self.read, self.write = graph, constants, read, write
        self.visits = visits
        self.names: list[str] = []
        self.groups = angle_groups(graph, 1 if visits else GROUP)
        self.shared = shared_divisors(graph)
        self.inverse = inverses(graph) if constants.dtype == "float32" else set[int]()
        self.known: set[str] = set()  # names that the text defines already
        self.places = graph.places()
        self.loops = {i: f"{loops}{i}" for i in graph.repeats()}
        self.copies: dict[int, list[str]] = {}  # value -> the elements of arrays that it goes to
        for loop, name in self.loops.items():
            sweep = graph.nodes[loop].sweep
            sizes = {name: sweep.carried, f"{name}_fixed": sweep.fixed}
            sizes[f"{name}_rows"] = sweep.rounds * sweep.row
            places = [f"{array}[{k}]" for array, size in sizes.items() for k in range(size)]
            for place, arg in zip(places, graph.nodes[loop].args, strict=True):
                self.copies.setdefault(arg, []).append(place)

    def lines(self) -> Iterator[str]:
        """All lines."""
        for loop, name in self.loops.items():
            sweep = self.graph.nodes[loop].sweep
            yield f"real {name}[{sweep.carried}];"
            if sweep.fixed:
                yield f"real {name}_fixed[{sweep.fixed}];"
            for part, size in (("rows", sweep.row), ("results", sweep.result)):
                if size:
                    yield f"real {name}_{part}[{sweep.rounds * size}];"
        for i in range(len(self.graph.nodes)):
            yield from self.node(i)

    def node(self, i: int) -> Iterator[str]:
        """The lines of a node, and those that store it where it is a result."""
        node, name = self.graph.nodes[i], f"n{i}"
        if i in self.visits:
            yield from self.visit(i)
        if node.op == "const":
            name = self.constants(node.number)
        elif node.op == "input":
            yield from self.input(i)
        elif node.op in ("sin", "cos"):
            (angle,) = node.args
            name = f"a{angle}.{node.op[0]}"
            if f"a{angle}" not in self.known:
                yield from self.sines(self.groups[angle])
        elif node.op == "div" and node.args[1] in self.shared:
            yield from self.quotient(i)
        elif i in self.inverse:
            yield f"const real {name} = kt_reciprocal({self.names[node.args[1]]});"
        elif node.op == "repeat":
            yield from self.loop(node.sweep, self.loops[i])
        elif node.op == "carried":
            loop, k = self.loops[node.args[0]], node.place[1]
            behind = k - self.graph.nodes[node.args[0]].sweep.carried
            name = f"{loop}[{k}]" if behind < 0 else f"{loop}_results[{behind}]"
        else:
            arguments = [self.names[arg] for arg in node.args]
            yield f"const real {name} = {expression(OPERATIONS[node.op], *arguments)};"
        self.names.append(name)
        for output, element in self.places.get(i, ()):
            yield f"{self.write(output, element)} = {name};"
        for place in self.copies.get(i, ()):
            yield f"{place} = {name};"

    def loop(self, sweep: Sweep, name: str) -> Iterator[str]:
        """The rounds of a loop, which a thread leaves when it is done."""

        def read(port: int, element: int) -> str:
            if port == 2:
                return f"{name}_rows[round * {sweep.row} + {element}]"
            return f"{name}{'_fixed' * port}[{element}]"

        def write(port: int, element: int) -> str:
            if port == 1:
                return f"{name}_results[round * {sweep.result} + {element}]"
            return f"{name}_next[{element}]"

        inner = CudaBody(sweep.graph, self.constants, read, write, {}, f"{name}_")
        yield "#pragma unroll 1"
        test = "" if sweep.scans else f" && {name}[0] > 0"
        yield f"for (int round = 0; round < {sweep.rounds}{test}; round++) {{"
        yield f"    real {name}_next[{sweep.carried}];"
        yield "    {"
        yield from (f"        {line}" for line in inner.lines())
        yield "    }"
        yield from (f"    {name}[{k}] = {name}_next[{k}];" for k in range(sweep.carried))
        yield "}"

    def visit(self, i: int) -> Iterator[str]:
        """The lines that move values to shared memory and back, before node i.

        The rows are volatile, or the compiler would keep the values in registers after all.
        """
        for value, place in self.visits[i].loads:
            self.names[value] = f"n{value}_{i}"
            yield f"const real n{value}_{i} = {self.room(*place)};"
        for value, place in self.visits[i].stores:
            yield f"{self.room(*place)} = {self.names[value]};"

    def room(self, port: int, element: int) -> str:
        """An element of a row of shared memory."""
        inputs, outputs = len(self.graph.inputs), len(self.graph.outputs)
        if port == inputs + outputs:
            return f"((volatile real *)spare)[{element} * KT_WARP]"
        row = f"i{port}" if port < inputs else f"o{port - inputs}"
        return f"((volatile real *){row})[{element}]"

    def input(self, i: int) -> Iterator[str]:
        """The line that reads an input, if it was not read before."""
        if f"n{i}" not in self.known:
            self.known.add(f"n{i}")
            yield f"const real n{i} = {self.read(*self.graph.nodes[i].place)};"

    def quotient(self, i: int) -> Iterator[str]:
        """The line of a division by a number that divides others too."""
        above, below = self.graph.nodes[i].args
        name = self.names[below]
        if f"y{below}" not in self.known:
            self.known.add(f"y{below}")
            yield f"const real y{below} = kt_reciprocal({name});"
        yield f"const real n{i} = kt_quotient({self.names[above]}, {name}, y{below});"

    def sines(self, group: list[int]) -> Iterator[str]:
        """The lines that compute the sines and cosines of a group of angles."""
        angles = [self.names[i] if i < len(self.names) else f"n{i}" for i in group]
        for i in group:
            if self.graph.nodes[i].op == "input":
                yield from self.input(i)
        self.known.update(f"a{i}" for i in group)
        for i, angle in zip(group, angles, strict=True):
            yield f"kt_pair a{i} = kt_near({angle});"
        near = " & ".join(f"kt_is_near({angle})" for angle in angles)
        far = " ".join(f"kt_far({angle}, a{i});" for i, angle in zip(group, angles, strict=True))
        yield f"if (!({near})) {{ {far} }}"


def shared_divisors(graph: Graph) -> set[int]:
    """Return the nodes that divide more than once, such as the pivots of a factorisation.

    Its last pivot divides one number, and is known by a factor: a quotient by a pivot before it.
    """
    nodes = graph.nodes
    times = Counter(node.args[1] for node in nodes if node.op == "div")
    shared = {i for i, count in times.items() if count > 1 and nodes[i].op != "const"}
    quotients = {i for i, node in enumerate(nodes) if node.op == "div" and node.args[1] in shared}
    last = {i for i in times if nodes[i].op == "fnma" and quotients & {*nodes[i].args[:2]}}
    return shared | last


def inverses(graph: Graph) -> set[int]:
    """Return the nodes 1/b that several nodes multiply by: b divides more than once, too."""
    uses = Counter(arg for node in graph.nodes if node.op not in LOOPS for arg in node.args)
    ones = {i for i, node in enumerate(graph.nodes) if node.op == "const" and node.number == 1}
    return {
        i
        for i, node in enumerate(graph.nodes)
        if node.op == "div" and uses[i] > 1 and node.args[0] in ones
    }


def angle_groups(graph: Graph, size: int) -> dict[int, list[int]]:
    """Return, for each angle, those whose sines are computed with it in one branch.

    Angles that are inputs are all known at the start; `size` of them are taken at a time, in the
    order in which they are needed. Any other angle is a group of its own.
    """
    angles = dict.fromkeys(node.args[0] for node in graph.nodes if node.op in ("sin", "cos"))
    input_angles = [i for i in angles if graph.nodes[i].op == "input"]
    groups = {i: [i] for i in angles}
    for k in range(0, len(input_angles), size):
        group = input_angles[k : k + size]
        groups |= dict.fromkeys(group, group)
    return groups
