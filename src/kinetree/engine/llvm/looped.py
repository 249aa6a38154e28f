"""Program -> text of one LLVM module: a function with a loop for every body, and the tables.

`@{name}_block(ptr in, ptr out)` computes a block of states, one vector for every number, and
`@{name}_one(ptr in0, ..., ptr out0, ...)` a single state. Both walk through the same tables: for
each run the body, the number of calls, and where its places and constants begin. A body reads its
values from the inputs or from the slots, a block of memory of its own, and writes its results side
by side into slots. Every lane has the same arithmetic, so results do not depend on the batch.
"""
# ruff: noqa: D102 (`Moves` of body.py describes what load, store and the others do)

from collections.abc import Iterator, Sequence

import numpy as np

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.program import INPUTS, Body, Program
from kinetree.engine.llvm.block import StatesLoop
from kinetree.engine.llvm.body import GraphCode, Item, order
from kinetree.engine.llvm.careful import emit_careful, emit_table
from kinetree.engine.llvm.emit import declarations, operands
from kinetree.engine.llvm.functions import Called, emit_functions
from kinetree.engine.llvm.operands import emit_operand
from kinetree.engine.llvm.repeat import emit_repeats
from kinetree.engine.llvm.sincos import call_sincos, emit_sincos, shares
from kinetree.engine.llvm.target import Target
from kinetree.engine.llvm.text import SCALARS, Writer, number, vector

TOGETHER = 4  # vectors of angles whose sines are evaluated side by side
ATTRIBUTES = ' noinline "stackrealign"'
ARGUMENTS = "ptr %in, ptr %work, ptr %out, ptr %places, ptr %constants, i64 %count"


def emit_program(
    program: Program, target: Target, dtype: str = "float64", name: str = "kernel"
) -> str:
    """Text of a module with `@{name}_states` and `@{name}_one`, as `emit` makes of a graph."""
    lanes = target.lanes(dtype)
    # a graph with the ports of the program, for code that reads and writes arrays
    shell = Graph((), program.inputs, program.outputs, tuple(() for _ in program.outputs))
    parts = [f'target triple = "{target.triple}"\n'] if target.triple else []
    parts += emit_loops(program, name, dtype, tuple(dict.fromkeys((lanes, 1))), lanes)
    for ports, write in ((shell.inputs, False), (shell.outputs, True)):
        parts += [emit_operand(name, x, write=write) for x in operands(ports, dtype, lanes)]
    parts += [StatesLoop(shell, name, dtype, lanes).text(), _one(program, name, dtype)]
    parts.append("\n".join(declarations(dtype, lanes)) + "\n")
    parts.append('!0 = !{!"branch_weights", i32 1, i32 1048576}\n')
    return "\n".join(parts)


def emit_loops(
    program: Program, name: str, dtype: str, widths: Sequence[int], wide: int
) -> list[str]:
    """The tables, the bodies and `@{name}_block`, for each of some numbers of lanes.

    wide: the lanes of a whole vector, in which sines are evaluated.
    """
    parts: list[str] = [_tables(program, name)]
    calls, called = set[int](), set[Called]()
    for lanes in widths:
        for k in range(len(program.bodies)):
            code = BodyCode(program, k, name, dtype, lanes, wide)
            parts.append(code.text())
            parts += emit_repeats(code.body.graph, code.own, dtype, lanes)
            calls |= code.calls
            called |= code.code.called
        parts.append(_block(program, name, dtype, lanes))
    if calls:
        parts += [emit_table(name), emit_careful(name, dtype)]
        parts += [emit_sincos(name, dtype, wide, count) for count in sorted(calls)]
    return parts + emit_functions(name, dtype, called)


