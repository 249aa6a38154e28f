"""Tensors of PyTorch, on the CPU and on CUDA devices, with gradients of any order.

All kernels are one autograd function whose derivatives are kernels again. Backward and forward mode
call the function with the operation of the derivative; torch records that like any other step, so
derivatives can be differentiated. Memory is not copied: NumPy and CuPy see that of the tensors.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call.arguments import leading_axes
from kinetree.engine.call.dispatch import Arguments, Dispatch, Options, SpecialCall
from kinetree.engine.tensors.cupy import on_stream
from kinetree.engine.tensors.operation import (
    NUMBERS,
    Operation,
    check_call,
    check_real,
    holds,
    number_type,
    operation_of,
    refuse_kind,
)
from kinetree.errors import InputError, ShapeError, need

DEVICES = ("cpu", "cuda")

Tensor: TypeAlias = Any  # torch.Tensor; torch may be missing
Context: TypeAlias = Any  # torch's record of a call of an autograd function


@functools.cache
def torch() -> Any:
    """PyTorch."""
    return need("torch", "torch", "tensors of PyTorch")


@functools.cache
def make_call() -> SpecialCall:
    """Return the function for calls with tensors."""
    return outside_graphs(call)


def outside_graphs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which torch.compile does not look into."""
    compiler = torch().compiler
    apart = compiler.disable(function)

    @functools.wraps(function)
    def either(*arguments: Any) -> Any:
        return (apart if compiler.is_compiling() else function)(*arguments)

    return either


def call(dispatch: Dispatch, arrays: Arguments, options: Options) -> Any:
    """Evaluate a kernel on tensors."""
    operation = operation_of(dispatch)
    tensors = prepared(operation, arrays, options)
    if options.get("out") is not None:
        return write(operation, tensors, options["out"])
    return function().apply(operation, *tensors)


def prepared(operation: Operation, arrays: Arguments, options: Options) -> list[Tensor]:
    """Tensors of one type on one device; plain numbers become tensors of that kind."""
    tensors: dict[str, Tensor] = {}
    for port, x in zip(operation.inputs, arrays, strict=False):
        if isinstance(x, torch().Tensor):
            tensors[port.name] = x
        elif not isinstance(x, NUMBERS):
            refuse_kind(operation, port.name, x, "torch", f"torch.as_tensor({port.name})")
        elif holds(x, torch().Tensor):  # its gradients would be lost in the conversion
            refuse_kind(operation, port.name, x, "torch", f"torch.stack({port.name})")
        else:
            check_real(operation, port.name, x)
    check_call(operation, arrays, options)
    device = one_device(operation, tensors)
    kinds = {name: dtype_name(x) for name, x in tensors.items()}
    dtype = getattr(torch(), number_type(operation, kinds))
    return [torch().as_tensor(x, dtype=dtype, device=device) for x in arrays]


def one_device(operation: Operation, tensors: dict[str, Tensor]) -> Any:
    """The device of all tensors."""
    devices = {name: x.device for name, x in tensors.items()}
    if len(set(devices.values())) > 1:
        listed = ", ".join(f"{name} is on {device}" for name, device in devices.items())
        raise InputError(
            f"the arguments of {operation.name} lie on different devices: {listed}. Move them to "
            "one with .to(device)."
        )
    for name, x in tensors.items():
        if x.device.type not in DEVICES or x.layout is not torch().strided:
            raise InputError(
                f"{name} of {operation.name} is a {x.layout} tensor on {x.device}; kernels take "
                f"dense tensors on {' and '.join(DEVICES)}. Use .to_dense() or .to('cpu')."
            )
    return next(iter(devices.values()))


def write(operation: Operation, tensors: list[Tensor], out: object) -> object:
    """Write the results into tensors of the caller; gradients cannot pass through them."""
    outs: tuple[Tensor, ...] = out if isinstance(out, tuple) else (cast("Tensor", out),)
    if len(outs) != len(operation.outputs):
        names = ", ".join(port.name for port in operation.outputs)
        raise ShapeError(f"out of {operation.name} has {len(outs)} tensors; expected {names}.")
    for port, x in zip(operation.outputs, outs, strict=True):
        if not isinstance(x, torch().Tensor) or x.device != tensors[0].device:
            raise InputError(
                f"out for {port.name} of {operation.name} is a {type(x).__name__} on "
                f"{getattr(x, 'device', 'cpu')}; expected a tensor on {tensors[0].device}."
            )
        repeated = any(n > 1 and not step for n, step in zip(x.shape, x.stride(), strict=True))
        if x.is_neg() or repeated:
            kind = "an expanded tensor" if repeated else "a negated view"
            raise InputError(
                f"out for {port.name} of {operation.name} is {kind}; expected a tensor that has "
                "memory for each number, such as one of torch.empty."
            )
    if torch().is_grad_enabled() and any(x.requires_grad for x in (*tensors, *outs)):
        raise InputError(
            f"out= was given to {operation.name} with tensors that require a gradient; gradients "
            "do not pass through out=. Leave it out, or work under torch.no_grad()."
        )
    compute(operation, tensors, outs)
    for x in outs:
        if not x.is_inference():  # gradients that need the numbers before are refused by torch
            torch().autograd.graph.increment_version(x)
    return out


