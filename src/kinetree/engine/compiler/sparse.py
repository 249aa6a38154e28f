"""Sparse results: the numbers of a graph that are not written as 0, each once, and their places.

The graph of a robot decides what is zero: joints of different branches give the constant 0, and
entries that are always equal, such as mirrored halves, are one node. `SparseGraph` returns the
other numbers alone, in the order in which they stand first in the results of the graph, one result
after the other and row by row. A `SparsePattern` has all their places.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.engine.compiler.graph import Graph, Node
from kinetree.engine.compiler.store import CODES, StoredGraph
from kinetree.errors import ShapeError

VALUES = "values"


@dataclass(frozen=True, eq=False)
class SparseBlock:
    """One of the dense results, as a list of its entries that are not always zero.

    Args:
        name: of the result.
        shape: of the dense result, without leading axes.
        index: (dimensions, m), whole numbers: the places of the entries, row by row, so that
            `rows, columns = block.index` for a matrix.
        source: (m,), which of the kernel's values stands at each place: the entries are
            `values[..., block.source]`. Entries that are always equal have one value.
    """

    name: str
    shape: tuple[int, ...]
    index: Array
    source: Array


@dataclass(frozen=True, eq=False)
class SparsePattern:
    """Where the values of a kernel with `sparse=True` stand. It depends on the robot alone.

    Entries outside are zero at every state. One inside may be zero, too: at some states, or at all
    where sums cancel that the compiler does not compute. Do not store a pattern: other versions of
    kinetree may find other zeros.

    Args:
        size: how many values there are.
        blocks: one for each dense result.
    """

    size: int
    blocks: tuple[SparseBlock, ...]

    def dense(self, values: ArrayLike) -> Array | tuple[Array, ...]:
        """Return the results of the kernel without `sparse=True`, bit for bit.

        Args:
            values: NumPy array, (..., size), as the kernel returns them, in the units of the
                results.
        """
        try:
            x = np.asarray(values)
        except (TypeError, RuntimeError):  # on a GPU, or one that records gradients
            x = np.array(None)
        if x.shape[-1:] != (self.size,) or x.dtype.kind not in "fiu":
            shape = getattr(values, "shape", x.shape)
            raise ShapeError(
                f"values is a {type(values).__name__} of shape {shape}; expected real numbers in a "
                f"NumPy array of shape (..., {self.size}), the result of the kernel that has this "
                "pattern. For dense tensors of another library compile the kernel without "
                "sparse=True."
            )
        results: list[Array] = []
        for block in self.blocks:
            flat = np.zeros((*x.shape[:-1], prod(block.shape)), x.dtype)
            places = np.zeros(len(block.source), np.intp)  # of a result that is one number
            if block.shape:
                places = np.ravel_multi_index(tuple(block.index), block.shape)
            flat[..., places] = x[..., block.source]
            results.append(flat.reshape((*x.shape[:-1], *block.shape)))
        return results[0] if len(results) == 1 else tuple(results)


class SparseGraph(StoredGraph):
    """The nodes of another graph, with one result: its values."""

    def __init__(self, dense: StoredGraph) -> None:
        operations, _, numbers, _, results = dense.arrays()
        constants = np.flatnonzero(operations == CODES["const"])
        entries = np.flatnonzero(~np.isin(results, constants[numbers == 0]))
        nodes, first, source = np.unique(results[entries], return_index=True, return_inverse=True)
        order = np.argsort(first)
        super().__init__(dense.with_result(VALUES, nodes[order]))
        self.noting(*dense.stages)
        self.__dict__.update(_dense=dense, _entries=(entries, np.argsort(order)[source]))

    @cached_property
    def _read(self) -> tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]]:
        results = self.arrays()[-1].tolist()
        return self.__dict__["_dense"].nodes, (tuple(results),)

    @cached_property
    def pattern(self) -> SparsePattern:
        """Where the values stand in the results of the other graph."""
        entries, source = self.__dict__["_entries"]
        blocks, start = list[SparseBlock](), 0
        for port in self.__dict__["_dense"].outputs:
            a, b = np.searchsorted(entries, (start, start + port.size))
            places = np.unravel_index(entries[a:b] - start, port.shape) if port.shape else ()
            index = np.array(places, np.intp).reshape(len(port.shape), b - a)
            blocks.append(
                SparseBlock(port.name, port.shape, read_only(index), read_only(source[a:b]))
            )
            start += port.size
        return SparsePattern(self.outputs[0].size, tuple(blocks))

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseGraph, (self.__dict__["_dense"],)


def pattern_of(graph: Graph, name: str) -> SparsePattern:
    """Return the pattern of the kernel `name`; raise AttributeError if its results are dense."""
    if isinstance(graph, SparseGraph):
        return graph.pattern
    raise AttributeError(
        f"{name} has dense results and no pattern; robot.compile and robot.derivative with "
        "sparse=True make kernels that have one."
    )