class BodyCode:
    """Writes `@{name}_body{k}_{lanes}`: the calls of one body, one after the other.

    It is the `Moves` of its graph: values come from bundles, whose addresses are read from the
    table, and constants are spread over all lanes.
    """

    def __init__(
        self, program: Program, k: int, name: str, dtype: str, lanes: int, wide: int
    ) -> None:
        self.body: Body = program.bodies[k]
        self.last = self.body.graph.outputs[0].name == "outputs"
        self.name, self.own, self.dtype = name, f"{name}_body{k}_{lanes}", dtype
        self.lanes, self.wide = lanes, wide
        self.scalar = SCALARS[dtype]
        self.bytes = self.scalar.size * lanes
        self.kind = vector(self.scalar.word, lanes)
        self.code = GraphCode(self.body.graph, name, dtype, lanes)
        self.code.loop_name = self.own
        self.angle_slot = {i: k for k, i in enumerate(i for x in self.code.stages for i in x)}
        self.where = {
            argument: (f"%b{b}", offset)
            for b, bundle in enumerate(self.body.bundles)
            for argument, offset in bundle.offsets
        }
        self.target = {
            k: (f"%to{s}", at)
            for s, sheaf in enumerate(self.body.sheaves)
            for at, k in enumerate(sheaf)
        }
        self.calls: set[int] = set()  # how many vectors of angles go into one call
        self._count = 0

    def _address(self, pointer: str, step: int) -> tuple[str, str]:
        self._count += 1
        address = f"%p{self._count}"
        return f"  {address} = getelementptr inbounds i8, ptr {pointer}, i64 {step}", address

    def load(self, i: int, pointer: str, element: int) -> str:
        """Load %n{i}, a vector; a constant is spread over all lanes."""
        if pointer != "%constants_here":
            line, address = self._address(pointer, element * self._step(pointer))
            return f"{line}\n  %n{i} = load {self.kind}, ptr {address}, align {self.scalar.size}"
        line, address = self._address(pointer, element * 8)
        lines = [line, f"  %c{i} = load double, ptr {address}, align 8"]
        value = f"%c{i}"
        if self.scalar.word == "float":
            lines.append(f"  %d{i} = fptrunc double %c{i} to float")
            value = f"%d{i}"
        lines.append(spread(f"%n{i}", value, self.scalar.word, self.lanes))
        return "\n".join(lines)

    def _step(self, pointer: str) -> int:
        """Bytes between numbers: sines of one state take a vector each in their buffers."""
        buffers = ("%angles", "%sines", "%cosines")
        return self.scalar.size * self.wide if pointer in buffers else self.bytes

    def store(self, value: str, pointer: str, element: int) -> str:
        line, address = self._address(pointer, element * self._step(pointer))
        size = self.scalar.size
        return f"{line}\n  store volatile {self.kind} {value}, ptr {address}, align {size}"

    def input(self, port: int, element: int) -> tuple[str, int]:
        """The place of a value or constant of the body."""
        return ("%constants_here", element) if port else self.where[element]

    def output(self, port: int, element: int) -> tuple[str, int]:
        return self.target[element]

    def angles(self, stage: list[int]) -> str:
        """Sines and cosines of one stage of angles inside a body."""
        lines = []
        first = self.angle_slot[stage[0]]
        step = self.scalar.size * self.wide
        for k, i in enumerate(stage):
            value = self.code.operand(i)
            if self.lanes == 1:  # the other lanes of the vector have the same angle
                self._count += 1
                wide = f"%w{self._count}"
                lines.append(spread(wide, value, self.scalar.word, self.wide))
                line, address = self._address("%angles", (first + k) * step)
                kind = vector(self.scalar.word, self.wide)
                lines += [line, f"  store {kind} {wide}, ptr {address}, align {self.scalar.size}"]
            else:
                lines.append(self.store(value, "%angles", first + k))
        pointers = []
        for buffer in ("%angles", "%sines", "%cosines"):
            line, address = self._address(buffer, first * step)
            lines.append(line)
            pointers.append(address)
        self.calls.update(shares(len(stage)))
        lines += call_sincos(self.name, self.dtype, self.wide, len(stage), pointers)
        return "\n".join(lines)

    def text(self) -> str:
        """The whole function."""
        if self._is_sincos():
            return self._sines()
        items: list[Item] = list(order(self.body.graph, self.code.stages))
        self.code.slots, self.code.kept = {}, 0  # the body is not cut into parts
        statements = self.code.part(self, items)
        head = [f"define internal void @{self.own}({ARGUMENTS}){ATTRIBUTES} {{", "entry:"]
        slots = len(self.angle_slot)
        buffer = f"[{slots * self.wide} x {self.scalar.word}], align {self.scalar.size * self.wide}"
        if slots:
            head += [f"  {x} = alloca {buffer}" for x in ("%angles", "%sines", "%cosines")]
        for frame, size in self.code.frames.items():
            head.append(f"  {frame} = alloca [{size} x {self.kind}], align {self.bytes}")
        head += ["  br label %call", "call:", "  %i = phi i64 [ 0, %entry ], [ %next, %call ]"]
        end = [
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %count",
            "  br i1 %more, label %call, label %done",
            "done:",
            "  ret void",
            "}\n",
        ]
        return "\n".join([*head, *self._addresses("%i"), *statements, *end])

    def _addresses(self, i: str, suffix: str = "") -> Iterator[str]:
        """The addresses of the bundles, constants and results of call %i."""
        width = len(self.body.bundles) + len(self.body.sheaves)
        yield f"  %row{suffix} = mul i64 {i}, {4 * width}"
        yield f"  %here{suffix} = getelementptr inbounds i8, ptr %places, i64 %row{suffix}"
        spaces = [("%in" if x.space == INPUTS else "%work") for x in self.body.bundles]
        names = [f"b{k}" for k in range(len(spaces))]
        names += [f"to{s}" for s in range(len(self.body.sheaves))]
        spaces += ["%out" if self.last else "%work"] * len(self.body.sheaves)
        for k, (name, space) in enumerate(zip(names, spaces, strict=True)):
            value = name + suffix
            yield f"  %{value}_at = getelementptr inbounds i8, ptr %here{suffix}, i64 {4 * k}"
            yield f"  %{value}_short = load i32, ptr %{value}_at, align 4"
            yield f"  %{value}_long = zext i32 %{value}_short to i64"
            yield f"  %{value}_step = mul i64 %{value}_long, {self.bytes}"
            yield f"  %{value} = getelementptr inbounds i8, ptr {space}, i64 %{value}_step"
        if self.body.constants:
            yield f"  %first{suffix} = mul i64 {i}, {8 * self.body.constants}"
            yield (
                f"  %constants_here{suffix} = getelementptr inbounds i8, ptr %constants, "
                f"i64 %first{suffix}"
            )

    def _is_sincos(self) -> bool:
        """Whether the body is nothing but the sine and cosine of an angle."""
        ops = sorted(node.op for node in self.body.graph.nodes)
        return ops in (["cos", "input", "sin"], ["input", "sin"], ["cos", "input"])

    def _sines(self) -> str:
        """Sines and cosines of many calls side by side; the last call may be computed again."""
        many = TOGETHER if self.lanes > 1 else TOGETHER * self.wide
        vectors = TOGETHER
        self.calls.update(shares(vectors))
        count = vectors * self.wide
        buffer = f"[{count} x {self.scalar.word}], align {self.scalar.size * self.wide}"
        lines = [f"define internal void @{self.own}({ARGUMENTS}){ATTRIBUTES} {{", "entry:"]
        lines += [f"  {x} = alloca {buffer}" for x in ("%angles", "%sines", "%cosines")]
        lines += ["  %final = sub i64 %count, 1", "  br label %call", "call:"]
        lines += ["  %i = phi i64 [ 0, %entry ], [ %next, %call ]"]
        step = self.bytes
        size = self.scalar.size
        for k in range(many):
            lines += [
                f"  %j{k} = add i64 %i, {k}",
                f"  %in{k} = icmp slt i64 %j{k}, %final",
                f"  %k{k} = select i1 %in{k}, i64 %j{k}, i64 %final",
                *self._addresses(f"%k{k}", f"_{k}_"),
                f"  %x{k} = load {self.kind}, ptr %b0_{k}_, align {size}",
                f"  %a{k} = getelementptr inbounds i8, ptr %angles, i64 {k * step}",
                f"  store {self.kind} %x{k}, ptr %a{k}, align {size}",
            ]
        pointers = ["%angles", "%sines", "%cosines"]
        lines += call_sincos(self.name, self.dtype, self.wide, vectors, pointers)
        nodes = self.body.graph.nodes
        for k in range(many):
            for result, node in enumerate(self.body.graph.results[0]):
                source = "%sines" if nodes[node].op == "sin" else "%cosines"
                label, (to, at) = f"{k}_{result}", self.target[result]
                lines += [
                    f"  %s{label} = getelementptr inbounds i8, ptr {source}, i64 {k * step}",
                    f"  %y{label} = load {self.kind}, ptr %s{label}, align {size}",
                    f"  %t{label} = getelementptr inbounds i8, ptr {to}_{k}_, i64 {at * step}",
                    f"  store {self.kind} %y{label}, ptr %t{label}, align {size}",
                ]
        lines += [
            f"  %next = add i64 %i, {many}",
            "  %more = icmp slt i64 %next, %count",
            "  br i1 %more, label %call, label %done",
            "done:\n  ret void\n}\n",
        ]
        return "\n".join(lines)


