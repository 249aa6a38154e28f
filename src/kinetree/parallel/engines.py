"""Engines: where chunks are computed. Threads, processes, Ray, Dask, or an executor of the user."""
# ruff: noqa: D102 (the class `Engine` describes its methods)

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from ipaddress import ip_address
from multiprocessing import spawn
from multiprocessing.context import SpawnContext, SpawnProcess
from types import FunctionType
from typing import Any, Literal, Protocol, runtime_checkable

from kinetree.core.system import cores, ignore_interrupt, interrupt_held_back, on_windows
from kinetree.errors import InputError, KinetreeError, need
from kinetree.parallel.work import run_chunk

# Ray replaces 127.0.0.1 by the machine's address and listens on every interface, unless its switch
# for Windows and macOS restricts it to one machine.
LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
EngineName = Literal["threads", "processes", "ray", "dask"]
RAY_STORE_BYTES = 256 << 20  # bytes of Ray's shared memory; chunks are a few MB


class Engine(Protocol):
    """Computes chunks of one study.

    submit: start a chunk, `count` samples from `first` on. lost: True if an error means that a
    worker died, and not that the chunk is wrong. renew: prepare for more chunks after a worker
    died; False if that is not possible. close: cancel the chunks that have not started, and stop
    what the engine started.
    """

    workers: int

    def submit(self, first: int, count: int) -> "Future[bytes]": ...
    def lost(self, error: BaseException) -> bool: ...
    def renew(self) -> bool: ...
    def close(self) -> None: ...


@runtime_checkable
class DaskClient(Protocol):
    """The client of a Dask cluster (distributed.Client)."""

    def get_executor(self, *, pure: bool) -> Executor: ...
    def nthreads(self) -> Mapping[str, int]: ...


def make_engine(
    executor: EngineName | Executor | DaskClient | None, workers: int | None, packed: bytes
) -> Engine:
    """The engine for a study.

    executor: None for threads, a key of ENGINES, any concurrent.futures.Executor, or a Dask client.
    """
    if workers is not None and (
        isinstance(workers, bool) or not hasattr(workers, "__index__") or workers < 1
    ):
        raise InputError(f"workers is {workers!r}; expected a whole number, 1 or more.")
    if isinstance(executor, Executor):
        count = workers or getattr(executor, "_max_workers", 0) or cores()
        return ExecutorEngine(packed, count, executor)
    if isinstance(executor, DaskClient):
        count = workers or sum(executor.nthreads().values()) or cores()
        return ExecutorEngine(packed, count, executor.get_executor(pure=False))
    if executor is not None and executor not in tuple(ENGINES):
        raise InputError(
            f"executor is {executor!r}; expected one of {', '.join(ENGINES)}, an Executor of "
            "concurrent.futures, or a Dask client."
        )
    return ENGINES[executor or "threads"](packed, workers or cores())


