"""Kernels that take threads for any batch, so that tests need no large ones."""

from kinetree.engine import Kernel
from kinetree.engine.call import vectorcall


def eager(kernel: Kernel) -> Kernel:
    """The same kernel, which now takes threads from the first state on."""
    dispatch = kernel._dispatch
    dispatch._least = dispatch._states = 1
    if kernel._direct:
        vectorcall.set_limit(kernel, 1)
    return kernel
