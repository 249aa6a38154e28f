"""Handlers through which XLA calls kernels: registered once under a name, never released.

A compiled program of JAX refers to the name and may outlive the robot that it was made from; so may
JAX's own cache on disk. A name is therefore a hash of the graph and never an address.

On the CPU a handler is machine code that leads from XLA's call frame straight into a kernel's loop.
Buffers are read and written where XLA has them, without Python and its lock; only batches for which
several threads pay go to a handler in Python. Arguments either have the leading axes of the results
or no leading axes; the latter serve all states. On a GPU, machine code queues a number of states
that was computed before; a handler in Python prepares others.

XLA switches the processor to a mode that rounds subnormal numbers to zero. The handler switches it
off for the call of a kernel and restores it afterwards, so that results have the usual bits.
"""

import ctypes
import math
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.call.blocks import FAILED, Function, optimised
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.call.plan import strides
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.cuda.prepared import KnownCalls, Prepared
from kinetree.engine.kernel import Kernel, has_llvm
from kinetree.engine.llvm import engine
from kinetree.engine.tensors import xla_frame
from kinetree.engine.tensors.cupy import on_stream, view
from kinetree.engine.tensors.operation import Operation
from kinetree.engine.tensors.xla_frame import (
    HANDLER,
    METADATA,
    Api,
    Buffer,
    Buffers,
    CallFrame,
    Metadata,
    MetadataExtension,
    StreamRequest,
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
    """The CUDA kernel, queued on XLA's stream: by machine code where such a call was made before.

    Else Python queues it, under its lock; the GPU does not wait for that while it has other work.
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
                count = math.prod(*leads)
                known.keep((device, shapes), plan := kernel.prepare(dtype, count))
                if queue is not None:
                    queue.learn(count, cp.cuda.driver.ctxGetCurrent(), plan)

    slow, driver = python_handler(run), driver_functions() if has_llvm() else None
    queue = None if driver is None else Queue(operation.graph, driver)
    if queue is None:
        return slow, None
    address, code = queue.load(xla_frame.version(), ctypes.cast(slow, ctypes.c_void_p).value or 0)
    return HANDLER(address), (slow, queue, code)


def driver_functions() -> tuple[int, int] | None:
    """Addresses of cuCtxGetCurrent and cuLaunchKernel; None without a driver of NVIDIA."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        functions = driver.cuCtxGetCurrent, driver.cuLaunchKernel
    except (OSError, AttributeError):
        return None
    current, launch = (ctypes.cast(x, ctypes.c_void_p).value or 0 for x in functions)
    return current, launch


SYMBOL, QUEUE_SYMBOL = "kernel_xla", "kernel_xla_queue"
LAUNCH = 6  # words: states, context, function, blocks, threads of each, bytes that a block shares
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


def answer(f: Function, version: tuple[int, int]) -> None:
    """Answer a request for the version; any other call goes on."""
    extension, usual = f.load("ptr", "%frame", CallFrame.extension.offset), f.new_label()
    with f.when(f.compare("eq", "ptr", extension, "null")):
        f.go(usual)
    kind = f.load("i32", extension, MetadataExtension.type.offset)
    with f.when(f.compare("eq", "i32", kind, METADATA)):
        metadata = f.load("ptr", extension, MetadataExtension.metadata.offset)
        place = f.at(metadata, Metadata.version.offset)
        f.put("i32", version[0], f.at(place, Version.major.offset))
        f.put("i32", version[1], f.at(place, Version.minor.offset))
        f.put("i32", 0, f.at(metadata, Metadata.traits.offset))
        f.give("null")
    f.label(usual)


def buffers(graph: Graph) -> list[tuple[Any, int, Port]]:
    """Arguments, then results: the side of the frame, the number there, and the port."""
    ports = [(CallFrame.args, k, port) for k, port in enumerate(graph.inputs)]
    return ports + [(CallFrame.rets, k, port) for k, port in enumerate(graph.outputs)]


def read_buffer(f: Function, side: Any, k: int, port: Port) -> tuple[str, str]:
    """Address of the numbers of a buffer, and its number of states."""
    items = f.load("ptr", "%frame", side.offset + Buffers.items.offset)
    buffer = f.load("ptr", items, 8 * k)
    states = f.call("i64", "@states", f"ptr {buffer}", f"i64 {len(port.shape)}")
    return f.load("ptr", buffer, Buffer.data.offset), states


def loaded(text: str, symbol: str) -> tuple[int, engine.Code]:
    """Return the address of a function, and the code that must live as long as it."""
    from kinetree.engine.llvm.target import host_target

    target = host_target()
    code = engine.load(engine.assemble(optimised([text], target), target), target, [symbol])
    return code.address(symbol), code


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

        return loaded(self.emit(host_target().triple), SYMBOL)

    def emit(self, triple: str) -> str:
        """LLVM IR of `ptr @kernel_xla(ptr frame)` and of the function that it calls."""
        declared, enter, leave = MODES.get(triple.partition("-")[0], ("", [], []))
        f = Function(SYMBOL, "ptr %frame")
        answer(f, self.version)
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

    def read(self, f: Function) -> tuple[str, str, str]:
        """Addresses and steps of all arrays, and the number of states, from the frame."""
        size = BYTES[self.loop.dtype]
        ports = buffers(self.graph)
        core = [stride for _, _, port in ports for stride in strides(port, size)]
        places = f.room(f"[{len(ports)} x ptr]")
        steps = f.room(f"[{len(ports) + len(core)} x i64]")
        total = ""
        for i, (side, k, port) in enumerate(ports):
            data, states = read_buffer(f, side, k, port)
            f.put("ptr", data, places, i)
            single = f.compare("eq", "i64", states, 1)
            f.put("i64", f.choose(single, "i64", 0, port.size * size), steps, i)
            total = states if i == len(self.graph.inputs) else total
        for k, stride in enumerate(core, start=len(ports)):
            f.put("i64", stride, steps, k)
        return places, steps, total


class Queue:
    """Launches on a GPU by the number of states, and the handler in machine code that uses them.

    driver: addresses of cuCtxGetCurrent and cuLaunchKernel.
    """

    MOST = 32  # launches; Python queues further numbers of states

    def __init__(self, graph: Graph, driver: tuple[int, int]) -> None:
        self.graph, self.driver = graph, driver
        self.kept: list[Prepared] = []  # the table has addresses alone
        self.table = (ctypes.c_int64 * (1 + self.MOST * LAUNCH))()
        self.learning = threading.Lock()

    def learn(self, states: int, context: int, prepared: Prepared) -> None:
        """Let machine code queue so many states in a context of the driver."""
        with self.learning:
            used = len(self.kept)
            if used < self.MOST:
                self.kept.append(prepared)
                place = 1 + LAUNCH * used
                self.table[place : place + LAUNCH] = [states, context, *prepared.grid]
                self.table[0] = used + 1  # last: now it can be found

    def load(self, version: tuple[int, int], other: int) -> tuple[int, engine.Code]:
        """Return the address of the handler, and the code that must live as long as it.

        Calls that are not in the table, and those that CUDA refuses, go to the handler at `other`.
        """
        f = Function(QUEUE_SYMBOL, "ptr %frame")
        answer(f, version)
        ports = buffers(self.graph)
        values, pointers = (f.room(f"[{1 + len(ports)} x i64]") for _ in range(2))
        states = [self.write(f, values, i, port) for i, port in enumerate(ports, start=1)]
        total = states[len(self.graph.inputs)]
        f.require(*(f.compare("eq", "i64", n, total) for n in states))  # none serves others
        f.put("i64", total, values)
        for i in range(1 + len(ports)):
            f.put("ptr", f.at(values, 8 * i), pointers, i)
        context = f.room("ptr")
        current, launch = (f"inttoptr (i64 {x} to ptr)" for x in self.driver)
        failed = f.call("i32", current, f"ptr {context}")
        f.require(f.compare("eq", "i32", failed, 0))
        now, table = f.load("i64", context), str(ctypes.addressof(self.table))
        at = f.let(f"inttoptr i64 {table} to ptr")
        used = f.let(f"load atomic i64, ptr {at} acquire, align 8")
        with f.each(used) as k:
            row = f.at(at, f.add(8, f.mul(k, 8 * LAUNCH)))
            same = f.compare("eq", "i64", f.item("i64", row, 0), total)
            with f.when(f.both(same, f.compare("eq", "i64", f.item("i64", row, 1), now))):
                stream = self.stream(f)
                # the lower halves of words
                blocks, threads, shared = (f"i32 {f.item('i32', row, 2 * i)}" for i in (3, 4, 5))
                sizes = f"ptr {f.item('ptr', row, 2)}, {blocks}, i32 1, i32 1, {threads}, i32 1"
                rest = f"i32 1, {shared}, ptr {stream}, ptr {pointers}, ptr null"
                refused = f.call("i32", launch, sizes, rest)
                f.require(f.compare("eq", "i32", refused, 0))
                f.give("null")
        f.label(FAILED)
        f.pass_on(f"inttoptr (i64 {other} to ptr)", "ptr %frame")
        return loaded(emit_states() + f.text(), QUEUE_SYMBOL)

    def write(self, f: Function, values: str, i: int, port: tuple[Any, int, Port]) -> str:
        """Write the address of a buffer among the arguments; return its number of states."""
        data, states = read_buffer(f, *port)
        f.put("ptr", data, values, i)
        return states

    def stream(self, f: Function) -> str:
        """Return the stream on which XLA wants the work; where there is none, return its error."""
        request = f.room(f"[{ctypes.sizeof(StreamRequest)} x i8]")
        context = f.load("ptr", "%frame", CallFrame.context.offset)
        f.put("i64", ctypes.sizeof(StreamRequest), f.at(request, StreamRequest.struct_size.offset))
        f.put("ptr", "null", f.at(request, StreamRequest.extension.offset))
        f.put("ptr", context, f.at(request, StreamRequest.context.offset))
        f.put("ptr", "null", f.at(request, StreamRequest.stream.offset))
        get = f.load("ptr", f.load("ptr", "%frame", CallFrame.api.offset), Api.stream_get.offset)
        problem = f.call("ptr", get, f"ptr {request}")
        with f.when(f.compare("ne", "ptr", problem, "null")):
            f.give(problem)
        return f.load("ptr", request, StreamRequest.stream.offset)
