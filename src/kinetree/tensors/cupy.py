"""Arrays of CuPy: the same quantities, computed by CUDA kernels on the GPU where the arrays lie."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinetree.backends.dispatch import Dispatch
from kinetree.tensors.arguments import check_call
from kinetree.tensors.operation import operation_of


def taker() -> Any:
    """See `kinetree.backends.foreign`."""
    return call


def call(dispatch: Dispatch, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Evaluate a kernel on arrays of CuPy, on its current stream."""
    operation = operation_of(dispatch)
    check_call(operation, arrays, options)
    return operation.cuda(*arrays, out=options.get("out"))


def view(
    cp: Any,
    address: int,
    shape: tuple[int, ...],
    dtype: str,
    device: int,
    strides: tuple[int, ...] | None = None,
    owner: Any = None,
) -> Any:
    """Memory of others as an array of CuPy, without a copy; `owner` lives as long as the array.

    DLPack would do the same at several times the cost, with checks that matter only where the two
    sides work on different streams.
    """
    kind = np.dtype(dtype)
    if strides is None:
        size = int(np.prod(shape)) * kind.itemsize
    else:
        size = kind.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = cp.cuda.UnownedMemory(address, size, owner, device)
    return cp.ndarray(shape, kind, cp.cuda.MemoryPointer(memory, 0), strides)


class Borrowed:
    """A stream of others, by the protocol in which libraries of CUDA hand them to each other."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address  # of the protocol's version 0


# Streams of others as CuPy's, by address and device. They are never dropped: CuPy 14.0 would then
# destroy the stream itself. Libraries keep few streams, and an address serves whoever has it.
STREAMS: dict[tuple[int, int], Any] = {}


@contextmanager
def on_stream(cp: Any, address: int, device: int) -> Iterator[None]:
    """Work of CuPy goes to a stream of others on a device; it stays theirs."""
    with cp.cuda.Device(device):
        stream = STREAMS.get((address, device))
        if stream is None:
            stream = STREAMS.setdefault((address, device), borrowed(cp, address, device))
        with stream:
            yield


def borrowed(cp: Any, address: int, device: int) -> Any:
    """A stream of others as CuPy's, of the current device."""
    if hasattr(cp.cuda.Stream, "from_external"):  # CuPy 14, which warns of the older way
        return cp.cuda.Stream.from_external(Borrowed(address))
    return cp.cuda.ExternalStream(address, device)
