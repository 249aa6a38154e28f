"""Cut the batch of one gufunc call into pieces for several threads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinetree.backends import threads
from kinetree.compiler.graph import Graph, Port

Array = np.ndarray[Any, Any]

GRAIN = 64  # pieces are multiples of this many states, so that vectors stay full
PIECES = 4  # per thread: a core that is busy elsewhere does not keep the others waiting


@dataclass(frozen=True, slots=True)
class Batch:
    """Arrays of states that broadcast to the leading shape `shape`, and where results go."""

    graph: Graph
    arrays: Sequence[Array]
    leading: Sequence[tuple[int, ...]]
    shape: tuple[int, ...]
    outs: Sequence[Array]

    @classmethod
    def of(cls, graph: Graph, arrays: Sequence[Array], out: Any) -> Self | None:
        """The batch of a call, or None if it cannot be cut.

        It cannot where shapes are wrong (NumPy then says so) or where an output shares memory with
        another array: NumPy's own order of work decides there.
        """
        leading = leading_shapes(graph.inputs, arrays)
        if leading is None:
            return None
        try:
            shape = np.broadcast_shapes(*leading)
        except ValueError:
            return None
        outs = given_outputs(graph.outputs, shape, arrays, out)
        return None if outs is None else cls(graph, arrays, leading, shape, outs)

    @property
    def states(self) -> int:
        """Number of states."""
        return math.prod(self.shape) if self.shape else 0

    def call(self, gufunc: np.ufunc, count: int) -> Any:
        """What `gufunc(*arrays, out=out)` returns, computed on `count` threads."""
        outs = self.outs or self.new_outputs(gufunc)
        axis = max(range(len(self.shape)), key=lambda k: (self.shape[k], -k))

        def piece(part: slice) -> Any:
            def call() -> None:
                ins = zip(self.arrays, self.leading, strict=True)
                parts = [self.take(array, lead, axis, part) for array, lead in ins]
                gufunc(*parts, out=tuple(self.take(o, self.shape, axis, part) for o in outs))

            return call

        threads.run([piece(part) for part in cut(self.shape[axis], count * PIECES)], count)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def new_outputs(self, gufunc: np.ufunc) -> list[Array]:
        """New arrays for the results, of the dtypes that NumPy would choose."""
        ports = self.graph.outputs
        given = [array.dtype for array in self.arrays]
        kinds = gufunc.resolve_dtypes((*given, *[None] * len(ports)))[len(given) :]
        return [np.empty(self.shape + p.shape, kind) for p, kind in zip(ports, kinds, strict=True)]

    def take(self, array: Array, leading: tuple[int, ...], axis: int, part: slice) -> Array:
        """The part of `array` along an axis of the batch; all of it where it is broadcast."""
        own = axis - (len(self.shape) - len(leading))
        if own < 0 or leading[own] == 1:
            return array
        return array[(slice(None),) * own + (part,)]


def leading_shapes(ports: Sequence[Port], arrays: Sequence[Array]) -> list[tuple[int, ...]] | None:
    """The leading shape of each array, None if the rest of one is not its port's."""
    shapes = []
    for port, array in zip(ports, arrays, strict=True):
        split = array.ndim - len(port.shape)
        if split < 0 or array.shape[split:] != port.shape:
            return None
        shapes.append(array.shape[:split])
    return shapes


def given_outputs(
    ports: Sequence[Port], batch: tuple[int, ...], arrays: Sequence[Array], out: Any
) -> list[Array] | None:
    """The arrays of `out=`; none if it was not given, None if they do not allow cutting."""
    if out is None:
        return []
    outs = list(out) if isinstance(out, tuple) else [out]
    if len(outs) != len(ports):
        return None
    others = list(arrays)
    for port, array in zip(ports, outs, strict=True):
        if type(array) is not np.ndarray or array.shape != batch + port.shape:
            return None
        if any(np.may_share_memory(array, other) for other in others):
            return None
        others.append(array)
    return outs


def cut(size: int, count: int) -> list[slice]:
    """`size` states in at most `count` nearly equal pieces."""
    length = -(-size // (count * GRAIN)) * GRAIN
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]