class ExecutorEngine:
    """Threads of this process, a Dask cluster, or an executor of the user.

    close: stops the executor, unless it belongs to the user.
    """

    def __init__(
        self,
        packed: bytes,
        workers: int,
        executor: Executor,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self.packed, self.workers, self._executor, self._close = packed, workers, executor, close

    def submit(self, first: int, count: int) -> "Future[bytes]":
        return self._executor.submit(run_chunk, self.packed, first, count)

    def lost(self, error: BaseException) -> bool:
        """True for the errors of broken pools, and of Dask when it gave up on a task."""
        return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"

    def renew(self) -> bool:
        """False for a process pool, which stays broken; others recover by themselves."""
        return not isinstance(self._executor, ProcessPoolExecutor)

    def close(self) -> None:
        self._close()


def thread_engine(packed: bytes, workers: int) -> ExecutorEngine:
    """Threads of this process: kernels release Python's lock."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="kinetree study")
    return ExecutorEngine(packed, workers, pool, partial(pool.shutdown, cancel_futures=True))


def dask_engine(packed: bytes, workers: int) -> ExecutorEngine:
    """A Dask cluster of processes on this machine, on loopback only.

    Dask computes the chunks of a dead worker again, a few times.
    """
    dask: Any = need("distributed", "dask", "the executor 'dask'")
    cluster = dask.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        # Dask always serves its state: without web pages, and on a free port
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        silence_logs=50,
    )
    client = dask.Client(cluster)

    def close() -> None:
        client.close()
        cluster.close()

    return ExecutorEngine(packed, workers, client.get_executor(pure=False), close)


class ProcessEngine:
    """New processes, in which no thread or lock of this one is copied; see `WorkerProcess`."""

    def __init__(self, packed: bytes, workers: int) -> None:
        self.packed, self.workers = packed, workers
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, WorkerContext(), initializer=follow_the_leader)

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """See `Engine`; the pool starts processes when there is work for them.

        Ctrl-C is held back until `follow_the_leader` ignores it, on systems that can hold signals
        back.
        """
        with interrupt_held_back():
            return self._pool.submit(run_chunk, self.packed, first, count)

    def lost(self, error: BaseException) -> bool:
        """True if the pool is broken: it breaks when one of its processes dies."""
        return isinstance(error, BrokenExecutor)

    def renew(self) -> bool:
        """Replace the broken pool."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._start()
        return True

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


class WorkerSpawn:
    """multiprocessing.spawn, for processes that do not run the user's script again.

    All that a worker needs is in kinetree, and a script without `if __name__ == "__main__"` would
    begin its study anew in every worker.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(spawn, name)

    def get_preparation_data(self, name: str) -> dict[str, Any]:
        """Return what a new process receives, without the module __main__."""
        data = spawn.get_preparation_data(name)
        return {key: value for key, value in data.items() if not key.startswith("init_main")}


@cache
def starter() -> Any:
    """The class of multiprocessing that starts processes, with `WorkerSpawn` for its `spawn`.

    One of its functions is given other global names. Nothing that other threads see is changed:
    neither sys.modules nor multiprocessing itself.
    """
    windows = on_windows()
    module = import_module(f"multiprocessing.popen_spawn_{'win32' if windows else 'posix'}")
    name = "__init__" if windows else "_launch"
    start = getattr(module.Popen, name)
    names = {**vars(module), "spawn": WorkerSpawn()}
    launch = FunctionType(start.__code__, names, name, start.__defaults__, start.__closure__)
    return type("Popen", (module.Popen,), {name: launch})


class WorkerProcess(SpawnProcess):
    """A new process that does not run the user's script again."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return starter()(process_obj)


class WorkerContext(SpawnContext):
    """Starts `WorkerProcess`es."""

    Process = WorkerProcess  # type: ignore[assignment]


def follow_the_leader() -> None:
    """Make a worker ignore Ctrl-C, which the leading process handles, and end with that process."""
    ignore_interrupt()
    threading.Thread(target=_leave_with_leader, name="kinetree leader", daemon=True).start()


def _leave_with_leader() -> None:
    """End when the leader is killed: the pool would wait for its next chunk forever."""
    leader = multiprocessing.parent_process()
    if leader is not None:
        leader.join()
        os._exit(1)


class RayEngine:
    """The Ray of this process or of RAY_ADDRESS, or else a new one on this machine.

    The schedule computes the chunks of a dead worker again.
    """

    def __init__(self, packed: bytes, workers: int) -> None:
        self._ray: Any = need("ray", "ray", "the executor 'ray'")
        self._own = not self._ray.is_initialized()
        elsewhere = os.environ.get("RAY_ADDRESS")
        if self._own and elsewhere:
            self._ray.init(address=elsewhere, log_to_driver=False, logging_level="ERROR")
        elif self._own:
            start_ray(self._ray, workers)
        mine = self._own and not elsewhere
        self.workers = workers if mine else int(self._ray.cluster_resources().get("CPU", 1))
        self._task = self._ray.remote(max_retries=0)(run_chunk)
        self._packed = self._ray.put(packed)
        self._under_way: dict[Future[bytes], Any] = {}

    def submit(self, first: int, count: int) -> "Future[bytes]":
        reference = self._task.remote(self._packed, first, count)
        future: Future[bytes] = reference.future()
        self._under_way[future] = reference
        future.add_done_callback(lambda done: self._under_way.pop(done, None))
        return future

    def lost(self, error: BaseException) -> bool:
        """True for errors of Ray itself; an error in a chunk is a RayTaskError."""
        problems = self._ray.exceptions
        return isinstance(error, problems.RayError) and not isinstance(error, problems.RayTaskError)

    def renew(self) -> bool:
        """True: Ray starts new workers by itself."""
        return True

    def close(self) -> None:
        for reference in list(self._under_way.values()):
            self._ray.cancel(reference)
        if self._own:
            self._ray.shutdown()


def start_ray(ray: Any, workers: int) -> None:
    """Start Ray on this machine; raise KinetreeError if it would listen beyond loopback."""
    with _on_one_machine():
        ray.init(
            address="local",
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=RAY_STORE_BYTES,
            _node_ip_address="127.0.0.1",
        )
    address = ray.util.get_node_ip_address()
    if not ip_address(address).is_loopback:
        ray.shutdown()
        raise KinetreeError(
            f"Ray {ray.__version__} would listen on {address}, beyond this machine; expected "
            "127.0.0.1. Start Ray yourself with ray.init(...), and kinetree uses it as it is."
        )


@contextmanager
def _on_one_machine() -> Generator[None, None, None]:
    """Set LOCAL for the processes that Ray starts, and Ray's copy of the switch in this one."""
    constants: Any = sys.modules.get("ray._private.ray_constants")
    before = {name: os.environ.get(name) for name in LOCAL}
    cluster = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    os.environ.update(LOCAL)
    if cluster is not None:
        constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if cluster is not None:
            constants.ENABLE_RAY_CLUSTER = cluster


ENGINES: dict[EngineName, Callable[[bytes, int], Engine]] = {
    "threads": thread_engine,
    "processes": ProcessEngine,
    "ray": RayEngine,
    "dask": dask_engine,
}