def spread(target: str, value: str, word: str, lanes: int) -> str:
    """A statement that gives a number to every lane."""
    kind = vector(word, lanes)
    if lanes == 1:
        return f"  {target} = fadd {word} {value}, {number(-0.0, word)}"  # a copy
    zeros = ", ".join(["i32 0"] * lanes)
    return (
        f"  {target}_one = insertelement {kind} poison, {word} {value}, i32 0\n"
        f"  {target} = shufflevector {kind} {target}_one, {kind} poison, <{lanes} x i32> <{zeros}>"
    )


def _block(program: Program, name: str, dtype: str, lanes: int) -> str:
    """The function that walks through the runs for a block of states."""
    unit = SCALARS[dtype].size * lanes
    function = f"{name}_block" if lanes > 1 else f"{name}_block1"
    cases = "\n".join(f"    i32 {k}, label %body{k}" for k in range(len(program.bodies)))
    lines = [
        f"define internal void @{function}(ptr %in, ptr %out){ATTRIBUTES} {{",
        "entry:",
        f"  %heap = call ptr @malloc(i64 {(program.slots + 1) * unit + unit})",
        "  %refused = icmp eq ptr %heap, null",
        "  br i1 %refused, label %trap, label %granted",
        "trap:\n  call void @llvm.trap()\n  unreachable",
        "granted:",
        "  %address = ptrtoint ptr %heap to i64",
        f"  %over = and i64 %address, {unit - 1}",
        f"  %skip = sub i64 {unit}, %over",
        "  %work = getelementptr i8, ptr %heap, i64 %skip",
        "  br label %run",
        "run:",
        "  %r = phi i64 [ 0, %granted ], [ %next, %ran ]",
        f"  %row = getelementptr inbounds [4 x i32], ptr @{name}_runs, i64 %r",
        "  %body = load i32, ptr %row, align 4",
    ]
    for k, field in enumerate(("calls", "place", "constant"), start=1):
        lines += [
            f"  %{field}_at = getelementptr inbounds i8, ptr %row, i64 {4 * k}",
            f"  %{field}_short = load i32, ptr %{field}_at, align 4",
            f"  %{field} = zext i32 %{field}_short to i64",
        ]
    lines += [
        f"  %places = getelementptr inbounds i32, ptr @{name}_places, i64 %place",
        f"  %constants = getelementptr inbounds double, ptr @{name}_constants, i64 %constant",
        f"  switch i32 %body, label %ran [\n{cases}\n  ]",
    ]
    arguments = ARGUMENTS.replace("%count", "%calls")
    for k in range(len(program.bodies)):
        lines += [
            f"body{k}:",
            f"  call void @{name}_body{k}_{lanes}({arguments})",
            "  br label %ran",
        ]
    lines += [
        "ran:",
        "  %next = add i64 %r, 1",
        f"  %more = icmp slt i64 %next, {len(program.runs)}",
        "  br i1 %more, label %run, label %done",
        "done:",
        "  call void @free(ptr %heap)",
        "  ret void\n}\n",
    ]
    return "\n".join(lines)


