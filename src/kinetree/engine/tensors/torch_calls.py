"""Calls of torch that go straight to the kernel.

Plain tensors on the CPU are arrays of NumPy over the same memory, which the kernel itself checks
and broadcasts. Of other calls, on a GPU or with gradients, the first is checked and broadcast by
`kinetree.engine.tensors.torch`; a plan is kept of it, which later calls with the same shapes, types
and devices find by one look-up. Under a transformation of torch (vmap, grad of torch.func, forward
mode, a mode that watches operations, torch.jit.trace), tensors are not what they seem, and every
call is read from the start.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.cuda.prepared import Prepared
from kinetree.engine.tensors.operation import FLOATS, Operation, lead
from kinetree.errors import need

Tensor: TypeAlias = Any  # torch.Tensor; torch may be missing
KINDS = {np.dtype(kind).char: kind for kind in FLOATS}

# the function that describes tensors in machine code, where the package allows it
READ_IN_CODE: list[Callable[..., bytes | None]] = []


@functools.cache
def torch() -> Any:
    """PyTorch."""
    return need("torch", "torch", "tensors of PyTorch")


class Plan(Protocol):
    """A call that can be repeated; `recorded`: some tensor requires a gradient."""

    operation: Operation
    recorded: bool

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """The results, outside of torch's record of gradients; None where the call has changed."""
        ...


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """Numbers on the CPU, with a record for gradients: the kernel on the memory of the tensors."""

    operation: Operation
    recorded: bool

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """Compute; results are new tensors."""
        return on_host(self.operation, [x.detach().numpy() for x in tensors])


def host_arrays(tensors: Sequence[Any]) -> list[Array] | None:
    """The memory of plain tensors of one floating type on the CPU; None for all others."""
    plain = torch().Tensor
    for x in tensors:
        if type(x) is not plain or x.requires_grad:
            return None
    if not tensors[0].is_cpu:
        return None
    try:
        arrays: list[Array] = [x.numpy() for x in tensors]
    except TypeError:  # sparse, or another on a GPU
        return None
    kind = arrays[0].dtype
    for x in arrays:
        if x.dtype is not kind:
            return None
    return arrays if kind.char in KINDS else None


def on_host(operation: Operation, arrays: Sequence[Array]) -> Any:
    """The results of a kernel of the CPU on arrays of one type, as new tensors."""
    return to_tensors(operation.entry(KINDS[arrays[0].dtype.char])(*arrays))


def to_tensors(results: Any) -> Any:
    """Results of a kernel of the CPU as tensors: arrays, numbers, or a tuple of them."""
    from_numpy = torch().from_numpy
    if type(results) is np.ndarray:
        return from_numpy(results)
    if isinstance(results, tuple):
        return tuple([from_numpy(np.asarray(x)) for x in results])
    return from_numpy(np.asarray(results))  # a number


@dataclass(frozen=True, slots=True)
class CudaPlan:
    """Numbers on a GPU: a prepared launch on torch's stream, results from torch's allocator."""

    operation: Operation
    recorded: bool
    prepared: Prepared
    like: Callable[[Tensor], Tensor]
    shapes: tuple[tuple[int, ...], ...]
    device: int
    current: Callable[[], int]
    stream: Callable[[int], int]

    def run(self, tensors: Sequence[Tensor]) -> Any:
        """Queue the kernel; results are new tensors. None if another GPU is the current one."""
        device = self.device
        if self.current() != device:
            return None
        first = tensors[0]
        shape = first.shape  # that of one result, mostly
        made = [self.like(first) if x == shape else first.new_empty(x) for x in self.shapes]
        addresses = [x.data_ptr() for x in (*tensors, *made)]
        self.prepared.enqueue(self.stream(device), addresses)
        return made[0] if len(made) == 1 else tuple(made)


def described(tensors: Sequence[Any]) -> Hashable:
    """All that a plan depends on; None where some arguments are not dense tensors."""
    if READ_IN_CODE:
        return READ_IN_CODE[0](*tensors)
    try:
        return tuple(
            [
                (
                    type(x), x.shape, x.dtype, x.device, x.is_contiguous(), x.is_neg(),
                    x.requires_grad,
                )
                for x in tensors
            ]
        )  # fmt: skip
    except (AttributeError, RuntimeError):  # numbers; sparse tensors have no such thing
        return None


@functools.cache
def questions() -> tuple[tuple[Callable[[], object], object], ...]:
    """Functions, and what each returns while torch neither transforms nor watches what is called.

    Transformations of torch.func, modes that watch or replace operations, torch.jit.trace, forward
    mode. One that is never answered so for a torch that lacks any: nothing is repeated then.
    """
    names = "_are_functorch_transforms_active", "_len_torch_dispatch_stack"
    names = *names, "_len_torch_function_stack", "_is_tracing"
    known: list[Any] = [getattr(torch()._C, name, None) for name in names]
    forward = vars(torch().autograd.forward_ad)
    if None in known or "_current_level" not in forward:
        return ((bool, True),)
    level = functools.partial(forward.get, "_current_level")
    return tuple(zip((*known, level), (False, 0, 0, False, -1), strict=True))


@functools.cache
def transformed() -> Callable[[], bool]:
    """Return a function that is True while torch transforms or watches what is called."""
    pairs = questions()

    def any_unusual() -> bool:
        for ask, usual in pairs:
            if ask() != usual:
                return True
        return False

    return any_unusual


def find(operation: Operation, tensors: Sequence[object]) -> Plan | None:
    """The plan of a call like this one; None if there is none."""
    key = described(tensors)
    return None if key is None else operation.plans.get(key)


def remember(operation: Operation, tensors: Sequence[Tensor]) -> None:
    """Keep a plan of a call that was computed, if its tensors are read where they are."""
    if transformed()() or (key := described(tensors)) is None:
        return
    first = tensors[0]
    kinds = torch().Tensor, torch().nn.Parameter
    kind = str(first.dtype).removeprefix("torch.")
    leads = {lead(x.shape, port) for x, port in zip(tensors, operation.inputs, strict=True)}
    if len(leads) > 1 or not first.numel() or kind not in FLOATS:
        return
    for x in tensors:
        ready = x.layout is torch().strided and x.is_contiguous() and not x.is_neg()
        alike = x.dtype is first.dtype and x.device == first.device
        if type(x) not in kinds or not ready or not alike:
            return
    recorded = any(x.requires_grad for x in tensors)
    if first.is_cuda:
        made = _on_cuda(operation, recorded, kind, first, leads.pop())
    else:
        made = CpuPlan(operation, recorded)
    if made is not None:
        operation.plans.keep(key, made)


def _on_cuda(
    operation: Operation,
    recorded: bool,
    kind: str,
    first: Tensor,
    leading: tuple[int, ...],
) -> CudaPlan | None:
    """A plan for tensors on the current GPU; None for another, or for a torch without streams."""
    current = getattr(torch()._C, "_cuda_getDevice", None)
    stream = getattr(torch()._C, "_cuda_getCurrentRawStream", None)
    if current is None or stream is None or current() != first.device.index:
        return None
    shapes = tuple((*leading, *port.shape) for port in operation.outputs)
    count = first.numel() // max(1, operation.inputs[0].size)
    prepared = operation.cuda.prepare(kind, count)
    device = first.device.index
    like = torch().empty_like
    return CudaPlan(operation, recorded, prepared, like, shapes, device, current, stream)