@functools.cache
def function() -> Any:
    """The autograd function: apply(operation, *tensors) -> a tensor, or a tuple of several."""
    rules: list[Any] = [forward, setup_context, backward, jvp, vmap]
    forward.__signature__ = inspect.signature(forward)  # torch asks for it on every call
    members = {rule.__name__: staticmethod(outside_graphs(rule)) for rule in rules}
    return type("KinetreeFunction", (torch().autograd.Function,), members)


def forward(operation: Operation, *tensors: Tensor) -> Any:
    """Compute the results, outside of torch's record of gradients."""
    results = compute(operation, tensors)
    return results[0] if len(results) == 1 else tuple(results)


def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Save the arguments for derivatives of both modes."""
    ctx.operation, *tensors = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def backward(ctx: Context, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
    """The vjp of every argument that needs one; None means zero."""
    operation, tensors = ctx.operation, ctx.saved_tensors
    wrt = tuple(k for k, need in enumerate(ctx.needs_input_grad[1:]) if need)
    slopes: list[Any] = [None] * (1 + len(tensors))
    if not wrt or all(w is None for w in cotangents):
        return tuple(slopes)
    pairs = zip(operation.outputs, cotangents, strict=True)  # zeros of one state serve all states
    weights = [tensors[0].new_zeros(port.shape) if w is None else w for port, w in pairs]
    gradients = function().apply(operation.vjp(wrt), *tensors, *weights)
    for k, slope in zip(wrt, gradients if len(wrt) > 1 else (gradients,), strict=True):
        # a sum over the states that it was broadcast to
        slopes[1 + k] = slope.sum_to_size(tensors[k].shape)
    return tuple(slopes)


def jvp(ctx: Context, *tangents: Tensor) -> Any:
    """The tangent of every result, for torch's forward mode."""
    wrt = tuple(k for k, v in enumerate(tangents[1:]) if v is not None)
    moved = [tangents[1 + k] for k in wrt]
    return function().apply(ctx.operation.jvp(wrt), *ctx.saved_tensors, *moved)


def vmap(info: Any, in_dims: tuple[Any, ...], operation: Operation, *tensors: Tensor) -> Any:
    """Make a mapped axis the first of the leading axes, over which every kernel broadcasts."""
    ports, dims = operation.inputs, in_dims[1:]
    batch_axes = [
        len(x.shape) - len(p.shape) - (d is not None)
        for x, p, d in zip(tensors, ports, dims, strict=True)
    ]
    aligned = [
        x if d is None else x.movedim(d, 0)[(slice(None), *[None] * (max(batch_axes) - n))]
        for x, d, n in zip(tensors, dims, batch_axes, strict=True)
    ]
    results = function().apply(operation, *aligned)
    return results, (0,) * len(results) if isinstance(results, tuple) else 0


def compute(
    operation: Operation, tensors: Sequence[Tensor], outs: Sequence[Tensor] | None = None
) -> list[Tensor]:
    """All results, in new tensors or in those that are given."""
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if proxies is not None and proxies.get_proxy_mode() is not None:
        raise InputError(
            f"{operation.name} was called while torch records a graph (torch.func.linearize, "
            "make_fx, torch.export), in which its results would be constants: a kernel is not an "
            "operation of torch. Use torch.func.jvp, or torch.compile, which leaves kernels out of "
            "its graphs."
        )
    return (on_cuda if tensors[0].is_cuda else on_cpu)(operation, tensors, outs)


def on_cpu(
    operation: Operation, tensors: Sequence[Tensor], outs: Sequence[Tensor] | None
) -> list[Tensor]:
    """NumPy's gufunc on the memory of the tensors, by several threads where that pays."""
    arrays = [as_numpy(x) for x in tensors]
    if outs is not None:
        operation.call(*arrays, out=tuple(as_numpy(x) for x in outs))
        return list(outs)
    results = operation.call(*arrays)
    results = results if isinstance(results, tuple) else (results,)
    return [torch().from_numpy(np.asarray(x)) for x in results]


def as_numpy(x: Tensor) -> Array:
    """The memory of a tensor as an array; no number is copied."""
    return x.detach().resolve_neg().numpy()


def on_cuda(
    operation: Operation, tensors: Sequence[Tensor], outs: Sequence[Tensor] | None
) -> list[Tensor]:
    """The CUDA kernel on torch's current stream; results come from torch's own allocator."""
    cp = need("cupy", "cuda", f"{operation.name} of CUDA tensors")
    device = tensors[0].device
    if outs is None:
        shape = leading_axes(operation.name, operation.graph, tensors)[1]
        outs = [tensors[0].new_empty((*shape, *port.shape)) for port in operation.outputs]
    if outs[0].numel():
        with on_stream(cp, torch().cuda.current_stream(device).cuda_stream, device.index):
            # by __cuda_array_interface__; no number is copied
            arrays, written = (
                [cp.asarray(x.detach().resolve_neg()) for x in xs] for xs in (tensors, outs)
            )
            operation.cuda(*arrays, out=tuple(written))
    return list(outs)


def dtype_name(x: Tensor) -> str:
    """Return the type of a tensor in NumPy's spelling."""
    return str(x.dtype).removeprefix("torch.")
