"""Prepare the user's arrays for a kernel: contiguous, one leading shape, one number type.

Arrays that are in this form already are not copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from kinetree.engine.compiler.graph import Port
from kinetree.errors import InputError, ShapeError

CudaArray: TypeAlias = Any  # cupy.ndarray, or another array on a GPU; CuPy may be missing


@dataclass(frozen=True)
class Batch:
    """Prepared inputs: contiguous arrays (*leading, *port.shape) of one dtype."""

    arrays: list[CudaArray]
    leading: tuple[int, ...]
    dtype: str

    @property
    def count(self) -> int:
        """Number of states."""
        return prod(self.leading)


def on_gpu(cp: ModuleType, name: str, label: str, array: CudaArray) -> CudaArray:
    """The array as CuPy sees it, without a copy; an InputError where it is not on a GPU."""
    if isinstance(array, cp.ndarray):
        return array
    if hasattr(array, "__cuda_array_interface__"):
        return cp.asarray(array)
    raise InputError(
        f"{label} of {name} is a {type(array).__module__}.{type(array).__name__}; expected an "
        "array on the GPU, e.g. cupy.asarray(...) of it. The robot's own methods take NumPy arrays."
    )


def prepare(cp: ModuleType, name: str, ports: Sequence[Port], given: Sequence[CudaArray]) -> Batch:
    """The inputs of a call, broadcast against each other."""
    if len(given) != len(ports):
        names = ", ".join(port.name for port in ports)
        raise ShapeError(f"{name} takes {len(ports)} arrays ({names}), found {len(given)}.")
    arrays = numbers_on_gpu(cp, name, ports, given)
    check_devices(name, [port.name for port in ports], arrays)
    leads = [lead(name, port, x) for port, x in zip(ports, arrays, strict=True)]
    try:
        leading = np.broadcast_shapes(*leads)
    except ValueError:
        shapes = ", ".join(f"{p.name} {x.shape}" for p, x in zip(ports, arrays, strict=True))
        raise ShapeError(
            f"the leading axes of {name} do not broadcast: {shapes}; expected equal lengths or 1."
        ) from None
    dtype = number_type(name, [x.dtype for x in arrays])
    wanted = [(*leading, *port.shape) for port in ports]
    ready = [contiguous(cp, x, shape, dtype) for x, shape in zip(arrays, wanted, strict=True)]
    return Batch(ready, leading, dtype)


def contiguous(cp: ModuleType, x: CudaArray, shape: tuple[int, ...], dtype: str) -> CudaArray:
    """The array itself where it has this form already, else a copy of it."""
    if x.shape == shape and x.dtype == dtype and x.flags.c_contiguous:
        return x
    return cp.ascontiguousarray(cp.broadcast_to(x, shape), dtype=dtype)


def numbers_on_gpu(
    cp: ModuleType, name: str, ports: Sequence[Port], given: Sequence[CudaArray]
) -> list[CudaArray]:
    """All inputs on the GPU; a number for a port of shape () takes on the type of the arrays."""
    plain = [p.shape == () and type(x) in (int, float) for p, x in zip(ports, given, strict=True)]
    if all(plain):
        plain = [False] * len(plain)
    arrays = [
        x if number else on_gpu(cp, name, p.name, x)
        for p, x, number in zip(ports, given, plain, strict=True)
    ]
    if not any(plain):
        return arrays
    pairs = list(zip(arrays, plain, strict=True))
    dtype = number_type(name, [x.dtype for x, number in pairs if not number])
    return [cp.asarray(x, dtype) if number else x for x, number in pairs]


def check_devices(name: str, labels: Sequence[str], arrays: Sequence[CudaArray]) -> None:
    """Check that all arrays are on one GPU: no kernel reads the memory of another."""
    devices = [x.data.device_id for x in arrays]
    if len(set(devices)) > 1:
        places = ", ".join(f"{x} is on {k}" for x, k in zip(labels, devices, strict=True))
        raise InputError(
            f"the arrays of {name} lie on different GPUs: {places}; expected one. Move them with "
            "cupy.asarray(...) under `with cupy.cuda.Device(number)`."
        )


def lead(name: str, port: Port, array: CudaArray) -> tuple[int, ...]:
    """The axes of states before those of the port."""
    leading = port.leading(array.shape)
    if leading is None:
        raise ShapeError(
            f"{port.name} of {name} has shape {array.shape}; {port.shape} is expected, with any "
            "axes of states before it."
        )
    return leading


def number_type(name: str, dtypes: Sequence[np.dtype[Any]]) -> str:
    """float32 where every input is, otherwise float64, as with arrays of NumPy."""
    if all(np.can_cast(found, np.float64, "safe") for found in dtypes):
        return "float32" if all(found.char == "f" for found in dtypes) else "float64"
    found = ", ".join(map(str, dtypes))
    raise InputError(
        f"{name} computes in float32 or float64, which do not hold {found}; convert them."
    )


def targets(
    cp: ModuleType, name: str, ports: Sequence[Port], batch: Batch, out: object
) -> list[CudaArray]:
    """Return an array for each output: the user's where the kernel may write into it, else new."""
    outs = out if isinstance(out, tuple) else (out,)
    if out is None:
        outs = (None,) * len(ports)
    if len(outs) != len(ports):
        raise ShapeError(f"out of {name} has {len(outs)} arrays, expected {len(ports)}.")
    return [target(cp, name, p, batch, x) for p, x in zip(ports, outs, strict=True)]


def target(cp: ModuleType, name: str, port: Port, batch: Batch, out: CudaArray) -> CudaArray:
    """The user's array where the kernel may write into it, else a new one."""
    shape = (*batch.leading, *port.shape)
    if out is None:
        return cp.empty(shape, batch.dtype)
    if not isinstance(out, cp.ndarray):
        raise InputError(f"out of {name} is a {type(out).__name__}; expected a cupy.ndarray.")
    check_devices(name, ("out", "its arguments"), (out, batch.arrays[0]))
    if out.shape != shape:
        raise ShapeError(f"out of {name} for {port.name} has shape {out.shape}, expected {shape}.")
    if not np.can_cast(batch.dtype, out.dtype, "same_kind"):
        raise InputError(f"out of {name} is {out.dtype}, which does not hold {batch.dtype}.")
    direct = out.dtype == batch.dtype and out.flags.c_contiguous
    # a warp may write what another has still to read
    if direct and not any(cp.may_share_memory(out, x) for x in batch.arrays):
        return out
    return cp.empty(shape, batch.dtype)
