"""Prepare the user's arrays for a kernel: contiguous, one leading shape, one number type.

Arrays that are in this form already are not copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from kinetree.engine.call.arguments import check_shapes
from kinetree.engine.compiler.graph import Graph
from kinetree.errors import InputError

NUMBERS = (int, float)
CudaArray: TypeAlias = Any  # cupy.ndarray, or another array on a GPU; CuPy may be missing


@dataclass(frozen=True)
class Batch:
    """Inputs and outputs of a launch: contiguous arrays (*leading, *port.shape) of one dtype."""

    inputs: list[CudaArray]
    outputs: list[CudaArray]
    leading: tuple[int, ...]
    dtype: str

    @property
    def count(self) -> int:
        """Number of states."""
        return prod(self.leading)


def prepare(
    cp: ModuleType, name: str, graph: Graph, given: Sequence[CudaArray], out: object
) -> Batch:
    """The inputs of a call, broadcast against each other, and the arrays of its results."""
    arrays = numbers_on_gpu(cp, name, graph, given)
    options = {} if out is None else {"out": out}
    leading = check_shapes(name, graph, arrays, options)[1]
    check_devices(name, [port.name for port in graph.inputs], arrays)
    dtype = number_type(name, [x.dtype for x in arrays])
    ports = zip(arrays, graph.inputs, strict=True)
    inputs = [contiguous(cp, x, (*leading, *port.shape), dtype) for x, port in ports]
    outs = out if isinstance(out, tuple) else (out,) * len(graph.outputs)
    outputs = [
        target(cp, name, x, (*leading, *port.shape), dtype, inputs)
        for x, port in zip(outs, graph.outputs, strict=True)
    ]
    return Batch(inputs, outputs, leading, dtype)


def numbers_on_gpu(
    cp: ModuleType, name: str, graph: Graph, given: Sequence[CudaArray]
) -> list[CudaArray]:
    """All inputs on the GPU; a number for a port of shape () takes on the type of the arrays."""
    ports = zip(graph.inputs, given, strict=False)
    arrays = [x if type(x) in NUMBERS else on_gpu(cp, name, port.name, x) for port, x in ports]
    kinds = [x.dtype for x in arrays if type(x) not in NUMBERS]
    if not kinds:
        on_gpu(cp, name, graph.inputs[0].name, arrays[0])  # raises
    dtype = number_type(name, kinds) if len(kinds) < len(arrays) else None
    return [cp.asarray(x, dtype) if type(x) in NUMBERS else x for x in arrays]


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


def contiguous(cp: ModuleType, x: CudaArray, shape: tuple[int, ...], dtype: str) -> CudaArray:
    """The array itself where it has this form already, else a copy of it."""
    if x.shape == shape and x.dtype == dtype and x.flags.c_contiguous:
        return x
    return cp.ascontiguousarray(cp.broadcast_to(x, shape), dtype=dtype)


def check_devices(name: str, labels: Sequence[str], arrays: Sequence[CudaArray]) -> None:
    """Check that all arrays are on one GPU: no kernel reads the memory of another."""
    devices = [x.device.id for x in arrays]
    if len(set(devices)) > 1:
        places = ", ".join(f"{x} is on {k}" for x, k in zip(labels, devices, strict=True))
        raise InputError(
            f"the arrays of {name} lie on different GPUs: {places}; expected one. Move them with "
            "cupy.asarray(...) under `with cupy.cuda.Device(number)`."
        )


def number_type(name: str, dtypes: Sequence[np.dtype[Any]]) -> str:
    """float32 where every input is, otherwise float64, as with arrays of NumPy."""
    if all(np.can_cast(found, np.float64, "safe") for found in dtypes):
        return "float32" if all(found.char == "f" for found in dtypes) else "float64"
    found = ", ".join(map(str, dtypes))
    raise InputError(
        f"{name} computes in float32 or float64, which do not hold {found}; convert them."
    )


def target(
    cp: ModuleType,
    name: str,
    out: CudaArray,
    shape: tuple[int, ...],
    dtype: str,
    inputs: Sequence[CudaArray],
) -> CudaArray:
    """The user's array where the kernel may write into it, else a new one."""
    if out is None:
        return cp.empty(shape, dtype)
    if not isinstance(out, cp.ndarray):
        raise InputError(f"out of {name} is a {type(out).__name__}; expected a cupy.ndarray.")
    check_devices(name, ("out", "its arguments"), (out, inputs[0]))
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise InputError(f"out of {name} is {out.dtype}, which does not hold {dtype}.")
    direct = out.dtype == dtype and out.flags.c_contiguous
    # a warp may write what another has still to read
    if direct and not any(cp.may_share_memory(out, x) for x in inputs):
        return out
    return cp.empty(shape, dtype)
