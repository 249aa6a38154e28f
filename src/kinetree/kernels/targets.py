"""The methods of Robot that compile for a CPU or a GPU; the type of the kernel follows the target.

They stand here, and not in robot.py, because each has a signature for every target.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from kinetree.model import HasModel

if TYPE_CHECKING:
    from kinetree.backends.cuda import CudaKernel
    from kinetree.backends.kernel import Kernel

Cpu = Literal["cpu"]
Cuda = Literal["cuda"]
Wrt = str | Sequence[str]


class Options(TypedDict, total=False):
    """What is compiled: the frame, whether with wrenches, and the data left free."""

    frame: str | None
    wrenches: bool
    free: Sequence[str]


def unseen(make: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """make(...), where torch.compile does not look into it: it cannot trace how kernels are made.

    It is asked to only where it is there already, since importing it takes seconds.
    """
    disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
    return (make if disable is None else disable(make))(*given, **options)


unseen.__dict__["_torchdynamo_disable"] = True  # this function is not looked into either


# fmt: off
@overload
def compile(
    self: HasModel, quantity: str, *, target: Cpu = ..., **options: Unpack[Options]
) -> "Kernel": ...
@overload
def compile(
    self: HasModel, quantity: str, *, target: Cuda, **options: Unpack[Options]
) -> "CudaKernel": ...
@overload
def compile(
    self: HasModel, quantity: str, *, target: str, **options: Unpack[Options]
) -> "Kernel | CudaKernel": ...
def compile(
    self: HasModel,
    quantity: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> Any:
    """A kernel of any quantity, with data left free on request; see `compile_kernel`."""
    from kinetree.kernels.compile import compile_kernel

    options = Options(frame=frame, wrenches=wrenches, free=free)
    return unseen(compile_kernel, self.model, quantity, target=target, **options)


@overload
def derivative(
    self: HasModel, quantity: str, wrt: Wrt = ..., *, target: Cpu = ..., **options: Unpack[Options]
) -> "Kernel": ...
@overload
def derivative(
    self: HasModel, quantity: str, wrt: Wrt = ..., *, target: Cuda, **options: Unpack[Options]
) -> "CudaKernel": ...
@overload
def derivative(
    self: HasModel, quantity: str, wrt: Wrt = ..., *, target: str, **options: Unpack[Options]
) -> "Kernel | CudaKernel": ...
def derivative(
    self: HasModel,
    quantity: str,
    wrt: Wrt = "q",
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> Any:
    """A kernel of d quantity/d arguments, q along tangents; see `compile_derivative`."""
    from kinetree.kernels.compile import compile_derivative

    options = Options(frame=frame, wrenches=wrenches, free=free)
    return unseen(compile_derivative, self.model, quantity, wrt, target=target, **options)
# fmt: on
