"""Engines: where chunks are computed. Threads and processes here; Ray and Dask beside."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from concurrent.futures import ThreadPoolExecutor as Threads
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Protocol

from kinetree.backends.threads import cores
from kinetree.errors import InputError
from kinetree.parallel.work import run_chunk

NAMES = ("threads", "processes", "ray", "dask")


class Engine(Protocol):
    """Computes chunks of one study."""

    workers: int

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """Begin with a chunk."""
        ...

    def lost(self, error: BaseException) -> bool:
        """Whether an error means that a worker died, and not that the chunk is wrong."""
        ...

    def renew(self) -> bool:
        """After a worker died: be ready for chunks again; False where that is not possible."""
        ...

    def close(self) -> None:
        """Forget what has not begun, and give back what was started."""
        ...


class ThreadEngine:
    """Threads of this process: kernels release Python's lock."""

    def __init__(self, text: str, workers: int) -> None:
        self.text, self.workers = text, workers
        self._pool = Threads(workers, thread_name_prefix="kinetree study")

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """See `Engine`."""
        return self._pool.submit(run_chunk, self.text, first, count)

    def lost(self, error: BaseException) -> bool:
        """Threads die with their process."""
        return False

    def renew(self) -> bool:
        """Nothing was lost."""
        return True

    def close(self) -> None:
        """See `Engine`."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class ProcessEngine:
    """Processes of their own, started afresh: no thread or lock of this one is copied.

    The script that asked for them is not run again in them, as it otherwise would be.
    """

    def __init__(self, text: str, workers: int) -> None:
        self.text, self.workers = text, workers
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, context, initializer=follow_the_leader)

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """See `Engine`; processes are started when there is work for them."""
        with _starting():
            return self._pool.submit(run_chunk, self.text, first, count)

    def lost(self, error: BaseException) -> bool:
        """A pool of processes breaks when one of them dies."""
        return isinstance(error, BrokenExecutor)

    def renew(self) -> bool:
        """A new pool."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._start()
        return True

    def close(self) -> None:
        """See `Engine`."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class GivenEngine:
    """An executor of the user, which stays theirs."""

    def __init__(self, text: str, workers: int | None, executor: Executor) -> None:
        self.text, self._executor = text, executor
        self.workers = workers or getattr(executor, "_max_workers", 0) or cores()

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """See `Engine`."""
        return self._executor.submit(run_chunk, self.text, first, count)

    def lost(self, error: BaseException) -> bool:
        """What pools of processes and Dask say."""
        return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"

    def renew(self) -> bool:
        """A broken pool cannot be mended; others go on by themselves."""
        return not isinstance(self._executor, ProcessPoolExecutor)

    def close(self) -> None:
        """It is not ours to close."""


def make_engine(executor: Any, workers: int | None, text: str) -> Engine:
    """The engine for a study.

    executor: None, one of NAMES, any concurrent.futures.Executor, or a Dask client.
    """
    if workers is not None and (isinstance(workers, bool) or not _whole(workers) or workers < 1):
        raise InputError(f"workers is {workers!r}; expected a whole number, 1 or more.")
    if isinstance(executor, Executor):
        return GivenEngine(text, workers, executor)
    if hasattr(executor, "get_executor"):
        count = workers or sum(executor.nthreads().values()) or None
        return GivenEngine(text, count, executor.get_executor(pure=False))
    if executor not in (None, *NAMES):
        raise InputError(
            f"executor is {executor!r}; expected one of {', '.join(NAMES)}, an Executor of "
            "concurrent.futures, or a Dask client."
        )
    make = _engines()[executor or "threads"]
    return make(text, workers or cores())


def _engines() -> dict[str, Any]:
    from kinetree.parallel.dask_engine import DaskEngine
    from kinetree.parallel.ray_engine import RayEngine

    kinds = (ThreadEngine, ProcessEngine, RayEngine, DaskEngine)
    return dict(zip(NAMES, kinds, strict=True))


def _whole(x: Any) -> bool:
    return hasattr(x, "__index__")


@contextmanager
def _starting() -> Iterator[None]:
    """A process that is started meanwhile finds no script to run: all it needs is in kinetree.

    Nor does it hear Ctrl-C before `follow_the_leader`, where signals can be held back.
    """
    script, hold = sys.modules["__main__"], getattr(signal, "pthread_sigmask", None)
    sys.modules["__main__"] = ModuleType("__main__")
    held = hold(signal.SIG_BLOCK, {signal.SIGINT}) if hold else None
    try:
        yield
    finally:
        sys.modules["__main__"] = script
        if hold:
            hold(signal.SIG_SETMASK, held)


def follow_the_leader() -> None:
    """A worker takes no Ctrl-C, which goes to the process that leads, and does not outlive that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_leader, name="kinetree leader", daemon=True).start()


def _leave_with_leader() -> None:
    """End where the leader was killed: pools would wait for its next chunk for ever."""
    leader = multiprocessing.parent_process()
    if leader is not None:
        leader.join()
        os._exit(1)
