"""Ray: the one of this process, or of RAY_ADDRESS, or one of this machine, on loopback alone."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from kinetree.base.extras import need
from kinetree.errors import KinetreeError
from kinetree.parallel.work import run_chunk

# Ray replaces 127.0.0.1 by the machine's address and listens on every interface, unless it is told
# that it runs on one machine alone, which its own switch for Windows and macOS says.
LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
STORE = 256 << 20  # bytes of Ray's shared memory; chunks are a few MB


class RayEngine:
    """Chunks as Ray tasks; those of a worker that died are computed again by the schedule."""

    def __init__(self, text: str, workers: int) -> None:
        self._ray: Any = need("ray", "ray", "the executor 'ray'")
        self._own = not self._ray.is_initialized()
        elsewhere = os.environ.get("RAY_ADDRESS")
        if self._own and elsewhere:
            self._ray.init(address=elsewhere, log_to_driver=False, logging_level="ERROR")
        elif self._own:
            start(self._ray, workers)
        mine = self._own and not elsewhere
        self.workers = workers if mine else int(self._ray.cluster_resources().get("CPU", 1))
        self._task = self._ray.remote(max_retries=0)(run_chunk)
        self._text = self._ray.put(text)
        self._under_way: dict[Future[bytes], Any] = {}

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """See `Engine`."""
        reference = self._task.remote(self._text, first, count)
        future = reference.future()
        self._under_way[future] = reference
        future.add_done_callback(lambda done: self._under_way.pop(done, None))
        return future

    def lost(self, error: BaseException) -> bool:
        """Any trouble of Ray's own; an error of a task is a RayTaskError."""
        problems = self._ray.exceptions
        return isinstance(error, problems.RayError) and not isinstance(error, problems.RayTaskError)

    def renew(self) -> bool:
        """Ray starts new workers by itself."""
        return True

    def close(self) -> None:
        """See `Engine`."""
        for reference in list(self._under_way.values()):
            self._ray.cancel(reference)
        if self._own:
            self._ray.shutdown()


def start(ray: Any, workers: int) -> None:
    """A Ray of this machine alone; refused where it would listen elsewhere."""
    with _on_one_machine():
        ray.init(
            address="local",
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=STORE,
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
def _on_one_machine() -> Iterator[None]:
    """Switches for the processes that Ray starts, and for Ray's copy of them in this one."""
    constants = sys.modules.get("ray._private.ray_constants")
    before = {name: os.environ.get(name) for name in LOCAL}
    cluster = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    os.environ.update(LOCAL)
    if cluster is not None:
        constants.ENABLE_RAY_CLUSTER = False  # type: ignore[union-attr]
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if cluster is not None:
            constants.ENABLE_RAY_CLUSTER = cluster  # type: ignore[union-attr]
