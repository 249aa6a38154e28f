"""Handlers through which XLA, the compiler of JAX, calls kernels.

They are written in the C structures of XLA's foreign function interface ("FFI").

XLA calls a handler with one pointer, to a call frame: the buffers of arguments and results, and
the functions that XLA offers. XLA also requests, once, the version of the interface that a handler
was written for. The fields below have the same places since version 0.1 of the interface.

Handlers are registered once under a name and never released: a compiled program of JAX refers to
the name and may outlive the robot that it was made from; so may JAX's own cache on disk. A name is
therefore a hash of the graph and never an address.
"""

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.tensors.cupy import on_stream, view
from kinetree.engine.tensors.operation import Operation
from kinetree.errors import CompileError, need

METADATA = 1  # the extension that requests the version
INTERNAL = 13  # XLA's code for an internal error
HEAD = (("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p))


class Buffer(ctypes.Structure):
    """An array: row-major numbers at `data`."""

    _fields_ = (
        *HEAD,
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        return tuple(self.dims[: self.rank])


class Buffers(ctypes.Structure):
    """The arguments, or the results."""

    _fields_ = (
        *HEAD,
        ("size", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("items", ctypes.POINTER(ctypes.POINTER(Buffer))),
    )

    def __iter__(self) -> Iterator[Buffer]:
        return (self.items[k].contents for k in range(self.size))


class CallFrame(ctypes.Structure):
    """The argument of a handler; attributes follow, which are not used."""

    _fields_ = (
        *HEAD,
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("args", Buffers),
        ("rets", Buffers),
    )


def structure(name: str, *fields: tuple[str, Any]) -> Any:
    """A structure of these fields."""
    return type(name, (ctypes.Structure,), {"_fields_": fields})


SIZE, WORD, ADDRESS = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
Version = structure("Version", *HEAD, ("major", WORD), ("minor", WORD))
# the version and traits that a handler reports, and the request for them
Metadata = structure(
    "Metadata", ("struct_size", SIZE), ("version", Version), ("traits", ctypes.c_uint32)
)
MetadataExtension = structure(
    "MetadataExtension",
    ("struct_size", SIZE),
    ("type", WORD),
    ("next", ADDRESS),
    ("metadata", ctypes.POINTER(Metadata)),
)
# the beginning of the table of functions that XLA offers
FUNCTIONS = ("internal", "error_create", "error_message", "error_destroy", "register", "stream_get")
Api = structure("Api", *HEAD, ("version", Version), *((name, ADDRESS) for name in FUNCTIONS))
# the arguments of `error_create`, and of `stream_get`, which fills in the stream
ErrorRequest = structure("ErrorRequest", *HEAD, ("message", ctypes.c_char_p), ("code", WORD))
StreamRequest = structure("StreamRequest", *HEAD, ("context", ADDRESS), ("stream", ADDRESS))

HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(CallFrame))
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def python_handler(run: Callable[[CallFrame], None]) -> Any:
    """Return a handler that runs Python and waits for the interpreter's lock on each call."""

    def handle(frame: Any) -> int | None:
        frame = frame.contents
        if answered(frame):
            return None
        try:
            run(frame)
        except BaseException as problem:
            return failure(frame, f"{type(problem).__name__}: {problem}")
        return None

    return HANDLER(handle)


def answered(frame: CallFrame) -> bool:
    """Answer a request for the version; return False if the call is another one."""
    if not frame.extension:
        return False
    asked = MetadataExtension.from_address(frame.extension)
    if asked.type != METADATA:
        return False
    asked.metadata.contents.version = Api.from_address(frame.api).version
    asked.metadata.contents.traits = 0
    return True


def failure(frame: CallFrame, message: str) -> int | None:
    """An error that XLA raises in the caller."""
    request = ErrorRequest(ctypes.sizeof(ErrorRequest), None, message.encode(), INTERNAL)
    return FUNCTION(Api.from_address(frame.api).error_create)(ctypes.addressof(request))


def stream(frame: CallFrame) -> int:
    """The GPU's stream on which XLA wants the work to be queued."""
    request = StreamRequest(ctypes.sizeof(StreamRequest), None, frame.context, None)
    problem = FUNCTION(Api.from_address(frame.api).stream_get)(ctypes.addressof(request))
    if problem:
        raise CompileError("XLA gave no stream for a kernel on the GPU.")
    return request.stream or 0


# Handlers of kernels

PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}  # JAX's names of lowerings, and of targets

# (name, platform) -> the handler
_kept: dict[tuple[str, str], Any] = {}
_one_at_a_time = threading.Lock()


def target(operation: Operation, dtype: str, platform: str) -> str:
    """Return the name of the kernel for a number type and a platform; register a new one."""
    name = f"kinetree_{operation.digest[:40]}_{dtype}"
    with _one_at_a_time:
        if (name, platform) not in _kept:
            ffi = need("jax", "jax", "arrays of JAX").ffi
            make = cuda_handler if platform == "cuda" else cpu_handler
            handler = make(operation, dtype)
            capsule = ffi.pycapsule(handler)
            ffi.register_ffi_target(name, capsule, platform=PLATFORMS[platform], api_version=1)
            _kept[name, platform] = capsule, handler
    return name


def cpu_handler(operation: Operation, dtype: str) -> Any:
    """The call of the kernel on XLA's buffers."""
    operation.dispatch(dtype).loop(dtype)  # compiled now, not in the middle of XLA's work

    def run(frame: CallFrame) -> None:
        outs = tuple(on_host(buffer, dtype) for buffer in frame.rets)
        operation.call(*(on_host(buffer, dtype) for buffer in frame.args), out=outs)

    return python_handler(run)


def on_host(buffer: Buffer, dtype: str) -> Array:
    """Return a buffer as an array of NumPy, without a copy."""
    count = int(np.prod(buffer.shape, dtype=np.int64))
    if not count:
        return np.empty(buffer.shape, dtype)
    size = count * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(buffer.shape)


def cuda_handler(operation: Operation, dtype: str) -> Any:
    """The CUDA kernel, queued on XLA's stream."""
    cp = need("cupy", "cuda", f"{operation.name} of JAX arrays on a GPU")
    kernel = operation.cuda

    def run(frame: CallFrame) -> None:
        args, rets = list(frame.args), list(frame.rets)
        first = rets[0].data
        if not first:
            return  # no states
        device = cp.cuda.runtime.pointerGetAttributes(first).device
        with on_stream(cp, stream(frame), device):
            outs = tuple(view(cp, x.data, x.shape, dtype, device) for x in rets)
            kernel(*(view(cp, x.data, x.shape, dtype, device) for x in args), out=outs)

    # compiled here and now, not in the middle of XLA's work
    kernel.launch(dtype)
    return python_handler(run)
