"""Handlers for XLA in machine code: from XLA's call frame to a kernel, without Python and its lock.

On the CPU a handler calls the loop of a kernel, on a GPU the function of CUDA's driver that queues
one on XLA's stream. Buffers are read and written where XLA has them. Arguments either have the
leading axes of the results or no leading axes; the latter serve all states.

Another handler, in Python, takes the calls for which this is not enough: batches that pay for
several threads; on a GPU, arguments that serve all states, another device, a launch that fails.

On the CPU, XLA switches the processor to a mode that rounds subnormal numbers to zero. The handler
switches it off for the call of a kernel and restores it afterwards, so that results have the usual
bits.
"""

import ctypes
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from kinetree.engine.call.blocks import Function, optimised
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.call.plan import strides
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.cuda.launch import Launch
from kinetree.engine.llvm import engine
from kinetree.engine.tensors.xla_frame import (
    METADATA,
    Api,
    Buffer,
    Buffers,
    CallFrame,
    Metadata,
    MetadataExtension,
    StreamRequest,
    Version,
)

SYMBOL = "kernel_xla"
BYTES = {"float32": 4, "float64": 8}

# architecture -> (declarations, save the mode and set the usual one, put the mode back)
MODES = {
    "x86_64": (
        "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
        [
            "%mode = alloca i32",
            "%usual = alloca i32",
            "store i32 8064, ptr %usual",  # 0x1f80: no exceptions, round to nearest
            "call void @llvm.x86.sse.stmxcsr(ptr %mode)",
            "call void @llvm.x86.sse.ldmxcsr(ptr %usual)",
        ],
        ["call void @llvm.x86.sse.ldmxcsr(ptr %mode)"],
    ),
    "aarch64": (
        "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)\n",
        ["%mode = call i64 @llvm.aarch64.get.fpcr()", "call void @llvm.aarch64.set.fpcr(i64 0)"],
        ["call void @llvm.aarch64.set.fpcr(i64 %mode)"],
    ),
}
MODES["arm64"] = MODES["aarch64"]


def emit_states() -> str:
    """LLVM IR of `@states`: the product of the lengths of all axes before the last `core`."""
    f = Function("states", "ptr %buffer, i64 %core", "i64")
    dims = f.load("ptr", "%buffer", Buffer.dims.offset)
    states = f.variable("i64", 1)
    with f.each(f.let(f"sub i64 {f.load('i64', '%buffer', Buffer.rank.offset)}, %core")) as axis:
        states.set(f.mul(states.get(), f.item("i64", dims, axis)))
    f.give(states.get())
    return f.text()


@dataclass(frozen=True)
class Handler:
    """A handler of a kernel.

    version: of XLA's interface; other: the address of the handler that takes other calls.
    """

    graph: Graph
    version: tuple[int, int]
    other: int

    def load(self) -> tuple[int, engine.Code]:
        """Return the address of the handler, and the code that must live as long as it."""
        from kinetree.engine.llvm.target import host_target

        target = host_target()
        text = optimised([self.emit(target.triple)], target)
        code = engine.load(engine.assemble(text, target), target, [SYMBOL])
        return code.address(SYMBOL), code

    def emit(self, triple: str) -> str:
        """LLVM IR of `ptr @kernel_xla(ptr frame)` and of the function that it calls."""
        raise NotImplementedError

    def begin(self) -> Function:
        """The handler up to where it has answered a request for the version."""
        f = Function(SYMBOL, "ptr %frame")
        extension, usual = f.load("ptr", "%frame", CallFrame.extension.offset), f.new_label()
        with f.when(f.compare("eq", "ptr", extension, "null")):
            f.go(usual)
        kind = f.load("i32", extension, MetadataExtension.type.offset)
        with f.when(f.compare("eq", "i32", kind, METADATA)):
            metadata = f.load("ptr", extension, MetadataExtension.metadata.offset)
            place = f.at(metadata, Metadata.version.offset)
            f.put("i32", self.version[0], f.at(place, Version.major.offset))
            f.put("i32", self.version[1], f.at(place, Version.minor.offset))
            f.put("i32", 0, f.at(metadata, Metadata.traits.offset))
            f.give("null")
        f.label(usual)
        return f

    def buffers(self, f: Function) -> Iterator[tuple[Port, str, str]]:
        """Each array of the frame, arguments first: its port, address and number of states."""
        sides = (CallFrame.args, self.graph.inputs), (CallFrame.rets, self.graph.outputs)
        for side, ports in sides:
            items = f.load("ptr", "%frame", side.offset + Buffers.items.offset)
            for k, port in enumerate(ports):
                buffer = f.load("ptr", items, 8 * k)
                states = f.call("i64", "@states", f"ptr {buffer}", f"i64 {len(port.shape)}")
                yield port, f.load("ptr", buffer, Buffer.data.offset), states

    def elsewhere(self, f: Function) -> str:
        """What the handler for other calls returns."""
        return f.call("ptr", pointer(self.other), "ptr %frame")


def pointer(address: int) -> str:
    """A known address in LLVM IR."""
    return f"inttoptr (i64 {address} to ptr)"


