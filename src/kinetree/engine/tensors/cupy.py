"""Arrays of CuPy: the same quantities, computed by CUDA kernels on the GPU of the arrays."""

from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from kinetree.engine.call.dispatch import Arguments, Dispatch, Options, SpecialCall
from kinetree.engine.tensors.operation import check_options, operation_of

CupyArray: TypeAlias = Any  # cupy.ndarray; CuPy may be missing


def make_call() -> SpecialCall:
    """Return the function for calls with arrays of CuPy."""
    return call


def call(dispatch: Dispatch, arrays: Arguments, options: Options) -> Any:
    """Evaluate a kernel on arrays of CuPy, on its current stream."""
    operation = operation_of(dispatch)
    check_options(operation, arrays, options)
    return operation.cuda(*arrays, out=options.get("out"))


def view(
    cp: ModuleType, address: int, shape: tuple[int, ...], dtype: str, device: int
) -> CupyArray:
    """Return memory of another package as an array of CuPy, without a copy.

    DLPack would do the same at several times the cost, with checks that matter only where the two
    packages work on different streams.
    """
    kind = np.dtype(dtype)
    memory = cp.cuda.UnownedMemory(address, prod(shape) * kind.itemsize, None, device)
    return cp.ndarray(shape, kind, cp.cuda.MemoryPointer(memory, 0))


class Borrowed:
    """A stream of another package, in the protocol by which CUDA libraries share streams."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address  # 0: version of the protocol


# Streams of other packages as CuPy's, by address and device. They are never dropped: CuPy 14.0
# would then destroy the stream itself. Packages have few streams.
STREAMS: dict[tuple[int, int], Any] = {}


@contextmanager
def on_stream(cp: ModuleType, address: int, device: int) -> Generator[None]:
    """Send CuPy's work to a stream of another package on a device."""
    with cp.cuda.Device(device):
        stream = STREAMS.get((address, device))
        if stream is None:
            stream = STREAMS.setdefault((address, device), borrowed(cp, address, device))
        with stream:
            yield


def borrowed(cp: ModuleType, address: int, device: int) -> Any:
    """Return a stream of another package as CuPy's, on the current device."""
    if hasattr(cp.cuda.Stream, "from_external"):  # CuPy 14, which deprecates the older way
        return cp.cuda.Stream.from_external(Borrowed(address))
    return cp.cuda.ExternalStream(address, device)
