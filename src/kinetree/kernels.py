"""Compiled functions: their class, derivatives of anything that can be traced, and threads."""

from kinetree.engine.call.threads import threads
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.derivative import derivative

__all__ = ["Kernel", "derivative", "threads"]