def _one(program: Program, name: str, dtype: str) -> str:
    """The function for a single state: its arrays side by side, then as a block of one lane."""
    w = Writer()
    scalar = SCALARS[dtype]
    arrays: list[str] = []
    sizes = [sum(port.size for port in ports) for ports in (program.inputs, program.outputs)]
    w.do(f"%whole = call ptr @malloc(i64 {(sum(sizes) + 1) * scalar.size})")
    w.do("%refused = icmp eq ptr %whole, null")
    w.do("br i1 %refused, label %trap, label %granted")
    w.label("trap")
    w.do("call void @llvm.trap()")
    w.do("unreachable")
    w.label("granted")
    w.do(f"%results = getelementptr i8, ptr %whole, i64 {sizes[0] * scalar.size}")
    done = 0
    for k, port in enumerate(program.inputs):
        _copy(w, w.at("%whole", done * scalar.size), f"%in{k}", port.size * scalar.size)
        arrays.append(f"ptr noalias readonly %in{k}")
        done += port.size
    w.do(f"call void @{name}_block1(ptr %whole, ptr %results)")
    done = 0
    for k, port in enumerate(program.outputs):
        _copy(w, f"%out{k}", w.at("%results", done * scalar.size), port.size * scalar.size)
        arrays.append(f"ptr noalias writeonly %out{k}")
        done += port.size
    w.do("call void @free(ptr %whole)")
    head = f"define void @{name}_one({', '.join(arrays)}) {{\nentry:"
    return "\n".join([head, *w.lines, "  ret void\n}\n"])


def _copy(w: Writer, target: str, source: str, size: int) -> None:
    w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _tables(program: Program, name: str) -> str:
    """The tables as constants of the module, byte by byte."""
    lines = []
    tables: Sequence[tuple[str, bytes]] = (
        ("runs", program.runs.astype("<i4").tobytes()),
        ("places", program.places.astype("<i4").tobytes()),
        ("constants", program.constants.astype("<f8").tobytes()),
    )
    for what, data in tables:
        padded = data or bytes(8)
        text = BYTES[np.frombuffer(padded, np.uint8)].tobytes().decode()
        lines.append(f'@{name}_{what} = internal constant [{len(padded)} x i8] c"{text}", align 64')
    return "\n".join(lines) + "\n"


BYTES = np.array([f"\\{b:02X}".encode() for b in range(256)])
