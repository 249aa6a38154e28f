"""Handlers through which XLA calls kernels: registered once under a name, never released.

A compiled program of JAX refers to the name and may outlive the robot that it was made from; so may
JAX's own cache on disk. A name is therefore a hash of the graph and never an address.

On the CPU a handler is machine code that leads from XLA's call frame straight into a kernel's loop.
Buffers are read and written where XLA has them, without Python and its lock; only batches for which
several threads pay go to a handler in Python. Arguments either have the leading axes of the results
or no leading axes; the latter serve all states.

XLA switches the processor to a mode that rounds subnormal numbers to zero. The handler switches it
off for the call of a kernel and restores it afterwards, so that results have the usual bits.
"""

import ctypes
import math
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.call.blocks import Function, optimised
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.call.plan import strides
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.cuda.prepared import KnownCalls, Prepared
from kinetree.engine.kernel import Kernel, has_llvm
from kinetree.engine.llvm import engine
from kinetree.engine.tensors import xla_frame
from kinetree.engine.tensors.cupy import on_stream, view
from kinetree.engine.tensors.operation import Operation
from kinetree.engine.tensors.xla_frame import (
    HANDLER,
    METADATA,
    Buffer,
    Buffers,
    CallFrame,
    Metadata,
    MetadataExtension,
    Version,
    python_handler,
)
from kinetree.errors import need

PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}  # JAX's names of lowerings, and of targets

# (name, platform) -> the handler and the owner of its memory
_kept: dict[tuple[str, str], Any] = {}
_one_at_a_time = threading.Lock()


def target(operation: Operation, dtype: str, platform: str) -> str:
    """Return the name of the kernel for a number type and a platform; register a new one."""
    name = f"kinetree_{operation.digest[:40]}_{dtype}"
    with _one_at_a_time:
        if (name, platform) not in _kept:
            ffi = need("jax", "jax", "arrays of JAX").ffi
            make = cuda_handler if platform == "cuda" else cpu_handler
            handler, owner = make(operation, dtype)
            capsule = ffi.pycapsule(handler)
            ffi.register_ffi_target(name, capsule, platform=PLATFORMS[platform], api_version=1)
            _kept[name, platform] = capsule, handler, owner
    return name


def cpu_handler(operation: Operation, dtype: str) -> tuple[Any, object]:
    """Machine code around the kernel's loop; Python for large batches, or where LLVM is missing."""

    def run(frame: CallFrame) -> None:
        outs = tuple(on_host(buffer, dtype) for buffer in frame.rets)
        operation.call(*(on_host(buffer, dtype) for buffer in frame.args), out=outs)

    slow = python_handler(run)
    if not has_llvm():
        return slow, None
    dispatch, version = operation.dispatch(dtype), xla_frame.version()
    if isinstance(entered := dispatch.entered(), Kernel):
        entered.wait()  # the address of the loop is kept for good
    loop, other = dispatch.loop(dtype), ctypes.cast(slow, ctypes.c_void_p).value or 0
    address, code = Handler(operation.graph, loop, version, dispatch.large, other).load()
    return HANDLER(address), (slow, loop, code)


def on_host(buffer: Buffer, dtype: str) -> Array:
    """Return a buffer as an array of NumPy, without a copy."""
    count = int(np.prod(buffer.shape, dtype=np.int64))
    if not count:
        return np.empty(buffer.shape, dtype)
    size = count * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(buffer.shape)


