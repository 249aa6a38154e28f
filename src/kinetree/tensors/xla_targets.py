"""Kernels under names by which XLA finds them: registered once, kept for ever.

A compiled program of JAX holds the name, and may outlive the robot that it was made from; so may
JAX's own cache on disk, which is why a name is a hash of the graph and never an address.
"""

import ctypes
import threading
from typing import Any

import numpy as np

from kinetree.backends.kernel import has_llvm
from kinetree.base.extras import need
from kinetree.tensors import xla_frame
from kinetree.tensors.cupy import on_stream, view
from kinetree.tensors.operation import Operation
from kinetree.tensors.xla_code import Handler
from kinetree.tensors.xla_frame import HANDLER, Buffer, CallFrame, python_handler

PLATFORMS = {"cpu": "cpu", "cuda": "CUDA"}  # JAX's names of lowerings, and of targets

# (name, platform) -> the handler and what keeps its address valid
_kept: dict[tuple[str, str], Any] = {}
_one_at_a_time = threading.Lock()


def target(operation: Operation, dtype: str, platform: str) -> str:
    """The name of the kernel for numbers of a type on a platform."""
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


def cpu_handler(operation: Operation, dtype: str) -> tuple[Any, Any]:
    """Machine code around the kernel's loop; Python for large batches, or where LLVM is missing."""

    def run(frame: CallFrame) -> None:
        outs = tuple(on_host(buffer, dtype) for buffer in frame.rets)
        operation.call(*(on_host(buffer, dtype) for buffer in frame.args), out=outs)

    slow = python_handler(run)
    if not has_llvm():
        return slow, None
    dispatch, version = operation.dispatch(dtype), xla_frame.version()
    loop, other = dispatch.loop(dtype), ctypes.cast(slow, ctypes.c_void_p).value or 0
    address, code = Handler(operation.graph, loop, version, dispatch.large, other).load()
    return HANDLER(address), (slow, loop, code)


def on_host(buffer: Buffer, dtype: str) -> Any:
    """A buffer as an array of NumPy, without a copy."""
    count = int(np.prod(buffer.shape, dtype=np.int64))
    if not count:
        return np.empty(buffer.shape, dtype)
    size = count * np.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(buffer.shape)


def cuda_handler(operation: Operation, dtype: str) -> tuple[Any, Any]:
    """The CUDA kernel, queued on XLA's stream.

    Python queues it, under its lock; the GPU does not wait for that while it has other work.
    """
    cp = need("cupy", "cuda", f"{operation.name} of JAX arrays on a GPU")
    kernel = operation.cuda
    kernel.launch(dtype)  # compiled here and now, not in the middle of XLA's work

    def run(frame: CallFrame) -> None:
        first = next(iter(frame.rets)).data
        if not first:
            return  # no states
        device = cp.cuda.runtime.pointerGetAttributes(first).device
        with on_stream(cp, xla_frame.stream(frame), device):
            outs = tuple(view(cp, x.data, x.shape, dtype, device) for x in frame.rets)
            kernel(*(view(cp, x.data, x.shape, dtype, device) for x in frame.args), out=outs)

    return python_handler(run), None
