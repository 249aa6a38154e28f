"""Sparse results: the numbers of a graph that are not written as 0, each once, and their places.

The graph of a robot decides what is zero: joints of different branches give the constant 0, and
entries that are always equal, such as mirrored halves, are one node. `sparse` returns the other
numbers alone, in the order in which they stand first in the results of the graph, one result after
the other and row by row. A `SparsePattern` has all their places.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.engine.compiler.graph import Graph, Port
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


@dataclass(frozen=True, slots=True)
class SparseGraph(Graph):
    """A graph with one result, and the places of its values in the results of another graph."""

    pattern: SparsePattern


def sparse(graph: Graph) -> SparseGraph:
    """Return the graph of the values that are not always zero."""
    nodes = graph.nodes
    place: dict[int, int] = {}  # of each value
    blocks: list[SparseBlock] = []
    for port, result in zip(graph.outputs, graph.results, strict=True):
        entries = [e for e, i in enumerate(result) if nodes[i].op != "const" or nodes[i].number]
        source = [place.setdefault(result[e], len(place)) for e in entries]
        index = np.unravel_index(entries, port.shape) if port.shape and entries else ()
        places = np.array(index, np.intp).reshape(len(port.shape), len(entries))
        found = read_only(places), read_only(np.array(source, np.intp))
        blocks.append(SparseBlock(port.name, port.shape, *found))
    values = (Port(VALUES, (len(place),)),)
    pattern = SparsePattern(len(place), tuple(blocks))
    return SparseGraph(nodes, graph.inputs, values, (tuple(place),), pattern)


def pattern_of(graph: Graph, name: str) -> SparsePattern:
    """Return the pattern of the kernel `name`; raise AttributeError if its results are dense."""
    if isinstance(graph, SparseGraph):
        return graph.pattern
    raise AttributeError(
        f"{name} has dense results and no pattern; robot.compile and robot.derivative with "
        "sparse=True make kernels that have one."
    )
