"""Threads that share a batch in machine code: each takes the next piece until none is left.

A thread that asks Python for its next piece waits for the interpreter's lock; sixteen threads wait
longer than they compute. Here every thread has the address of a `Job`: it takes pieces by an atomic
counter and passes each to the kernel's inner loop. After many pieces it returns, so that the user
can interrupt long work. `crew` has the threads.
"""

import ctypes
import math
from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call.blocks import Function
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.compiler.graph import Graph, Port

PIECES = 16  # pieces for each thread, so that a busy core does not keep the others waiting
OPERATIONS = 10**9  # of a thread before it looks for an interruption, some tenths of a second
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # without Python's lock


class Job(ctypes.Structure):
    """What threads share: the first state that nobody has taken, all states, those of a piece.

    turn: pieces before a thread returns to Python; loop: the address of the kernel's inner loop;
    arrays: the number of its arrays; places, steps: their addresses and strides, as NumPy gives
    them to inner loops.
    """

    _fields_ = (
        ("next", ctypes.c_int64),
        ("total", ctypes.c_int64),
        ("length", ctypes.c_int64),
        ("turn", ctypes.c_int64),
        ("loop", ctypes.c_void_p),
        ("arrays", ctypes.c_int64),
        ("places", ctypes.POINTER(ctypes.c_void_p)),
        ("steps", ctypes.POINTER(ctypes.c_int64)),
    )


def emit_share() -> str:
    """LLVM IR of `void @share(ptr job)`: a turn of pieces of a job, or as many as are left."""
    f = Function("share", "ptr %job", "void")
    total, length, turn, arrays = [
        f.load("i64", "%job", getattr(Job, name).offset)
        for name in ("total", "length", "turn", "arrays")
    ]
    loop, places, steps = [
        f.load("ptr", "%job", getattr(Job, name).offset) for name in ("loop", "places", "steps")
    ]
    mine, count = f.let(f"alloca ptr, i64 {arrays}"), f.room("i64")
    with f.each(turn):
        start = f.let(f"atomicrmw add ptr %job, i64 {length} monotonic")
        with f.when(f.compare("sge", "i64", start, total)):
            f.give()
        left = f.let(f"sub i64 {total}, {start}")
        f.put("i64", f.choose(f.compare("slt", "i64", left, length), "i64", left, length), count)
        with f.each(arrays) as k:
            offset = f.mul(start, f.item("i64", steps, k))
            f.put("ptr", f.at(f.item("ptr", places, k), offset), mine, k)
        f.call("void", loop, f"ptr {mine}", f"ptr {count}", f"ptr {steps}", "ptr null")
    f.give()
    return f.text()


class Share:
    """A job with all that it refers to: the arrays, and the code of the loop.

    arrays: those of the ports, each with one axis of states or with none. sizes: states of the
    batch, states of a piece, pieces of a turn.
    """

    def __init__(
        self,
        ports: Sequence[Port],
        arrays: Sequence[Array],
        loop: InnerLoop,
        sizes: tuple[int, int, int],
    ) -> None:
        cores = [x.ndim - len(port.shape) for x, port in zip(arrays, ports, strict=True)]
        over = [x.strides[0] if k and len(x) > 1 else 0 for x, k in zip(arrays, cores, strict=True)]
        steps = [*over, *(s for x, k in zip(arrays, cores, strict=True) for s in x.strides[k:])]
        places = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        self._job = Job(0, *sizes, loop.address, len(arrays))
        self._job.places, self._job.steps = places, (ctypes.c_int64 * len(steps))(*steps)
        self._kept = arrays, loop
        self.pieces = -(-sizes[0] // sizes[1])
        self.address = ctypes.addressof(self._job)

    def left(self) -> bool:
        """Return True until all pieces are taken."""
        return self._job.next < self._job.total

    def enter(self, function: int) -> None:
        """Compute pieces that no other thread has taken; `function` is the address of `@share`."""
        while self.left():
            SHARE(function)(self.address)


def share(
    graph: Graph, arrays: Sequence[Array], shape: tuple[int, ...], length: int, loop: InnerLoop
) -> Share | None:
    """The job of a batch; None where NumPy has more to do than to call loops.

    arrays: inputs and outputs, of which states broadcast to `shape`; length: states of a piece.
    """
    ports = (*graph.inputs, *graph.outputs)
    simple: list[Array] = []
    for x, port in zip(arrays, ports, strict=True):
        one_axis = flat(x, shape, port, loop.dtype)
        if one_axis is None:
            return None
        simple.append(one_axis)
    turn = 1 + OPERATIONS // (length * (graph.operations + 1))
    return Share(ports, simple, loop, (math.prod(shape), length, turn))


def flat(x: Array, shape: tuple[int, ...], port: Port, dtype: str) -> Array | None:
    """An array with one axis of states, or with none if it serves all of them; None if it cannot.

    NumPy has to convert other number types and numbers that are not aligned, piece by piece.
    """
    if x.dtype != np.dtype(dtype) or not x.flags.aligned:
        return None
    leading = x.shape[: x.ndim - len(port.shape)]
    if len(shape) == 1:
        return x
    if not x.flags.c_contiguous or (leading != shape and math.prod(leading) > 1):
        return None
    return x.reshape(-1, *port.shape) if leading == shape else x.reshape(port.shape)
