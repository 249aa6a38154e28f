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
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.tensors.cupy import on_stream, view
from kinetree.engine.tensors.operation import Operation
from kinetree.errors import CompileError, need

METADATA = 1  # the extension that requests the version
INTERNAL = 13  # XLA's code for an internal error
HEAD = (("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p))


def structure(name: str, *fields: tuple[str, Any]) -> Any:
    """A structure of these fields."""
    return type(name, (ctypes.Structure,), {"_fields_": fields})


SIZE, WORD, ADDRESS = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
LONG = ctypes.c_int64
# an array: row-major numbers at `data`
BUFFER = ("dtype", WORD), ("data", ADDRESS), ("rank", LONG), ("dims", ctypes.POINTER(LONG))
Buffer = structure("Buffer", *HEAD, *BUFFER)
ITEMS = ("items", ctypes.POINTER(ctypes.POINTER(Buffer)))
# the arguments, or the results
Buffers = structure("Buffers", *HEAD, ("size", LONG), ("types", ADDRESS), ITEMS)
# the argument of a handler; attributes follow, which are not used
ARRAYS = ("args", Buffers), ("rets", Buffers)
CALLER = ("api", ADDRESS), ("context", ADDRESS), ("stage", WORD)
CallFrame = structure("CallFrame", *HEAD, *CALLER, *ARRAYS)
Version = structure("Version", *HEAD, ("major", WORD), ("minor", WORD))
# the version and traits that a handler reports, and the request for them
TRAITS = ("traits", ctypes.c_uint32)
Metadata = structure("Metadata", ("struct_size", SIZE), ("version", Version), TRAITS)
ASKED = ("type", WORD), ("next", ADDRESS), ("metadata", ctypes.POINTER(Metadata))
MetadataExtension = structure("MetadataExtension", ("struct_size", SIZE), *ASKED)
# the beginning of the table of functions that XLA offers
FUNCTIONS = ("internal", "error_create", "error_message", "error_destroy", "register", "stream_get")
Api = structure("Api", *HEAD, ("version", Version), *((name, ADDRESS) for name in FUNCTIONS))
# the arguments of `error_create`, and of `stream_get`, which fills in the stream
ErrorRequest = structure("ErrorRequest", *HEAD, ("message", ctypes.c_char_p), ("code", WORD))
StreamRequest = structure("StreamRequest", *HEAD, ("context", ADDRESS), ("stream", ADDRESS))


def arrays(buffers: Any) -> list[tuple[int, tuple[int, ...]]]:
    """The address and the shape of each array."""
    items = [buffers.items[k].contents for k in range(buffers.size)]
    return [(x.data, tuple(x.dims[: x.rank])) for x in items]


HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(CallFrame))
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def python_handler(run: Callable[[Any], None]) -> Any:
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


def answered(frame: Any) -> bool:
    """Answer a request for the version; return False if the call is another one."""
    if not frame.extension:
        return False
    asked = MetadataExtension.from_address(frame.extension)
    if asked.type != METADATA:
        return False
    asked.metadata.contents.version = Api.from_address(frame.api).version
    asked.metadata.contents.traits = 0
    return True


def failure(frame: Any, message: str) -> int | None:
    """An error that XLA raises in the caller."""
    request = ErrorRequest(ctypes.sizeof(ErrorRequest), None, message.encode(), INTERNAL)
    return FUNCTION(Api.from_address(frame.api).error_create)(ctypes.addressof(request))


def stream(frame: Any) -> int:
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

    def run(frame: Any) -> None:
        outs = tuple(on_host(*x, dtype) for x in arrays(frame.rets))
        operation.call(*(on_host(*x, dtype) for x in arrays(frame.args)), out=outs)

    return python_handler(run)


def on_host(address: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Return memory of XLA as an array of NumPy, without a copy."""
    count = prod(shape)
    if not count:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)


def cuda_handler(operation: Operation, dtype: str) -> Any:
    """The CUDA kernel, queued on XLA's stream."""
    cp = need("cupy", "cuda", f"{operation.name} of JAX arrays on a GPU")
    kernel = operation.cuda

    def run(frame: Any) -> None:
        args, rets = arrays(frame.args), arrays(frame.rets)
        first = rets[0][0]
        if not first:
            return  # no states
        device = cp.cuda.runtime.pointerGetAttributes(first).device
        with on_stream(cp, stream(frame), device):
            outs = tuple(view(cp, *x, dtype, device) for x in rets)
            kernel(*(view(cp, *x, dtype, device) for x in args), out=outs)

    # compiled here and now, not in the middle of XLA's work
    kernel.launch(dtype)
    return python_handler(run)