@dataclass(frozen=True)
class CpuHandler(Handler):
    """Into the loop of a kernel; from `large` states on, the other handler takes over."""

    loop: InnerLoop
    large: int

    def emit(self, triple: str) -> str:
        """Call the loop in the processor's usual mode."""
        declared, enter, leave = MODES.get(triple.partition("-")[0], ("", [], []))
        f = self.begin()
        places, steps, states = self.read(f)
        count, problem = f.room("i64"), f.variable("ptr", "null")
        for line in enter:
            f.do(line)
        f.put("i64", states, count)
        few, done = f.compare("slt", "i64", states, self.large), f.new_label()
        with f.when(few):
            given = [f"ptr {x}" for x in (places, count, steps, "null")]
            f.call("void", pointer(self.loop.address), *given)
            f.go(done)
        problem.set(self.elsewhere(f))
        f.label(done)
        for line in leave:
            f.do(line)
        f.give(problem.get())
        return declared + emit_states() + f.text()

    def read(self, f: Function) -> tuple[str, str, str]:
        """Addresses and steps of all arrays, and the number of states, from the frame."""
        size = BYTES[self.loop.dtype]
        ports = (*self.graph.inputs, *self.graph.outputs)
        core = [stride for port in ports for stride in strides(port, size)]
        places = f.room(f"[{len(ports)} x ptr]")
        steps = f.room(f"[{len(ports) + len(core)} x i64]")
        total = ""  # that of the results
        for i, (port, data, total) in enumerate(self.buffers(f)):
            f.put("ptr", data, places, i)
            single = f.compare("eq", "i64", total, 1)
            f.put("i64", f.choose(single, "i64", 0, port.size * size), steps, i)
        for k, stride in enumerate(core, start=len(ports)):
            f.put("i64", stride, steps, k)
        return places, steps, total


@dataclass(frozen=True)
class CudaHandler(Handler):
    """To the driver of CUDA, on one GPU.

    launches: the code for up to `few` states, and that for more. get_device, launch: addresses of
    the driver's `cuCtxGetDevice` and `cuLaunchKernel`.
    """

    launches: tuple[Launch, Launch]
    few: int
    device: int
    get_device: int
    launch: int

    def emit(self, triple: str) -> str:
        """Queue the kernel as `cuda.prepared` does."""
        f = self.begin()
        found = list(self.buffers(f))
        states, other = found[-1][2], f.new_label()
        values = f.room(f"[{1 + len(found)} x i64]")
        given = f.room(f"[{1 + len(found)} x ptr]")
        f.put("i64", states, values)
        for k, (_, data, _) in enumerate(found, start=1):
            f.put("ptr", data, values, k)
        for k in range(1 + len(found)):
            f.put("ptr", f.at(values, k, "i64"), given, k)
        tests = [f.compare("eq", "i64", count, states) for _, _, count in found[:-1]]
        tests.append(f.compare("sgt", "i64", states, 0))
        device = f.room("i32")
        tests.append(self.went_well(f, self.get_device, f"ptr {device}"))
        tests.append(f.compare("eq", "i32", f.load("i32", device), self.device))
        stream, known = self.stream(f)
        go = functools.reduce(f.both, [*tests, known])
        with f.when(f.opposite(go)):
            f.go(other)
        sizes = [self.sizes(f, states, launch) for launch in self.launches]
        small = f.compare("sle", "i64", states, self.few)
        function, grid, threads, shared = [
            f.choose(small, "ptr" if k == 0 else "i32", *both)
            for k, both in enumerate(zip(*sizes, strict=True))
        ]
        work = [f"ptr {function}", f"i32 {grid}", "i32 1", "i32 1", f"i32 {threads}", "i32 1"]
        work += ["i32 1", f"i32 {shared}", f"ptr {stream}", f"ptr {given}", "ptr null"]
        with f.when(self.went_well(f, self.launch, *work)):
            f.give("null")
        f.label(other)
        f.give(self.elsewhere(f))
        return emit_states() + f.text()

    def went_well(self, f: Function, function: int, *arguments: str) -> str:
        """Call a function of the driver; the truth of its success."""
        return f.compare("eq", "i32", f.call("i32", pointer(function), *arguments), 0)

    def sizes(self, f: Function, states: str, launch: Launch) -> tuple[str, str, int, int]:
        """Function, blocks, threads of a block and bytes of shared memory of a launch."""
        blocks = f.let(f"udiv i64 {f.add(states, launch.threads - 1)}, {launch.threads}")
        grid = f.let(f"trunc i64 {blocks} to i32")
        return pointer(int(launch.function.ptr)), grid, launch.threads, launch.block_bytes

    def stream(self, f: Function) -> tuple[str, str]:
        """XLA's stream, and whether XLA gave one."""
        request = f.room(f"[{ctypes.sizeof(StreamRequest)} x i8]")
        context = f.load("ptr", "%frame", CallFrame.context.offset)
        fields = StreamRequest.struct_size, StreamRequest.extension, StreamRequest.context
        filled = ("i64", ctypes.sizeof(StreamRequest)), ("ptr", "null"), ("ptr", context)
        for place, (kind, value) in zip(fields, filled, strict=True):
            f.put(kind, value, f.at(request, place.offset))
        functions = f.load("ptr", "%frame", CallFrame.api.offset)
        get = f.load("ptr", functions, Api.stream_get.offset)
        problem = f.call("ptr", get, f"ptr {request}")
        return (
            f.load("ptr", request, StreamRequest.stream.offset),
            f.compare("eq", "ptr", problem, "null"),
        )
