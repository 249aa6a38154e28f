"""Timing side by side: every repeat runs all jobs, so that noise affects all of them."""

import os
import statistics
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Job:
    """A statement to time with the names in it, and its result in kinetree's order of joints.

    `apart`: its threads keep working after the statement and would slow down the next job, so it
    is timed after the others.
    """

    statement: str
    names: Mapping[str, Any]
    result: Callable[[], Any]
    apart: bool = False


@dataclass(frozen=True)
class Effort:
    """How much to measure: repeats, and the least seconds of one repeat of one job."""

    repeats: int = 15
    least: float = 0.02
    budget: float = 2.0  # seconds after which no further repeat of some jobs is begun
    processes: int = 8  # copies of a process for what can be timed only once in each
    seconds: float = 2.0  # after which no further copy for one row is made


QUICK = Effort(repeats=5, least=0.005, budget=0.5, processes=2, seconds=1.0)
LONG = 25
FEWEST = 3  # repeats, and copies, whatever they take


@dataclass(frozen=True)
class Timing:
    """Seconds of every repeat by the wall clock, and processor time."""

    seconds: tuple[float, ...]
    cpu: tuple[float, ...] = ()

    @property
    def best(self) -> float:
        """The least: what the code takes when nothing else runs."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """What it takes usually."""
        return statistics.median(self.seconds)

    @property
    def best_cpu(self) -> float | None:
        """The least work of a repeat."""
        return min(self.cpu) if self.cpu else None

    @property
    def share(self) -> float | None:
        """Of the best repeat, the part during which it had the processor; above 1 with threads."""
        if not self.cpu:
            return None
        best = self.seconds.index(self.best)
        return self.cpu[best] / self.seconds[best]

    @property
    def spread(self) -> float:
        """Median over best; 1 on a quiet machine."""
        return self.median / self.best


def side_by_side(jobs: Mapping[str, Job], effort: Effort, parts: float = 1) -> dict[str, Timing]:
    """Time of one run of each job, divided by `parts`: the states in a batch, simulated seconds.

    All jobs have as many repeats: those of the effort, fewer if they take longer than its budget.
    """
    later = {label: job for label, job in jobs.items() if job.apart}
    if later and len(later) < len(jobs):
        first = {label: job for label, job in jobs.items() if not job.apart}
        return side_by_side(first, effort, parts) | side_by_side(later, effort, parts)
    timers = {
        label: timeit.Timer(job.statement, globals=dict(job.names)) for label, job in jobs.items()
    }
    counts = {label: enough(timer, effort.least) for label, timer in timers.items()}
    seconds: dict[str, list[float]] = {label: [] for label in jobs}
    cpu: dict[str, list[float]] = {label: [] for label in jobs}
    begin = time.perf_counter()
    for k in range(effort.repeats):
        if k >= FEWEST and time.perf_counter() - begin > effort.budget:
            break
        for label, timer in timers.items():
            count = counts[label]
            start = time.process_time()
            seconds[label].append(timer.timeit(count) / (count * parts))
            cpu[label].append((time.process_time() - start) / (count * parts))
    return {label: Timing(tuple(seconds[label]), tuple(cpu[label])) for label in jobs}


def enough(timer: timeit.Timer, least: float) -> int:
    """How many runs are about `least` seconds of work; the first run warms up and is not counted.

    Processor time is used, because the wall clock gives too few runs on a shared core. A run that
    takes LONG times as much even with the work of warming up is not tried again.
    """
    start = time.process_time()
    timer.timeit(1)
    if time.process_time() - start > LONG * least:
        return 1
    count = 1
    while True:
        start = time.process_time()
        timer.timeit(count)
        taken = time.process_time() - start
        if taken >= least / 2:
            return max(1, round(count * least / taken))
        count *= max(2, min(10, int(least / max(taken, 1e-9))))


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core, where the system allows it; threads made here stay there."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
