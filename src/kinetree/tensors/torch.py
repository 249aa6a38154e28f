"""Tensors of PyTorch, on the CPU and on CUDA devices, with gradients of any order."""

from typing import Any

from kinetree.backends.dispatch import Dispatch
from kinetree.errors import InputError, ShapeError
from kinetree.tensors.arguments import (
    NUMBERS,
    check_call,
    holds,
    number_type,
    real,
    refuse_kind,
)
from kinetree.tensors.operation import Operation, operation_of
from kinetree.tensors.torch_rules import compute, dtype_name, function, torch

DEVICES = ("cpu", "cuda")


def taker() -> Any:
    """See `kinetree.backends.foreign`; torch.compile leaves the call out of its graphs."""
    compiler = torch().compiler
    apart = compiler.disable(call)

    def take(dispatch: Dispatch, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return (apart if compiler.is_compiling() else call)(dispatch, arrays, options)

    return take


def call(dispatch: Dispatch, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Evaluate a kernel on tensors."""
    operation = operation_of(dispatch)
    tensors = prepared(operation, arrays, options)
    if options.get("out") is not None:
        return write(operation, tensors, options["out"])
    return function().apply(operation, *tensors)


def prepared(operation: Operation, arrays: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """Tensors of one type on one device; plain numbers become tensors of that kind."""
    given: dict[str, Any] = {}
    for port, x in zip(operation.inputs, arrays, strict=False):
        if isinstance(x, torch().Tensor):
            given[port.name] = x
        elif not isinstance(x, NUMBERS):
            refuse_kind(operation, port.name, x, "torch", f"torch.as_tensor({port.name})")
        elif holds(x, torch().Tensor):  # whose gradients would be lost on the way
            refuse_kind(operation, port.name, x, "torch", f"torch.stack({port.name})")
        else:
            real(operation, port.name, x)
    check_call(operation, arrays, options)
    device = one_device(operation, given)
    kinds = {name: dtype_name(x) for name, x in given.items()}
    dtype = getattr(torch(), number_type(operation, kinds))
    return [torch().as_tensor(x, dtype=dtype, device=device) for x in arrays]


def one_device(operation: Operation, given: dict[str, Any]) -> Any:
    """The device of all tensors."""
    devices = {name: x.device for name, x in given.items()}
    if len(set(devices.values())) > 1:
        listed = ", ".join(f"{name} is on {device}" for name, device in devices.items())
        raise InputError(
            f"the arguments of {operation.name} lie on different devices: {listed}. Move them to "
            "one with .to(device)."
        )
    for name, x in given.items():
        if x.device.type not in DEVICES or x.layout is not torch().strided:
            raise InputError(
                f"{name} of {operation.name} is a {x.layout} tensor on {x.device}; kernels take "
                f"dense tensors on {' and '.join(DEVICES)}. Use .to_dense() or .to('cpu')."
            )
    return next(iter(devices.values()))


def write(operation: Operation, tensors: list[Any], out: Any) -> Any:
    """Results into tensors of the caller, which no gradient can follow."""
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != len(operation.outputs):
        names = ", ".join(port.name for port in operation.outputs)
        raise ShapeError(f"out of {operation.name} has {len(outs)} tensors; expected {names}.")
    for port, x in zip(operation.outputs, outs, strict=True):
        if not isinstance(x, torch().Tensor) or x.device != tensors[0].device:
            raise InputError(
                f"out for {port.name} of {operation.name} is a {type(x).__name__} on "
                f"{getattr(x, 'device', 'cpu')}; expected a tensor on {tensors[0].device}."
            )
    if torch().is_grad_enabled() and any(x.requires_grad for x in (*tensors, *outs)):
        raise InputError(
            f"out= was given to {operation.name} with tensors that require a gradient; gradients "
            "do not pass through out=. Leave it away, or work under torch.no_grad()."
        )
    compute(operation, tensors, outs)
    return out
