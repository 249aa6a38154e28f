"""The conformance suite: checks that this installation computes what others compute.

`python -m kinetree.testing` runs it from a terminal. It needs nothing but the package itself.
"""

import os
import queue
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from kinetree.backends.call.threads import cores
from kinetree.errors import NameLookupError
from kinetree.testing.conformance import machine, processes
from kinetree.testing.conformance.groups import GROUPS, TOGETHER, Choice, Performance, perform
from kinetree.testing.conformance.record import Conformance, ConformanceFailure, Finding

__all__ = ["GROUPS", "Conformance", "ConformanceFailure", "Finding", "run_conformance"]

AT_ONCE = 4  # processes at most; no more than there are cores
TICK = 0.2  # s
Progress = Callable[[Finding], None]


def run_conformance(
    only: Sequence[str] | None = None,
    *,
    everything: bool = False,
    cuda: bool = False,
    progress: Progress | None = None,
) -> Conformance:
    """Check this installation of kinetree; failures are reported, not raised.

        record = kinetree.testing.run_conformance()
        print(record)
        record.raise_if_failed()

    Published numbers, kernels against the direct form of the algorithms, bits against a stored
    table, ways of calling, threads, processes, the cache, the command line, simulations and
    exported code. It takes about a minute. Each batch of groups runs in a process of its own, with
    an empty cache; where Python starts no processes, all run in this one.

    Args:
        only: names of groups, some of `kinetree.testing.conformance.GROUPS`; all if None.
        everything: compare all of the table of bits, which takes minutes, instead of a sample.
        cuda: also check CUDA kernels.
        progress: called with each finding as soon as it is there.

    Returns:
        The record, which prints as one screen of text.

    Raises:
        InputError: KINETREE_TARGET names a vector width that this processor does not have.
    """
    chosen = list(GROUPS) if only is None else list(only)
    for name in chosen:
        if name not in GROUPS:
            raise NameLookupError(
                f"there is no group {name!r} of checks; expected some of {', '.join(GROUPS)}."
            )
    start = time.perf_counter()
    about = machine.facts()  # first: it raises an error if KINETREE_TARGET is wrong
    own = {name: os.environ.get(name) for name in machine.CACHE}
    choice = Choice(everything, cuda, own)
    findings: list[Finding] = []
    with closing(_performed(chosen, choice)) as found:
        for finding in found:
            findings.append(finding)
            if progress is not None:
                progress(finding)
    order = list(GROUPS)
    findings.sort(key=lambda x: order.index(x.group))  # stable: checks of a group keep their order
    groups = {name: GROUPS[name].title for name in order if name in chosen}
    seconds = time.perf_counter() - start
    complete = len(groups) == len(GROUPS)
    return Conformance(about, groups, tuple(findings), seconds, complete)


def _performed(names: Sequence[str], choice: Choice) -> Generator[Finding]:
    """Carry out groups, some at a time; findings come as soon as they are there."""
    if not processes.available():
        for name in names:
            yield from perform(name, choice)
        return
    with tempfile.TemporaryDirectory(prefix="kinetree-", ignore_cleanup_errors=True) as folder:
        batches = [[name for name in batch if name in names] for batch in TOGETHER]
        crew = _Crew([batch for batch in batches if batch], choice, Path(folder))
        try:
            yield from crew.findings()
        finally:  # also after Ctrl-C: no process outlives the run
            crew.stop()


class _Crew:
    """Threads that carry out batches of groups, each batch in a process."""

    def __init__(self, batches: Sequence[list[str]], choice: Choice, folder: Path) -> None:
        self._choice, self._folder = choice, folder
        self._waiting = deque(batches)
        self._found: queue.Queue[Finding | None] = queue.Queue()
        self._lock, self._running, self._stopped = threading.Lock(), set[Performance](), False
        count = min(AT_ONCE, cores(), len(batches))
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        try:
            while (performance := self._next()) is not None:
                for finding in performance:
                    self._found.put(finding)
        finally:
            self._found.put(None)

    def _next(self) -> Performance | None:
        with self._lock:
            if self._stopped or not self._waiting:
                return None
            begun = Performance(self._waiting.popleft(), self._choice, self._folder)
            self._running.add(begun)
            return begun

    def findings(self) -> Iterator[Finding]:
        """Iterate over the findings of all groups until the last thread has ended."""
        busy = len(self._threads)
        while busy:
            try:
                finding = self._found.get(timeout=TICK)  # Ctrl-C is noticed after each
            except queue.Empty:
                continue
            if finding is None:
                busy -= 1
            else:
                yield finding

    def stop(self) -> None:
        """End all processes and threads."""
        with self._lock:
            self._stopped = True
            for performance in self._running:
                performance.stop()
        for thread in self._threads:
            thread.join()
