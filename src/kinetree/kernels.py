"""Compiled functions: their class, derivatives of anything that can be traced, and threads."""

from kinetree.engine.call.threads import threads
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.derivative import derivative
from kinetree.engine.kernels.task_space import task_space_derivatives

__all__ = ["Kernel", "derivative", "task_space_derivatives", "threads"]
