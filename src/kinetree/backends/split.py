"""Cut the batch of one gufunc call into pieces for several threads."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.backends import threads
from kinetree.compiler.graph import Port

Array = np.ndarray[Any, Any]

GRAIN = 64  # pieces are multiples of this many states, so that vectors stay full


def call_split(
    gufunc: np.ufunc,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    arrays: Sequence[Array],
    out: Any,
    count: int,
) -> Any:
    """The result of `gufunc(*arrays, out=out)` on `count` threads, or None if it cannot be cut.

    It cannot where shapes are wrong (NumPy then says so), where the batch is short, or where an
    output shares memory with another array: NumPy's own order of work decides there.
    """
    leading = batch_shapes(inputs, arrays)
    if leading is None:
        return None
    try:
        batch = np.broadcast_shapes(*leading)
    except ValueError:
        return None
    outs = given_outputs(outputs, batch, arrays, out)
    if outs is None or not batch:
        return None
    if not outs:
        kind = np.result_type(*arrays)
        kind = kind if str(kind) in ("float32", "float64") else np.dtype(np.float64)
        outs = [np.empty(batch + port.shape, kind) for port in outputs]
    axis = max(range(len(batch)), key=lambda k: (batch[k], -k))
    pieces = cut(batch[axis], count * threads.PIECES)

    def piece(part: slice) -> Any:
        def call() -> None:
            parts = [take(a, lead, batch, axis, part) for a, lead in zip(arrays, leading, strict=True)]
            gufunc(*parts, out=tuple(take(o, batch, batch, axis, part) for o in outs))

        return call

    threads.run([piece(part) for part in pieces], count)
    return outs[0] if len(outs) == 1 else tuple(outs)


def batch_shapes(ports: Sequence[Port], arrays: Sequence[Array]) -> list[tuple[int, ...]] | None:
    """The leading shape of each array, None if the rest is not its port's."""
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
    length = max(GRAIN, -(-size // count))
    length = -(-length // GRAIN) * GRAIN
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def take(
    array: Array, leading: tuple[int, ...], batch: tuple[int, ...], axis: int, part: slice
) -> Array:
    """The part of `array` along an axis of the batch; all of it where it is broadcast."""
    own = axis - (len(batch) - len(leading))
    if own < 0 or leading[own] == 1:
        return array
    return array[(slice(None),) * own + (part,)]
