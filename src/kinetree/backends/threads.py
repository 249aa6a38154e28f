"""Large batches on all cores.

States are independent, so the batch is cut along one of its axes and each piece is an ordinary call
of the gufunc, which releases the GIL. Results are bitwise the same for every number of threads.
"""

import contextvars
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Any, Self

import numpy as np

from kinetree.errors import InputError

log = logging.getLogger(__name__)


# Choices for the whole process, the last one counts. `threads(4)` cannot know whether it stands in
# a `with`, so it chooses at once and takes its choice back when a block begins.
_chosen: "list[tuple[weakref.ref[threads], int]]" = []
_choosing = threading.Lock()
_here: contextvars.ContextVar[int | None] = contextvars.ContextVar("kinetree_threads", default=None)
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


class threads:
    """How many threads large batches use.

    `threads(4)` sets it for the process; `with threads(4):` for the block, in this thread alone.
    None or 0 stands for all cores. The environment variable KINETREE_THREADS is the first choice.
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = checked(count)
        self._tokens: list[contextvars.Token[int | None]] = []
        with _choosing:
            settled = [k for k, (one, _) in enumerate(_chosen) if one() is None]
            del _chosen[: settled[-1] if settled else 0]  # what no block can bring back
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
    here = _here.get()
    if here is not None:
        return here
    try:
        return _chosen[-1][1]
    except IndexError:
        return from_environment()


@cache
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


def forget_threads() -> None:
    """In a forked child the threads of its parent do not exist, nor does one that held the lock."""
    global _pool, _pool_size, _choosing
    _pool, _pool_size, _choosing = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_threads)
