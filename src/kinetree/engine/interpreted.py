"""Kernels where LLVM is missing: the same gufunc, with an inner loop that interprets the graph.

NumPy calls the loop like any other, so broadcasting, casting, `out=` and errors are the same. The
interpreter rounds every operation as compiled code does, so the results have the same bits; only
the speed differs.
"""

import ctypes
from typing import Any

import numpy as np

from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.interpret import interpret
from kinetree.errors import KinetreeWarning, warn

ONE = np.ones(1)

_WORDS = ctypes.POINTER(ctypes.c_ssize_t)
_INNER_LOOP = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), _WORDS, _WORDS, ctypes.c_void_p
)


class SlowKernelWarning(KinetreeWarning, RuntimeWarning):
    """LLVM is missing, so kernels are interpreted: the same bits, a thousand times slower."""


_warned = False


def warn_once(problem: Exception) -> None:
    """Warn once in a process that nothing is compiled."""
    global _warned
    if not _warned:
        _warned = True
        warn(
            f"llvmlite cannot be imported ({problem}), so kernels are interpreted and not compiled:"
            " the results are the same to the last bit, but one state takes about a thousand times"
            " as long. To compile kernels, install it with: pip install llvmlite.",
            SlowKernelWarning,
        )


class _Memory:
    """Memory that NumPy passed to a loop, in the form that np.asarray understands."""

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: np.dtype[Any]
    ) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": kind.str,
        }


def interpreted_loop(graph: Graph, dtype: str) -> InnerLoop:
    """An inner loop over states that interprets `graph` in numbers of type `dtype`."""
    kind = np.dtype(dtype)
    ports = [*graph.inputs, *graph.outputs]

    def run(args: Any, dimensions: Any, steps: Any, _: Any) -> None:
        views, at = [], len(ports)
        for k, port in enumerate(ports):
            inner = at + len(port.shape)
            strides = (steps[k], *steps[at:inner])
            at = inner
            shape = (dimensions[0], *port.shape)
            views.append(np.asarray(_Memory(args[k], shape, strides, kind)))
        results = interpret(graph, *views[: len(graph.inputs)])
        for view, result in zip(views[len(graph.inputs) :], results, strict=True):
            view[...] = result
        np.add(ONE, ONE)  # clears the processor's flags: see llvm/programs.py

    entry = _INNER_LOOP(run)
    address = ctypes.cast(entry, ctypes.c_void_p).value
    assert address is not None
    return InnerLoop(dtype, address, entry)
