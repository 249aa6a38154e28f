"""Large batches on all cores.

States are independent, so the batch is cut along one of its axes and each piece is an ordinary call
of the gufunc, which releases the GIL. Results are bitwise the same for every number of threads.
"""

import contextvars
import logging
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np

from kinetree.errors import InputError

log = logging.getLogger(__name__)


_count: int | None = None  # for the whole process; None: not chosen yet
_here: contextvars.ContextVar[int | None] = contextvars.ContextVar("kinetree_threads", default=None)
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


class threads:
    """How many threads large batches use.

    `threads(4)` sets it for the process; `with threads(4):` for the block, in this thread alone.
    None or 0 stands for all cores. The environment variable KINETREE_THREADS is the first choice.
    """

    def __init__(self, count: int | None = None) -> None:
        global _count
        self._chosen = checked(count)
        self._before = _count
        self._tokens: list[contextvars.Token[int | None]] = []
        _count = self._chosen

    def __enter__(self) -> Self:
        global _count
        if not self._tokens:
            _count = self._before  # only the block was meant
        self._tokens.append(_here.set(self._chosen))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _here.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"threads({self._chosen})"


def checked(count: int | None) -> int:
    """A number of threads; None and 0 are all cores."""
    if count is None or count == 0:
        return cores()
    if isinstance(count, bool) or not hasattr(count, "__index__") or count < 0:
        raise InputError(
            f"threads was given {count!r}; expected a whole number: 1 for no threads, "
            "0 or None for all cores."
        )
    return int(count)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def thread_count() -> int:
    """The number of threads that a large batch uses now, here."""
    global _count
    here = _here.get()
    if here is not None:
        return here
    if _count is None:
        _count = from_environment()
    return _count


def from_environment() -> int:
    """The choice of KINETREE_THREADS, else all cores."""
    text = os.environ.get("KINETREE_THREADS", "").strip()
    try:
        return checked(int(text or 0))
    except ValueError:
        log.warning("KINETREE_THREADS is %r; expected a whole number", text)
        return cores()


def run(pieces: list[Callable[[], Any]], count: int) -> None:
    """Run all pieces on up to `count` threads, this one included, and wait for them.

    The first error is raised when nothing runs any more: the pieces write into shared arrays.
    """
    waiting = deque(pieces)
    errors: list[BaseException] = []
    state: Any = np.geterr()
    state["call"] = np.geterrcall()

    def work() -> None:
        # the user's floating-point settings belong to a thread, so they are carried over
        with np.errstate(**state):
            while waiting and not errors:
                try:
                    piece = waiting.popleft()
                except IndexError:
                    return
                try:
                    piece()
                except BaseException as error:
                    errors.append(error)

    helpers = start_helpers(work, min(count, len(pieces)) - 1)
    work()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if errors:
        raise errors[0]


def start_helpers(work: Callable[[], None], count: int) -> list[Future[None]]:
    """Let `count` other threads help; none where Python is shutting down."""
    global _pool, _pool_size
    if count < 1:
        return []
    if _pool is None or _pool_size < count:
        _pool, _pool_size = ThreadPoolExecutor(count, thread_name_prefix="kinetree"), count
    started = []
    try:
        for _ in range(count):
            started.append(_pool.submit(work))
    except RuntimeError as problem:
        log.debug("kinetree works with %d threads: %s", 1 + len(started), problem)
    return started


def forget_pool() -> None:
    """In a forked child the threads of its parent do not exist."""
    global _pool, _pool_size
    _pool, _pool_size = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_pool)
