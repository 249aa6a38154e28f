"""Large batches on all cores.

States are independent, so a batch is cut along one of its axes, and threads take the pieces: in
machine code where the arrays are simple (`shares`), else each piece is an ordinary call of the
gufunc, which releases the GIL. Results are bitwise the same for every number of threads.
"""

import contextvars
import logging
import math
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.environment import setting
from kinetree.core.system import cores, on_fork
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger(__name__)

Make = Callable[[tuple[int, ...], "np.dtype[Any]"], Array]  # a new array of a shape and a type

GRAIN = 64  # pieces are multiples of this many states, so that vectors stay full
PIECES = 4  # pieces for each thread, so that a busy core does not keep the others waiting


# Choices for the whole process; the last one counts. `threads(4)` cannot know whether a `with`
# follows, so it chooses at once and withdraws its choice when a block begins.
_chosen: "list[tuple[weakref.ref[threads], int]]" = []
_choosing = threading.Lock()
_here: contextvars.ContextVar[int | None] = contextvars.ContextVar("kinetree_threads", default=None)
_pool: "ThreadPoolExecutor | None" = None
_pool_size = 0


class threads:
    """The number of threads that large batches use.

    `threads(4)` sets it for the process; `with threads(4):` for the block, in this thread alone.
    None or 0 means all cores. The environment variable KINETREE_THREADS is the initial choice.

    Args:
        count: number of threads; None or 0: all cores.
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = checked(count)
        self._tokens: list[contextvars.Token[int | None]] = []
        with _choosing:
            settled = [k for k, (one, _) in enumerate(_chosen) if one() is None]
            del _chosen[: settled[-1] if settled else 0]  # choices that no block can restore
            _chosen.append((weakref.ref(self), self._count))

    def __enter__(self) -> Self:
        with _choosing:
            _chosen[:] = [choice for choice in _chosen if choice[0]() is not self]
        self._tokens.append(_here.set(self._count))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _here.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"threads({self._count})"


def checked(count: int | None) -> int:
    """Check a number of threads; None and 0 mean all cores."""
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if count is None or (whole and count == 0):
        return cores()
    if not whole or count < 0:
        raise InputError(
            f"threads was given {count!r}; expected a whole number: 1 for no threads, "
            "0 or None for all cores."
        )
    return int(count)


def thread_count() -> int:
    """Return the number of threads that a large batch uses now, in this thread."""
    here = _here.get()
    if here is not None:
        return here
    try:
        return _chosen[-1][1]
    except IndexError:
        return from_environment()


@cache
def from_environment() -> int:
    """Return the choice of KINETREE_THREADS, else all cores."""
    return checked(setting("KINETREE_THREADS"))


class Pieces:
    """Pieces of work, which any number of threads take one after the other."""

    def __init__(self, pieces: Sequence[Callable[[], object]]) -> None:
        self._waiting, self._errors = deque(pieces), list[BaseException]()
        self._running, self._changed = 0, threading.Condition()
        self._state: Any = np.geterr()
        self._state["call"] = np.geterrcall()

    def work(self) -> None:
        """Do pieces until none is left, or one has failed."""
        # the user's floating-point settings belong to a thread, so they are carried over
        with np.errstate(**self._state):
            while (piece := self._take()) is not None:
                try:
                    piece()
                except BaseException as error:
                    self._errors.append(error)
                finally:
                    with self._changed:
                        self._running -= 1
                        self._changed.notify_all()

    def _take(self) -> Callable[[], object] | None:
        with self._changed:
            if not self._waiting or self._errors:
                return None
            self._running += 1
            return self._waiting.popleft()

    def finish(self) -> None:
        """Wait for pieces that other threads have begun; raise the first error of any."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)
        if self._errors:
            raise self._errors[0]


def run(pieces: Sequence[Callable[[], object]], count: int) -> None:
    """Run all pieces on up to `count` threads, this one included, and wait for them.

    The first error is raised after all threads have stopped: the pieces write into shared arrays.
    """
    shared = Pieces(pieces)
    # this thread works too, so all pieces are done even if no helper ever starts
    helpers = start_helpers(shared.work, min(count, len(pieces)) - 1)
    shared.work()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    shared.finish()


