"""Dask: a cluster of processes on this machine, on loopback alone, through its executor.

The user's own cluster is used by giving its client as the executor of a study.
"""

from concurrent.futures import Future
from typing import Any

from kinetree.base.extras import need
from kinetree.parallel.work import run_chunk


class DaskEngine:
    """Chunks as Dask tasks; Dask computes those of a worker that died again, a few times."""

    def __init__(self, text: str, workers: int) -> None:
        self._dask: Any = need("distributed", "dask", "the executor 'dask'")
        self.text, self.workers = text, workers
        self._cluster: Any = self._dask.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # Dask has a server of its state in any case: without pages, and on a free port
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=50,
        )
        self._client: Any = self._dask.Client(self._cluster)
        self._executor = self._client.get_executor(pure=False)

    def submit(self, first: int, count: int) -> "Future[bytes]":
        """See `Engine`."""
        return self._executor.submit(run_chunk, self.text, first, count)

    def lost(self, error: BaseException) -> bool:
        """A task whose workers died one after the other."""
        return isinstance(error, self._dask.KilledWorker)

    def renew(self) -> bool:
        """Dask starts new workers by itself."""
        return True

    def close(self) -> None:
        """See `Engine`."""
        self._client.close()
        self._cluster.close()
