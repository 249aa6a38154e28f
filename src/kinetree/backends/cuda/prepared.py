"""Prepared: a launch whose function, states and blocks are known; only addresses are new.

A call of CuPy's functions reads the type of each argument again. A program that computes the same
quantity of a few thousand states thousands of times a second would spend most of its time there,
and the GPU would wait. Here the arguments lie in memory in the form that CUDA's driver reads, and a
call writes the addresses of its arrays into it.

`KnownCalls` remembers what was prepared for the shapes, number types and devices of a call.
"""

import threading
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from kinetree.backends.cuda.launch import Launch
from kinetree.backends.cuda.layout import WARP

Value = TypeVar("Value")
MOST = 256  # calls of different shapes that are remembered for a kernel
WORD = 8  # bytes of an argument; an integer of 32 bits is the lower half of one


class KnownCalls(Generic[Value]):
    """Values by the description of a call. A program with ever new shapes does not fill memory."""

    __slots__ = ("_known", "get")

    def __init__(self) -> None:
        self._known: dict[Hashable, Value] = {}
        self.get: Callable[[Hashable], Value | None] = self._known.get

    def keep(self, key: Hashable, value: Value) -> None:
        """Remember a value; all others are forgotten where there are too many."""
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = value

    def __len__(self) -> int:
        return len(self._known)


class Block(threading.local):
    """The arguments of a launch in memory, for each thread its own.

    The driver reads them without Python's lock, so another thread must not write them meanwhile.
    """

    def __init__(self, cp: Any, values: Sequence[int]) -> None:
        cp.cuda.runtime.memGetInfo()  # the driver's functions need a context of this thread
        self.values = array("q", values)
        first, _ = self.values.buffer_info()
        self.pointers = array("q", [first + WORD * k for k in range(len(values))])
        self.address, _ = self.pointers.buffer_info()


class Prepared:
    """A function on one GPU for a number of states. `enqueue(stream, addresses)` computes them.

    Args:
        cp: CuPy.
        launch: the function, loaded on the current GPU.
        count: number of states, at least 1.
        values: all arguments of the function: integers, and addresses of arrays.
        places: numbers of the arguments that are new in every call.
    """

    __slots__ = ("_block", "_call", "_function", "_grid", "_launch", "_places", "_shared", "_size")

    def __init__(
        self, cp: Any, launch: Launch, count: int, values: Sequence[int], places: Sequence[int]
    ) -> None:
        self._launch = launch  # keeps the module loaded
        self._function = int(launch.function.ptr)
        self._size = launch.threads
        self._grid = -(-count // self._size)
        self._shared = launch.shared * self._size // WARP
        self._call: Callable[..., None] = cp.cuda.driver.launchKernel
        self._places = tuple(places)
        self._block = Block(cp, values)

    def enqueue(self, stream: int, addresses: Iterable[int]) -> None:
        """Queue the work on a stream of the GPU, which must be the current one of this thread.

        addresses: of contiguous arrays, in the order of `places`.
        """
        block = self._block
        values = block.values
        for k, address in zip(self._places, addresses, strict=True):
            values[k] = address
        self._call(
            self._function, self._grid, 1, 1, self._size, 1, 1, self._shared, stream,
            block.address, 0,
        )  # fmt: skip
