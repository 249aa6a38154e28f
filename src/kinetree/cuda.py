"""Quantities of a robot as CUDA kernels: where algorithms meet the GPU."""

from collections.abc import Sequence
from typing import cast

from kinetree.backends.cuda import CudaKernel
from kinetree.compile import compile_kernel
from kinetree.model import Model


def cuda_kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> CudaKernel:
    """The kernel of a quantity on the GPU: `compile_kernel` with target "cuda".

    Returns:
        A function of CuPy arrays of any leading shape; the graph is the one of the CPU's kernel.
    """
    found = compile_kernel(
        model, quantity, frame=frame, wrenches=wrenches, free=free, target="cuda"
    )
    return cast(CudaKernel, found)