def start_helpers(work: Callable[[], None], count: int) -> "list[Future[None]]":
    """Start `work` in `count` other threads; in fewer where Python is shutting down."""
    global _pool, _pool_size
    if count < 1:
        return []
    started: list[Future[None]] = []
    try:
        if _pool is None or _pool_size < count:
            from concurrent.futures import ThreadPoolExecutor  # here, for large batches alone

            _pool, _pool_size = ThreadPoolExecutor(count, thread_name_prefix="kinetree"), count
        for _ in range(count):
            started.append(_pool.submit(work))
    except RuntimeError as problem:
        log.debug("kinetree uses %d threads: %s", 1 + len(started), problem)
    return started


def forget_threads() -> None:
    """Start anew in a forked child, where the threads of its parent do not exist.

    One of them may have held the lock at the fork.
    """
    global _pool, _pool_size, _choosing
    _pool, _pool_size, _choosing = None, 0, threading.Lock()


on_fork(after_in_child=forget_threads)


@dataclass(frozen=True)
class Batch:
    """Arrays of states that broadcast to the leading shape `shape`, and arrays for the results."""

    graph: Graph
    arrays: Sequence[Array]
    leading: Sequence[tuple[int, ...]]
    shape: tuple[int, ...]
    outs: Sequence[Array]

    @classmethod
    def of(cls, graph: Graph, arrays: Sequence[Array], out: object) -> Self | None:
        """Return the batch of a call, or None if it cannot be cut.

        It cannot where shapes are wrong or an output cannot be written (NumPy then raises an
        error), or where an output shares memory with another array: NumPy's own order of work
        decides there.
        """
        leading: list[tuple[int, ...]] = []
        for port, array in zip(graph.inputs, arrays, strict=True):
            lead = port.leading(array.shape)
            if lead is None:
                return None
            leading.append(lead)
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

    def pieces(
        self, gufunc: np.ufunc, outs: Sequence[Array], count: int
    ) -> list[Callable[[], object]]:
        """Calls of the gufunc for parts of the batch, PIECES for each of `count` threads."""
        # the longest axis, the first of equals
        axis = max(range(len(self.shape)), key=lambda k: (self.shape[k], -k))

        def piece(part: slice) -> Callable[[], None]:
            def call() -> None:
                ins = zip(self.arrays, self.leading, strict=True)
                parts = [self.take(array, lead, axis, part) for array, lead in ins]
                gufunc(*parts, out=tuple(self.take(o, self.shape, axis, part) for o in outs))

            return call

        return [piece(part) for part in cut(self.shape[axis], count * PIECES)]

    def new_outputs(self, gufunc: np.ufunc, make: Make) -> list[Array]:
        """Return new arrays for the results, of the dtypes that NumPy would choose."""
        ports = self.graph.outputs
        input_types = [array.dtype for array in self.arrays]
        kinds = gufunc.resolve_dtypes((*input_types, *[None] * len(ports)))[len(input_types) :]
        pairs = zip(ports, kinds, strict=True)
        return [make(self.shape + port.shape, kind) for port, kind in pairs]

    def take(self, array: Array, leading: tuple[int, ...], axis: int, part: slice) -> Array:
        """Return a part of `array` along an axis of the batch; all of it where it is broadcast."""
        array_axis = axis - (len(self.shape) - len(leading))
        if array_axis < 0 or leading[array_axis] == 1:
            return array
        return array[(slice(None),) * array_axis + (part,)]


def given_outputs(
    ports: Sequence[Port], batch: tuple[int, ...], arrays: Sequence[Array], out: object
) -> list[Array] | None:
    """Return the arrays of `out=`, [] if it was not given, None if they do not allow cutting."""
    if out is None:
        return []
    outs: list[Array] = list(out) if isinstance(out, tuple) else [cast("Array", out)]
    if len(outs) != len(ports):
        return None
    others = list(arrays)
    for port, array in zip(ports, outs, strict=True):
        if type(array) is not np.ndarray or array.shape != batch + port.shape:
            return None
        if not array.flags.writeable:
            return None
        if any(np.may_share_memory(array, other) for other in others):
            return None
        others.append(array)
    return outs


def grains(size: int, count: int, grain: int = GRAIN) -> int:
    """The length of `count` pieces of `size` states, a multiple of `grain`."""
    return -(-size // (count * grain)) * grain


def cut(size: int, count: int, grain: int = GRAIN) -> list[slice]:
    """Cut `size` states into at most `count` nearly equal pieces, multiples of `grain`."""
    length = grains(size, count, grain)
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]
