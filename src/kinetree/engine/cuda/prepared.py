"""Prepared: a launch whose function, states and blocks are known; only addresses are new.

A call of CuPy's functions reads the type of each argument again. A program that computes the same
quantity of a few thousand states thousands of times a second would spend most of its time there,
and the GPU would wait. Here the arguments lie in memory in the form that CUDA's driver reads, and a
call writes the addresses of its arrays into it.

`KnownCalls` remembers what was prepared for the shapes, number types and devices of a call.
"""

import threading
from array import array
from collections.abc import Callable, Hashable, Sequence
from struct import Struct
from typing import Any, Generic, TypeVar

from kinetree.engine.cuda.launch import Launch
from kinetree.engine.cuda.layout import WARP

Value = TypeVar("Value")
REMEMBERED_CALLS = 256  # calls of different shapes that are remembered for a kernel
WORD = 8  # bytes of an argument; an integer of 32 bits is the lower half of one


class KnownCalls(Generic[Value]):
    """Values by the description of a call, at most so many: new shapes do not fill memory."""

    __slots__ = ("_known", "get", "most")

    def __init__(self, most: int = REMEMBERED_CALLS) -> None:
        self.most = most
        self._known: dict[Hashable, Value] = {}
        self.get: Callable[[Hashable], Value | None] = self._known.get

    def keep(self, key: Hashable, value: Value) -> None:
        """Remember a value; all others are forgotten where there are too many."""
        if len(self._known) >= self.most:
            self._known.clear()
        self._known[key] = value

    def __len__(self) -> int:
        return len(self._known)


class Block(threading.local):
    """The arguments of a launch in memory, for each thread its own.

    The driver reads them without Python's lock, so another thread must not write them meanwhile.
    `values` are the arguments, `address` is that of the table of their addresses.
    """

    def __init__(self, cp: Any, values: Sequence[int]) -> None:
        cp.cuda.runtime.memGetInfo()  # the driver's functions need a context of this thread
        self.values = array("q", values)
        first, _ = self.values.buffer_info()
        self.pointers = array("q", [first + WORD * k for k in range(len(values))])
        self.address, _ = self.pointers.buffer_info()


class Prepared:
    """A function on one GPU for a number of states. `enqueue(stream, addresses)` computes them.

    values: all arguments of the function, integers and addresses of arrays. places: numbers of
    the arguments that are new in every call; neighbours are written at once.
    """

    __slots__ = ("_launch", "enqueue")

    def __init__(
        self, cp: Any, launch: Launch, count: int, values: Sequence[int], places: Sequence[int]
    ) -> None:
        self._launch = launch  # keeps the module loaded
        self.enqueue: Callable[[int, Sequence[int]], None] = _enqueue(
            cp.cuda.driver.launchKernel, launch, count, Block(cp, values), neighbours(places)
        )


def _enqueue(
    call: Callable[..., None],
    launch: Launch,
    count: int,
    block: Block,
    runs: Sequence[tuple[Callable[..., None], int, int]],
) -> Callable[[int, Sequence[int]], None]:
    """The function that queues the work; what it needs is at hand, without a look-up.

    Its arguments are a stream of the GPU, which must be the current one of the thread, and the
    addresses of contiguous arrays in the order of the places.
    """
    threads = launch.threads
    sizes = (int(launch.function.ptr), -(-count // threads), 1, 1, threads, 1, 1)
    shared = launch.shared * threads // WARP
    whole, offset, _ = runs[0]

    def at_once(stream: int, addresses: Sequence[int]) -> None:
        whole(block.values, offset, *addresses)
        call(*sizes, shared, stream, block.address, 0)

    def in_runs(stream: int, addresses: Sequence[int]) -> None:
        begin = 0
        for pack, place, length in runs:
            pack(block.values, place, *addresses[begin : begin + length])
            begin += length
        call(*sizes, shared, stream, block.address, 0)

    return at_once if len(runs) == 1 else in_runs


def neighbours(places: Sequence[int]) -> tuple[tuple[Callable[..., None], int, int], ...]:
    """Runs of neighbouring arguments: what writes each, where it begins in bytes, its length."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return tuple((Struct(f"{len(run)}q").pack_into, WORD * run[0], len(run)) for run in runs)
