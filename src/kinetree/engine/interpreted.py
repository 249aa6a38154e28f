"""Kernels that are not compiled: the same gufunc, with an inner loop that interprets the graph.

So it is where LLVM is missing, and for graphs that would take too long to compile. What is too long
to be traced (a matrix of a robot of a thousand links) is computed by its function, on floats.

NumPy calls the loop like any other, so broadcasting, casting, `out=` and errors are the same. The
results differ from those of compiled code by roundings.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.compiler.graph import LONGEST, Graph, LongGraphError, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.errors import KinetreeWarning, warn

ONE = np.ones(1)
NUMBERS_AT_ONCE = 2**25  # numbers of nodes and states that are interpreted together, 256 MB

_WORDS = ctypes.POINTER(ctypes.c_ssize_t)
_INNER_LOOP = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), _WORDS, _WORDS, ctypes.c_void_p
)


class SlowKernelWarning(KinetreeWarning, RuntimeWarning):
    """LLVM is missing, so kernels are interpreted, a thousand times slower."""


_warned = False


def warn_once(problem: Exception) -> None:
    """Warn once in a process that nothing is compiled."""
    global _warned
    if not _warned:
        _warned = True
        warn(
            f"llvmlite cannot be imported ({problem}), so kernels are interpreted and not compiled:"
            " one state takes about a thousand times as long. To compile kernels, install it with: "
            "pip install llvmlite.",
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


class UntracedGraph(Graph):
    """The ports of a function that is too long for a graph, and the function itself, of floats."""

    __slots__ = ("function",)
    function: Callable[..., Any]

    def __init__(
        self, inputs: tuple[Port, ...], outputs: tuple[Port, ...], function: Callable[..., Any]
    ) -> None:
        fields = {"inputs": inputs, "outputs": outputs, "results": (), "function": function}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def length(self) -> int:
        """More than any graph has."""
        return LONGEST + 1

    @property
    def operations(self) -> int:
        """As for the length."""
        return self.length

    @property
    def has_loops(self) -> bool:
        """None are known."""
        return False

    def misfits(self) -> Iterator[float]:
        """None are known."""
        return iter(())

    @property
    def nodes(self) -> NoReturn:  # type: ignore[override]
        """There are none."""
        raise LongGraphError(
            f"{self.outputs[0].name} of this robot has more than {LONGEST:,} operations, so there "
            "is no graph of it: no derivatives, exports or kernels of a GPU."
        )


def computed(graph: Graph, *arrays: Array) -> Sequence[Array]:
    """The results for some states, (states, ...) each."""
    if isinstance(graph, UntracedGraph):
        rows = [graph.function(*state) for state in zip(*arrays, strict=True)]
        columns = zip(*(row if isinstance(row, tuple) else (row,) for row in rows), strict=True)
        return [np.array(column, float) for column in columns]
    return interpret(graph, *arrays)


def interpreted_loop(graph: Graph, dtype: str) -> InnerLoop:
    """An inner loop over states that interprets `graph` in numbers of type `dtype`."""
    kind = np.dtype(dtype)
    ports = [*graph.inputs, *graph.outputs]
    together = max(1, NUMBERS_AT_ONCE // graph.length)

    def run(args: Any, dimensions: Any, steps: Any, _: Any) -> None:
        views, at = [], len(ports)
        for k, port in enumerate(ports):
            inner = at + len(port.shape)
            strides = (steps[k], *steps[at:inner])
            at = inner
            shape = (dimensions[0], *port.shape)
            views.append(np.asarray(_Memory(args[k], shape, strides, kind)))
        for first in range(0, dimensions[0], together):
            parts = [view[first : first + together] for view in views]
            results = computed(graph, *parts[: len(graph.inputs)])
            for view, result in zip(parts[len(graph.inputs) :], results, strict=True):
                view[...] = result
        np.add(ONE, ONE)  # clears the processor's flags: see llvm/compiled_graph.py

    entry = _INNER_LOOP(run)
    address = ctypes.cast(entry, ctypes.c_void_p).value
    assert address is not None
    return InnerLoop(dtype, address, entry)
