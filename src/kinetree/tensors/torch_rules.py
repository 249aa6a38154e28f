"""The rules of torch for kernels: one autograd function whose derivatives are kernels again.

Backward and forward mode call the function again with the operation of the derivative; torch
records that like any other step, so derivatives can be differentiated. A tensor is read where it
lies: NumPy and CuPy see its memory.
"""

import functools
import inspect
from typing import Any

import numpy as np

from kinetree.base.extras import need
from kinetree.compiler.graph import Port
from kinetree.tensors.cupy import on_stream, view
from kinetree.tensors.operation import Operation


@functools.cache
def torch() -> Any:
    """PyTorch."""
    return need("torch", "torch", "tensors of PyTorch")


@functools.cache
def function() -> Any:
    """The autograd function: apply(operation, *tensors) -> a tensor, or a tuple of several."""
    rules: list[Any] = [forward, setup_context, backward, jvp, vmap]
    forward.__signature__ = inspect.signature(forward)  # torch asks for it on every call
    members = {rule.__name__: staticmethod(rule) for rule in rules}
    return type("KinetreeFunction", (torch().autograd.Function,), members)


def forward(operation: Operation, *tensors: Any) -> Any:
    """The results, as torch asks for them: outside of any record of gradients."""
    results = compute(operation, tensors)
    return results[0] if len(results) == 1 else tuple(results)


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keep what the derivatives need: the arguments."""
    ctx.operation, *tensors = inputs
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)
    ctx.set_materialize_grads(False)


def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
    """The vjp of every argument that needs one; None stands for zero."""
    operation, tensors = ctx.operation, ctx.saved_tensors
    wrt = tuple(k for k, needed in enumerate(ctx.needs_input_grad[1:]) if needed)
    slopes: list[Any] = [None] * (1 + len(tensors))
    if not wrt or all(w is None for w in cotangents):
        return tuple(slopes)
    # zeros of one state serve all states
    like = tensors[0].new_zeros
    weights = [
        like(port.shape) if w is None else w
        for port, w in zip(operation.outputs, cotangents, strict=True)
    ]
    found = function().apply(operation.vjp(wrt), *tensors, *weights)
    for k, slope in zip(wrt, found if isinstance(found, tuple) else (found,), strict=True):
        slopes[1 + k] = slope.sum_to_size(tensors[k].shape)  # what was broadcast adds up
    return tuple(slopes)


def jvp(ctx: Any, *tangents: Any) -> Any:
    """The tangent of every result, for torch's forward mode."""
    wrt = tuple(k for k, v in enumerate(tangents[1:]) if v is not None)
    moved = [tangents[1 + k] for k in wrt]
    return function().apply(ctx.operation.jvp(wrt), *ctx.saved_tensors, *moved)


def vmap(info: Any, in_dims: tuple[Any, ...], operation: Operation, *tensors: Any) -> Any:
    """A mapped axis becomes the first of the leading axes, over which every kernel broadcasts."""
    ports, dims = operation.inputs, in_dims[1:]
    own = [len(lead(x, p)) - (d is not None) for x, p, d in zip(tensors, ports, dims, strict=True)]
    aligned = [
        x if d is None else x.movedim(d, 0)[(slice(None), *[None] * (max(own) - n))]
        for x, d, n in zip(tensors, dims, own, strict=True)
    ]
    found = function().apply(operation, *aligned)
    return found, (0,) * len(found) if isinstance(found, tuple) else 0


def lead(x: Any, port: Port) -> tuple[int, ...]:
    """The axes of states before those of the port."""
    return tuple(x.shape[: x.ndim - len(port.shape)])


def compute(operation: Operation, tensors: Any, outs: Any = None) -> list[Any]:
    """All results, in new tensors or in those that are given."""
    return (on_cuda if tensors[0].is_cuda else on_cpu)(operation, tensors, outs)


def on_cpu(operation: Operation, tensors: Any, outs: Any) -> list[Any]:
    """NumPy's gufunc on the memory of the tensors, by several threads where that pays."""
    arrays = [as_numpy(x) for x in tensors]
    if outs is not None:
        operation.call(*arrays, out=tuple(as_numpy(x) for x in outs))
        return list(outs)
    found = operation.call(*arrays)
    found = found if isinstance(found, tuple) else (found,)
    return [torch().from_numpy(np.asarray(x)) for x in found]


def as_numpy(x: Any) -> Any:
    """The memory of a tensor as an array; no number is copied."""
    return x.detach().resolve_neg().numpy()


def on_cuda(operation: Operation, tensors: Any, outs: Any) -> list[Any]:
    """The CUDA kernel on torch's current stream; results come from torch's own allocator."""
    cp = need("cupy", "cuda", f"{operation.name} of CUDA tensors")
    device = tensors[0].device
    stream = torch().cuda.current_stream(device).cuda_stream
    if outs is None:
        leads = [lead(x, port) for x, port in zip(tensors, operation.inputs, strict=True)]
        shape = np.broadcast_shapes(*leads)
        outs = [tensors[0].new_empty((*shape, *port.shape)) for port in operation.outputs]
    with on_stream(cp, stream, device.index):
        arrays, written = ([as_cupy(cp, x) for x in xs] for xs in (tensors, outs))
        operation.cuda(*arrays, out=tuple(written))
    return list(outs)


def as_cupy(cp: Any, x: Any) -> Any:
    """The memory of a CUDA tensor as an array of CuPy; no number is copied."""
    x = x.resolve_neg()
    if not x.numel():
        return cp.empty(tuple(x.shape), dtype_name(x))
    strides = None if x.is_contiguous() else tuple(n * x.element_size() for n in x.stride())
    return view(cp, x.data_ptr(), tuple(x.shape), dtype_name(x), x.device.index, strides, x)


def dtype_name(x: Any) -> str:
    """The type of a tensor as NumPy writes it."""
    return str(x.dtype).removeprefix("torch.")
