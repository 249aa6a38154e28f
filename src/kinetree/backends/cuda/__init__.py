"""CUDA: a graph as a GPU kernel with one thread per state, compiled at run time through CuPy."""

from kinetree.backends.cuda.emit import emit
from kinetree.backends.cuda.kernel import CudaKernel

__all__ = ["CudaKernel", "emit"]
