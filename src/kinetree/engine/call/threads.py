"""Large batches on all cores.

States are independent, so a batch is cut along one of its axes, and the workers of one pool take
the pieces. Each piece is an ordinary call of machine code, which runs without the interpreter's
lock. Results are bitwise the same for every number of threads.
"""

import contextvars
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinetree.core.environment import setting
from kinetree.core.system import cores, on_fork
from kinetree.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger(__name__)

GRAIN = 64  # pieces are multiples of this many states, so that vectors stay full
PIECES = 4  # pieces for each thread, so that a busy core does not keep the others waiting
WORKERS = 1024  # at most; the pool starts as many as it needs at once

# Choices for the whole process; the last one counts. `threads(4)` cannot know whether a `with`
# follows, so it chooses at once and withdraws its choice when a block begins.
_chosen: "list[threads]" = []
_here: contextvars.ContextVar[int | None] = contextvars.ContextVar("kinetree_threads", default=None)
_pool: "ThreadPoolExecutor | None" = None


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
        _chosen.append(self)

    def __enter__(self) -> Self:
        if self in _chosen:
            _chosen.remove(self)
        self._tokens.append(_here.set(self._count))
        return self

    def __exit__(self, *problem: object) -> None:
        _here.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"threads({self._count})"


def checked(count: int | None) -> int:
    """Check a number of threads; None and 0 mean all cores."""
    integer = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if count is None or (integer and count == 0):
        return cores()
    if not integer or count < 0:
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
        return _chosen[-1]._count
    except IndexError:
        return from_environment()


@cache
def from_environment() -> int:
    """Return the choice of KINETREE_THREADS, else all cores."""
    return checked(setting("KINETREE_THREADS"))


def run(pieces: Sequence[Callable[[], object]], count: int) -> None:
    """Run all pieces on up to `count` threads, this one included, and wait for them.

    The first error is raised after all threads have stopped: the pieces write into shared arrays.
    """
    waiting, errors = deque(pieces), list[BaseException]()
    settings: Any = {**np.geterr(), "call": np.geterrcall()}

    def work() -> None:
        with np.errstate(**settings):  # of the caller: they belong to a thread
            while not errors:
                try:
                    piece = waiting.popleft()
                except IndexError:
                    return
                try:
                    piece()
                except BaseException as error:
                    errors.append(error)

    # this thread works too, so all pieces are done even if no worker ever starts
    workers = start_workers(work, min(count, len(pieces)) - 1)
    work()
    for worker in workers:
        if not worker.cancel():
            worker.result()
    if errors:
        raise errors[0]


def start_workers(work: Callable[[], None], count: int) -> "list[Future[None]]":
    """Start `work` in `count` other threads; in fewer where the system allows no more."""
    global _pool
    started: list[Future[None]] = []
    if count < 1:
        return started
    try:
        if _pool is None:
            from concurrent.futures import ThreadPoolExecutor  # here, for large batches alone

            _pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="kinetree")
        for _ in range(count):
            started.append(_pool.submit(work))
    except RuntimeError as problem:  # Python is shutting down
        log.debug("kinetree uses %d threads: %s", 1 + len(started), problem)
    return started


def forget_workers() -> None:
    """Start anew in a forked child, where the threads of its parent do not exist."""
    global _pool
    _pool = None


on_fork(after_in_child=forget_workers)


def cut(size: int, count: int, grain: int = GRAIN) -> list[slice]:
    """Cut `size` states into at most `count` nearly equal pieces, multiples of `grain`."""
    length = -(-size // (count * grain)) * grain
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]
