"""LLVM: a graph as vector code for the processor at hand."""

from kinetree.backends.llvm.emit import emit
from kinetree.backends.llvm.target import Target, host_target

__all__ = ["Target", "emit", "host_target"]
