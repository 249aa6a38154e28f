"""One batch on several GPUs: each computes a part of the states.

`on_devices(kernel, arrays, devices)` cuts the batch along its first axis, copies each part to its
GPU, launches the kernel there, and puts the results together where the arguments were: on the GPU
of the first array, or in the memory of the CPU for arrays of NumPy. All GPUs work at the same time.
States do not depend on each other, so the results have the bits of a single GPU.

Copies between GPUs take longer than most kernels. It pays for batches in the memory of the CPU, and
for kernels with many operations.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.engine.cuda.arguments import CudaArray, lead
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.launch import require_device
from kinetree.engine.cuda.layout import WARP
from kinetree.errors import InputError, ShapeError


def on_devices(
    kernel: CudaKernel, arrays: Sequence[CudaArray], devices: Sequence[int] | None = None
) -> Any:
    """The results of a kernel, computed on several GPUs.

    Args:
        kernel: made by `robot.compile(quantity, target="cuda")`.
        arrays: its arguments, of NumPy or CuPy, shape (N, *port) or (*port), which serves all
            states.
        devices: numbers of the GPUs; None: all that there are.

    Returns:
        An array for each output, shape (N, *port), a tuple where there are several.
    """
    cp = require_device()
    chosen = check_devices(cp, kernel.name, devices)
    states = count_states(kernel, arrays)
    if not states:
        return kernel(*arrays)
    home = next((x.device for x in arrays if isinstance(x, cp.ndarray)), None)
    ready = None if home is None else _recorded(cp, home)
    parts: list[tuple[slice, Any, tuple[CudaArray, ...]]] = []
    for part, number in zip(cut(states, len(chosen)), chosen, strict=True):
        if part.start == part.stop:
            continue
        with cp.cuda.Device(number):
            if ready is not None:  # the arguments may still be under way on their own stream
                cp.cuda.get_current_stream().wait_event(ready)
            ports = kernel.graph.inputs
            moved = [_moved(cp, x, p.shape, part) for x, p in zip(arrays, ports, strict=True)]
            results = kernel(*moved)
            done = cp.cuda.get_current_stream().record()
            parts.append((part, done, results if isinstance(results, tuple) else (results,)))
    made = [_gathered(cp, home, k, states, parts) for k in range(len(kernel.graph.outputs))]
    return made[0] if len(made) == 1 else tuple(made)


def check_devices(cp: Any, name: str, devices: Sequence[int] | None) -> list[int]:
    """The numbers of the GPUs; InputError for one that there is not, or that is named twice."""
    gpus = int(cp.cuda.runtime.getDeviceCount())
    chosen = list(range(gpus)) if devices is None else [int(x) for x in devices]
    wrong = [x for x in chosen if not 0 <= x < gpus]
    if wrong or not chosen or len(set(chosen)) < len(chosen):
        raise InputError(
            f"devices of {name} is {list(devices or [])}; expected different numbers of GPUs from "
            f"0 to {gpus - 1}. None takes all of them."
        )
    return chosen


def count_states(kernel: CudaKernel, arrays: Sequence[CudaArray]) -> int:
    """N of the arguments (N, *port); arguments of one state serve all others."""
    ports = kernel.graph.inputs
    if len(arrays) != len(ports):
        names = ", ".join(port.name for port in ports)
        raise ShapeError(f"{kernel.name} takes {len(ports)} arrays ({names}), found {len(arrays)}.")
    leads = {p.name: lead(kernel.name, p, x) for p, x in zip(ports, arrays, strict=True)}
    lengths = {axes for axes in leads.values() if axes}
    if len(lengths) != 1 or any(len(axes) > 1 for axes in lengths):
        listed = ", ".join(f"{name} {axes}" for name, axes in leads.items())
        raise ShapeError(
            f"the leading axes of {kernel.name} on several GPUs are {listed}; expected one axis of "
            "states, of one length. Reshape the arrays to (N, ...)."
        )
    return lengths.pop()[0]


def cut(states: int, parts: int) -> list[slice]:
    """Neighbouring parts of nearly equal size that begin at multiples of a warp."""
    warps = -(-states // WARP)
    ends = [min(states, WARP * (warps * k // parts)) for k in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def _recorded(cp: Any, device: Any) -> Any:
    """An event behind the work that is queued on a GPU now."""
    with device:
        return cp.cuda.get_current_stream().record()


def _moved(cp: Any, x: CudaArray, core: tuple[int, ...], part: slice) -> CudaArray:
    """A part of an argument on the current GPU."""
    piece = x[part] if len(x.shape) > len(core) else x
    if not isinstance(x, cp.ndarray):
        return cp.asarray(np.ascontiguousarray(piece))
    if x.data.device_id == cp.cuda.runtime.getDevice():
        return piece
    if not piece.flags.c_contiguous:
        with x.device:
            piece = cp.ascontiguousarray(piece)
            ready = cp.cuda.get_current_stream().record()
        cp.cuda.get_current_stream().wait_event(ready)
    made = cp.empty(piece.shape, piece.dtype)
    made.data.copy_from_device_async(piece.data, piece.nbytes)
    return made


def _gathered(
    cp: Any,
    home: Any,
    output: int,
    states: int,
    parts: Sequence[tuple[slice, Any, tuple[CudaArray, ...]]],
) -> Any:
    """One result of all parts, in one array where the arguments were."""
    first = parts[0][2][output]
    shape = (states, *first.shape[1:])
    if home is None:
        whole = np.empty(shape, first.dtype)
        for part, _, results in parts:
            with results[output].device:
                whole[part] = results[output].get()
        return whole
    with home:
        stream = cp.cuda.get_current_stream()
        whole = cp.empty(shape, first.dtype)
        for part, done, results in parts:
            stream.wait_event(done)
            piece = results[output]
            whole[part].data.copy_from_device_async(piece.data, piece.nbytes)
    return whole
