"""Kernels that take threads for any batch, so that tests need no large ones."""

from kinetree.engine import Kernel


def eager(kernel: Kernel) -> Kernel:
    """The same kernel, which now takes threads from the first state on."""
    kernel._dispatch.threaded_states = 1
    return kernel
