"""Handlers through which XLA calls kernels: registered once under a name, never released.

A compiled program of JAX refers to the name and may outlive the robot that it was made from; so may
JAX's own cache on disk. A name is therefore a hash of the graph and never an address.
"""

import ctypes
import threading
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.tensors import xla_frame
from kinetree.engine.tensors.cupy import on_stream, view
from kinetree.engine.tensors.operation import Operation
from kinetree.engine.tensors.xla_frame import Buffer, CallFrame, python_handler
from kinetree.errors import need

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
        with on_stream(cp, xla_frame.stream(frame), device):
            outs = tuple(view(cp, x.data, x.shape, dtype, device) for x in rets)
            kernel(*(view(cp, x.data, x.shape, dtype, device) for x in args), out=outs)

    # compiled here and now, not in the middle of XLA's work
    for count in (1, None):
        kernel.launch(dtype, count)
    return python_handler(run)