def cuda_handler(operation: Operation, dtype: str) -> tuple[Any, object]:
    """The CUDA kernel, queued on XLA's stream.

    Python queues it, under its lock; the GPU does not wait for that while it has other work.
    """
    cp = need("cupy", "cuda", f"{operation.name} of JAX arrays on a GPU")
    kernel, known = operation.cuda, KnownCalls[Prepared]()
    kernel.launch(dtype)  # compiled here and now, not in the middle of XLA's work
    core = [len(port.shape) for port in operation.inputs]

    def run(frame: CallFrame) -> None:
        args, rets = list(frame.args), list(frame.rets)
        first = rets[0].data
        if not first:
            return  # no states
        device = cp.cuda.runtime.pointerGetAttributes(first).device
        shapes = tuple([x.shape for x in args])
        stream = xla_frame.stream(frame)
        plan = known.get((device, shapes))
        if plan is not None and cp.cuda.runtime.getDevice() == device:
            plan.enqueue(stream, [x.data for x in (*args, *rets)])
            return
        with on_stream(cp, stream, device):
            outs = tuple(view(cp, x.data, x.shape, dtype, device) for x in rets)
            kernel(*(view(cp, x.data, x.shape, dtype, device) for x in args), out=outs)
            leads = {shape[: len(shape) - n] for shape, n in zip(shapes, core, strict=True)}
            if len(leads) == 1:  # no state serves several others
                known.keep((device, shapes), kernel.prepare(dtype, math.prod(*leads)))

    return python_handler(run), None


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
    """The parts of a handler in machine code.

    graph, loop: the kernel; version: of XLA's interface; large: the number of states from which
    another handler, the one at the address `other`, takes over.
    """

    graph: Graph
    loop: InnerLoop
    version: tuple[int, int]
    large: int
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
        declared, enter, leave = MODES.get(triple.partition("-")[0], ("", [], []))
        f = Function(SYMBOL, "ptr %frame")
        self.answer(f)
        places, steps, states = self.read(f)
        count, problem = f.room("i64"), f.variable("ptr", "null")
        for line in enter:
            f.do(line)
        f.put("i64", states, count)
        few, done = f.compare("slt", "i64", states, self.large), f.new_label()
        with f.when(few):
            loop = f"inttoptr (i64 {self.loop.address} to ptr)"
            f.call("void", loop, f"ptr {places}", f"ptr {count}", f"ptr {steps}", "ptr null")
            f.go(done)
        problem.set(f.call("ptr", f"inttoptr (i64 {self.other} to ptr)", "ptr %frame"))
        f.label(done)
        for line in leave:
            f.do(line)
        f.give(problem.get())
        return declared + emit_states() + f.text()

    def answer(self, f: Function) -> None:
        """Answer a request for the version; any other call goes on."""
        extension, usual = f.load("ptr", "%frame", CallFrame.extension.offset), f.new_label()
        with f.when(f.compare("eq", "ptr", extension, "null")):
            f.go(usual)
        kind = f.load("i32", extension, MetadataExtension.type.offset)
        with f.when(f.compare("eq", "i32", kind, METADATA)):
            metadata = f.load("ptr", extension, MetadataExtension.metadata.offset)
            version = f.at(metadata, Metadata.version.offset)
            f.put("i32", self.version[0], f.at(version, Version.major.offset))
            f.put("i32", self.version[1], f.at(version, Version.minor.offset))
            f.put("i32", 0, f.at(metadata, Metadata.traits.offset))
            f.give("null")
        f.label(usual)

    def read(self, f: Function) -> tuple[str, str, str]:
        """Addresses and steps of all arrays, and the number of states, from the frame."""
        size = BYTES[self.loop.dtype]
        ports = [(CallFrame.args, k, port) for k, port in enumerate(self.graph.inputs)]
        ports += [(CallFrame.rets, k, port) for k, port in enumerate(self.graph.outputs)]
        core = [stride for _, _, port in ports for stride in strides(port, size)]
        places = f.room(f"[{len(ports)} x ptr]")
        steps = f.room(f"[{len(ports) + len(core)} x i64]")
        total = ""
        for i, (side, k, port) in enumerate(ports):
            items = f.load("ptr", "%frame", side.offset + Buffers.items.offset)
            buffer = f.load("ptr", items, 8 * k)
            f.put("ptr", f.load("ptr", buffer, Buffer.data.offset), places, i)
            states = f.call("i64", "@states", f"ptr {buffer}", f"i64 {len(port.shape)}")
            single = f.compare("eq", "i64", states, 1)
            f.put("i64", f.choose(single, "i64", 0, port.size * size), steps, i)
            total = states if i == len(self.graph.inputs) else total
        for k, stride in enumerate(core, start=len(ports)):
            f.put("i64", stride, steps, k)
        return places, steps, total
