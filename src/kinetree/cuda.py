"""Quantities of a robot as CUDA kernels: where algorithms meet the GPU."""

from collections.abc import Sequence

from kinetree.backends.cuda import CudaKernel
from kinetree.compile import trace_quantity
from kinetree.model import Model
from kinetree.quantities import find_quantity


def cuda_kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> CudaKernel:
    """The kernel of a quantity on the GPU, specialised to the robot.

    Args:
        model: the robot.
        quantity: one of `kinetree.compile.QUANTITIES` or `DERIVED`.
        frame: the frame of a pose or Jacobian; the tool when None.
        wrenches: with F_ext, (links, 6), as the last argument of the state.
        free: data that become further arguments, as in `kinetree.compile.compile_kernel`.

    Returns:
        A function of CuPy arrays of any leading shape; the graph is the one of the CPU's kernel.
    """
    graph = trace_quantity(model, quantity, frame=frame, wrenches=wrenches, free=free)
    doc = f"{quantity} of {model.name}: {find_quantity(quantity).doc}"
    return CudaKernel(graph, quantity, doc)
